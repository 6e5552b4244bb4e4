'use strict';
// Of what a runtime's time, waits, exceptions and collections are: a table each, where the figures of runtimes and services lead.

const Causes = {
  id: 'causes', title: 'Causes',

  build(host) {
    this.tables = new Map();
    on('service', () => this.tick());
    for (const cause of CAUSES) {
      const amount = cause.unit === 'time' ? formatTime : formatWhole, now = cause.unit === 'time' ? (v) => (isNumber(v) ? formatTime(v) + '/s' : NONE) : formatRate;
      const right = (id, title, format, hint) => ({ id, title, hint, align: 'right', optional: true, value: (r) => r[id], text: (r) => format(r[id]) });
      const table = new Table([
        { id: 'what', title: cause.what, value: (r) => r.what, text: (r) => r.what, full: true },
        { id: 'now', title: 'Now', hint: 'Since the last look', align: 'right', value: (r) => r.now, cell: (r, td) => barCell(td, now(r.now), r.now / this.most.get(cause.id)) },
        { id: 'owner', title: 'Of', value: (r) => r.owner || '', cell: (r, td) => this.owner(r, td) },
        { id: 'source', title: 'Kind', value: (r) => r.source, text: (r) => sourceName(r.source) },
        right('total', 'In all', amount, 'As long as the PMDA has counted'),
        ...(cause.each ? [right('count', cause.each, formatRate), right('mean', 'Mean', formatTime, 'Since the last look')] : []),
        ...(cause.id === 'methods' ? [right('errors', 'Errors', formatRate)] : []),
      ], {
        caption: cause.title, sort: ['now', 'down'], limit: 8, onpick: (r) => r.service && chooseService(r.service), picked: (r) => r.service !== null && r.service === app.service,
        empty: () => causeMetrics(cause).some(unsure) ? waitingState() : app.service ? emptyState(keyName(app.service) + ' has none that is counted', 'Press Esc for all services.') : emptyState(...cause.nothing),
      });
      this.tables.set(cause.id, table);
      append(host, [h('div', { class: 'card' }, h('h3', { id: cause.id, tabindex: '-1' }, cause.title), h('p', { class: 'note about' }, cause.about), table.node)]);
    }
  },

  // A service with its colour, or what has none.
  owner(row, td) {
    if (!td.mark) { td.mark = h('span', { class: 'mark' }); td.words = h('span'); append(td, [td.mark, td.words]); }
    td.mark.style.background = row.service ? serviceColour(row.service) : 'transparent';
    const text = row.owner === null ? 'all of them' : row.owner;
    setText(td.words, text);
    td.title = text;
  },

  metrics: () => CAUSES.flatMap(causeMetrics),

  tick() { this.rows = null; },

  count() {
    this.rows = new Map();
    this.most = new Map();
    for (const cause of CAUSES) {
      const rows = causeRows(app.values, cause, app.service);
      this.rows.set(cause.id, rows);
      this.most.set(cause.id, Math.max(...rows.map((r) => r.now || 0), 1e-9));
    }
  },

  draw() {
    if (!this.rows) this.count();
    for (const [id, table] of this.tables) table.update((heard() && this.rows.get(id)) || []);
  },
};
