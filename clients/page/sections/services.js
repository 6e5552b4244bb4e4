'use strict';
// A row for each service: how many calls, how they fail, how long they take. A click chooses one.

const SERVICE_FIGURES = ['up', 'calls', 'errors', 'mean', 'p50', 'p95', 'p99', 'cpu', 'paused', 'collections', 'pause_p95', 'exceptions', 'waits', 'waiting', 'restarts'];

const Services = {
  id: 'services', title: 'Services',

  build(host) {
    this.past = new Map(); // key → newest rates
    this.table = new Table([
      { id: 'name', title: 'Service', value: (r) => r.name, cell: (r, td) => this.name(r, td) },
      { id: 'source', title: 'Kind', value: (r) => r.source, text: (r) => sourceName(r.source) },
      ...figureColumns('service', SERVICE_FIGURES, CAUSES_OF, { errors: { cell: (r, td) => this.errors(r, td) } }),
      { id: 'trend', title: 'Trend', hint: 'Calls, or collections', cell: (r, td) => this.trend(r, td) },
    ], {
      caption: 'Services', sort: ['calls', 'down'], limit: 20, onpick: (r) => chooseService(r.key), picked: (r) => r.key === app.service,
      empty: () => (this.filter.value && heard() ? emptyState('No service has “' + this.filter.value + '” in its name')
        : unsure('apm.self.uptime') ? waitingState() : emptyState('No services yet', 'Java pods, Zorka agents, .NET and Mono programs become services when they connect.')),
    });
    this.filter = h('input', { type: 'search', placeholder: 'Filter services', 'aria-label': 'Filter services', oninput: () => this.draw() });
    this.note = h('span', { class: 'note' }, 'Choose a row to see only that service everywhere');
    append(host, [h('div', { class: 'tools' }, this.filter, this.note), h('div', { class: 'card' }, this.table.node)]);
  },

  name(row, td) {
    if (!td.mark) { td.mark = h('span', { class: 'mark' }); td.words = h('span'); append(td, [td.mark, td.words]); }
    td.mark.style.background = serviceColour(row.key);
    setText(td.words, row.name);
    td.title = row.name;
  },

  errors(row, td) {
    const share = row.calls > 0 && isNumber(row.errors) ? (100 * row.errors) / row.calls : null;
    leadCell(td, row.errors > 0 ? formatRate(row.errors) + ' · ' + formatPercent(share) : formatRate(row.errors), 'records', row.errors > 0 && row.key);
    setClass(td, 'warn', share > 1 && share <= 5);
    setClass(td, 'bad', share > 5);
  },

  trend(row, td) {
    if (!td.spark) { td.spark = sparkline(110, 22); append(td, [td.spark]); }
    td.spark.style.color = serviceColour(row.key);
    td.spark.draw(this.past.get(row.key) || []);
    td.title = row.source === 'profiler' || row.source === 'zorka' ? 'Calls a second' : 'Garbage collections a second';
  },

  metrics: () => [],

  tick(model) {
    this.rows = model.services;
    shareNames(model.services.map((s) => s.key));
    const seen = new Set();
    for (const row of model.services) {
      seen.add(row.key);
      const line = this.past.get(row.key) || [];
      line.push(row.source === 'profiler' || row.source === 'zorka' ? row.calls : row.collections);
      if (line.length > 60) line.shift();
      this.past.set(row.key, line);
    }
    for (const key of this.past.keys()) if (!seen.has(key)) this.past.delete(key);
  },

  draw() {
    const text = this.filter.value.trim().toLowerCase();
    this.table.update((heard() ? this.rows || [] : []).filter((r) => !text || r.name.toLowerCase().includes(text)));
  },

  // The service before or after the chosen one, in the order of the table.
  beside(step) {
    const keys = [...this.table.rows.keys()];
    if (!keys.length) return;
    const at = keys.indexOf(app.service);
    const next = at < 0 ? (step > 0 ? 0 : keys.length - 1) : at + step;
    if (keys[next] && keys[next] !== app.service) chooseService(keys[next]);
  },
};
