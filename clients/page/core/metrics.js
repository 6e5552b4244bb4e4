'use strict';
// What is asked for, and what the charts are made of.

const SELF_METRICS = [
  'version', 'uptime', 'fetch.count', 'fetch.time', 'fetch.max', 'fetch.refused', 'ingest.bytes', 'ingest.messages', 'ingest.errors',
  'connection.current', 'connection.refused', 'memory.total', 'memory.total_limit', 'memory.events', 'memory.limit', 'memory.rss',
  'memory.refused', 'memory.texts', 'memory.registry', 'memory.dictionaries', 'memory.definitions', 'memory.input', 'names.rejected',
  'instances.registered', 'instances.rejected', 'panics', 'access.denied', 'access.reason', 'cpu.user', 'cpu.sys', 'pdu.over', 'texts.cut',
].map((name) => 'apm.self.' + name);

const AGENT_METRICS = ['up', 'state', 'since', 'source', 'service', 'peer', 'idle', 'messages', 'bytes.in', 'errors', 'connects', 'lost']
  .map((name) => 'apm.agent.' + name);

// Event streams: kind → what is counted about it. `timed`: it has a table of the slowest. `of`: it has trees of those calls, made while somebody looks.
const STREAMS = [
  { id: 'profiler.call', title: 'Java calls', timed: true },
  { id: 'zorka.span', title: 'Zorka spans', timed: true },
  { id: 'profiler.tree', title: 'Java call trees', timed: true, of: 'profiler.call' },
  { id: 'zorka.tree', title: 'Zorka call trees', timed: true, of: 'zorka.span' },
  { id: 'dotnet.gc', title: '.NET GCs', timed: true },
  { id: 'profiler.pause', title: 'JVM pauses', timed: true },
  { id: 'dotnet.exception', title: '.NET exceptions' },
  { id: 'zorka.exception', title: 'Zorka exceptions' },
  { id: 'dotnet.contention', title: '.NET lock waits', timed: true },
  { id: 'lttng.record', title: 'LTTng events' },
  { id: 'mono.sample', title: 'Mono samples' },
  { id: 'mono.gc', title: 'Mono GC pauses', timed: true },
  { id: 'mono.exception', title: 'Mono exceptions' },
  { id: 'mono.contention', title: 'Mono lock waits', timed: true },
  { id: 'jvm.gc', title: 'JVM GCs', timed: true },
  { id: 'jvm.exception', title: 'JVM exceptions' },
  { id: 'jvm.contention', title: 'JVM lock waits', timed: true },
];
const streamMetric = (id, what) => { const [source, kind] = id.split('.'); return 'apm.' + source + '.event.' + kind + '.' + what; };
const LOSS_METRICS = STREAMS.flatMap(({ id }) => [streamMetric(id, 'count'), streamMetric(id, 'lost')]);

const LTTNG_METRICS = [
  'session.state', 'session.streams', 'session.events', 'session.bytes', 'session.discarded', 'session.packets_lost',
  'session.decode_errors', 'session.reconnects', 'session.latency',
].map((name) => 'apm.lttng.' + name);
const CLASS_METRICS = ['apm.lttng.class.count', 'apm.lttng.class.bytes'];

// Of each JVM; the section of JVMs has a row for each.
const JVM_METRICS = [
  'session.state', 'session.reason', 'process.version', 'process.collector', 'gc.pause.total', 'gc.pause.count', 'gc.last_cause', 'gc.heap.total',
  'gc.heap.max', 'threads.count', 'cpu.time', 'memory.working_set', 'memory.limit',
].map((name) => 'apm.jvm.' + name);

const svc = (source, ...names) => names.map((n) => 'apm.' + source + (source === 'mono' ? '.program.' : '.service.') + n);
const ofSource = (source, ...names) => names.map((n) => 'apm.' + source + '.' + n);

