'use strict';
// The heat map of durations, from the buckets that services count.

const Durations = {
  id: 'durations', title: 'Durations',

  build(host) {
    this.chosen = 'profiler';
    this.columns = new Map(HISTOGRAMS.map((hist) => [hist.id, []]));
    this.choice = choice('Durations of', HISTOGRAMS.map((hist) => [hist.id, hist.title]), this.chosen, (id) => { this.chosen = id; this.picked = true; this.draw(); });
    this.note = h('span', { class: 'note' });
    this.map = new HeatMap();
    append(host, [h('div', { class: 'tools' }, this.choice, this.note), h('div', { class: 'card' }, this.map.node)]);
    on('service', (key) => {
      for (const list of this.columns.values()) list.length = 0;
      const source = key && keySource(key);
      if (HISTOGRAMS.some((hist) => hist.id === source)) { this.choice.set(source); this.chosen = source; }
    });
  },

  metrics: () => HISTOGRAMS.map((hist) => hist.metric),

  tick() {
    this.ranges = new Map();
    for (const hist of HISTOGRAMS) {
      const counts = new Map(), ranges = new Map();
      const m = app.values.metrics.get(hist.metric);
      if (m && m.time === app.values.time) {
        for (const [instance, delta] of app.values.deltas(hist.metric)) {
          const [service, bucket] = splitRow(instance);
          const range = bucketRange(bucket, hist.unit);
          if (!range) continue;
          ranges.set(bucket, range);
          if (app.service && serviceKey(hist.id, service) !== app.service) continue;
          if (delta > 0) counts.set(bucket, (counts.get(bucket) || 0) + delta);
        }
        if (m.before) this.columns.get(hist.id).push({ time: m.time, seconds: m.time - m.before.time, counts });
      }
      if (this.columns.get(hist.id).length > 150) this.columns.get(hist.id).shift();
      this.ranges.set(hist.id, [...ranges.values()].sort((a, b) => a.low - b.low));
    }
    if (!this.picked && !this.some(this.chosen)) {
      const other = HISTOGRAMS.find((hist) => this.some(hist.id));
      if (other) { this.chosen = other.id; this.choice.set(other.id); }
    }
  },

  some(id) { return this.columns.get(id).some((c) => c.counts.size > 0); },

  draw() {
    const columns = this.columns.get(this.chosen);
    this.map.show(columns, (this.ranges && this.ranges.get(this.chosen)) || []);
    setText(this.map.nothing, heard() ? 'No durations in this window' : 'No values yet');
    const title = HISTOGRAMS.find((hist) => hist.id === this.chosen).title;
    setText(this.note, title + (app.service ? ' of ' + keyName(app.service) : ' of all services') + ', a column for each look');
  },
};
