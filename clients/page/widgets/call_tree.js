'use strict';
// The tree of a slow call: a flame graph, and a line for each method below the one that called it. A click on the head of a column sorts by that, on the
// first one makes the tree again.

class CallTree {
  constructor(root) {
    const rows = callRows(root), spent = (id, title, hint) => ({ id, title, hint, align: 'right', optional: true, value: (r) => r[id], cell: (r, td) => barCell(td, formatTime(r[id]), (r[id] || 0) / (root.total || 1)) });
    this.table = new Table([
      { id: 'order', title: 'Method', value: (r) => r.order, cell: (r, td) => this.method(r, td) },
      spent('total', 'Total', 'With what it called'), spent('own', 'Own', 'Without what it called'), spent('stop', 'Stood still', 'Of the total: the runtime was paused'),
      { id: 'executions', title: 'Executions', align: 'right', optional: true, value: (r) => r.executions, text: (r) => formatWhole(r.executions) },
    ], { caption: 'Methods of the call', sort: ['order', 'up'], limit: 60 });
    this.graph = new FlameGraph(() => {});
    this.node = h('div', { class: 'call-tree' }, this.graph.node, this.table.node);
    this.table.update(rows);
    this.graph.show(root);
  }

  method(row, td) {
    setText(td, row.name);
    td.title = row.name;
    td.style.paddingLeft = 8 + 12 * Math.min(row.depth, TRACE_LIMITS.deepest) + 'px';
  }
}
