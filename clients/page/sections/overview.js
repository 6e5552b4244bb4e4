'use strict';
// Who is connected and how it goes: figures in large, then a row for each runtime.

const RUNTIME_FIGURES = ['cpu', 'paused', 'collections', 'heap', 'heap_part', 'resident', 'resident_part', 'exceptions', 'waits', 'waiting', 'calls', 'errors', 'restarts'];
// The table that says of what a figure is.
const CAUSES_OF = { cpu: 'methods', mean: 'methods', paused: 'collections', collections: 'collections', exceptions: 'exceptions', waits: 'locks', waiting: 'locks', heap_part: 'jvm', errors: 'records', p95: 'trees', p99: 'trees', max: 'trees' };

const Overview = {
  id: 'overview', title: 'Overview',

  build(host) {
    this.tiles = new Map();
    const tile = (id, label, hint) => {
      const value = h('span', { class: 'tile-value' }), note = h('span', { class: 'tile-note' });
      const spark = sparkline(120, 26);
      const node = h('div', { class: 'tile', 'data-tile': id, title: hint }, h('span', { class: 'tile-label' }, label), value, note, spark);
      this.tiles.set(id, { node, value, note, spark, past: [] });
      return node;
    };
    const words = [
      { id: 'state', title: 'State', value: (r) => ['bad', 'good', 'idle', 'gone'].indexOf(stateLevel(r)) + r.state.slice(0, 8), cell: (r, td) => this.state(r, td) },
      { id: 'source', title: 'Kind', value: (r) => r.source, text: (r) => sourceName(r.source) },
      { id: 'name', title: 'Runtime', value: (r) => r.name, text: (r) => r.name, full: true },
    ];
    const since = { id: 'since', title: 'Since', hint: 'Start of this state’s connection', value: (r) => r.since, cell: (r, td) => this.since(r, td) };
    const settings = {
      caption: 'Runtimes and sessions', sort: ['state', 'up'], limit: 8, onpick: (r) => r.service && chooseService(r.service),
      picked: (r) => r.service !== null && r.service === app.service, rowClass: (r) => 'level-' + stateLevel(r),
      empty: () => unsure('apm.agent.up') ? waitingState() : emptyState('No runtime has connected yet', 'Start one with an agent, or give a live LTTng session a relay daemon that the PMDA reads. The guides in docs/ have lines to copy.', 'mono --profile=apm app.exe'),
    };
    this.does = new Table([...words, ...figureColumns('runtime', RUNTIME_FIGURES, CAUSES_OF), since], settings);
    this.sends = new Table([...words, since,
      { id: 'messages', title: 'Messages', align: 'right', value: (r) => r.messages, text: (r) => formatRate(r.messages) },
      { id: 'bytes', title: 'Bytes', align: 'right', value: (r) => r.bytes, text: (r) => formatByteRate(r.bytes) },
      { id: 'faults', title: 'Faults', align: 'right', hint: 'Faults in what it sent', value: (r) => r.faults, text: (r) => formatWhole(r.faults) },
      { id: 'connects', title: 'Connects', align: 'right', value: (r) => r.connects, text: (r) => formatWhole(r.connects) },
      { id: 'lost', title: 'Lost', align: 'right', hint: 'Connections that ended without a good-bye', value: (r) => r.lost, text: (r) => formatWhole(r.lost) },
      { id: 'peer', title: 'Peer', value: (r) => r.peer, text: (r) => r.peer || NONE, full: true },
    ], settings);
    this.choice = choice('Runtimes', [['does', 'What they do'], ['sends', 'What they send']], 'does', () => this.draw());
    append(host, [
      h('div', { class: 'tiles' }, tile('up', 'Runtimes'), tile('calls', 'Calls and spans'), tile('errors', 'Errors'),
        tile('p99', 'Slowest p99', 'The largest p99 of all services'), tile('paused', 'Longest paused', 'The largest share of time that a service was in pauses for collections'),
        tile('lost', 'Records lost', 'Event records that were dropped before anybody read them')),
      h('div', { class: 'tools' }, this.choice, h('span', { class: 'note' }, 'A figure with a line below it leads to what tells more')),
      h('div', { class: 'card' }, this.does.node, this.sends.node),
    ]);
  },

  state(row, td) {
    if (!td.words) { td.words = h('span'); append(td, [h('span', { class: 'dot', 'aria-hidden': 'true' }), td.words]); }
    setText(td.words, row.state);
    td.title = row.state;
  },

  since(row, td) {
    const t = cellTime(row.since);
    setText(td, t === null ? row.since || NONE : formatSpan(Math.max(app.values.time - t / 1000, 0)));
    td.title = row.since;
  },

  metrics: () => [...LOSS_METRICS, ...leafMetrics('runtime')],

  tick(model) {
    const { values } = app;
    const set = (id, value, format, note, level) => {
      const tile = this.tiles.get(id);
      tile.past.push(isNumber(value) ? value : null);
      if (tile.past.length > 60) tile.past.shift();
      tile.shown = { value: format(value), note, level };
    };
    const services = model.services.filter((s) => !app.service || s.key === app.service);
    const agents = model.agents.filter((a) => !app.service || a.service === app.service);
    const up = agents.filter((a) => a.up), bad = agents.filter((a) => stateLevel(a) === 'bad').length;
    set('up', up.length, formatWhole, bad ? bad + ' of ' + agents.length + ' with trouble' : agents.length - up.length ? agents.length - up.length + ' gone' : 'of ' + new Set(up.map((a) => a.source)).size + ' kinds', bad ? 'bad' : '');
    const calls = sumKnown(services.map((s) => s.calls)), errors = sumKnown(services.map((s) => s.errors));
    set('calls', calls, formatRate, services.length + ' services');
    const share = calls > 0 && errors !== null ? (100 * errors) / calls : null;
    set('errors', errors, formatRate, share === null ? '' : formatPercent(share) + ' of calls', share > 5 ? 'bad' : share > 1 ? 'warn' : '');
    const worst = (field) => services.reduce((best, s) => (isNumber(s[field]) && (!best || s[field] > best[field]) ? s : best), null);
    const slow = worst('p99'), paused = worst('paused');
    set('p99', slow && slow.p99, formatTime, slow ? slow.name : '');
    set('paused', paused && paused.paused, formatPercent, paused ? paused.name : '', paused && paused.paused > 20 ? 'bad' : paused && paused.paused > 10 ? 'warn' : '');
    let lost = null;
    for (const { id } of STREAMS) for (const instance of values.now(streamMetric(id, 'lost')).keys()) lost = sumKnown([lost, values.rate(streamMetric(id, 'lost'), instance)]);
    const reading = values.has('apm.self.uptime');
    set('lost', lost ?? (reading ? 0 : null), formatRate, lost > 0 ? 'dropped unread' : 'none', lost > 0 ? 'warn' : '');
    this.agents = agents;
  },

  draw() {
    for (const tile of this.tiles.values()) {
      if (!tile.shown || !heard()) { setText(tile.value, NONE); setText(tile.note, ''); tile.node.dataset.level = ''; continue; }
      setText(tile.value, tile.shown.value);
      setText(tile.note, tile.shown.note || '');
      tile.node.dataset.level = tile.shown.level || '';
      tile.spark.draw(tile.past);
    }
    for (const name of ['does', 'sends']) {
      setHidden(this[name].node, this.choice.value !== name);
      if (this.choice.value === name) this[name].update(heard() ? this.agents || [] : []);
    }
  },
};
