'use strict';
// JVMs by their performance data: each process of the host, also those that cannot be read, with the reason.

const Jvm = {
  id: 'jvm', title: 'JVMs',

  build(host) {
    const right = (id, title, format, hint) => ({ id, title, hint, align: 'right', value: (r) => r[id], text: (r) => format(r[id]) });
    this.table = new Table([
      { id: 'state', title: 'State', hint: 'Why it cannot be read, if so', value: (r) => r.order + r.state, cell: (r, td) => Overview.state(r, td) },
      { id: 'name', title: 'Process', value: (r) => r.key, text: (r) => r.key, full: true },
      { id: 'java', title: 'Java', value: (r) => r.java, text: (r) => r.java || NONE, full: true },
      right('cpu', 'CPU', formatCores, 'Cores in use'),
      { id: 'paused', title: 'Paused', hint: 'Share of time in pauses for collections', align: 'right', value: (r) => r.paused, text: (r) => formatPercent(r.paused) },
      right('collections', 'Pauses', formatRate, 'Pauses for collections'),
      { id: 'cause', title: 'Last cause', value: (r) => r.cause, text: (r) => r.cause || NONE, full: true },
      { id: 'heap', title: 'Heap', hint: 'In use, and its share of the limit', align: 'right', value: (r) => r.heap, cell: (r, td) => barCell(td, formatBytes(r.heap), r.most > 0 ? r.heap / r.most : 0) },
      right('most', 'Limit', formatBytes, 'Limit of the heap (-Xmx)'),
      right('threads', 'Threads', formatWhole, 'Threads of Java'),
      { id: 'resident', title: 'Resident', hint: 'Resident memory, and its share of the container’s limit', align: 'right', value: (r) => r.resident, cell: (r, td) => barCell(td, formatBytes(r.resident), r.limit > 0 ? r.resident / r.limit : 0) },
      { id: 'limit', title: 'Container', hint: 'Memory limit of the container', align: 'right', value: (r) => r.limit, text: (r) => this.container(r) },
    ], {
      caption: 'JVMs', sort: ['paused', 'down'], limit: 12, onpick: (r) => chooseService(r.service), picked: (r) => r.service === app.service,
      rowClass: (r) => 'level-' + r.level,
      empty: () => unsure(JVM_METRICS[0]) ? waitingState() : emptyState('No JVM yet', 'Every HotSpot JVM of the host is there by itself, unless it is started with -XX:-UsePerfData. The guide docs/jvm.md has who cannot be read.', 'pminfo -f apm.jvm.session.reason'),
    });
    append(host, [h('div', { class: 'card' }, this.table.node)]);
  },

  // A limit below that of the heap is told: the container is killed before the heap is full.
  container: (row) => (row.limit > 0 && row.limit < row.most ? formatBytes(row.limit) + ', below the heap’s' : formatBytes(row.limit)),

  metrics: () => JVM_METRICS,

  tick() {
    const { values } = app;
    this.rows = [...values.now('apm.jvm.session.state')].map(([key, state]) => {
      const base = (name) => values.base('apm.jvm.' + name, key);
      const rate = (name, row = key) => values.rate('apm.jvm.' + name, row);
      const text = (name) => String(values.all('apm.jvm.' + name).get(key) ?? '');
      const paused = rate('gc.pause.total'), reason = text('session.reason');
      const [words, level, order] = jvmState(state, reason);
      return {
        key, state: words, level, order, service: serviceKey('jvm', serviceOfInstance('jvm', key)),
        java: [text('process.version'), text('process.collector')].filter(Boolean).join(' '), cause: text('gc.last_cause'),
        cpu: rateToCores(sumKnown([rate('cpu.time', key + '::user'), rate('cpu.time', key + '::system')])),
        paused: paused === null ? null : Math.min(paused / 1e7, 100), collections: rate('gc.pause.count'),
        heap: base('gc.heap.total'), most: base('gc.heap.max'), threads: base('threads.count'),
        resident: base('memory.working_set'), limit: base('memory.limit'),
      };
    }).filter((row) => !app.service || row.service === app.service);
  },

  draw() { this.table.update(heard() ? this.rows || [] : []); },
};

// In words, level, and order in the table: trouble first. 0 is starting, 3 is read, 6 has ended.
function jvmState(state, reason) {
  if (state === 3) return [reason || 'read', reason ? 'idle' : 'good', 1];
  if (state === 6) return [reason || 'ended', 'gone', 2];
  return [reason || 'not read', state === 0 ? 'idle' : 'bad', 0];
}
