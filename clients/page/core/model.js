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

const serviceKey = (source, name) => source + '|' + name;
const keySource = (key) => key.slice(0, key.indexOf('|'));
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

const SERVICE_METRICS = {
  profiler: {
    up: 'pods', count: 'count', errors: 'errors', time: 'time', cpu: 'cpu', paused: ['suspend.time'],
    collections: ['gc.count'], p50: 'latency.p50', p95: 'latency.p95', p99: 'latency.p99', max: 'latency.max', allocated: 'memory',
  },
  zorka: {
    up: 'agents', count: 'count', errors: 'errors', time: 'time', exceptions: 'exceptions',
    p50: 'latency.p50', p95: 'latency.p95', p99: 'latency.p99', max: 'latency.max',
  },
  dotnet: {
    up: 'processes', cpu: 'cpu.time', paused: ['gc.pause.total'], collections: ['gc.count'], exceptions: 'exceptions.count',
    pause99: 'gc.pause.p99', contention: 'lock.contention.count', allocated: 'alloc.bytes',
  },
  mono: {
    up: 'processes', cpu: ['counter.system.user_time', 'counter.system.system_time'],
    paused: ['gc.pause.total'], collections: ['gc.count'],
    // Of programs that only the module shows.
    pausedToo: ['counter.gc.minor_gc_time', 'counter.gc.major_gc_time'],
    collectionsToo: ['counter.gc.minor_gc_collections', 'counter.gc.major_gc_collections'],
    exceptions: 'exceptions.count', contention: 'lock.contention.count', allocated: null,
  },
  jvm: {
    up: 'processes', cpu: 'cpu.time', paused: ['gc.pause.total'], collections: ['gc.count'], contention: 'lock.contention.count',
  },
};

const servicePrefix = (source) => (source === 'mono' ? 'apm.mono.program.' : 'apm.' + source + '.service.');

// All names that rows of services are made of.
function serviceMetricNames() {
  const names = [];
  for (const [source, table] of Object.entries(SERVICE_METRICS)) {
    for (const suffix of Object.values(table).flat()) if (suffix) names.push(servicePrefix(source) + suffix);
  }
  return names;
}

function serviceRows(values) {
  const rows = [];
  for (const [source, table] of Object.entries(SERVICE_METRICS)) {
    const prefix = servicePrefix(source);
    const full = (field) => [table[field]].flat().filter(Boolean).map((s) => prefix + s);
    const names = new Set();
    for (const field of ['up', 'count', 'collections']) {
      for (const name of full(field)) for (const instance of values.now(name).keys()) names.add(instance);
    }
    for (const name of names) {
      const rate = (field) => sumKnown(full(field).map((m) => values.rate(m, name)));
      const value = (field) => (table[field] ? values.base(prefix + table[field], name) : null);
      const calls = rate('count'), time = rate('time'), paused = rate('paused') ?? rate('pausedToo');
      rows.push({
        key: serviceKey(source, name), source, name, up: value('up'),
        calls, errors: rate('errors'), mean: calls > 0 && time !== null ? time / calls : null,
        p50: value('p50'), p95: value('p95'), p99: value('p99'), max: value('max'),
        cpu: rateToCores(rate('cpu')), paused: paused === null ? null : Math.min(paused / 1e7, 100),
        collections: rate('collections') ?? rate('collectionsToo'), exceptions: rate('exceptions'), pause99: value('pause99'),
        allocated: rate('allocated'), contention: rate('contention'),
      });
    }
  }
  return rows;
}

const rateToCores = (ns) => (ns === null ? null : ns / 1e9);

// Rows of apm.agent: one for each runtime or session.
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
      errors: Number(text('errors')) || 0, connects: Number(text('connects')) || 0, lost: Number(text('lost')) || 0,
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
