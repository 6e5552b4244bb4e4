'use strict';
// The bar at the top: where the values come from, how it goes, what is chosen; keys; theme.

const THEMES = ['auto', 'light', 'dark'];

function applyTheme() {
  const { theme } = app.options;
  const dark = theme === 'dark' || (theme === 'auto' && matchMedia('(prefers-color-scheme: dark)').matches);
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
  themeColours.clear();
  setText(byId('theme'), { auto: 'Auto', light: 'Light', dark: 'Dark' }[theme]);
  byId('theme').setAttribute('aria-label', 'Theme: ' + theme);
  emit('draw');
}

function nextTheme() {
  app.options.theme = THEMES[(THEMES.indexOf(app.options.theme) + 1) % THEMES.length];
  remember({ theme: app.options.theme });
  applyTheme();
}

function setPaused(paused) {
  app.paused = paused;
  byId('pause').setAttribute('aria-pressed', String(paused));
  setText(byId('pause'), paused ? 'Go on' : 'Pause');
  if (paused) setStatus('paused', 'paused');
  else { setStatus('wait', 'asking'); emit('now'); }
}

function setStatus(level, text) {
  app.status = { level, text };
  const pill = byId('status');
  setText(pill, text);
  pill.dataset.level = level;
}

// What is wrong and what helps, below the bar.
function showTrouble(failure) {
  const place = byId('trouble');
  app.failure = failure;
  setHidden(place, !failure);
  if (!failure) { place.dataset.kind = ''; return; }
  const { proxy, hostspec } = app.options;
  const texts = {
    unreachable: ['pmproxy does not answer at ' + proxy, 'Is it running (systemctl start pmproxy), and may this machine reach it? Press h for another address.'],
    slow: ['pmproxy at ' + proxy + ' is too slow', 'No answer came in time. The page asks again.'],
    garbage: ['What answers at ' + proxy + ' is no pmproxy', 'pmproxy serves PCP’s REST API, mostly on port 44322. Press h for another address.'],
    refused: ['pmproxy cannot ask ' + hostspec, 'Is pmcd running there? Press h for another host.'],
    lost: ['pmproxy has forgotten this page', 'It connects again.'],
    silent: ['pmdaapm does not answer on ' + (app.client ? app.client.hostname : hostspec), 'pmcd answers, but has no apm metrics: is the PMDA installed (cd $PCP_PMDAS_DIR/apm && ./Install) and running? The page waits for it.'],
  };
  const [title, hint] = texts[failure.kind] || ['Something went wrong in this page', 'It goes on asking.'];
  const key = title + failure.message;
  if (place.dataset.key === key && place.childNodes.length) return;
  place.dataset.key = key;
  place.dataset.kind = failure.kind || 'page';
  fill(place, h('strong', null, title), h('span', null, hint), failure.message && h('code', null, failure.message));
}

function showWhere() {
  const { client, options } = app;
  const name = (client && client.hostname) || options.hostspec;
  if (Archive.data) { fill(byId('where'), h('strong', null, name), h('span', { class: 'via' }, ' ' + Archive.data.archive)); document.title = name + ' · ' + Archive.data.archive + ' · pmdaapm'; return; }
  fill(byId('where'), h('strong', null, name), h('span', { class: 'via' }, ' via ' + options.proxy.replace(/^https?:\/\//, '')));
  document.title = name + ' · pmdaapm';
}

function showChosen() {
  const chip = byId('chosen');
  setHidden(chip, !app.service);
  if (!app.service) return;
  const mark = h('span', { class: 'mark' });
  mark.style.background = serviceColour(app.service);
  fill(chip, mark, h('span', { class: 'name' }, serviceLabel(app.service)),
    h('button', { type: 'button', title: 'All services (Esc)', 'aria-label': 'Show all services again', onclick: () => chooseService(null) }, '✕'));
}

// Escape undoes the nearest thing: a search, the zoom, the choice of a service.
function undoOne() {
  const focused = document.activeElement;
  if (focused && focused.type === 'search' && focused.value) { focused.value = ''; focused.dispatchEvent(new Event('input')); return; }
  if (focused && focused !== document.body && focused.type === 'search') { focused.blur(); return; }
  if (Stacks.search.value) { Stacks.search.value = ''; Stacks.draw(); return; }
  if (Stacks.graph.zoomed()) { Stacks.reset(); return; }
  if (app.service) chooseService(null);
}

function searchField() {
  const distance = (id) => Math.abs(byId(id).getBoundingClientRect().top - innerHeight / 3);
  return byId(['flame-search', 'trace-search', 'record-search'].sort((a, b) => distance(a) - distance(b))[0]);
}

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
  if (event.key === 'Escape') { undoOne(); return; }
  if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
  const actions = {
    '?': helpDialog, t: nextTheme, ...(Archive.data ? { ',': () => Archive.choose(Archive.index - 1), '.': () => Archive.choose(Archive.index + 1) } : { p: () => setPaused(!app.paused), h: () => connectionDialog(reconnect) }), 0: () => Stacks.reset(),
    '/': () => searchField().focus(), '[': () => Services.beside(-1), ']': () => Services.beside(1),
  };
  const section = SECTIONS[Number(event.key) - 1];
  const action = actions[event.key] || (section && (() => goTo(section.id)));
  if (!action) return;
  event.preventDefault();
  action();
}

function goTo(id) {
  const heading = byId(id);
  holdInSight(heading);
  setTimeout(() => { if (held === heading) held = null; }, 10000);
  heading.focus({ preventScroll: true });
}

function buildHeader() {
  if (Archive.data) {
    byId('where').disabled = true;
    byId('where').title = 'This page is of an archive and asks nobody';
    setHidden(byId('pause'), true);
    byId('pace').replaceWith(momentControl());
  }
  byId('where').addEventListener('click', () => connectionDialog(reconnect));
  byId('pause').addEventListener('click', () => setPaused(!app.paused));
  byId('theme').addEventListener('click', nextTheme);
  byId('help').addEventListener('click', helpDialog);
  const every = byId('every') || h('select');
  every.value = String(app.options.every);
  every.addEventListener('change', () => { app.options.every = Number(every.value); remember({ every: app.options.every }); emit('now'); });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', applyTheme);
  document.addEventListener('keydown', pressed);
  fill(byId('nav'), SECTIONS.map((s, i) => h('a', { href: '#' + s.id, 'data-section': s.id, title: i < 9 ? 'Key ' + (i + 1) : null, onclick: (e) => { e.preventDefault(); goTo(s.id); } }, s.title)));
  on('service', showChosen);
  on('connected', showWhere);
  on('draw', showChosen);
}
