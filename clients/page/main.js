'use strict';
// The loop: one fetch a tick, for what the charts need always and what the sections on the screen need.

const SECTIONS = [Overview, Alerts, Services, Causes, Charts, Durations, Stacks, Traces, Records, Jvm, Lttng, Cost];
const visibleSections = new Set();
const LOOP = { hidden: 15000, slowest: 15000, rescan: 30000 };

let timer = null, running = false, turn = 0, began = 0, failures = 0, rescanned = 0, agentsSeen = '';

function buildSections() {
  const main = byId('main');
  const watch = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting) visibleSections.add(entry.target.id);
      else visibleSections.delete(entry.target.id);
    }
    markSection();
    if (entries.some((e) => e.isIntersecting)) emit('draw');
  }, { rootMargin: '300px 0px' });
  for (const section of SECTIONS) {
    const body = h('div', { class: 'body' });
    const node = h('section', { id: section.id, tabindex: '-1', 'aria-labelledby': section.id + '-title' }, h('h2', { id: section.id + '-title' }, section.title), body);
    section.build(body);
    main.append(node);
    watch.observe(node);
  }
}

function markSection() {
  const top = SECTIONS.map((s) => [s.id, byId(s.id).getBoundingClientRect()]).filter(([, box]) => box.bottom > 160)[0];
  for (const link of byId('nav').children) {
    if (top && link.dataset.section === top[0]) link.setAttribute('aria-current', 'true');
    else link.removeAttribute('aria-current');
  }
}

function wantedMetrics() {
  const names = new Set(standingMetrics());
  for (const section of SECTIONS) {
    // Charts and rules go on while one reads elsewhere; the heat map too where services are few.
    const always = section === Charts || section === Alerts || (section === Durations && (Services.rows || []).length <= 40) || (section === Traces && Traces.shown);
    if (always || visibleSections.has(section.id)) for (const name of section.metrics()) names.add(name);
  }
  return [...names];
}

async function tick() {
  const { client } = app;
  if (client.context === null) {
    setStatus('wait', 'connecting');
    await client.connect();
    if (client !== app.client) return;
    emit('connected');
    History.probe();
  }
  const names = wantedMetrics();
  const unknown = names.filter((name) => !client.metrics.has(name) && !client.missing.has(name));
  // Names of sources that had no runtime before may have come since.
  const again = Date.now() - rescanned > LOOP.rescan ? names.filter((name) => client.missing.has(name)) : [];
  if (unknown.length || again.length) {
    await client.describe([...unknown, ...again]);
    rescanned = Date.now();
  }
  if (!client.metrics.has('apm.self.uptime')) {
    rescanned = 0;
    throw new Failure('silent', '');
  }
  const { time, values } = await client.fetch(names);
  if (client !== app.client) return;
  if (!values.has('apm.self.uptime') || !values.get('apm.self.uptime').size) {
    rescanned = 0;
    throw new Failure('silent', '');
  }
  if (app.values.take(time, values, client.metrics)) emit('restart');
  const agents = [...app.values.now('apm.agent.up').keys()].join();
  if (agents !== agentsSeen) { agentsSeen = agents; rescanned = Math.min(rescanned, Date.now() - LOOP.rescan + 2000); }
  const model = { services: serviceRows(app.values), agents: agentRows(app.values) };
  for (const section of SECTIONS) guarded(() => section.tick(model));
}

// A fault in one section leaves the others as they are.
function guarded(work) {
  try { work(); } catch (error) { console.error(error); }
}

function draw() {
  for (const section of SECTIONS) if (visibleSections.has(section.id)) guarded(() => section.draw());
}

async function loop() {
  if (running) return;
  running = true;
  began = performance.now();
  clearTimeout(timer);
  const { client } = app, own = ++turn;
  try {
    if (!app.paused) {
      await tick();
      failures = 0;
      if (client === app.client && !app.paused) {
        showTrouble(null);
        setStatus('live', 'live');
        draw();
      }
    }
  } catch (error) {
    if (client === app.client) failed(error);
  } finally {
    // Another host was chosen meanwhile: its own loop runs already.
    if (own === turn) { running = false; schedule(); }
  }
}

function failed(error) {
  failures++;
  // A context that pmproxy has forgotten is replaced at once; only a repeated loss is worth words.
  const lost = error.kind === 'lost';
  if (error.kind !== 'silent') app.client.context = null;
  for (const lines of app.lines.values()) lines.gap();
  if (lost && failures === 1) return;
  if (!(error instanceof Failure)) console.error(error);
  showTrouble(error);
  setStatus('bad', error.kind === 'silent' ? 'PMDA is away' : 'no connection');
}

// The next tick is as long after the begin of the last one, so that rates are over equal times; slower while it fails or nobody looks.
function schedule() {
  clearTimeout(timer);
  const every = app.options.every * 1000;
  let wait = Math.max(every / 2, every - (performance.now() - began));
  if (failures > 0) wait = failures === 1 ? 500 : Math.min(1000 * 2 ** Math.min(failures - 1, 4), LOOP.slowest);
  else if (document.hidden) wait = Math.max(wait, LOOP.hidden);
  timer = setTimeout(loop, wait);
}

function reconnect(proxy, hostspec) {
  Object.assign(app.options, { proxy, hostspec });
  app.service = null;
  startClient();
  writeAddress();
  failures = 0;
  emit('service', null);
  emit('draw');
  emit('now');
}

function startClient() {
  app.client = new Client(app.options.proxy, app.options.hostspec);
  app.values.reset();
  for (const [id] of app.lines) app.lines.set(id, new ChartLines());
  rescanned = 0;
  running = false;
  turn++;
  showWhere();
}

// What was gone to stays in sight while the sections above it get their content, until somebody moves.
let held = null;
const hold = new ResizeObserver(() => held && held.scrollIntoView());
for (const event of ['wheel', 'touchstart', 'pointerdown', 'keydown']) addEventListener(event, () => { held = null; }, { passive: true, capture: true });

function holdInSight(node) {
  held = node;
  node.scrollIntoView();
}

function start() {
  readOptions();
  Archive.read();
  buildHeader();
  buildSections();
  hold.observe(byId('main'));
  if (location.hash && byId(location.hash.slice(1))) holdInSight(byId(location.hash.slice(1)));
  if (Archive.data) Archive.start();
  else startClient();
  applyTheme();
  showChosen();
  on('draw', draw);
  on('now', () => {
    clearTimeout(timer);
    if (!Archive.data) timer = setTimeout(loop, 0);
  });
  on('service', () => emit('now'));
  document.addEventListener('visibilitychange', () => { if (!document.hidden) emit('now'); });
  addEventListener('scroll', markSection, { passive: true });
  fill(byId('foot'), 'pmdaapm · ', h('a', { href: 'https://pcp.io', rel: 'noreferrer' }, 'Performance Co-Pilot'), ' · charts by uPlot (MIT) · nothing is loaded from elsewhere');
  if (Archive.data) { showWhere(); setStatus('paused', 'archive'); if (app.trace) Traces.show(app.trace); return; }
  setStatus('wait', 'connecting');
  loop();
}

start();
