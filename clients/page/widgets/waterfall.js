'use strict';
// A trace as a waterfall: a line for each span, causes above what they caused, a bar for when it ran. Arrow keys go
// from line to line, Enter opens one. It is a table that is read line by line: bars are said in figures too.

const WATERFALL_MARKS = {
  unseen: ['cause not here', 'What caused it has no record here: it has not come yet, is no longer among the newest and slowest, or is of a service without an agent.'],
  loose: ['cause not known', 'What caused it is not known: its agent says none.'],
};

class Waterfall {
  constructor() {
    this.summary = h('p', { class: 'waterfall-summary', role: 'status' });
    this.services = h('ul', { class: 'waterfall-services', 'aria-label': 'Services of the trace' });
    this.body = h('tbody', { role: 'rowgroup' });
    const head = (text, className) => h('th', { role: 'columnheader', scope: 'col', class: className }, text);
    this.scale = h('span', { class: 'waterfall-scale', 'aria-hidden': 'true' });
    this.grid = h('table', { class: 'waterfall', role: 'treegrid', 'aria-label': 'Spans of the trace' },
      h('thead', { role: 'rowgroup' }, h('tr', { role: 'row' }, head('Span', 'wf-name'), h('th', { role: 'columnheader', scope: 'col', class: 'wf-time' }, h('span', { class: 'away' }, 'When it ran'), this.scale), head('At', 'wf-at right'), head('Took', 'wf-took right'))), this.body);
    this.cut = h('p', { class: 'waterfall-cut note', role: 'status' });
    this.legend = h('div', { class: 'waterfall-legend note' });
    this.node = h('div', { class: 'waterfall-box' }, this.summary, this.services, this.cut, this.grid, this.legend);
    this.open = new Map(); // key of a span → what is shown of it, which stays when lines are made anew
    this.lines = [];
    this.body.addEventListener('click', (e) => this.click(e));
    this.body.addEventListener('keydown', (e) => this.key(e));
  }

  // trace: of a TraceStore; wanted: the id of the span that is looked at first
  show(trace, wanted) {
    if (wanted !== undefined) { this.wanted = wanted; this.found = false; }
    const rows = arrangeSpans(trace.spans.values());
    const drawn = rows.slice(0, TRACE_LIMITS.drawn), more = rows.length - drawn.length + trace.leftOut.size;
    const whole = Math.max(trace.end - trace.start, 1e-6);
    const focused = this.lines.findIndex((l) => l.tr.contains(document.activeElement));
    const kept = focused < 0 ? null : this.lines[focused].span.key;
    setText(this.summary, formatClock(trace.start / 1000, true) + '.' + milli(trace.start) + ' · ' + formatTime(whole * 1e6) + ' · ' + countOf(rows.length, 'span') + ' of '
      + countOf(trace.services.size, 'service') + ' · ' + (trace.errors ? trace.errors + ' failed' : 'none failed'));
    fill(this.services, [...trace.services].slice(0, 24).map(([key, name]) => { const mark = h('span', { class: 'mark' }); mark.style.background = serviceColour(key); return h('li', null, mark, name); }));
    setHidden(this.cut, more <= 0);
    setText(this.cut, more > 0 ? 'Only ' + formatWhole(drawn.length) + ' of at least ' + formatWhole(drawn.length + more) + ' spans are drawn: pcp apm trace ' + shellWord(trace.id) + ' has more' : '');
    fill(this.scale, [0, 0.25, 0.5, 0.75].map((part) => { const tick = h('i', null, formatTime(part * whole * 1e6)); tick.style.left = part * 100 + '%'; return tick; }));
    this.lines = drawn.map((row) => this.line(row, trace, whole));
    fill(this.body, this.lines.map((l) => [l.tr, l.details]));
    const marks = Object.entries(WATERFALL_MARKS).filter(([mark]) => drawn.some((row) => row.mark === mark));
    const clocks = new Set(drawn.map((row) => row.span.instance)).size > 1;
    fill(this.legend, marks.map(([, [word, text]]) => h('p', null, h('strong', null, word), ': ' + text)), clocks && h('p', null, 'Times are those of the agents’ clocks.'));
    const at = Math.max(this.lines.findIndex((l) => l.span.key === kept), 0);
    // Who opens it reads on in its lines.
    this.roving(at, kept !== null || !this.shown);
    this.shown = true;
    this.look();
  }

  // Marks the span that was asked for, and says if it is not there.
  look() {
    if (!this.wanted) return;
    const at = this.lines.findIndex((l) => l.span.id === this.wanted);
    for (const line of this.lines) setClass(line.tr, 'picked', line.span.id === this.wanted);
    if (at < 0) { append(this.legend, [h('p', { class: 'wanted' }, 'The span ' + this.wanted + ' has no record here.')]); return; }
    if (this.found) return;
    this.found = true;
    this.roving(at, true);
  }

