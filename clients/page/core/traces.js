'use strict';
// Traces out of records: which spans belong together, which caused which. As clients/cli/pcp_apm/spans.py and tree.py have it.

const TRACE_LIMITS = {
  spans: 6000,  // kept of all traces
  trace: 1000,  // of one trace
  drawn: 400,   // in a waterfall
  deepest: 24,  // levels that are drawn as such
  step: 1,      // ms that a call may end later than the one around it: clocks have steps
};

// Streams whose records say of which trace they are: which cells they have, and what else the cell `fields` may have.
const TRACE_STREAMS = {
  'zorka.span': { trace: 'trace', names: ['records', 'overflow', 'nested', 'depth', 'component', 'kind', 'http.method', 'http.url', 'http.status_code', 'db.type', 'db.url', 'db.instance',
    'db.statement', 'peer.service', 'peer.address', 'exception.class', 'exception.message', 'exception.frame', 'exception.frames', 'top', 'attributes', 'signature', 'dialect'] },
  'profiler.call': { trace: 'trace_id', names: ['queue_wait', 'memory', 'nested', 'file_read', 'file_written', 'net_read', 'net_written', 'transactions', 'trace.file', 'trace.offset',
    'trace.index', 'web.url', 'web.method', 'web.query', 'web.remote_addr', 'parameters'] },
};
for (const form of Object.values(TRACE_STREAMS)) form.pattern = new RegExp('(?:^| )(' + form.names.map((n) => n.replace(/\./g, '\\.')).join('|') + ')=', 'g');

// The cell `fields`, name=value parted by blanks, which values may have too: Map name → value.
function otherFields(text, form) {
  const found = [...text.matchAll(form.pattern)], out = new Map();
  found.forEach((m, i) => { if (!out.has(m[1])) out.set(m[1], text.slice(m.index + m[0].length, i + 1 < found.length ? found[i + 1].index : undefined)); });
  return out;
}

// One form of an id that is written in several: in capitals, as a UUID, or 64 bits of it behind zeros.
function canonicalTrace(id) {
  if (/[^0-9a-fA-F-]/.test(id)) return id;
  const plain = id.replace(/-/g, '').toLowerCase();
  return plain.length === 32 && plain.startsWith('0'.repeat(16)) ? plain.slice(16) : plain;
}

const traceCell = (stream) => (TRACE_STREAMS[stream] || {}).trace || (stream === 'profiler.tree' ? 'trace_id' : 'trace');
const joinWords = (...words) => words.filter(Boolean).join(' ');

// The span that a record is; null if it does not say of which trace. Times in ms.
function spanOf(stream, row) {
  const form = TRACE_STREAMS[stream], { cells, instance } = row;
  if (!form) return null;
  const cell = (name) => (cells[name] && cells[name] !== '-' ? cells[name] : '');
  const trace = cell(form.trace).slice(0, 128), start = exactTime(cells.time), duration = cellNumber(cells.duration_ms);
  if (!trace || start === null || duration === null || duration < 0) return null;
  const source = stream.split('.')[0], fields = otherFields(cell('fields'), form), of = (name) => fields.get(name) || '';
  const key = serviceKey(source, serviceOfInstance(source, instance) || instance);
  const failed = cells.status === 'error';
  const zorka = source === 'zorka';
  const url = zorka ? joinWords(of('http.method'), of('http.url')) : joinWords(of('web.method'), of('web.url'));
  const what = zorka ? joinWords(cell('type'), of('db.statement') || url || cell('method')) : url || cell('title') || cell('method');
  const error = joinWords(of('exception.class') + (of('exception.class') && of('exception.message') ? ':' : ''), of('exception.message'));
  const fault = error ? error + (of('exception.frame') ? ', at ' + of('exception.frame') : '') : of('http.status_code') && 'HTTP ' + of('http.status_code');
  const span = {
    stream, source, instance, cells, trace, service: cell('service') || keyName(key), serviceKey: key, operation: what.slice(0, 1000), role: of('kind'),
    id: cell('span').slice(0, 128), parent: cell('parent').slice(0, 128), start, duration, end: start + duration,
    failed, fault: failed ? fault : '', depth: of('nested') && zorka ? Number(of('depth')) || 0 : 0,
  };
  // The same of a span that comes again, as from several sessions of a process, or in the next look.
  span.key = span.id ? [span.id, span.service, span.operation].join('\n') : [instance, cells.time, cells.duration_ms, span.operation, cell('thread')].join('\n');
  return span;
}

// Milliseconds since 1970 with their fraction, or null.
function exactTime(text) {
  const whole = cellTime(text), rest = /\.\d{3}(\d+)/.exec(String(text || ''));
  return whole === null ? null : whole + (rest ? Number('0.' + rest[1]) : 0);
}