// A line for each service, of apm.service (`of`) or the sum of a gauge of its processes (`gauge`, of apm.runtime); those of pods or processes
// are of apm.runtime (`pods`). `others`: what a source has of services that have nothing there.
const CHARTS = [
  { id: 'calls', title: 'Calls', about: 'Java calls and Zorka spans a second', format: 'rate', kind: 'rate', of: 'calls.count', pods: 'calls.count' },
  { id: 'errors', title: 'Errors', about: 'failed calls and spans a second', format: 'rate', kind: 'rate', of: 'calls.errors', pods: 'calls.errors' },
  { id: 'latency', title: 'Latency', about: 'of the last minute', format: 'ns', kind: 'value', percentile: true, of: 'latency.p99', others: [
    { source: 'profiler', pods: ['apm.profiler.call.latency.p99'] } ] },
  { id: 'pauses', title: 'Pauses', about: 'share of time in pauses for collections', format: 'percent', kind: 'rate', scale: 1e-7, of: 'gc.pause.time', pods: 'gc.pause.time', others: [
    { source: 'mono', of: svc('mono', 'counter.gc.minor_gc_time', 'counter.gc.major_gc_time'), pods: ofSource('mono', 'counter.gc.minor_gc_time', 'counter.gc.major_gc_time') } ] },
  { id: 'gc', title: 'Garbage collections', about: 'a second, all generations', format: 'rate', kind: 'rate', of: 'gc.count', pods: 'gc.count', others: [
    { source: 'mono', of: svc('mono', 'counter.gc.minor_gc_collections', 'counter.gc.major_gc_collections'),
      pods: ofSource('mono', 'counter.gc.minor_gc_collections', 'counter.gc.major_gc_collections') } ] },
  { id: 'stopped', title: 'Stopped', about: 'share of time that JVMs stood still, for whatever reason', format: 'percent', kind: 'rate', scale: 1e-7, others: [
    { source: 'profiler', of: svc('profiler', 'suspend.time'), pods: ofSource('profiler', 'suspend.time') },
    { source: 'jvm', of: svc('jvm', 'safepoint.time'), pods: ofSource('jvm', 'safepoint.time') } ] },
  { id: 'cpu', title: 'CPU', about: 'processors in use; of the Java profiler by its calls', format: 'cores', kind: 'rate', scale: 1e-9, of: 'cpu.time', pods: 'cpu.time', others: [
    { source: 'profiler', of: svc('profiler', 'cpu'), pods: ofSource('profiler', 'call.cpu') } ] },
  { id: 'waiting', title: 'Lock waits', about: 'threads that wait for locks, on average', format: 'cores', kind: 'rate', scale: 1e-9, of: 'lock.time', pods: 'lock.time' },
  { id: 'exceptions', title: 'Exceptions', about: 'thrown a second', format: 'rate', kind: 'rate', of: 'exceptions.count', pods: 'exceptions.count' },
  { id: 'heap', title: 'Memory', about: 'heaps of the runtimes', format: 'bytes', kind: 'value', gauge: 'heap.used', others: [
    { source: 'mono', gauge: 'apm.mono.counter.gc.memgov_alloc' }, { source: 'mono', gauge: 'apm.mono.gc.heap.total' } ] },
  { id: 'allocated', title: 'Allocation', about: 'bytes a second; of the Java profiler by its calls', format: 'byteRate', kind: 'rate', of: 'alloc.bytes', pods: 'alloc.bytes', others: [
    { source: 'profiler', of: svc('profiler', 'memory'), pods: ofSource('profiler', 'call.memory') } ] },
  { id: 'threads', title: 'Threads', about: 'of .NET and some of Mono those of the pool', format: 'count', kind: 'value', gauge: 'threads', others: [
    { source: 'dotnet', gauge: 'apm.dotnet.pool.threads' }, { source: 'mono', gauge: 'apm.mono.pool.threads' } ] },
];
for (const chart of CHARTS) {
  if (chart.of) chart.of = 'apm.service.' + chart.of;
  for (const name of ['pods', 'gauge']) if (chart[name]) chart[name] = 'apm.runtime.' + chart[name];
  chart.others = chart.others || [];
}

const PERCENTILES = ['p50', 'p95', 'p99', 'max'];
const withPercentile = (name, p) => name.replace(/latency\.\w+$/, 'latency.' + p);

const HISTOGRAMS = [
  { id: 'profiler', title: 'Java calls', metric: 'apm.profiler.service.histogram', unit: 1e6 },
  { id: 'zorka', title: 'Zorka spans', metric: 'apm.zorka.service.histogram', unit: 1e3 },
  { id: 'dotnet', title: '.NET GC pauses', metric: 'apm.dotnet.service.gc.pause.histogram', unit: 1e3 },
];

// ns: of what is counted, of processes and not of services.
const PROFILES = [
  { id: 'profiler', title: 'Java', stacks: 'apm.profiler.service.stack.time', methods: 'apm.profiler.service.method.' },
  { id: 'zorka', title: 'Zorka', stacks: 'apm.zorka.service.stack.time', methods: 'apm.zorka.service.method.' },
  { id: 'dotnet', title: '.NET profile', stacks: 'apm.dotnet.service.stack.time', methods: null },
  { id: 'mono', title: 'Mono profile', stacks: 'apm.mono.program.stack.time', methods: null },
  { id: 'jvm', title: 'JVM profile', stacks: 'apm.jvm.profile.stacks', methods: null, ns: SAMPLE },
];

// Names that each tick needs, whatever is on the screen: the charts have no gaps while one reads elsewhere.
function standingMetrics() {
  const charts = CHARTS.flatMap((chart) => [chart.of, chart.gauge, ...chart.others.flatMap((part) => [part.of, part.gauge].flat())]);
  return [...new Set([...SELF_METRICS, ...AGENT_METRICS, ...leafMetrics('service'), ...charts.filter(Boolean), ...LTTNG_METRICS])];
}

// Names of the pods' metrics of a source.
const podMetrics = (source) => CHARTS.flatMap((chart) => [chart.pods, ...chart.others.filter((p) => p.source === source).flatMap((p) => p.pods)]).filter(Boolean);
