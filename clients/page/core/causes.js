'use strict';
// What time, waits, exceptions and collections are of: methods, locks, types, generations, whoever brings them.

const SAMPLE = 20e6; // ns that a sample of a recording of a JVM counts as: those between two

// parts: `time` and `count` are counters, whose instances are OWNER::WHAT; `by`: what OWNER is, a service, a process, or nobody (what all of a source
// have together); `ns`: of what `time` counts, if it is no time. `rest`: runtimes that none of the parts has anything of have a row for all they did.
const CAUSES = [
  { id: 'methods', title: 'Methods', what: 'Method', unit: 'time', each: 'Calls', parts: [
    { source: 'profiler', by: 'service', time: 'apm.profiler.service.method.time', count: 'apm.profiler.service.method.count', errors: 'apm.profiler.service.method.errors' },
    { source: 'zorka', by: 'service', time: 'apm.zorka.service.method.self_time', count: 'apm.zorka.service.method.count', errors: 'apm.zorka.service.method.errors' },
    { source: 'dotnet', by: 'process', time: 'apm.dotnet.profile.methods.self' },
    { source: 'mono', by: 'nobody', time: 'apm.mono.profile.methods.self' },
    { source: 'jvm', by: 'process', time: 'apm.jvm.profile.methods.self', ns: SAMPLE } ],
  about: 'Java by the calls of root methods, Zorka by time in the method itself, .NET and Mono by the processor time of their profiles, JVMs by samples of their recordings, each as 20 ms',
  nothing: ['No method has been counted yet', 'Java and Zorka count those of their calls. Of .NET and JVMs a profile is taken on request, of Mono where the log profiler samples:', 'pmstore -i webshop:4711 apm.dotnet.profile.run 5'] },
  { id: 'locks', title: 'Lock waits', what: 'Lock, or method that waits', unit: 'time', each: 'Waits', parts: [
    { source: 'dotnet', by: 'process', time: 'apm.dotnet.lock.top.time', count: 'apm.dotnet.lock.top.count' },
    { source: 'mono', by: 'process', time: 'apm.mono.lock.top.time', count: 'apm.mono.lock.top.count' } ],
  rest: { time: 'apm.runtime.lock.time', count: 'apm.runtime.lock.count', what: 'all locks' },
  about: '.NET by lock, Mono by the method that waits, all others together',
  nothing: ['No wait for a lock has been counted yet', 'Of Mono its log profiler has the methods that wait:', 'mono-log app.exe'] },
  { id: 'exceptions', title: 'Exceptions', what: 'Exception, or method that throws', unit: 'count', parts: [
    { source: 'dotnet', by: 'process', count: 'apm.dotnet.exceptions.by_type' },
    { source: 'zorka', by: 'nobody', count: 'apm.zorka.exception.class.count' },
    { source: 'mono', by: 'process', count: 'apm.mono.exceptions.by_site' },
    { source: 'mono', by: 'process', count: 'apm.mono.exceptions.by_type' } ],
  rest: { count: 'apm.runtime.exceptions.count', what: 'all exceptions' },
  about: '.NET by type, Zorka by class, Mono by the method that throws and by class, all others together',
  nothing: ['No exception has been counted yet', 'Of Mono its log profiler has the methods that throw:', 'mono-log --with exception app.exe'] },
  { id: 'collections', title: 'Collections', what: 'Generation or collector', unit: 'time', each: 'Collections', parts: [
    { source: 'dotnet', by: 'process', time: 'apm.dotnet.gc.time', count: 'apm.dotnet.gc.count' },
    { source: 'mono', by: 'process', time: 'apm.mono.gc.time', count: 'apm.mono.gc.count' },
    { source: 'jvm', by: 'process', time: 'apm.jvm.gc.time', count: 'apm.jvm.gc.count' } ],
  rest: { time: 'apm.runtime.gc.pause.time', count: 'apm.runtime.gc.count', what: 'all collections' },
  about: '.NET and Mono by generation, JVMs by collector, all others together; an older generation’s collections are of the younger ones too',
  nothing: ['No collection has been counted yet', 'Runtimes are seen as soon as they collect.'] },
];

const causeMetrics = (cause) => [...cause.parts, cause.rest || {}].flatMap((part) => [part.time, part.count, part.errors]).filter(Boolean);

function causeRows(values, cause, service) {
  const rows = [], named = new Set();
  const row = (part, instance, source, owner, what, key) => {
    if (service && service !== key && !(part.by === 'nobody' && keySource(service) === source)) return;
    const rate = (metric) => (metric ? values.rate(metric, instance) : null), all = (metric) => (metric ? values.base(metric, instance) : null);
    const spent = (v) => (v === null ? null : v * (part.ns || 1));
    const time = spent(rate(part.time)), count = rate(part.count), of = cause.unit === 'time' ? [time, spent(all(part.time))] : [count, all(part.count)];
    if (!(of[1] > 0) && !(all(part.count) > 0)) return;
    rows.push({
      key: [source, part.time || part.count, instance].join('\n'), source, service: key, owner, what, now: of[0], total: of[1], count, counted: all(part.count),
      errors: rate(part.errors), mean: time !== null && count > 0 ? time / count : null,
    });
  };
  for (const part of cause.parts) {
    for (const instance of values.now(part.time || part.count).keys()) {
      const [owner, what] = part.by === 'nobody' ? [null, instance] : splitRow(instance);
      // `other` is of what has no row.
      const name = owner === null ? null : part.by === 'process' ? serviceOfInstance(part.source, owner) : owner;
      if (part.by === 'process') named.add(part.source + '::' + owner);
      if (part.by === 'nobody') named.add(part.source);
      row(part, instance, part.source, owner, what, name === null ? null : serviceKey(part.source, name));
    }
  }
  if (cause.rest) {
    const agents = new Set([cause.rest.time, cause.rest.count].filter(Boolean).flatMap((metric) => [...values.now(metric).keys()]));
    for (const agent of agents) {
      const [source, owner] = splitRow(agent);
      if (source === null || named.has(agent) || named.has(source)) continue;
      row({ ...cause.rest, by: 'process' }, agent, source, owner, cause.rest.what, serviceKey(source, serviceOfInstance(source, owner)));
    }
  }
  // Equal ones in the order of all they had.
  return rows.sort((a, b) => b.total - a.total);
}
