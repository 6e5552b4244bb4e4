'use strict';
// Elements are made of parts and texts, never of markup: names and records come from peers.

const SVG = 'http://www.w3.org/2000/svg';

// h('td', {class: 'right', onclick: f}, 'text', child, [children])
function h(tag, attributes, ...children) {
  const node = document.createElement(tag);
  setAttributes(node, attributes);
  append(node, children);
  return node;
}

function svg(tag, attributes, ...children) {
  const node = document.createElementNS(SVG, tag);
  setAttributes(node, attributes);
  append(node, children);
  return node;
}

function setAttributes(node, attributes) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value == null || value === false) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (name === 'style') Object.assign(node.style, value);
    else node.setAttribute(name, value === true ? '' : String(value));
  }
}

function append(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child == null || child === false) continue;
    node.append(child.nodeType ? child : document.createTextNode(String(child)));
  }
}

const byId = (id) => document.getElementById(id);
// The title of a section, or of a table in one.
const titleOf = (id) => (byId(id).querySelector('h2') || byId(id)).textContent;

function fill(node, ...children) {
  node.replaceChildren();
  append(node, children);
  return node;
}

// Writes a text only when it is another one: nothing is laid out again for equal values.
function setText(node, text) {
  const value = String(text);
  if (node.textContent !== value) node.textContent = value;
}

function setClass(node, name, on) {
  if (node.classList.contains(name) !== Boolean(on)) node.classList.toggle(name, Boolean(on));
}

function setHidden(node, hidden) {
  if (node.hidden !== Boolean(hidden)) node.hidden = Boolean(hidden);
}

// The text of a place without data: what is missing, and what helps.
function emptyState(title, hint, code) {
  return h('div', { class: 'empty' }, h('p', { class: 'what' }, title), hint && h('p', null, hint), code && h('code', null, code));
}

// A word of a command that is shown to be copied: peers choose ids of traces.
const shellWord = (text) => (/^[\w.:/-]+$/.test(text) ? text : "'" + text.replace(/'/g, "'\\''") + "'");

// A group of buttons of which one is pressed.
function choice(label, options, chosen, onchange) {
  const group = h('div', { class: 'choice', role: 'group', 'aria-label': label });
  const buttons = new Map();
  for (const [value, text, title] of options) {
    const button = h('button', { type: 'button', title, 'data-value': value, onclick: () => { group.set(value); onchange(value); } }, text);
    buttons.set(value, button);
    group.append(button);
  }
  group.set = (value) => {
    group.value = value;
    for (const [v, button] of buttons) button.setAttribute('aria-pressed', String(v === value));
  };
  group.enable = (value, on, title) => {
    const button = buttons.get(value);
    button.disabled = !on;
    if (title != null) button.title = title;
  };
  group.set(chosen);
  return group;
}

// The colour of a CSS variable as it is now; canvases are drawn with it. Kept, since asking lays the page out.
const themeColours = new Map();
function themeColour(name) {
  if (!themeColours.has(name)) themeColours.set(name, getComputedStyle(document.documentElement).getPropertyValue(name).trim());
  return themeColours.get(name);
}

// A small line of numbers; null is a gap.
function sparkline(width, height) {
  const area = svg('path', { class: 'area' });
  const line = svg('path', { class: 'line' });
  const node = svg('svg', { class: 'spark', width, height, viewBox: '0 0 ' + width + ' ' + height, preserveAspectRatio: 'none', 'aria-hidden': 'true' }, area, line);
  node.draw = (values) => {
    const known = values.filter(isNumber);
    const top = Math.max(...known, 1e-9);
    const step = width / Math.max(values.length - 1, 1);
    let path = '', shape = '', from = null;
    values.forEach((v, i) => {
      const x = (i * step).toFixed(1);
      if (!isNumber(v)) { if (from !== null) { shape += 'V' + height + 'H' + from + 'Z'; from = null; } return; }
      const y = (height - 1.5 - (v / top) * (height - 3)).toFixed(1);
      path += (from === null ? 'M' : 'L') + x + ' ' + y;
      shape += from === null ? 'M' + x + ' ' + height + 'L' + x + ' ' + y : 'L' + x + ' ' + y;
      if (from === null) from = x;
    });
    if (from !== null) shape += 'V' + height + 'H' + from + 'Z';
    if (line.getAttribute('d') !== path) { line.setAttribute('d', path); area.setAttribute('d', shape); }
  };
  return node;
}
