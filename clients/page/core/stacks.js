'use strict';
// Stacks `service,Outer,Inner` with the time in the innermost frame, as a tree and as tables.

const STACK_LIMIT = { depth: 128, nodes: 20000 };

// {name, self, total, children: Map, parent}. `other` collects what the PMDA has no instance for.
function stackTree(stacks, service) {
  const root = { name: service || 'all services', self: 0, total: 0, children: new Map(), parent: null, depth: 0 };
  let nodes = 1;
  for (const [stack, time] of stacks) {
    if (!(time > 0)) continue;
    let frames = stack.split(',').slice(0, STACK_LIMIT.depth);
    if (service) {
      if (frames[0] !== service) continue;
      frames = frames.slice(1);
    }
    let node = root;
    node.total += time;
    for (const frame of frames) {
      let child = node.children.get(frame);
      if (!child) {
        if (nodes >= STACK_LIMIT.nodes) break;
        child = { name: frame, self: 0, total: 0, children: new Map(), parent: node, depth: node.depth + 1 };
        node.children.set(frame, child);
        nodes++;
      }
      node = child;
      node.total += time;
    }
    node.self += time;
  }
  return root;
}

// Boxes of a flame graph in units of the width; those narrower than `least` are left out.
function flameBoxes(root, zoom, least) {
  const boxes = [];
  // The frames above the zoomed one span the whole width.
  const above = [];
  for (let n = zoom; n; n = n.parent) above.unshift(n);
  for (const node of above) boxes.push({ node, left: 0, width: 1, depth: node.depth, above: node !== zoom });
  const walk = (node, left) => {
    let x = left;
    for (const child of [...node.children.values()].sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const width = child.total / zoom.total;
      if (width >= least) {
        boxes.push({ node: child, left: x, width, depth: child.depth, above: false });
        walk(child, x);
      }
      x += width;
    }
  };
  if (zoom.total > 0) walk(zoom, 0);
  return boxes;
}

// The node of the same path in another tree, or the deepest one of it that is there.
function samePath(root, node) {
  const path = [];
  for (let n = node; n && n.parent; n = n.parent) path.unshift(n.name);
  let found = root;
  for (const name of path) {
    const next = found.children.get(name);
    if (!next) break;
    found = next;
  }
  return found;
}

const pathOf = (node) => { const path = []; for (let n = node; n; n = n.parent) path.unshift(n.name); return path; };

// Each method once: its own time, and the time of its outermost frames. Services are no methods.
function methodTable(root, skip) {
  const rows = new Map();
  const walk = (node, open) => {
    for (const child of node.children.values()) {
      if (child.depth <= skip) { walk(child, open); continue; }
      let row = rows.get(child.name);
      if (!row) rows.set(child.name, row = { key: child.name, self: 0, total: 0 });
      row.self += child.self;
      const outermost = !open.has(child.name);
      if (outermost) { row.total += child.total; open.add(child.name); }
      walk(child, open);
      if (outermost) open.delete(child.name);
    }
  };
  walk(root, new Set());
  return [...rows.values()];
}

// Stacks of a profile, those of processes by their services.
function profileStacks(values, profile) {
  if (!profile.ns) return values.all(profile.stacks);
  const out = new Map();
  for (const [name, samples] of values.all(profile.stacks)) {
    const [process, frames] = splitRow(name);
    if (process === null) continue;
    const stack = serviceOfInstance(profile.id, process) + ',' + frames;
    out.set(stack, (out.get(stack) || 0) + samples * profile.ns);
  }
  return out;
}

// The change of stacks since a baseline; a counter that began again counts from 0.
function stacksSince(now, baseline) {
  if (!baseline) return now;
  const out = new Map();
  for (const [stack, time] of now) {
    const before = baseline.get(stack);
    out.set(stack, isNumber(before) && before <= time ? time - before : time);
  }
  return out;
}
