'use strict';
// A flame graph of boxes: zoom by click or Enter, search, tooltip, arrow keys from frame to frame.

const FLAME = { row: 20, least: 1.5, boxes: 3000 };

class FlameGraph {
  // onpick: called with the first frame when it is a service and the graph has all services
  constructor(onzoom) {
    this.stage = h('div', { class: 'flame', role: 'tree', 'aria-label': 'Flame graph', tabindex: '0' });
    this.tip = h('div', { class: 'tip flame-tip', hidden: true });
    this.node = h('div', { class: 'flame-box' }, this.stage, this.tip);
    this.onzoom = onzoom;
    this.boxes = [];
    this.elements = [];
    this.search = '';
    this.stage.addEventListener('click', (e) => { const box = this.boxOf(e.target); if (box) this.zoomTo(box.node); });
    this.stage.addEventListener('pointermove', (e) => this.point(e));
    this.stage.addEventListener('pointerleave', () => { this.tip.hidden = true; });
    this.stage.addEventListener('keydown', (e) => this.key(e));
    this.stage.addEventListener('blur', () => { this.tip.hidden = true; this.focused = null; this.mark(); });
    new ResizeObserver(() => { if (this.root && this.stage.clientWidth !== this.width) this.draw(); }).observe(this.stage);
  }

  show(root) {
    const zoom = this.zoom;
    this.root = root;
    // The same frame of the new tree stays in view.
    this.zoom = zoom ? samePath(root, zoom) : root;
    if (this.focused) this.focused = samePath(root, this.focused);
    this.draw();
  }

  reset() { if (this.root) this.zoomTo(this.root); }
  zoomed() { return Boolean(this.root && this.zoom && this.zoom !== this.root); }

  zoomTo(node) {
    this.zoom = node;
    this.focused = this.focused && node;
    this.draw();
    this.onzoom(node === this.root ? null : node);
  }

  boxOf(target) { const at = this.elements.indexOf(target.closest('.frame')); return at < 0 ? null : this.boxes[at]; }

  draw() {
    this.width = this.stage.clientWidth;
    if (!this.root || this.width < 50) return;
    this.zoom = this.zoom || this.root;
    this.boxes = flameBoxes(this.root, this.zoom, FLAME.least / this.width).slice(0, FLAME.boxes);
    const depth = this.boxes.reduce((d, b) => Math.max(d, b.depth), 0);
    this.stage.style.height = (depth + 1) * FLAME.row + 'px';
    while (this.elements.length < this.boxes.length) {
      const element = h('div', { class: 'frame', role: 'treeitem' });
      this.elements.push(element);
      this.stage.append(element);
    }
    while (this.elements.length > this.boxes.length) this.elements.pop().remove();
    this.boxes.forEach((box, i) => {
      const s = this.elements[i].style, element = this.elements[i];
      s.left = (box.left * this.width).toFixed(1) + 'px';
      s.width = Math.max(box.width * this.width - 1, 1).toFixed(1) + 'px';
      s.top = box.depth * FLAME.row + 'px';
      s.background = this.colour(box.node);
      setText(element, box.width * this.width > 26 ? box.node.name : '');
      element.setAttribute('aria-label', box.node.name + ', ' + this.describe(box.node));
      element.setAttribute('aria-level', box.depth + 1);
      setClass(element, 'above', box.above);
    });
    this.mark();
  }

  colour(node) {
    if (node.depth === 0) return themeColour('--flame-root');
    if (node.name === 'other') return themeColour('--flame-other');
    let sum = 0;
    // One hue for a class: its methods differ in lightness.
    const dot = node.name.lastIndexOf('.');
    for (const c of node.name.slice(0, dot > 0 ? dot : undefined)) sum = (sum * 31 + c.charCodeAt(0)) % 9973;
    const dark = document.documentElement.dataset.theme === 'dark';
    return 'hsl(' + (8 + (sum % 44)) + ' ' + (dark ? 62 : 88) + '% ' + ((dark ? 22 : 70) + (node.name.length % 5) * 2) + '%)';
  }

  describe(node) {
    const share = this.root.total > 0 ? (100 * node.total) / this.root.total : 0;
    return formatTime(node.total) + ' (' + formatPercent(share) + '), own ' + formatTime(node.self);
  }

  setSearch(text) { this.search = text.trim().toLowerCase(); this.mark(); }

  // Marks what is found and what has the focus; returns the share of time below frames that were found.
  mark() {
    let found = 0;
    this.boxes.forEach((box, i) => {
      const hit = this.search !== '' && box.node.name.toLowerCase().includes(this.search);
      if (hit) found++;
      setClass(this.elements[i], 'hit', hit);
      setClass(this.elements[i], 'dim', this.search !== '' && !hit);
      const focus = this.focused === box.node;
      setClass(this.elements[i], 'focus', focus);
      if (focus) { this.elements[i].id = 'flame-focus'; this.stage.setAttribute('aria-activedescendant', 'flame-focus'); } else this.elements[i].removeAttribute('id');
    });
    return found;
  }

  // {frames, share} of what the search finds, each moment of time once.
  found() {
    let frames = 0, time = 0;
    const walk = (node, inside) => {
      const hit = node.name.toLowerCase().includes(this.search);
      if (hit) { frames++; if (!inside) time += node.total; }
      for (const child of node.children.values()) walk(child, inside || hit);
    };
    if (this.root && this.search) for (const child of this.root.children.values()) walk(child, false);
    return { frames, share: this.root && this.root.total > 0 ? time / this.root.total : 0 };
  }

  point(event) {
    const box = this.boxOf(event.target);
    if (!box) { this.tip.hidden = true; return; }
    const frame = this.node.getBoundingClientRect();
    this.tell(box.node, event.clientX - frame.left + 12, event.clientY - frame.top + 16);
  }

  tell(node, x, y) {
    this.tip.hidden = false;
    fill(this.tip, h('strong', null, node.name), h('span', null, this.describe(node)));
    this.tip.style.left = Math.max(0, Math.min(x, this.width - this.tip.offsetWidth - 4)) + 'px';
    this.tip.style.top = y + 'px';
  }

  key(event) {
    if (!this.root) return;
    const node = this.focused || this.zoom;
    const sort = (n) => [...n.children.values()].filter((c) => this.boxes.some((b) => b.node === c)).sort((a, b) => (a.name < b.name ? -1 : 1));
    const beside = (step) => { const all = node.parent ? sort(node.parent) : [node]; return all[all.indexOf(node) + step]; };
    const largest = () => sort(node).sort((a, b) => b.total - a.total)[0];
    const to = { ArrowDown: largest, ArrowUp: () => node.parent, ArrowLeft: () => beside(-1), ArrowRight: () => beside(1), Home: () => this.root }[event.key];
    if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); this.focused = node; this.zoomTo(node); return; }
    if (!to) return;
    event.preventDefault();
    this.focused = to() || node;
    this.mark();
    const at = this.boxes.findIndex((b) => b.node === this.focused);
    if (at >= 0) this.tell(this.focused, this.boxes[at].left * this.width, (this.boxes[at].depth + 1) * FLAME.row + 6);
  }
}
