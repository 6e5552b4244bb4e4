'use strict';
// What the PMDA itself costs, and what it had to drop.

const COST_CHARTS = [
  { id: 'own-cpu', title: 'CPU of the PMDA', about: 'share of one core', format: 'percent', lines: [['user', 'apm.self.cpu.user'], ['kernel', 'apm.self.cpu.sys']], kind: 'rate', scale: 1e-7 },
  { id: 'own-memory', title: 'Memory of the PMDA', about: '', format: 'bytes', lines: [['resident', 'apm.self.memory.rss'], ['held for peers', 'apm.self.memory.total'], ['event records', 'apm.self.memory.events']], kind: 'value' },
  { id: 'own-ingest', title: 'Data read', about: 'bytes a second from all peers', format: 'byteRate', lines: [['all peers', 'apm.self.ingest.bytes']], kind: 'rate' },
];

// Counters of what was refused or went wrong: each should stay 0.
const FAULTS = [
  ['apm.self.panics', 'Internal errors caught'], ['apm.self.memory.refused', 'Requests for memory refused'],
  ['apm.self.connection.refused', 'Connections refused or displaced'], ['apm.self.ingest.errors', 'Faults in what peers sent'],
  ['apm.self.names.rejected', 'Metrics refused'], ['apm.self.instances.rejected', 'Instances refused'],
  ['apm.self.access.denied', 'Requests refused for want of access'], ['apm.self.fetch.refused', 'Value sets refused for their size'],
  ['apm.self.pdu.over', 'Requests that took more than 250 ms'], ['apm.self.texts.cut', 'Texts that were cut'],
];

const Cost = {
  id: 'cost', title: 'Cost and losses',

  build(host) {
    this.facts = new Map();
    const grid = h('div', { class: 'charts three' });
    this.charts = COST_CHARTS.map((definition) => {
      const chart = new LineChart({ ...definition, height: 130, label: (key) => key, colour: (key) => themeColour('--s' + definition.lines.findIndex(([name]) => name === key)) });
      app.lines.set(definition.id, new ChartLines());
      grid.append(chart.node);
      return [definition, chart];
    });
    const fact = (id, label) => { const value = h('dd'); this.facts.set(id, value); return [h('dt', null, label), value]; };
    const right = (id, title, format) => ({ id, title, align: 'right', value: (r) => r[id], text: (r) => format(r[id]) });
    this.faults = new Table([{ id: 'title', title: 'What went wrong', value: (r) => r.title, text: (r) => r.title }, right('count', 'So far', formatWhole), right('rate', 'Now', formatRate)],
      { caption: 'Faults and refusals', sort: ['count', 'down'], rowClass: (r) => (r.count > 0 ? 'level-idle' : '') });
    this.losses = new Table([{ id: 'title', title: 'Event records', value: (r) => r.title, text: (r) => r.title }, right('count', 'Records', formatWhole), right('rate', 'Now', formatRate),
      right('lost', 'Dropped unread', formatWhole), right('losing', 'Now', formatRate)],
      { caption: 'Event records and losses', sort: ['count', 'down'], rowClass: (r) => (r.losing > 0 ? 'level-bad' : '') });
    append(host, [
      h('dl', { class: 'facts' }, fact('version', 'Version'), fact('uptime', 'Up for'), fact('fetch', 'A fetch takes'), fact('limit', 'Memory limit in use'), fact('instances', 'Instances'), fact('page', 'This page')),
      grid, h('div', { class: 'two' }, h('div', { class: 'card' }, this.losses.node), h('div', { class: 'card' }, this.faults.node)),
    ]);
  },

  metrics: () => LOSS_METRICS,

  tick() {
    const { values } = app;
    for (const [definition] of this.charts) {
      const scale = definition.scale || 1, out = new Map();
      for (const [label, metric] of definition.lines) {
        const v = definition.kind === 'rate' ? values.rate(metric) : values.base(metric, '');
        if (v !== null) out.set(label, v * scale);
      }
      app.lines.get(definition.id).push(values.time, out);
    }
  },

  draw() {
    const { values } = app;
    for (const [definition, chart] of this.charts) {
      const { times, lines } = app.lines.get(definition.id);
      chart.show(times, definition.lines.filter(([label]) => lines.has(label)).map(([label]) => [label, lines.get(label)]));
    }
    const fact = (id, text) => setText(this.facts.get(id), text);
    fact('version', 'pmdaapm ' + String(values.one('apm.self.version') ?? NONE));
    fact('uptime', formatSpan((values.base('apm.self.uptime', '') ?? NaN) / 1e9));
    const count = values.one('apm.self.fetch.count'), time = values.base('apm.self.fetch.time', '');
    fact('fetch', formatTime(values.mean('apm.self.fetch.time', 'apm.self.fetch.count', '') ?? (count > 0 ? time / count : null)));
    const total = values.base('apm.self.memory.total', ''), limit = values.base('apm.self.memory.total_limit', '');
    fact('limit', limit > 0 ? formatPercent((100 * total) / limit) + ' of ' + formatBytes(limit) : NONE);
    fact('instances', formatWhole(values.one('apm.self.instances.registered')));
    fact('page', app.client ? formatWhole(app.client.requests) + ' requests so far' : NONE);
    this.faults.update(FAULTS.filter(([metric]) => values.has(metric)).map(([metric, title]) => ({ key: metric, title, count: values.one(metric), rate: values.rate(metric) })));
    this.losses.update(STREAMS.filter((s) => values.has(streamMetric(s.id, 'count'))).map((s) => {
      const all = (what) => sumKnown([...values.all(streamMetric(s.id, what)).values()]);
      const rate = (what) => sumKnown([...values.all(streamMetric(s.id, what)).keys()].map((i) => values.rate(streamMetric(s.id, what), i)));
      return { key: s.id, title: s.title, count: all('count'), rate: rate('count'), lost: all('lost'), losing: rate('lost') };
    }));
  },
};
