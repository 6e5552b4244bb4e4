'use strict';
// Live charts: a line for each service; for a chosen one also a line for each of its pods.

const Charts = {
  id: 'charts', title: 'Charts',

  build(host) {
    this.percentile = 'p99';
    this.charts = new Map();
    const picker = choice('Percentile', PERCENTILES.map((p) => [p, p]), this.percentile, (p) => { this.percentile = p; this.forget('latency'); emit('draw'); if (Archive.data) Archive.replay(); if (History.seconds) History.load(); });
    const grid = h('div', { class: 'charts' });
    for (const definition of CHARTS) {
      const chart = new LineChart({
        id: definition.id, title: definition.title, about: definition.about, format: definition.format,
        label: lineLabel, colour: lineColour, tools: definition.percentile ? picker : null, nothing: 'No values yet',
      });
      this.charts.set(definition.id, chart);
      app.lines.set(definition.id, new ChartLines());
      grid.append(chart.node);
    }
    this.tools = h('div', { class: 'tools' });
    append(host, [this.tools, grid]);
    History.build(this.tools);
  },

  forget(id) { app.lines.set(id, new ChartLines()); },

  metrics: () => [...(app.service ? podMetrics(keySource(app.service)) : []), ...PERCENTILES.map((p) => withPercentile(CHARTS.find((c) => c.percentile).of, p))],

  tick() {
    for (const definition of CHARTS) app.lines.get(definition.id).push(app.values.time, this.values(definition));
  },

  values(definition) {
    const { values } = app, out = new Map(), known = new Set();
    const scale = definition.scale || 1;
    const add = (key, v) => { if (v !== null) out.set(key, (out.get(key) || 0) + v * scale); };
    const read = (metric, instance) => (definition.kind === 'rate' ? values.rate(metric, instance) : values.base(metric, instance));
    const named = (metric) => (definition.percentile ? withPercentile(metric, this.percentile) : metric);
    // Lines of some instances of a metric; what other metrics have of the same is no sum with it.
    const lines = (metrics, keyOf, first) => {
      const before = new Set(known);
      for (const metric of metrics) {
        for (const instance of values.now(named(metric)).keys()) {
          const key = keyOf(instance);
          if (!key || (!first && before.has(key))) continue;
          known.add(key);
          add(key, read(named(metric), instance));
        }
      }
    };
    const pod = (source, instance) => (serviceKey(source, serviceOfInstance(source, instance)) === app.service ? app.service + '\n' + instance : null);
    const ofPod = (agent) => pod(...splitRow(agent));
    if (definition.of) lines([definition.of], serviceKeyOf, true);
    if (definition.gauge) lines([definition.gauge], runtimeKey, true);
    if (app.service) lines([definition.pods, definition.gauge].filter(Boolean), ofPod, true);
    for (const part of definition.others) {
      lines(part.of || [], (name) => serviceKey(part.source, name));
      if (part.gauge) lines([part.gauge], (instance) => serviceKey(part.source, serviceOfInstance(part.source, instance)));
      if (app.service && keySource(app.service) === part.source) lines(part.pods || [part.gauge].filter(Boolean), (instance) => pod(part.source, instance));
    }
    return out;
  },

  draw() {
    if (History.seconds) return;
    for (const definition of CHARTS) {
      const { times, lines } = app.lines.get(definition.id);
      this.show(definition.id, times, lines);
    }
  },

  // Lines that fit the choice, the largest of them.
  show(id, times, lines, days) {
    const fitting = [...lines].filter(([key]) => (app.service ? key === app.service || key.startsWith(app.service + '\n') : !key.includes('\n')));
    const drawn = largestLines(fitting);
    const chart = this.charts.get(id);
    chart.settings.days = days;
    setText(chart.nothing, Archive.data ? 'Not logged in this time' : heard() ? 'No ' + CHARTS.find((c) => c.id === id).title.toLowerCase() + ' here yet' : 'No values yet');
    chart.show(times, drawn, fitting.length - drawn.length);
  },
};

// A line's key is that of its service, or with `\n` and an instance that of a pod or process.
function lineLabel(key) {
  const [service, pod] = key.split('\n');
  if (!pod) return serviceLabel(service);
  return keySource(service) === 'profiler' ? pod.split('/').slice(2).join('/') || pod : pod;
}

function lineColour(key) { return serviceColour(key); }
