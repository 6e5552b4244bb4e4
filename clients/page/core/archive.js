'use strict';
// An archive in the page itself, as `pcp apm page -a` puts it there: values at times that are evenly apart. It answers as
// pmproxy would, at the moment that was chosen, and asks nobody.

class ArchiveClient extends Client {
  constructor(data) {
    super('', data.host);
    this.data = data;
    this.at = 0;
  }

  async connect() {
    this.forget();
    this.context = 0;
    this.hostname = this.data.host;
  }

  learn(names) {
    for (const name of names) {
      const metric = this.data.metrics[name];
      if (metric) this.metrics.set(name, { name, sem: metric.sem, type: metric.type, units: metric.units, indom: 'none', help: '' });
      else this.missing.add(name);
    }
  }

  async describe(names) { this.learn(names); }
  async fetch(names) { return { time: this.data.times[this.at], values: this.sample(names, this.at) }; }
  async only() { /* all instances are here */ }
  sourceOf(_metric, instance) { const { sources = {} } = this.data; return Object.hasOwn(sources, instance) ? sources[instance] : undefined; }

  // The values at one of the times, and that there are none: what was seen at an earlier one is not of this.
  sample(names, index) {
    const out = new Map();
    for (const name of names) {
      const metric = this.data.metrics[name];
      if (!metric) continue;
      const values = new Map();
      for (const [instance, column] of Object.entries(metric.values)) {
        // Its first time, and the values from there on.
        const value = Array.isArray(column) ? column[index < column[0] ? -1 : index - column[0] + 1] : column;
        if (value !== null && value !== undefined) values.set(instance, value);
      }
      out.set(name, values);
    }
    return out;
  }
}

const Archive = {
  data: null,

  // Whether the page is one of an archive.
  read() {
    const node = byId('apm-archive');
    if (!node) return false;
    try { this.data = JSON.parse(node.textContent); } catch { return false; }
    this.names = Object.keys(this.data.metrics);
    return true;
  },

  start() {
    const { times } = this.data;
    app.client = new ArchiveClient(this.data);
    app.client.connect();
    // All that sections ask for is here, or was not logged.
    app.client.learn([...new Set([...this.names, ...standingMetrics(), ...SECTIONS.flatMap((s) => s.metrics()), ...PROFILES.map((p) => p.stacks)])]);
    longestRate = Math.max(LONGEST, 1.5 * this.step());
    for (const span of this.data.spans) Traces.keep(archivedSpan(span));
    Traces.complete = true;
    this.index = this.nearest(momentOf(new URLSearchParams(location.search).get('at'), times[times.length - 1]) ?? times[times.length - 1]);
    on('service', () => this.replay());
    on('moment', (time) => this.choose(this.nearest(time)));
    this.replay();
  },

  step() { const { times } = this.data; return (times[times.length - 1] - times[0]) / (times.length - 1); },
  nearest(time) { return this.data.times.reduce((best, t, i, all) => (Math.abs(t - time) < Math.abs(all[best] - time) ? i : best), 0); },

  // last: those that have the last moment only, and the one before it for its rates.
  play(from, to, sections, last = []) {
    app.values.reset();
    const { client } = app, few = [...new Set([...standingMetrics(), ...sections.flatMap((section) => section.metrics())])];
    for (let i = from; i <= to; i++) {
      app.values.take(this.data.times[i], client.sample(i < to - 1 ? few : this.names, i), client.metrics);
      const model = { services: serviceRows(app.values), agents: agentRows(app.values) };
      for (const section of i === to ? [...sections, ...last] : sections) guarded(() => section.tick(model));
    }
  },

  // The charts have all of it, whatever the moment is.
  replay() {
    for (const [id] of app.lines) app.lines.set(id, new ChartLines());
    for (const list of Durations.columns.values()) list.length = 0;
    this.play(0, this.data.times.length - 1, [Charts, Durations, Cost]);
    this.choose(this.index);
  },

  // What went before it makes rates and the small lines.
  choose(index) {
    this.index = Math.max(0, Math.min(index, this.data.times.length - 1));
    app.client.at = this.index;
    app.moment = this.data.times[this.index];
    for (const tile of Overview.tiles.values()) tile.past.length = 0;
    Services.past.clear();
    Alerts.forget();
    Lttng.past.clear();
    const looks = { metrics: Alerts.metrics, tick: () => Alerts.looks.take(app.values) };
    this.play(Math.max(0, this.index - 40), this.index, [Overview, looks, Services, Lttng], [Alerts, Causes, Stacks, Jvm]);
    writeAddress();
    emit('chosen', app.moment);
    emit('draw');
  },
};

// 10:42, 10:42:30, with a day before it or without: seconds since 1970, or null. Without a day it is that of the archive's end.
function momentOf(text, end) {
  const found = /^(?:(\d{4})-(\d\d)-(\d\d)[T ])?(\d\d):(\d\d)(?::(\d\d))?$/.exec(text || '');
  if (!found) return null;
  const day = new Date(end * 1000), [, year, month, date, hour, minute, second] = found.map((n) => (n === undefined ? undefined : Number(n)));
  return new Date(year ?? day.getFullYear(), year === undefined ? day.getMonth() : month - 1, date ?? day.getDate(), hour, minute, second || 0).getTime() / 1000;
}

// A span as pcp apm reads it, in the form of one out of a record.
function archivedSpan([stream, instance, trace, id, parent, service, operation, role, start, duration, failed, fault, depth, thread]) {
  const source = stream.split('.')[0], when = new Date(start).toISOString();
  const cells = { time: when, duration_ms: String(duration), service, operation, status: failed ? 'error' : 'ok', kind: role, thread, [traceCell(stream)]: trace, span: id, parent };
  return {
    stream, source, instance, cells, trace, service, serviceKey: serviceKey(source, serviceOfInstance(source, instance) || instance), operation, role, id, parent, start, duration,
    end: start + duration, failed, fault, depth, key: id ? [id, service, operation].join('\n') : [instance, start, duration, operation, thread].join('\n'),
  };
}

// The moment in the bar at the top: a slider, and a step at a time.
function momentControl() {
  const { times } = Archive.data, last = times.length - 1;
  const days = formatClock(times[0], true).slice(0, 5) !== formatClock(times[last], true).slice(0, 5);
  const slider = h('input', { type: 'range', id: 'moment', min: 0, max: last, step: 1, 'aria-label': 'Moment', oninput: () => Archive.choose(Number(slider.value)) });
  const clock = h('output', { for: 'moment', id: 'moment-clock' });
  const step = (by, label, text) => h('button', { type: 'button', class: 'ghost', 'aria-label': label, title: label, onclick: () => Archive.choose(Archive.index + by) }, text);
  const show = () => { slider.value = Archive.index; setText(clock, formatClock(app.moment, days)); slider.setAttribute('aria-valuetext', formatClock(app.moment, days)); };
  on('chosen', show);
  return h('span', { class: 'moment' }, step(-1, 'The time before (,)', '‹'), slider, step(1, 'The time after (.)', '›'), clock);
}
