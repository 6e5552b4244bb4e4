'use strict';
// A row for each service: how many calls, how they fail, how long they take. A click chooses one.

const Services = {
  id: 'services', title: 'Services',

  build(host) {
    this.past = new Map(); // key → newest rates
    const right = (id, title, value, text, hint) => ({ id, title, hint, align: 'right', value, text });
    this.table = new Table([
      { id: 'name', title: 'Service', value: (r) => r.name, cell: (r, td) => this.name(r, td) },
      { id: 'source', title: 'Kind', value: (r) => r.source, text: (r) => SOURCES[r.source].name },
      right('up', 'Up', (r) => r.up, (r) => formatWhole(r.up), 'Pods, agents or processes that are connected'),
      right('calls', 'Calls', (r) => r.calls, (r) => formatRate(r.calls)),
      { id: 'errors', title: 'Errors', align: 'right', value: (r) => r.errors, cell: (r, td) => this.errors(r, td) },
      right('mean', 'Mean', (r) => r.mean, (r) => formatTime(r.mean), 'Mean duration since the last look'),
      right('p50', 'p50', (r) => r.p50, (r) => formatTime(r.p50), 'Median of the last minute'),
      right('p95', 'p95', (r) => r.p95, (r) => formatTime(r.p95), '95th percentile of the last minute'),
      right('p99', 'p99', (r) => r.p99, (r) => formatTime(r.p99), '99th percentile of the last minute'),
      right('cpu', 'CPU', (r) => r.cpu, (r) => formatCores(r.cpu), 'Cores in use'),
      { id: 'paused', title: 'Paused', align: 'right', hint: 'Share of time that the runtimes stood still', value: (r) => r.paused, cell: (r, td) => this.paused(r, td) },
      right('exceptions', 'Exceptions', (r) => r.exceptions, (r) => formatRate(r.exceptions)),
      { id: 'trend', title: 'Trend', cell: (r, td) => this.trend(r, td) },
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
    setText(td, row.errors > 0 ? formatRate(row.errors) + ' · ' + formatPercent(share) : formatRate(row.errors));
    setClass(td, 'warn', share > 1 && share <= 5);
    setClass(td, 'bad', share > 5);
  },

  paused(row, td) {
    setText(td, formatPercent(row.paused));
    td.title = isNumber(row.pause99) ? 'p99 of its pauses: ' + formatTime(row.pause99) : '';
    setClass(td, 'warn', row.paused > 10 && row.paused <= 20);
    setClass(td, 'bad', row.paused > 20);
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