// The spans that have been seen, by trace. The trace of which nothing was seen for the longest time leaves first.
class TraceStore {
  constructor() { this.reset(); }

  reset() {
    this.traces = new Map(); // canonical id → {key, id, spans: Map, leftOut, start, end, errors, services, root}
    this.spans = 0;
    this.changes = 0;
  }

  add(span) {
    const key = canonicalTrace(span.trace);
    let trace = this.traces.get(key);
    if (!trace) trace = { key, id: span.trace, spans: new Map(), leftOut: new Set(), start: span.start, end: span.end, errors: 0, services: new Map(), root: span };
    if (trace.spans.has(span.key)) return false;
    this.traces.delete(key);
    this.traces.set(key, trace);
    if (trace.spans.size >= TRACE_LIMITS.trace) {
      if (trace.leftOut.size < TRACE_LIMITS.spans) trace.leftOut.add(span.key);
      return false;
    }
    this.changes++;
    this.spans++;
    trace.spans.set(span.key, span);
    // Of the forms of an id the longest is the most that there is to say.
    if (span.trace.length > trace.id.length) trace.id = span.trace;
    trace.start = Math.min(trace.start, span.start);
    trace.end = Math.max(trace.end, span.end);
    trace.errors += span.failed ? 1 : 0;
    trace.services.set(span.serviceKey, span.service);
    trace.root = higherSpan(trace.root, span);
    while (this.spans > TRACE_LIMITS.spans && this.traces.size > 1) {
      const [oldest, gone] = this.traces.entries().next().value;
      this.traces.delete(oldest);
      this.spans -= gone.spans.size;
    }
    return true;
  }

  // The trace of an id, in whatever form; or the only one whose id begins so.
  find(id) {
    const key = canonicalTrace(id), exact = this.traces.get(key);
    if (exact || key.length < 4) return exact || null;
    const begun = [...this.traces.values()].filter((t) => t.key.startsWith(key));
    return begun.length === 1 ? begun[0] : null;
  }
}

// Which is the root: one that nothing caused, else one whose cause has not come. They come in no order.
function higherSpan(root, span) {
  if (root.parent && span.id === root.parent) return span;
  if (span.parent && span.parent === root.id) return root;
  const rank = (s) => [Boolean(s.parent) + 0, s.depth, s.id ? 0 : 1, s.start, -s.duration];
  const a = rank(root), b = rank(span);
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return a[i] < b[i] ? root : span;
  return root;
}

// The rows of a waterfall: causes before what they caused, then by time. mark: 'unseen' for a root whose cause has no
// record here, 'loose' for one of which that is not known.
function arrangeSpans(list) {
  const spans = [...list].sort((a, b) => a.start - b.start || b.duration - a.duration || (a.key < b.key ? -1 : 1));
  const byId = new Map(), around = new Map(), cause = spans.map(() => null);
  spans.forEach((s, n) => { if (s.id && !byId.has(s.id)) byId.set(s.id, n); });
  // Without ids a span is below the call around it in its process.
  const order = spans.map((_, n) => n).sort((a, b) => spans[a].start - spans[b].start || spans[a].depth - spans[b].depth || spans[b].duration - spans[a].duration);
  for (const n of order) {
    const one = spans[n];
    if (!around.has(one.instance)) around.set(one.instance, []);
    const stack = around.get(one.instance), last = () => spans[stack[stack.length - 1]];
    while (stack.length && (last().depth >= one.depth || last().end + TRACE_LIMITS.step < one.end)) stack.pop();
    const found = one.parent ? byId.get(one.parent) : stack.length && one.depth ? stack[stack.length - 1] : undefined;
    cause[n] = found === undefined || found === n ? null : found;
    stack.push(n);
  }
  const below = new Map(), roots = [], rows = [], drawn = new Set();
  spans.forEach((_, n) => { if (cause[n] === null) roots.push(n); else if (below.has(cause[n])) below.get(cause[n]).push(n); else below.set(cause[n], [n]); });
  const lost = (n) => Boolean(spans[n].parent || spans[n].depth);
  const branch = (root, mark) => {
    // Not by recursion: peers say how deep it goes.
    const stack = [[root, 0, mark]];
    while (stack.length) {
      const [n, depth, note] = stack.pop();
      if (drawn.has(n)) continue;
      drawn.add(n);
      rows.push({ span: spans[n], depth, mark: note });
      for (const child of [...(below.get(n) || [])].reverse()) stack.push([child, depth + 1, '']);
    }
  };
  for (const n of roots.sort((a, b) => lost(a) - lost(b) || a - b)) branch(n, lost(n) ? 'unseen' : !spans[n].id && roots.length > 1 ? 'loose' : '');
  // Spans that cause each other in a circle have no root.
  spans.forEach((_, n) => { if (!drawn.has(n)) branch(n, 'unseen'); });
  return rows;
}
