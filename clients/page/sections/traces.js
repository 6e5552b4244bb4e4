'use strict';
// The traces of the records that pmproxy gives, those that failed and the slowest first; one as a waterfall.
// What the newest and the slowest records of each look say is kept, so that a trace grows together.

const TRACE_LOOK = {
  every: 5000,     // ms between two looks
  instances: 12,   // runtimes of a look: the busiest, and some of the others in turn
  inTurn: 4,
  most: 96,        // runtimes that are asked for one trace
};

const Traces = {
  id: 'traces', title: 'Traces',

  build(host) {
    this.store = new TraceStore();
    this.tables = new RecordTables();
    this.choice = choice('Traces', [['all', 'All'], ['failed', 'Failed']], 'all', () => { this.changed = true; this.draw(); });
    this.search = h('input', { type: 'search', placeholder: 'Search or trace id', 'aria-label': 'Search traces, or the id of one', id: 'trace-search', oninput: () => { this.changed = true; this.draw(); },
      onkeydown: (e) => { if (e.key === 'Enter' && /^[\w.:/-]{8,128}$/.test(e.target.value.trim())) this.show(e.target.value.trim()); } });
    this.note = h('span', { class: 'note', role: 'status' });
    const right = (id, title, hint, value) => ({ id, title, hint, align: 'right', value, text: (r) => formatWhole(value(r)) });
    this.table = new Table([
      { id: 'began', title: 'Began', value: (r) => r.start, cell: (r, td) => { setText(td, formatClock(r.start / 1000) + '.' + milli(r.start)); td.title = new Date(r.start).toISOString(); } },
      { id: 'duration', title: 'Duration', align: 'right', value: (r) => r.end - r.start, cell: (r, td) => barCell(td, formatTime((r.end - r.start) * 1e6), (r.end - r.start) / this.longest) },
      { id: 'errors', title: 'Failed', align: 'right', hint: 'Spans that failed; among equal ones the slowest trace first', value: (r) => r.errors * 1e9 + Math.min(r.end - r.start, 1e9 - 1), cell: (r, td) => { setText(td, r.errors ? r.errors : ''); setClass(td, 'bad', r.errors > 0); } },
      { id: 'root', title: 'Root', value: (r) => joinWords(r.root.service, r.root.operation), cell: (r, td) => this.root(r, td) },
      right('spans', 'Spans', 'Spans whose records are here', (r) => r.spans.size + r.leftOut.size),
      right('services', 'Services', '', (r) => r.services.size),
      { id: 'trace', title: 'Trace', value: (r) => r.id, cell: (r, td) => traceCellLink(td, r.id) },
    ], { caption: 'Traces', sort: ['errors', 'down'], limit: 12, onpick: (r) => this.show(r.id), rowClass: (r) => (r.errors ? 'level-failed' : ''), empty: () => this.why() });
    append(host, [h('div', { class: 'tools' }, this.choice, this.search, this.note), h('div', { class: 'card' }, this.table.node)]);
    on('service', () => { this.looked = 0; this.changed = true; });
    on('connected', () => {
      this.looked = 0;
      this.tables.forget();
      // A context that was lost is no other host.
      if (this.of !== app.client) { this.of = app.client; this.store.reset(); this.changed = true; this.complete = false; }
      if (app.trace && !this.dialog) this.show(app.trace);
    });
    on('spans', ({ stream, rows }) => this.take(stream, rows));
  },

  metrics: () => Object.keys(TRACE_STREAMS).flatMap((id) => [streamMetric(id, 'count'), streamMetric(id, 'lost')]),

  root(row, td) {
    if (!td.mark) { td.mark = h('span', { class: 'mark' }); td.words = h('span'); append(td, [td.mark, td.words]); }
    td.mark.style.background = serviceColour(row.root.serviceKey);
    const text = joinWords(row.root.service, row.root.operation);
    setText(td.words, text);
    td.title = text;
  },

  take(stream, rows) {
    let more = false;
    for (const row of rows) { const span = spanOf(stream, row); if (span && this.keep(span)) more = true; }
    if (more) { this.changed = true; this.drawOne(); }
  },

  keep(span) { return this.store.add(span); },

  tick() {
    if (this.shown && !this.shown.asked) this.askAll();
    else this.load();
  },

  // Runtimes of all streams: [[stream, instances]]; those of the chosen service first. Without `most` those of a look.
  wanted(most) {
    const { instances, inTurn } = TRACE_LOOK, first = instances - inTurn;
    this.turn = (this.turn || 0) + 1;
    return Object.keys(TRACE_STREAMS).map((id) => {
      const all = busiestInstances(id, null).sort((a, b) => ofService(id, b) - ofService(id, a));
      if (most || all.length <= instances) return [id, all.slice(0, most || instances)];
      // Calls that fail may be few and elsewhere.
      const rest = all.slice(first).sort(), at = (this.turn * inTurn) % rest.length;
      return [id, [...all.slice(0, first), ...rest.concat(rest).slice(at, at + inTurn)]];
    }).filter(([, list]) => list.length);
  },

  async load(most) {
    const main = app.client;
    const due = (visibleSections.has(this.id) || this.shown) && Date.now() - (this.looked || 0) >= TRACE_LOOK.every;
    if (this.busy || Archive.data || !main || main.context === null || (!most && (!due || (app.paused && this.store.spans)))) return;
    this.busy = true;
    this.looked = Date.now();
    try {
      const wanted = this.wanted(most);
      let got = 0, asked = 0;
      // Few runtimes at a time: a table of each would be megabytes a look.
      for (let from = 0; wanted.some(([, list]) => list.length > from); from += TRACE_LOOK.instances) {
        const part = wanted.map(([id, list]) => [id, list.slice(from, from + TRACE_LOOK.instances)]).filter(([, list]) => list.length);
        const found = await this.tables.fetch(main, part.flatMap(([id, list]) => ['table', 'slowest'].map((order) => [streamMetric(id, order), list])));
        if (main !== app.client) return;
        for (const [id, list] of part) {
          asked += list.length;
          for (const order of ['table', 'slowest']) {
            const tables = found.get(streamMetric(id, order)) || new Map();
            if (order === 'table') got += tables.size;
            this.take(id, mergeTables(tables).rows);
          }
        }
      }
      Object.assign(this, { asked, got, error: null, complete: true });
    } catch (error) {
      if (main !== app.client) return;
      this.error = error;
      this.tables.forget();
    } finally {
      this.busy = false;
      this.changed = true;
      if (visibleSections.has(this.id)) this.draw();
    }
  },

  why() {
    if (this.store.spans) return emptyState(this.search.value.trim() ? 'No trace has “' + this.search.value.trim() + '” in it' : this.choice.value === 'failed' ? 'No trace has failed' : app.service ? keyName(app.service) + ' has no traces here' : 'No traces',
      this.search.value.trim() ? 'Enter looks for an id in the records of all runtimes.' : '');
    if (Archive.data) return emptyState('No traces in this archive', Archive.data.notes.join('; '));
    if (!heard()) return waitingState();
    if (this.error) return emptyState('The records could not be read', this.error.message);
    if (!this.complete) return emptyState('Loading traces …');
    if (this.asked && !this.got) return refusedState();
    return emptyState('No traces yet', 'Spans of Zorka agents and calls of the Java profiler that say a trace id make them.');
  },

  draw() {
    if (!this.changed && this.table.data.length) return;
    this.changed = false;
    const text = this.search.value.trim().toLowerCase(), id = canonicalTrace(text);
    const all = [...this.store.traces.values()];
    const rows = all.filter((t) => (this.choice.value === 'all' || t.errors > 0) && (!app.service || t.services.has(app.service))
      && (!text || t.key.startsWith(id) || [...t.services.values()].some((s) => s.toLowerCase().includes(text)) || t.root.operation.toLowerCase().includes(text)));
    this.longest = Math.max(...rows.map((t) => t.end - t.start), 1e-9);
    this.table.update(rows);
    setText(this.note, this.store.spans ? formatWhole(rows.length) + (rows.length < all.length ? ' of ' + formatWhole(all.length) : '') + (Archive.data ? ' traces of the archive, whatever the moment' + (Archive.data.notes.length ? ': ' + Archive.data.notes.join('; ') : '') : ' traces of the newest and slowest records, failed and slow ones first') : '');
  },

  // Opens one, and asks all runtimes for its spans.
  show(id, span) {
    if (this.dialog) this.dialog.close();
    const waterfall = new Waterfall();
    const place = h('div');
    const own = this.dialog = showDialog('Trace ' + id, place, 'trace');
    this.shown = { id, waterfall, place, asked: false };
    waterfall.wanted = span || '';
    app.trace = id;
    writeAddress();
    own.addEventListener('close', () => { if (this.dialog !== own) return; this.dialog = this.shown = null; app.trace = null; writeAddress(); });
    this.drawOne();
    this.askAll();
  },

  // Once for a trace that is opened, when it is known which runtimes there are; else with a later look.
  async askAll() {
    const { shown } = this;
    if (Archive.data) { shown.asked = true; this.drawOne(); return; }
    if (this.busy || !this.metrics().every(answered)) return;
    await this.load(TRACE_LOOK.most);
    if (this.error || this.shown !== shown) return;
    shown.asked = true;
    this.drawOne();
  },

  drawOne() {
    if (!this.shown) return;
    const { id, waterfall, place, asked } = this.shown, trace = this.store.find(id);
    if (trace) {
      if (place.firstChild !== waterfall.node) fill(place, waterfall.node);
      if (this.shown.version === trace.spans.size) { if (asked && waterfall.wanted) waterfall.show(trace); return; }
      this.shown.version = trace.spans.size;
      waterfall.show(trace);
      return;
    }
    const content = this.error && !asked ? emptyState('The records could not be read', this.error.message) : !asked ? emptyState('Looking for the trace …') : this.asked && !this.got ? refusedState()
      : Archive.data ? emptyState('No span of this trace is here', 'The page has those that failed and the slowest.', 'pcp apm -a ' + shellWord(Archive.data.archive) + ' trace ' + shellWord(id))
      : emptyState('No span of this trace is here', 'pmproxy gives the newest 50 and the slowest 50 records of each runtime. All that are in memory, and those of archives, are seen by:', 'pcp apm trace ' + shellWord(id));
    if (place.textContent !== content.textContent) fill(place, content);
  },
};

