'use strict';
// The tree of methods of a slow call, out of the cell `tree` of its record: DEPTH,TOTAL,SELF,STOP,EXECUTIONS,METHOD of each node in µs, callers first.
// As clients/cli/pcp_apm/call_tree.py has it.

const CALL_LIMITS = {
  nodes: 10000, // of a text
  depth: 128,
  least: 0.01,  // of its call: smaller ones are summed up as `others`
};

// Nodes as those of stackTree, in ns, so that a flame graph draws them; `stop` and `executions` are null where they are not known. null: no tree.
function callTree(text) {
  let root = null, node = null;
  for (const entry of String(text || '').split(' ', CALL_LIMITS.nodes)) {
    const found = /^(\d{1,6}),(-?\d{0,15}),(-?\d{0,15}),(-?\d{0,15}),(\d{0,15}),(.+)$/.exec(entry);
    if (!found) continue;
    const [total, self, stop, executions] = found.slice(2, 6).map((part) => (part === '' || part === '-' ? null : Number(part)));
    const ns = (us) => (us === null ? null : us * 1000);
    // Below the root each has a caller, whatever the text says.
    const depth = root ? Math.min(Math.max(Number(found[1]), 1), node.depth + 1, CALL_LIMITS.depth) : 0;
    const made = { name: found[6], total: Math.max(ns(total) || 0, 0), own: ns(self), stop: ns(stop), executions, children: new Map(), parent: null, depth };
    while (node && node.depth >= depth) node = node.parent;
    if (node) {
      made.parent = node;
      node.children.set(node.children.has(made.name) ? made.name + '\n' + node.children.size : made.name, made);
    }
    root = root || made;
    node = made;
  }
  if (root) for (const one of callNodes(root)) one.self = one.own !== null ? Math.max(one.own, 0) : Math.max(0, one.total - [...one.children.values()].reduce((sum, child) => sum + child.total, 0));
  return root;
}

// A node and all below, callers first.
function callNodes(root) {
  const out = [], stack = [root];
  while (stack.length) {
    const node = stack.pop();
    out.push(node);
    stack.push(...[...node.children.values()].reverse());
  }
  return out;
}

// Rows of a table: what takes less than a hundredth of the call is summed up below its caller.
function callRows(root) {
  const rows = [], stack = [root], small = (node) => node.name === 'others' || node.total < CALL_LIMITS.least * root.total;
  while (stack.length) {
    const node = stack.pop(), children = [...node.children.values()], few = children.filter(small);
    rows.push({ key: String(rows.length), order: rows.length, name: node.name, depth: node.depth, total: node.total, own: node.own, stop: node.stop, executions: node.executions });
    const sum = (name) => few.reduce((all, one) => all + (one[name] || 0), 0);
    const rest = few.length > 1 ? [{ name: 'others', depth: node.depth + 1, total: sum('total'), own: null, stop: null, executions: sum('executions'), children: new Map() }] : few;
    stack.push(...rest, ...children.filter((child) => !small(child)).reverse());
  }
  return rows;
}

// The stream of the trees of these calls, or of the calls that these trees are of; undefined if there is none.
const otherStream = (id) => (STREAMS.find((s) => s.id === id) || {}).of || (STREAMS.find((s) => s.of === id) || {}).id;
