'use strict';
// Line charts by uPlot, with a legend that says the value below the pointer.

const CHART_LINES = 8;
const KEPT_POINTS = 300;

// The newest points of the lines of a chart: at most 300 lines and 300 points.
class ChartLines {
  constructor() {
    this.times = [];
    this.lines = new Map();
  }

  push(time, values) {
    this.times.push(time);
    const n = this.times.length;
    for (const [key, value] of values) {
      let line = this.lines.get(key);
      if (!line) {
        if (this.lines.size >= 300) continue;
        this.lines.set(key, line = Array(n - 1).fill(null));
      }
      line.push(value);
    }
    for (const line of this.lines.values()) if (line.length < n) line.push(null);
    if (n > KEPT_POINTS) {
      this.times.shift();
      for (const [key, line] of this.lines) {
        line.shift();
        if (!values.has(key) && line.every((v) => v === null)) this.lines.delete(key);
      }
    }
  }

  // A gap after the newest point. The host's clock is not the browser's.
  gap() { if (this.times.length) this.push(this.times[this.times.length - 1] + 0.001, new Map()); }
}

// The lines to draw: those with the largest newest means.
function largestLines(lines, limit = CHART_LINES) {
  const rank = (line) => {
    let sum = 0, n = 0;
    for (let i = line.length - 1; i >= 0 && n < 30; i--) if (line[i] !== null) { sum += line[i]; n++; }
    return n ? sum / n : -1;
  };
  return [...lines].map(([key, line]) => [key, line, rank(line)]).filter((l) => l[2] >= 0).sort((a, b) => b[2] - a[2]).slice(0, limit);
}

class LineChart {
  // settings: {title, about, format, label: key → text, colour: key → colour, height, sync}
  constructor(settings) {
    this.settings = { height: 170, ...settings };
    this.place = h('div', { class: 'plot' });
    this.legend = h('ul', { class: 'legend', 'aria-label': settings.title + ': newest values' });
    this.nothing = h('div', { class: 'plot-empty' }, settings.nothing || 'No values yet');
    this.about = h('span', { class: 'about' }, settings.about);
    this.node = h('figure', { class: 'card chart', 'data-chart': settings.id },
      h('figcaption', null, h('span', { class: 'title' }, settings.title), this.about, settings.tools), this.place, this.nothing, this.legend);
    this.keys = '';
    this.items = [];
    this.plot = null;
    if (Archive.data) {
      this.place.classList.add('choosing');
      this.place.addEventListener('click', () => { if (this.plot && this.plot.cursor.idx != null) emit('moment', this.plot.data[0][this.plot.cursor.idx]); });
      on('chosen', () => { if (this.plot) this.plot.redraw(false); });
    }
    new ResizeObserver(() => this.resize()).observe(this.place);
  }

  resize() {
    const width = Math.floor(this.place.clientWidth);
    if (this.plot && width > 40 && width !== this.plot.width) this.plot.setSize({ width, height: this.settings.height });
  }

  // times: seconds; drawn: [[key, values]]; hidden: number of lines that are not drawn
  show(times, drawn, hidden = 0) {
    const data = [times, ...drawn.map((d) => d[1])];
    const nothing = !drawn.length || times.length < 2;
    setHidden(this.nothing, !nothing);
    setHidden(this.place, nothing);
    setHidden(this.legend, nothing);
    if (nothing) return;
    const keys = JSON.stringify(drawn.map((d) => this.settings.label(d[0]))) + document.documentElement.dataset.theme;
    if (!this.plot || keys !== this.keys) this.build(data, drawn.map((d) => d[0]), keys);
    else this.plot.setData(data);
    this.hidden = hidden;
    this.writeLegend(this.plot.cursor.idx);
  }

  // A line at the chosen moment, whose values the legend has.
  markMoment(u) {
    if (app.moment === null) return;
    const x = Math.round(u.valToPos(app.moment, 'x', true)), { top, height } = u.bbox;
    u.ctx.save();
    u.ctx.strokeStyle = themeColour('--accent');
    u.ctx.lineWidth = 2;
    u.ctx.beginPath();
    u.ctx.moveTo(x, top);
    u.ctx.lineTo(x, top + height);
    u.ctx.stroke();
    u.ctx.restore();
  }

  build(data, keys, signature) {
    if (this.plot) this.plot.destroy();
    this.keys = signature;
    const { format, colour, label } = this.settings;
    const axis = { stroke: themeColour('--faint'), grid: { stroke: themeColour('--grid'), width: 1 }, ticks: { show: false }, font: '11px system-ui, sans-serif' };
    this.items = keys.map((key) => {
      const name = h('span', { class: 'name' }), value = h('span', { class: 'value' });
      const mark = h('span', { class: 'mark' });
      mark.style.background = colour(key);
      setText(name, label(key));
      name.title = label(key);
      return { key, value, node: h('li', null, mark, name, value) };
    });
    this.rest = h('li', { class: 'rest' });
    fill(this.legend, this.items.map((i) => i.node), this.rest);
    this.plot = new uPlot({
      width: Math.max(Math.floor(this.place.clientWidth), 200), height: this.settings.height, legend: { show: false },
      cursor: { sync: { key: 'apm' }, points: { size: 6 }, drag: { x: false, y: false } },
      scales: { x: { time: true }, y: { range: (u, min, max) => [0, max > 0 ? max * 1.08 : 1] } },
      axes: [
        { ...axis, size: 26, space: 70, values: (u, splits) => splits.map((t) => formatClock(t).slice(0, splits[1] - splits[0] < 60 ? 8 : 5)) },
        { ...axis, size: 62, space: 32, values: (u, splits) => splits.map((v) => FORMATS[format](v)) },
      ],
      series: [{}, ...keys.map((key, i) => ({
        stroke: colour(key), width: 1.75, spanGaps: false, points: { show: false },
        fill: keys.length === 1 && i === 0 ? this.shade(colour(key)) : undefined,
      }))],
      hooks: { setCursor: [(u) => this.writeLegend(u.cursor.idx)], draw: [(u) => this.markMoment(u)] },
    }, data, this.place);
  }

  shade(colour) {
    const canvas = document.createElement('canvas').getContext('2d');
    canvas.fillStyle = colour;
    const hex = canvas.fillStyle;
    return /^#[0-9a-f]{6}$/.test(hex) ? hex + '22' : undefined;
  }

  writeLegend(index) {
    if (!this.plot) return;
    const { data } = this.plot, { format } = this.settings;
    const last = app.moment === null ? data[0].length - 1 : data[0].indexOf(app.moment);
    this.items.forEach((item, i) => {
      const line = data[i + 1];
      const at = index == null ? last : index;
      setText(item.value, FORMATS[format](line ? line[at] : null));
    });
    const clock = index == null ? '' : 'at ' + formatClock(data[0][index], this.settings.days);
    setText(this.rest, [this.hidden > 0 ? '+ ' + this.hidden + ' more' : '', clock].filter(Boolean).join(' · '));
  }
}
