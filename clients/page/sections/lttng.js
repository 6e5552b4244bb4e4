'use strict';
// LTTng's live sessions and the classes of their events.

const Lttng = {
  id: 'lttng', title: 'LTTng',

  build(host) {
    this.past = new Map();
    const right = (id, title, format, hint) => ({ id, title, hint, align: 'right', value: (r) => r[id], text: (r) => format(r[id]) });
    this.sessions = new Table([
      { id: 'state', title: 'State', value: (r) => r.state, cell: (r, td) => Overview.state(r, td) },
      { id: 'name', title: 'Session', value: (r) => r.key, text: (r) => r.key, full: true },
      right('streams', 'Streams', formatWhole), right('events', 'Events', formatRate), right('bytes', 'Bytes', formatByteRate),
      right('latency', 'Latency', formatTime, 'From an event to its counting here'),
      right('discarded', 'Discarded', formatWhole, 'Events that LTTng itself had no room for'),
      right('packets', 'Packets lost', formatWhole), right('faults', 'Decode errors', formatWhole), right('reconnects', 'Reconnects', formatWhole),
    ], {
      caption: 'Live sessions', sort: ['events', 'down'], limit: 12, rowClass: (r) => 'level-' + r.level,
      empty: () => unsure(LTTNG_METRICS[0]) ? waitingState() : emptyState('No live session', 'Start one with lttng create --live, and name its relay daemon in lttng.relays of apm.toml.', 'lttng create NAME --live'),
    });
    this.classes = new Table([
      { id: 'session', title: 'Session', value: (r) => r.session, text: (r) => r.session, full: true },
      { id: 'event', title: 'Event', value: (r) => r.event, text: (r) => r.event, full: true },
      { id: 'rate', title: 'Events', align: 'right', value: (r) => r.rate, cell: (r, td) => barCell(td, formatRate(r.rate), (r.rate || 0) / this.most) },
      right('count', 'All events', formatWhole), right('bytes', 'Bytes', formatByteRate),
      { id: 'trend', title: 'Trend', cell: (r, td) => { if (!td.spark) { td.spark = sparkline(110, 20); append(td, [td.spark]); } td.spark.draw(this.past.get(r.key) || []); } },
    ], { caption: 'Classes of events', sort: ['rate', 'down'], limit: 15, empty: () => emptyState('No event yet') });
    append(host, [h('div', { class: 'card' }, this.sessions.node), this.classBox = h('div', { class: 'card' }, h('h3', null, 'Classes of events'), this.classes.node)]);
  },

  metrics: () => CLASS_METRICS,

  tick() {
    const { values } = app;
    const one = (name, key) => { const v = values.all('apm.lttng.session.' + name).get(key); return isNumber(v) ? v : null; };
    this.rows = [...values.now('apm.lttng.session.state')].map(([key, state]) => ({
      key, state: String(state), level: /^reading/.test(String(state)) ? 'good' : /ended|gone|closed|finished/.test(String(state)) ? 'gone' : 'idle',
      streams: one('streams', key), events: values.rate('apm.lttng.session.events', key), bytes: values.rate('apm.lttng.session.bytes', key),
      latency: values.base('apm.lttng.session.latency', key), discarded: one('discarded', key), packets: one('packets_lost', key),
      faults: one('decode_errors', key), reconnects: one('reconnects', key),
    }));
    this.classRows = [...values.now(CLASS_METRICS[0])].map(([key, count]) => {
      const [session, event] = splitRow(key);
      const rate = values.rate(CLASS_METRICS[0], key);
      const line = this.past.get(key) || [];
      line.push(rate);
      if (line.length > 60) line.shift();
      if (this.past.size < 500) this.past.set(key, line);
      return { key, session: session ?? '', event, rate, count, bytes: values.rate(CLASS_METRICS[1], key) };
    });
    this.most = Math.max(...this.classRows.map((r) => r.rate || 0), 1e-9);
  },

  draw() {
    const rows = heard() ? this.rows || [] : [];
    this.sessions.update(rows);
    setHidden(this.classBox, !rows.length);
    this.classes.update(this.classRows || []);
  },
};
