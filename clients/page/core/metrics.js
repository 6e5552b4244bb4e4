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

// Event streams: kind → what is counted about it. `timed`: it has a table of the slowest.
const STREAMS = [
  { id: 'profiler.call', title: 'Java calls', timed: true },
  { id: 'zorka.span', title: 'Zorka spans', timed: true },
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

const svc = (source, ...names) => names.map((n) => servicePrefix(source) + n);

// A part of a chart: metrics whose sum is a line for each service (`of`), those of the service's pods or
// processes (`pods`), or a gauge of processes that is added up to services (`gauge`). Services without any of `of` have `otherwise`.
const CHARTS = [
  { id: 'calls', title: 'Calls', about: 'Java calls and Zorka spans a second', format: 'rate', kind: 'rate', parts: [
    { source: 'profiler', of: svc('profiler', 'count'), pods: ['apm.profiler.call.count'] },
    { source: 'zorka', of: svc('zorka', 'count'), pods: ['apm.zorka.span.count'] } ] },
  { id: 'errors', title: 'Errors', about: 'failed calls and spans a second', format: 'rate', kind: 'rate', parts: [
    { source: 'profiler', of: svc('profiler', 'errors'), pods: ['apm.profiler.call.errors'] },
    { source: 'zorka', of: svc('zorka', 'errors'), pods: ['apm.zorka.span.errors'] } ] },
  { id: 'latency', title: 'Latency', about: 'of the last minute', format: 'ns', kind: 'value', percentile: true, parts: [
    { source: 'profiler', of: svc('profiler', 'latency.p99'), pods: ['apm.profiler.call.latency.p99'] },
    { source: 'zorka', of: svc('zorka', 'latency.p99') } ] },
  { id: 'pauses', title: 'Pauses', about: 'share of time in which the runtimes stood still', format: 'percent', kind: 'rate', scale: 1e-7, parts: [
    { source: 'profiler', of: svc('profiler', 'suspend.time'), pods: ['apm.profiler.suspend.time'] },
    { source: 'dotnet', of: svc('dotnet', 'gc.pause.total'), pods: ['apm.dotnet.gc.pause.total'] },
    { source: 'jvm', of: svc('jvm', 'gc.pause.total'), pods: ['apm.jvm.gc.pause.total'] },
    { source: 'mono', of: svc('mono', 'gc.pause.total'), otherwise: svc('mono', 'counter.gc.minor_gc_time', 'counter.gc.major_gc_time'),
      pods: ['apm.mono.counter.gc.minor_gc_time', 'apm.mono.counter.gc.major_gc_time'] } ] },
  { id: 'gc', title: 'Garbage collections', about: 'a second, all generations', format: 'rate', kind: 'rate', parts: [
    { source: 'profiler', of: svc('profiler', 'gc.count'), pods: ['apm.profiler.gc.count'] },
    { source: 'dotnet', of: svc('dotnet', 'gc.count'), pods: ['apm.dotnet.gc.pause.count'] },
    { source: 'jvm', of: svc('jvm', 'gc.count'), pods: ['apm.jvm.gc.pause.count'] },
    { source: 'mono', of: svc('mono', 'gc.count'), otherwise: svc('mono', 'counter.gc.minor_gc_collections', 'counter.gc.major_gc_collections'),
      pods: ['apm.mono.counter.gc.minor_gc_collections', 'apm.mono.counter.gc.major_gc_collections'] } ] },
  { id: 'cpu', title: 'CPU', about: 'cores in use', format: 'cores', kind: 'rate', scale: 1e-9, parts: [
    { source: 'profiler', of: svc('profiler', 'cpu'), pods: ['apm.profiler.call.cpu'] },
    { source: 'dotnet', of: svc('dotnet', 'cpu.time') },
    { source: 'jvm', of: svc('jvm', 'cpu.time') },
    { source: 'mono', of: svc('mono', 'counter.system.user_time', 'counter.system.system_time'),
      pods: ['apm.mono.counter.system.user_time', 'apm.mono.counter.system.system_time'] } ] },
  { id: 'allocated', title: 'Allocation', about: 'bytes a second', format: 'byteRate', kind: 'rate', parts: [
    { source: 'profiler', of: svc('profiler', 'memory'), pods: ['apm.profiler.call.memory'] },
    { source: 'dotnet', of: svc('dotnet', 'alloc.bytes'), pods: ['apm.dotnet.alloc.bytes'] } ] },
  { id: 'heap', title: 'Memory', about: 'heaps of the runtimes', format: 'bytes', kind: 'value', parts: [
    { source: 'dotnet', gauge: 'apm.dotnet.gc.heap.total' },
    { source: 'jvm', gauge: 'apm.jvm.gc.heap.total' },
    { source: 'mono', gauge: 'apm.mono.counter.gc.memgov_alloc' } ] },
  { id: 'exceptions', title: 'Exceptions', about: 'thrown a second', format: 'rate', kind: 'rate', parts: [
    { source: 'zorka', of: svc('zorka', 'exceptions'), pods: ['apm.zorka.exception.count'] },
    { source: 'dotnet', of: svc('dotnet', 'exceptions.count'), pods: ['apm.dotnet.exceptions.count'] },
    { source: 'mono', of: svc('mono', 'exceptions.count'), pods: ['apm.mono.exceptions.count'] } ] },
  { id: 'threads', title: 'Threads', about: 'of the thread pools; of JVMs all', format: 'count', kind: 'value', parts: [
    { source: 'dotnet', gauge: 'apm.dotnet.pool.threads' },
    { source: 'jvm', gauge: 'apm.jvm.threads.count' },
    { source: 'mono', gauge: 'apm.mono.pool.threads' } ] },
];

const PERCENTILES = ['p50', 'p95', 'p99', 'max'];
const withPercentile = (name, p) => name.replace(/latency\.\w+$/, 'latency.' + p);

const HISTOGRAMS = [
  { id: 'profiler', title: 'Java calls', metric: 'apm.profiler.service.histogram', unit: 1e6 },
  { id: 'zorka', title: 'Zorka spans', metric: 'apm.zorka.service.histogram', unit: 1e3 },
  { id: 'dotnet', title: '.NET GC pauses', metric: 'apm.dotnet.service.gc.pause.histogram', unit: 1e3 },
];

const PROFILES = [
  { id: 'profiler', title: 'Java', stacks: 'apm.profiler.service.stack.time', methods: 'apm.profiler.service.method.' },
  { id: 'zorka', title: 'Zorka', stacks: 'apm.zorka.service.stack.time', methods: 'apm.zorka.service.method.' },
  { id: 'dotnet', title: '.NET profile', stacks: 'apm.dotnet.service.stack.time', methods: null },
  { id: 'mono', title: 'Mono profile', stacks: 'apm.mono.program.stack.time', methods: null },
];

// Names that each tick needs, whatever is on the screen: the charts have no gaps while one reads elsewhere.
function standingMetrics() {
  const charts = CHARTS.flatMap((chart) => chart.parts.flatMap((part) => [part.of, part.otherwise, part.gauge].flat()));
  return [...new Set([...SELF_METRICS, ...AGENT_METRICS, ...serviceMetricNames(), ...charts.filter(Boolean), ...LTTNG_METRICS])];
}

// Names of the pods' metrics of a source.
const podMetrics = (source) => CHARTS.flatMap((chart) => chart.parts.filter((p) => p.source === source).flatMap((p) => p.pods || []));