// A link to a trace, and to a span of it: an address that can be kept.
function traceLink(id, span, text) {
  const query = new URLSearchParams(location.search);
  query.set('trace', id);
  return h('a', { href: '?' + query, class: 'trace-link', title: span ? 'The span that caused it, in its trace' : 'Waterfall of this trace',
    onclick: (e) => { if (e.ctrlKey || e.metaKey || e.shiftKey) return; e.preventDefault(); e.stopPropagation(); openTrace(id, span); } }, text);
}

function openTrace(id, span) {
  for (const dialog of document.querySelectorAll('dialog[open]')) dialog.close();
  Traces.show(id, span);
}

function traceCellLink(td, id, span, text = id) {
  const key = id + '\n' + text;
  if (td.traceKey === key) return;
  td.traceKey = key;
  fill(td, traceLink(id, span, text));
  td.title = text;
}

// Fields of a record, the ids of its trace and of what caused it as links.
function recordList(pairs, stream) {
  const cells = Object.fromEntries(pairs), id = cells[traceCell(stream)];
  const value = (name, text) => {
    if (id && name === traceCell(stream)) return traceLink(id, cells.span, text);
    if (id && name === 'parent') return traceLink(id, text, text);
    return text;
  };
  return h('dl', { class: 'record' }, pairs.map(([name, text]) => [h('dt', null, heading(name)), h('dd', null, value(name, text))]));
}
