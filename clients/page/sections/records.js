'use strict';
// Single calls, spans, collections and exceptions: the newest, or the slowest of the last minutes.
const RECORD_LIMITS = { instances: 12, rows: 300 };

const Records = {
  id: 'records', title: 'Records',

  build(host) {
    this.stream = 'profiler.call';
    this.tables = new RecordTables();
    this.order = 'table';
    this.kinds = choice('Records', STREAMS.map((s) => [s.id, s.title]), this.stream, (id) => { this.stream = id; this.picked = true; this.again(); });
    this.orders = choice('Order', [['table', 'Newest'], ['slowest', 'Slowest']], this.order, (order) => { this.order = order; this.again(); });
    this.search = h('input', { type: 'search', placeholder: 'Search records', 'aria-label': 'Search records', id: 'record-search', oninput: () => this.draw() });
    this.note = h('span', { class: 'note', role: 'status' });
    this.place = h('div', { class: 'card' });
    // Where durations and rules lead.
    this.trees = h('span', { id: 'trees', class: 'away', tabindex: '-1', onfocus: () => this.chooseTrees() }, 'Trees of the slowest calls');
    append(host, [h('div', { class: 'tools' }, this.trees, this.kinds), h('div', { class: 'tools' }, this.orders, this.search, this.note), this.place]);
    on('service', (key) => {
      const fit = STREAMS.find((s) => key && s.id.startsWith(keySource(key) + '.'));
      if (fit && !this.stream.startsWith(keySource(key) + '.')) { this.stream = fit.id; this.kinds.set(fit.id); }
      this.again();
    });
    on('connected', () => { this.tables.forget(); this.again(); });
    if (location.hash === '#trees') this.chooseTrees();
  },

  metrics: () => LOSS_METRICS,

  chooseTrees() {
    const there = (s) => [...app.values.all(streamMetric(s.of, 'count')).values()].some((n) => n > 0);
    const trees = STREAMS.filter((s) => s.of), fit = trees.find((s) => app.service && s.id.startsWith(keySource(app.service) + '.')) || trees.find(there) || trees[0];
    Object.assign(this, { stream: fit.id, picked: true, order: 'slowest' });
    this.kinds.set(fit.id);
    this.orders.set('slowest');
    this.again();
  },

  again() { this.data = null; this.table = null; this.error = null; this.draw(); this.load(); },

  tick() {
    if (!this.picked && !app.service && !app.values.has(streamMetric(this.stream, 'count'))) {
      const other = STREAMS.find((s) => [...app.values.all(streamMetric(s.id, 'count')).values()].some((n) => n > 0));
      if (other && other.id !== this.stream) { this.stream = other.id; this.kinds.set(other.id); this.data = null; this.table = null; }
    }
    this.load();
  },

  async load() {
    const def = STREAMS.find((s) => s.id === this.stream);
    this.orders.enable('slowest', Boolean(def.timed), def.timed ? '' : 'These records have no duration');
    const order = def.timed ? this.order : 'table';
    if (this.busy || Archive.data || !app.client || app.client.context === null || !visibleSections.has(this.id) || (app.paused && this.data)) return;
    const turn = this.stream + order + app.service, main = app.client;
    this.busy = true;
    try {
      const metric = streamMetric(this.stream, order);
      // Trees are made of the calls of those that are asked for.
      const all = [...new Set([this.stream, def.of].filter(Boolean).flatMap((stream) => busiestInstances(stream, app.service)))], wanted = all.slice(0, RECORD_LIMITS.instances);
      const given = async (name) => (wanted.length ? (await this.tables.fetch(main, [[name, wanted]])).get(name) : null) || new Map();
      const tables = await given(metric);
      // Where there are no trees yet, the calls say whether records are refused.
      const got = tables.size || (def.of && (await given(streamMetric(def.of, 'table'))).size);
      if (turn !== this.stream + order + app.service || main !== app.client) return;
      const merged = mergeTables(tables, RECORD_LIMITS.rows);
      this.data = { ...merged, order, all: all.length, asked: wanted.length, got };
      this.error = null;
      if (TRACE_STREAMS[this.stream]) emit('spans', { stream: this.stream, rows: merged.rows });
    } catch (error) {
      this.error = error;
      this.tables.forget();
    } finally {
      this.busy = false;
      this.draw();
    }
  },

  draw() {
    if (Archive.data) { this.say(emptyState('Records are not in the page of an archive', 'Traces are. All records between two times:', 'pcp apm -a ' + shellWord(Archive.data.archive) + ' -S @10:41 -T @10:43 events')); return; }
    if (!answered(streamMetric(this.stream, 'count'))) { this.say(waitingState()); return; }
    if (!this.data) { this.say(this.error ? emptyState('The records could not be read', this.error.message) : emptyState('Loading records …')); return; }
    const { rows, columns, order, all, asked, got } = this.data;
    if (!rows.length) { this.say(this.why(asked, got)); setText(this.note, ''); return; }
    if (!this.table || this.shape !== columns.join() + order) this.makeTable(columns, order);
    const text = this.search.value.trim().toLowerCase();
    const found = rows.filter((r) => !text || r.instance.toLowerCase().includes(text) || Object.values(r.cells).some((c) => c.toLowerCase().includes(text)));
    const longest = this.duration ? Math.max(...rows.map((r) => cellNumber(r.cells[this.duration]) || 0), 1e-9) : 1;
    this.longest = longest;
    const counts = new Map();
    for (const r of found) {
      // The same record keeps its row; equal ones are told apart by a number.
      const base = r.instance + '\n' + Object.values(r.cells).join('\t');
      counts.set(base, (counts.get(base) || 0) + 1);
      r.key = base + '\n' + counts.get(base);
    }
    this.table.update(found);
    setText(this.note, formatWhole(found.length) + (text ? ' found of ' + formatWhole(rows.length) : order === 'slowest' ? ' slowest of the last 5 minutes' : ' newest')
      + (all > asked ? ', of the ' + asked + ' busiest of ' + formatWhole(all) : ''));
  },

  say(content) {
    this.table = null;
    if (this.place.textContent !== content.textContent) fill(this.place, content);
  },

  // Why there is no record: none came, or pmcd does not give them to this client.
  why(asked, got) {
    const { title, of } = STREAMS.find((s) => s.id === this.stream);
    if (asked && !got) return refusedState();
    if (of && asked) return emptyState('No ' + title + ' yet', 'They are made from now on, of the slowest calls that take 100 ms and more: it takes half a minute. All that are in memory, and those of archives:', 'pcp apm tree');
    if (asked && this.order === 'slowest') return emptyState('No ' + title + ' in the last 5 minutes');
    if (app.service && !asked) return emptyState(keyName(app.service) + ' has no ' + title, 'Choose other records, or press Esc for all services.');
    return emptyState('No ' + title + ' yet', 'They appear here as soon as the first one is sent.');
  },

  makeTable(columns, order) {
    this.shape = columns.join() + order;
    this.duration = columns.find((c) => /^(duration|pause|wait|length)(_|$)/.test(c)) || columns.find((c) => /_ms$/.test(c)) || null;
    const numeric = (name) => this.data.rows.slice(0, 40).every((r) => !r.cells[name] || r.cells[name] === '-' || cellNumber(r.cells[name]) !== null) && !/(^|_)(id|trace|span|parent)$/.test(name);
    // The dialog of a record has all columns; here are the first that say something.
    const trace = traceCell(this.stream), first = ['time', this.duration, 'suspended_ms', 'nodes', trace, 'parent'];
    const place = (name) => { const at = first.indexOf(name); return at < 0 ? first.length : at; };
    const shown = columns.filter((name) => name !== 'tree' && this.data.rows.some((r) => r.cells[name] && r.cells[name] !== '-')).sort((a, b) => place(a) - place(b)).slice(0, 10);
    const list = shown.map((name) => {
      if (name === 'time') return { id: name, title: 'Time', value: (r) => r.cells.time, cell: (r, td) => this.time(r, td) };
      if (name === trace || name === 'parent') return { id: name, title: heading(name), value: (r) => r.cells[name], cell: (r, td) => this.link(r, td, name) };
      if (name === this.duration) return { id: name, title: heading(name), align: 'right', value: (r) => cellNumber(r.cells[name]), cell: (r, td) => barCell(td, r.cells[name], (cellNumber(r.cells[name]) || 0) / this.longest) };
      if (numeric(name)) return { id: name, title: heading(name), align: 'right', value: (r) => cellNumber(r.cells[name]), text: (r) => r.cells[name] || '' };
      return { id: name, title: heading(name), value: (r) => r.cells[name], text: (r) => r.cells[name] || '', full: true };
    });
    const def = STREAMS.find((s) => s.id === this.stream), service = (r) => serviceOfInstance(def.id.split('.')[0], r.instance) || r.instance;
    if (def.of && !columns.includes('service')) list.splice(2, 0, { id: ' service', title: 'Service', value: service, text: service, full: true });
    if (!columns.some((c) => /^(pod|agent|process|program|session|instance)$/.test(c))) {
      list.splice(2, 0, { id: ' instance', title: 'Runtime', value: (r) => r.instance, text: (r) => r.instance, full: true });
    }
    this.table = new Table(list, {
      caption: 'Records', sort: order === 'slowest' && this.duration ? [this.duration, 'down'] : ['time', 'down'], limit: 25,
      onpick: (row) => this.open(row), empty: () => emptyState('No record has “' + this.search.value + '” in it'),
    });
    fill(this.place, this.table.node);
  },

  time(row, td) {
    const t = cellTime(row.cells.time);
    const text = row.cells.time || '';
    setText(td, t === null ? text : formatClock(t / 1000) + '.' + String(((t % 1000) + 1000) % 1000).padStart(3, '0'));
    td.title = text;
  },

  // The ids of a trace and of the span that caused a record lead to its waterfall.
  link(row, td, name) {
    const text = row.cells[name] || '', id = row.cells[traceCell(this.stream)];
    if (text && text !== '-' && id && id !== '-') traceCellLink(td, id, name === 'parent' ? text : row.cells.span, text);
    else { td.traceKey = null; setText(td, text); td.title = text; }
  },

  open(row, stream = this.stream) {
    const pairs = [['runtime', row.instance], ...Object.entries(row.cells)].filter(([name, value]) => value !== '' && value !== '-' && name !== 'tree');
    const root = callTree(row.cells.tree);
    showDialog('Record', [this.related(stream, row.instance, row.cells), root && new CallTree(root).node, recordList(pairs, stream)], root ? 'tree' : 'wide');
  },

  // From a call or span to its tree, and back.
  related(stream, instance, cells) {
    const other = otherStream(stream);
    if (!other || Archive.data) return null;
    const note = h('span', { class: 'note', role: 'status' });
    const look = async () => {
      setText(note, 'Looking for it …');
      try {
        const row = await this.find(other, instance, cells);
        if (!row) { setText(note, cells.tree ? 'It is no longer among the newest and slowest records.' : 'No tree is kept of it: trees are of the slowest calls, while somebody looks.'); return; }
        for (const dialog of document.querySelectorAll('dialog[open]')) dialog.close();
        this.open(row, other);
      } catch (error) { setText(note, 'The records could not be read: ' + error.message); }
    };
    return h('p', { class: 'related' }, h('button', { type: 'button', class: 'ghost', onclick: look }, cells.tree ? 'The record of the call' : 'Its tree of methods'), ' ', note);
  },

  async find(stream, instance, cells) {
    this.lookUp = this.lookUp || new RecordTables();
    const found = await this.lookUp.fetch(app.client, ['slowest', 'table'].map((order) => [streamMetric(stream, order), [instance]]));
    const same = (a, b) => !a || !b || a === '-' || b === '-' || a === b;
    return [...found.values()].flatMap((tables) => mergeTables(tables).rows).find((row) => row.instance === instance && row.cells.time === cells.time
      && same(row.cells.span, cells.span) && same(row.cells.thread, cells.thread)) || null;
  },
};

// duration_ms → Duration, ms
function heading(name) {
  const found = /^(.*)_(ms|us|ns|s|kb|mb|bytes)$/.exec(name);
  const words = (found ? found[1] : name).replace(/_/g, ' ').trim();
  const title = (words.charAt(0).toUpperCase() + words.slice(1)).replace(/^Cpu\b/, 'CPU');
  return found ? title + ', ' + found[2].replace('us', 'µs').replace('kb', 'kB').replace('mb', 'MB') : title;
}
