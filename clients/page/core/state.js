'use strict';
// What is chosen, kept over visits where the browser allows it.

const STORE = 'pmdaapm';

const app = {
  client: null,
  values: new Values(),
  options: null,
  service: null,      // key of the chosen service, or null
  trace: null,        // id of the trace that is open, or null
  moment: null,       // s since 1970, of a page with an archive
  paused: false,
  status: { level: 'wait', text: 'connecting' },
  failure: null,
  lines: new Map(),   // chart → its lines, see ChartLines
  listeners: new Map(),
};

function on(event, listener) {
  if (!app.listeners.has(event)) app.listeners.set(event, []);
  app.listeners.get(event).push(listener);
}

function emit(event, argument) {
  for (const listener of app.listeners.get(event) || []) listener(argument);
}

function remembered() {
  try { return JSON.parse(localStorage.getItem(STORE)) || {}; } catch { return {}; }
}

function remember(changes) {
  try { localStorage.setItem(STORE, JSON.stringify({ ...remembered(), ...changes })); } catch { /* no storage for this page */ }
}

// Only http and https; anything else is no pmproxy.
function proxyAddress(text) {
  try {
    const url = new URL(/^[a-z]+:\/\//i.test(text) ? text : 'http://' + text);
    if (url.protocol !== 'http:' && url.protocol !== 'https:') return null;
    return url.origin + url.pathname.replace(/\/+$/, '');
  } catch { return null; }
}

// Address of the page, then what was chosen before, then what the page was made with.
function readOptions() {
  const query = new URLSearchParams(location.search);
  const made = (name) => {
    const meta = document.querySelector('meta[name="apm-' + name + '"]');
    const text = meta ? meta.content : '';
    return text.startsWith('@') ? '' : text;
  };
  const old = remembered();
  const every = Number(query.get('every') || old.every);
  app.options = {
    proxy: proxyAddress(query.get('proxy') || made('proxy') || 'localhost:44322') || 'http://localhost:44322',
    hostspec: (query.get('hostspec') || made('hostspec') || 'local:').slice(0, 255),
    every: [1, 2, 5, 10, 30].includes(every) ? every : 2,
    theme: ['light', 'dark'].includes(query.get('theme')) ? query.get('theme') : old.theme || 'auto',
  };
  app.service = query.get('service') || null;
  app.trace = (query.get('trace') || '').slice(0, 128) || null;
}

// The choices in the address, so that it can be kept and passed on.
function writeAddress() {
  const query = new URLSearchParams(location.search);
  const set = (name, value) => (value ? query.set(name, value) : query.delete(name));
  if (Archive.data) {
    // The nearest second: times are a second apart at least, and rounded down the next look would be at the time before.
    const at = Math.round(app.moment) * 1000;
    set('at', new Date(at - new Date(at).getTimezoneOffset() * 60000).toISOString().slice(0, 19));
  } else { set('proxy', app.options.proxy); set('hostspec', app.options.hostspec); }
  set('service', app.service);
  set('trace', app.trace);
  try { history.replaceState(null, '', '?' + query + location.hash); } catch { /* a browser that forbids it for files */ }
}

function chooseService(key) {
  const next = app.service === key ? null : key;
  if (next === app.service) return;
  app.service = next;
  writeAddress();
  emit('service', next);
  emit('draw');
}

// Names that services of several kinds have: they are shown with their kind.
let sharedNames = new Set();
function shareNames(keys) {
  const seen = new Set();
  sharedNames = new Set();
  for (const key of keys) (seen.has(keyName(key)) ? sharedNames : seen).add(keyName(key));
}
const serviceLabel = (key) => keyName(key) + (sharedNames.has(keyName(key)) && SOURCES[keySource(key)] ? ' · ' + SOURCES[keySource(key)].name : '');

// Colours of services: the first eight have one of the palette, later ones one by their name.
const colourIndex = new Map();
function serviceColour(key) {
  if (!colourIndex.has(key)) colourIndex.set(key, colourIndex.size);
  const index = colourIndex.get(key);
  if (index < 8) return themeColour('--s' + index);
  const dark = document.documentElement.dataset.theme === 'dark';
  return 'hsl(' + (index * 137.5) % 360 + ' 60% ' + (dark ? 65 : 42) + '%)';
}
