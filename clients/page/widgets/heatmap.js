'use strict';
// Durations over time: a column for each tick, a row for each range, darker where more fell.

class HeatMap {
  constructor() {
    this.canvas = h('canvas', { class: 'heat', role: 'img', tabindex: '0', 'aria-label': 'Heat map', hidden: true });
    this.tip = h('div', { class: 'tip', hidden: true });
    this.nothing = h('div', { class: 'plot-empty' }, 'No values yet');
    this.scale = h('div', { class: 'heat-scale' });
    this.node = h('div', { class: 'heatmap' }, this.canvas, this.nothing, this.tip, this.scale);
    this.columns = [];
    this.cursor = null;
    this.canvas.addEventListener('pointermove', (e) => this.point(e));
    this.canvas.addEventListener('pointerleave', () => { this.cursor = null; this.tip.hidden = true; });
    this.canvas.addEventListener('keydown', (e) => this.key(e));
    this.canvas.addEventListener('blur', () => { this.tip.hidden = true; });
    new ResizeObserver(() => this.draw()).observe(this.node);
  }

  // columns: [{time, seconds, counts: Map range → count}], ranges: [{name, low, high}] from short to long, in ns
  show(columns, ranges) {
    this.columns = columns.slice(-150);
    // Ranges without anything at both ends are left out, one kept as a margin.
    const used = ranges.map((r) => this.columns.some((c) => c.counts.get(r.name) > 0));
    const first = used.indexOf(true), last = used.lastIndexOf(true);
    this.ranges = first < 0 ? [] : ranges.slice(Math.max(first - 1, 0), last + 2);
    const total = this.columns.reduce((n, c) => n + [...c.counts.values()].reduce((a, b) => a + b, 0), 0);
    setHidden(this.nothing, this.ranges.length > 0);
    setHidden(this.canvas, !this.ranges.length);
    setHidden(this.scale, !this.ranges.length);
    this.canvas.setAttribute('aria-label', 'Heat map: ' + formatWhole(total) + ' durations in ' + this.columns.length + ' intervals, from '
      + (this.ranges.length ? formatTime(this.ranges[0].low) + ' to ' + formatTime(this.ranges[this.ranges.length - 1].high) : 'none') + '. Arrow keys read it.');
    this.draw();
  }

  layout() {
    const width = this.node.clientWidth, height = Math.max(this.ranges.length * 17, 90);
    return { width, height, left: 64, bottom: 22, cell: (width - 70) / Math.max(this.columns.length, 30), row: height / this.ranges.length };
  }

  draw() {
    if (!this.ranges || !this.ranges.length || this.node.clientWidth < 100) return;
    const at = this.layout(), ratio = devicePixelRatio || 1;
    this.canvas.style.width = at.width + 'px';
    this.canvas.style.height = at.height + at.bottom + 'px';
    this.canvas.width = at.width * ratio;
    this.canvas.height = (at.height + at.bottom) * ratio;
    const g = this.canvas.getContext('2d');
    g.scale(ratio, ratio);
    const most = this.most = Math.max(1, ...this.columns.flatMap((c) => [...c.counts.values()]));
    const dark = document.documentElement.dataset.theme === 'dark';
    g.fillStyle = themeColour('--well');
    g.fillRect(at.left, 0, at.width - at.left, at.height);
    const offset = at.width - 6 - this.columns.length * at.cell;
    this.columns.forEach((column, i) => {
      this.ranges.forEach((range, j) => {
        const n = column.counts.get(range.name);
        if (!(n > 0)) return;
        g.fillStyle = heatColour(Math.sqrt(n / most), dark);
        g.fillRect(offset + i * at.cell, at.height - (j + 1) * at.row + 0.5, Math.max(at.cell - 0.6, 1), at.row - 1);
      });
    });
    g.fillStyle = themeColour('--faint');
    g.font = '11px system-ui, sans-serif';
    g.textAlign = 'right';
    g.textBaseline = 'middle';
    this.ranges.forEach((range, j) => { if (j) g.fillText(formatTime(range.low), at.left - 8, at.height - j * at.row); });
    g.textAlign = 'center';
    for (let i = this.columns.length - 1; i >= 0; i -= Math.ceil(110 / at.cell)) {
      const x = offset + (i + 0.5) * at.cell;
      if (x > at.left + 26) g.fillText(formatClock(this.columns[i].time), Math.min(x, at.width - 28), at.height + 12);
    }
    fill(this.scale, 'few', Array.from({ length: 8 }, (_, i) => { const s = h('i'); s.style.background = heatColour((i + 1) / 8, dark); return s; }), formatWhole(most) + ' in one interval');
  }

  point(event) {
    const at = this.layout(), box = this.canvas.getBoundingClientRect();
    const offset = at.width - 6 - this.columns.length * at.cell;
    this.read(Math.floor((event.clientX - box.left - offset) / at.cell), Math.floor((at.height - (event.clientY - box.top)) / at.row));
  }

  key(event) {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (!step || !this.ranges.length) return;
    event.preventDefault();
    const [i, j] = this.cursor || [this.columns.length - 1, this.ranges.length >> 1];
    this.read(Math.max(0, Math.min(this.columns.length - 1, i + step[0])), Math.max(0, Math.min(this.ranges.length - 1, j + step[1])));
  }

  read(i, j) {
    const column = this.columns[i], range = this.ranges[j];
    this.tip.hidden = !column || !range;
    if (this.tip.hidden) return;
    this.cursor = [i, j];
    const n = column.counts.get(range.name) || 0;
    setText(this.tip, formatClock(column.time) + ' · ' + formatTime(range.low) + ' to ' + formatTime(range.high) + ' · ' + formatWhole(n) + ' in ' + formatSpan(column.seconds));
    const at = this.layout();
    const x = at.width - 6 - (this.columns.length - i) * at.cell;
    this.tip.style.left = Math.max(0, Math.min(x, at.width - 300)) + 'px';
    this.tip.style.top = Math.max(at.height - (j + 1) * at.row - 34, 0) + 'px';
  }
}

// 0 to 1 as a colour: from pale to deep on light ground, from deep to bright on dark ground.
function heatColour(share, dark) {
  const s = Math.max(0.06, Math.min(share, 1));
  return dark
    ? 'hsl(' + (265 - 225 * s) + ' ' + (45 + 45 * s) + '% ' + (22 + 45 * s) + '%)'
    : 'hsl(' + (50 - 35 * s + (s > 0.75 ? -15 * (s - 0.75) * 4 : 0)) + ' ' + (85 + 5 * s) + '% ' + (84 - 46 * s) + '%)';
}

// `LO-HI` of a bucket's name in ns; `unit` ns.
function bucketRange(name, unit) {
  const found = /^(\d+)-(\d+|inf|)$/.exec(name);
  if (!found) return null;
  const low = Number(found[1]) * unit;
  return { name, low, high: found[2] && found[2] !== 'inf' ? Number(found[2]) * unit : low * 2 };
}