  line({ span, depth, mark }, trace, whole) {
    const level = Math.min(depth, TRACE_LIMITS.deepest);
    const bar = h('span', { class: 'wf-bar' + (span.failed ? ' failed' : '') });
    bar.style.left = (100 * (span.start - trace.start) / whole).toFixed(3) + '%';
    bar.style.width = (100 * span.duration / whole).toFixed(3) + '%';
    bar.style.background = serviceColour(span.serviceKey);
    const dot = h('span', { class: 'mark' });
    dot.style.background = serviceColour(span.serviceKey);
    const name = h('div', { class: 'wf-words' }, depth > TRACE_LIMITS.deepest && h('span', { class: 'wf-depth' }, '(' + depth + ') '), dot,
      h('span', { class: 'wf-service' }, span.service), ' ', h('span', { class: 'wf-operation' }, span.operation || span.role),
      span.failed && h('span', { class: 'wf-error' }, ' ✕ error'), mark && h('span', { class: 'wf-mark', title: WATERFALL_MARKS[mark][1] }, ' ' + WATERFALL_MARKS[mark][0]));
    name.style.paddingLeft = 'calc(var(--wf-step) * ' + level + ')';
    name.title = joinWords(span.service, span.operation) + (span.instance !== span.service ? ' · ' + span.instance : '') + (span.fault ? ' · ' + span.fault : '');
    const open = this.open.has(span.key);
    const tr = h('tr', { role: 'row', tabindex: '-1', 'aria-level': depth + 1, 'aria-expanded': String(open), class: span.failed ? 'failed' : null },
      h('td', { role: 'gridcell', class: 'wf-name' }, name), h('td', { role: 'gridcell', class: 'wf-time' }, h('span', { class: 'wf-track', 'aria-hidden': 'true' }, bar)),
      h('td', { role: 'gridcell', class: 'wf-at right' }, formatTime((span.start - trace.start) * 1e6)), h('td', { role: 'gridcell', class: 'wf-took right' }, formatTime(span.duration * 1e6)));
    const line = { span, depth, tr, details: null };
    tr.line = line;
    line.details = h('tr', { role: 'row', class: 'wf-details', 'aria-level': depth + 2, hidden: !open }, h('td', { role: 'gridcell', colspan: '4' }));
    if (open) this.fillDetails(line);
    return line;
  }

  fillDetails(line) {
    const { span } = line, shown = this.open.get(span.key);
    if (shown) { fill(line.details.firstChild, shown); return; }
    const pairs = [['fault', span.fault], ['runtime', span.instance], ...Object.entries(span.cells)].filter(([, value]) => value !== '' && value !== '-');
    this.open.set(span.key, [recordList(pairs, span.stream), Records.related(span.stream, span.instance, span.cells)]);
    fill(line.details.firstChild, this.open.get(span.key));
  }

  toggle(line) {
    const open = !this.open.has(line.span.key);
    if (open) this.fillDetails(line); else this.open.delete(line.span.key);
    setHidden(line.details, !open);
    line.tr.setAttribute('aria-expanded', String(open));
  }

  // One line is reached by Tab, the others by arrows.
  roving(at, focus) {
    this.lines.forEach((l, i) => { l.tr.tabIndex = i === at ? 0 : -1; });
    if (focus && this.lines[at]) this.lines[at].tr.focus();
  }

  click(event) {
    const tr = event.target.closest('tr');
    if (!tr || !tr.line || event.target.closest('a') || String(getSelection())) return;
    this.roving(this.lines.indexOf(tr.line), true);
    this.toggle(tr.line);
  }

  key(event) {
    const tr = event.target.closest('tr');
    if (!tr || !tr.line || event.target !== tr) return;
    const at = this.lines.indexOf(tr.line), last = this.lines.length - 1;
    const to = { ArrowDown: Math.min(at + 1, last), ArrowUp: Math.max(at - 1, 0), Home: 0, End: last, PageDown: Math.min(at + 10, last), PageUp: Math.max(at - 10, 0) }[event.key];
    const open = this.open.has(tr.line.span.key);
    if (to !== undefined) this.roving(to, true);
    else if (event.key === 'Enter' || event.key === ' ' || (event.key === 'ArrowRight' && !open) || (event.key === 'ArrowLeft' && open)) this.toggle(tr.line);
    else return;
    event.preventDefault();
  }
}

const milli = (ms) => String(((Math.floor(ms) % 1000) + 1000) % 1000).padStart(3, '0');
const countOf = (n, word) => formatWhole(n) + ' ' + word + (n === 1 ? '' : 's');
