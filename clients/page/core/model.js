'use strict';
// Which service an instance belongs to, and the rows of services and runtimes.

const SOURCES = {
  profiler: { name: 'Java', what: 'Java profiler', noun: 'pods' },
  zorka: { name: 'Zorka', what: 'Zorka agent', noun: 'agents' },
  dotnet: { name: '.NET', what: '.NET runtime', noun: 'processes' },
  mono: { name: 'Mono', what: 'Mono runtime', noun: 'processes' },
  jvm: { name: 'JVM', what: 'HotSpot JVM', noun: 'processes' },
  lttng: { name: 'LTTng', what: 'LTTng session', noun: 'sessions' },
};

// Also of one that the page does not know.
const sourceName = (source) => (Object.hasOwn(SOURCES, source) ? SOURCES[source].name : source);
const serviceKey = (source, name) => source + '|' + name;
const keySource = (key) => key.slice(0, key.indexOf('|'));
const rateToCores = (ns) => (ns === null ? null : ns / 1e9);
const keyName = (key) => key.slice(key.indexOf('|') + 1);

// The service of an agent or process: what the PMDA says, else by the form of its name; null if it has none.
function serviceOfInstance(source, instance) {
  const told = app.values.all('apm.agent.service').get(source + '::' + instance);
  if (typeof told === 'string' && told) return splitRow(told)[1];
  if (source === 'profiler') return instance.split('/').slice(0, 2).join('/');
  if (source === 'dotnet' || source === 'mono' || source === 'jvm') return instance.replace(/:\d+(@.*)?$/, '');
  return source === 'zorka' ? instance.replace(/\/[^/]*$/, '') : null;
}

// `service::rest` in its two halves; services have no `::` of their own.
function splitRow(name) {
  const at = name.indexOf('::');
  return at < 0 ? [null, name] : [name.slice(0, at), name.slice(at + 2)];
}

// The key of the service of a row of apm.runtime or apm.agent.
function runtimeKey(agent) {
  const [source, instance] = splitRow(agent);
  return serviceKey(source, serviceOfInstance(source, instance));
}

const SERVICES_THERE = ['instances', 'gc.count', 'calls.count'].map((leaf) => 'apm.service.' + leaf);
let serviceKeys = new Map(); // instance of apm.service → key

// The key of an instance of apm.service: by its name if two sources have one, by its label, or by the agents; null if nobody knows.
function serviceKeyOf(instance) {
  const [prefix, rest] = splitRow(instance);
  if (prefix !== null && Object.hasOwn(SOURCES, prefix)) return serviceKey(prefix, rest);
  if (serviceKeys.has(instance)) return serviceKeys.get(instance);
  const source = app.client && app.client.sourceOf(SERVICES_THERE[0], instance);
  return source && Object.hasOwn(SOURCES, source) ? serviceKey(source, instance) : null;
}

// A row for each service, with all figures of COLUMNS.
function serviceRows(values) {
  serviceKeys = new Map();
  const names = new Set(SERVICES_THERE.flatMap((metric) => [...values.now(metric).keys()])), told = new Map();
  for (const text of values.all('apm.agent.service').values()) {
    const [source, name] = splitRow(String(text));
    if (source !== null && Object.hasOwn(SOURCES, source)) told.set(name, serviceKey(source, name));
  }
  const rows = [];
  for (const instance of names) {
    const key = serviceKeyOf(instance) ?? told.get(instance);
    if (!key) continue;
    serviceKeys.set(instance, key);
    rows.push({ key, source: keySource(key), name: keyName(key), ...figures(values, 'service', instance) });
  }
  return rows;
}

// Rows of apm.agent, with the figures of apm.runtime: one for each runtime or session.
function agentRows(values) {
  const rows = [];
  for (const [name, up] of values.now('apm.agent.up')) {
    const [prefix, instance] = splitRow(name);
    const source = String(values.all('apm.agent.source').get(name) || prefix || '');
    const service = serviceOfInstance(source, instance);
    const text = (metric) => values.all('apm.agent.' + metric).get(name);
    rows.push({
      key: name, source, name: instance, service: service === null ? null : serviceKey(source, service),
      up: up === 1, state: agentState(up, text('state'), values.base('apm.agent.idle', name)),
      since: String(text('since') ?? ''), peer: String(text('peer') ?? ''),
      messages: values.rate('apm.agent.messages', name), bytes: values.rate('apm.agent.bytes.in', name),
      faults: Number(text('errors')) || 0, connects: Number(text('connects')) || 0, lost: Number(text('lost')) || 0,
      ...figures(values, 'runtime', name),
    });
  }
  return rows;
}

// The state in words; a PMDA without apm.agent.state has only up and idle.
function agentState(up, state, idle) {
  if (typeof state === 'string' && state) return state;
  if (up !== 1) return 'gone';
  return isNumber(idle) && idle > 30e9 ? 'silent for ' + formatTime(idle) : 'sending';
}

// good, idle, bad or gone: how a state is coloured.
function stateLevel(row) {
  if (/^(gone|ended|finished)/.test(row.state)) return /reset|without|error|lost|kill|timed? ?out|refused/.test(row.state) ? 'bad' : 'gone';
  if (/^not /.test(row.state)) return 'bad';
  if (!row.up) return 'gone';
  if (/^(sending|reading)$/.test(row.state)) return 'good';
  return 'idle';
}
