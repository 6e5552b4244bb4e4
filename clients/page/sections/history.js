'use strict';
// The charts' time range: live, or the past from /series.

const RANGES = [['0', 'Live', 0], ['900', '15 min', 900], ['3600', '1 h', 3600], ['21600', '6 h', 21600], ['86400', '24 h', 86400], ['604800', '7 d', 604800]];

const History = {
  seconds: 0,
  available: null,

  build(tools) {
    this.range = choice('Time range', RANGES.map(([value, text]) => [value, text]), '0', (value) => this.choose(Number(value)));
    this.note = h('span', { class: 'note', id: 'history-note', role: 'status' });
    if (Archive.data) {
      const { archive, times, host } = Archive.data;
      const day = formatClock(times[0], true).slice(0, 5) !== formatClock(times[times.length - 1], true).slice(0, 5);
      append(tools, [h('span', { class: 'note', id: 'history-note' }, 'From ' + formatClock(times[0], true) + ' to ' + formatClock(times[times.length - 1], day) + ' of ' + archive + ' of ' + host + ', one point each ' + formatSpan(Archive.step()) + '. A click chooses the moment that all else shows.')]);
      return;
    }
    append(tools, [this.range, this.note]);
    this.tell({ ok: false, why: '' });
  },

  tell(answer) {
    this.available = answer.ok;
    for (const [value] of RANGES.slice(1)) this.range.enable(value, answer.ok, answer.ok ? 'Past values from pmproxy’s /series' : answer.why);
    setText(this.note, answer.ok || !answer.why ? '' : 'No history: ' + answer.why + '. An archive has a page of its own: pcp apm page -a ARCHIVE');
    if (!answer.ok && this.seconds) { this.seconds = 0; this.range.set('0'); }
  },

  // After each connection; a key server may come later, so that a later look follows.
  async probe() {
    const client = app.client;
    const answer = await probeHistory(client);
    if (client !== app.client) return;
    this.tell(answer);
    clearTimeout(this.timer);
    if (!answer.ok) this.timer = setTimeout(() => { if (client === app.client) this.probe(); }, 60000);
  },

  choose(seconds) {
    this.seconds = seconds;
    if (seconds) this.load();
    else { setText(this.note, ''); emit('draw'); }
  },

  async load() {
    const seconds = this.seconds, client = app.client;
    if (!seconds) return;
    const turn = (this.turn = (this.turn || 0) + 1);
    const current = () => turn === this.turn && seconds === this.seconds && client === app.client;
    setText(this.note, 'loading …');
    document.body.dataset.loading = 'history';
    let points = 0, failed = null;
    for (const definition of CHARTS) {
      try {
        const { times, lines } = await this.lines(client, definition, seconds);
        if (!current()) return;
        points += times.length * lines.size;
        Charts.show(definition.id, times, lines, seconds > 86400 / 2);
      } catch (error) { failed = error; }
    }
    if (!current()) return;
    delete document.body.dataset.loading;
    setText(this.note, failed ? 'Some past values could not be read: ' + failed.message
      : points ? 'from the archives of ' + client.hostname + ', read ' + formatClock(Date.now() / 1000) : 'the archives have no such values in this time');
    clearTimeout(this.again);
    this.again = setTimeout(() => { if (current() && !app.paused) this.load(); }, Math.max(30000, seconds * 10));
  },

  async lines(client, definition, seconds) {
    const parts = new Map();
    const longest = Math.max(seconds / HISTORY_LIMITS.samples * 3, 180);
    // Of a service that is gone nobody may know the source.
    const ofService = (name) => serviceKeyOf(name) ?? serviceKey('', name);
    // As Charts.values: the metrics of services, of processes, and those of sources.
    const wanted = [[[definition.of].filter(Boolean), ofService], [[definition.gauge].filter(Boolean), runtimeKey],
      ...definition.others.flatMap(({ source, of, gauge }) => [[of || [], (name) => serviceKey(source, name)], [gauge ? [gauge] : [], (name) => serviceKey(source, serviceOfInstance(source, name))]])];
    for (const [metrics, keyOf] of wanted) {
      const before = new Set(parts.keys());
      for (const metric of metrics.map((name) => (definition.percentile ? withPercentile(name, Charts.percentile) : name))) {
        const described = client.metrics.get(metric);
        if (!described) continue;
        const factor = unitFactor(described.units) * (definition.scale || 1);
        for (const [instance, line] of await pastValues(client, metric, seconds)) {
          const key = keyOf(instance);
          if (before.has(key) || before.has(serviceKey('', keyName(key)))) continue;
          const points = described.sem === 'counter' ? pastRates(line, longest) : line;
          if (!parts.has(key)) parts.set(key, []);
          parts.get(key).push(points.map(([t, v]) => [t, v === null ? null : v * factor]));
        }
      }
    }
    return alignLines(parts, seconds);
  },
};
