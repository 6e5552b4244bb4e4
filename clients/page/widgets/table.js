'use strict';
// A table that is sorted by its head, shows the first rows of many, and changes only what has changed.

// columns: {id, title, hint, align: 'right', value: row → what is sorted by, text: row → text, cell: row, td → writes it, optional: left out
// while no row has a value}
// settings: {caption, sort: [column id, 'down' or 'up'], limit, onpick: row, picked: row → yes, empty: node, key: row}
class Table {
  constructor(columns, settings) {
    this.columns = columns;
    this.settings = { limit: 25, key: (row) => row.key, ...settings };
    this.limit = this.settings.limit;
    [this.sortBy, this.direction] = this.settings.sort || [columns[0].id, 'up'];
    this.rows = new Map(); // key → {tr, cells, row}
    this.data = [];
    this.body = h('tbody');
    this.heads = new Map();
    const head = h('tr', null, columns.map((c) => this.headCell(c)));
    this.table = h('table', null, this.settings.caption && h('caption', { class: 'away' }, this.settings.caption), h('thead', null, head), this.body);
    this.more = h('button', { type: 'button', class: 'more', hidden: true, onclick: () => { this.limit += 100; this.update(this.data); } });
    this.empty = h('div', { class: 'table-empty' });
    this.node = h('div', { class: 'table' }, h('div', { class: 'scroll' }, this.table), this.empty, this.more);
    this.body.addEventListener('keydown', (e) => this.key(e));
    this.showSort();
  }

  headCell(column) {
    const button = h('button', { type: 'button', title: column.hint, onclick: () => this.sort(column.id) }, column.title, h('span', { class: 'arrow', 'aria-hidden': 'true' }));
    const th = h('th', { scope: 'col', class: column.align, 'data-column': column.id }, column.value ? button : column.title);
    this.heads.set(column.id, th);
    return th;
  }

  sort(id) {
    if (this.sortBy === id) this.direction = this.direction === 'down' ? 'up' : 'down';
    else { this.sortBy = id; this.direction = this.columns.find((c) => c.id === id).align === 'right' ? 'down' : 'up'; }
    this.showSort();
    this.update(this.data, true);
  }

  showSort() {
    for (const [id, th] of this.heads) {
      if (id === this.sortBy) th.setAttribute('aria-sort', this.direction === 'down' ? 'descending' : 'ascending');
      else th.removeAttribute('aria-sort');
    }
  }

  sorted(rows) {
    const column = this.columns.find((c) => c.id === this.sortBy);
    if (!column || !column.value) return rows;
    const sign = this.direction === 'down' ? -1 : 1;
    const value = new Map(rows.map((row) => [row, column.value(row)]));
    const unknown = (v) => v === null || v === undefined || v === '' || Number.isNaN(v);
    // Rows without a value come last in both directions.
    return [...rows].sort((a, b) => {
      const x = value.get(a), y = value.get(b);
      if (unknown(x) || unknown(y)) return unknown(x) - unknown(y);
      return x < y ? -sign : x > y ? sign : 0;
    });
  }

  // Rows do not move below a pointer or while one of them has the focus.
  held() { return this.body.matches(':hover') || this.body.contains(document.activeElement); }

  update(rows, anew) {
    this.data = rows;
    const order = this.sorted(rows);
    let shown = order.slice(0, this.limit);
    if (!anew && this.held() && this.rows.size) {
      const byKey = new Map(rows.map((row) => [this.settings.key(row), row]));
      const kept = [...this.rows.keys()].filter((k) => byKey.has(k)).map((k) => byKey.get(k));
      const there = new Set(kept);
      shown = kept.concat(shown.filter((row) => !there.has(row))).slice(0, this.limit);
    }
    for (const column of this.columns) {
      if (!column.optional) continue;
      column.left = !rows.some((row) => isNumber(column.value(row)));
      setHidden(this.heads.get(column.id), column.left);
    }
    const seen = new Map();
    let place = this.body.firstChild;
    for (const row of shown) {
      const key = this.settings.key(row);
      if (seen.has(key)) continue;
      let entry = this.rows.get(key);
      if (!entry) entry = this.makeRow();
      entry.row = row;
      this.write(entry);
      seen.set(key, entry);
      if (entry.tr === place) place = place.nextSibling;
      else this.body.insertBefore(entry.tr, place);
    }
    for (const [key, entry] of this.rows) if (seen.get(key) !== entry) entry.tr.remove();
    this.rows = seen;
    setHidden(this.table, rows.length === 0);
    setHidden(this.empty, rows.length > 0);
    if (!rows.length && this.settings.empty) {
      const content = this.settings.empty();
      if (this.emptyText !== content.textContent) { fill(this.empty, content); this.emptyText = content.textContent; }
    }
    setHidden(this.more, rows.length <= this.limit);
    setText(this.more, 'Showing ' + Math.min(this.limit, rows.length) + ' of ' + formatWhole(rows.length) + ': show more');
  }

  makeRow() {
    const cells = this.columns.map((c) => h('td', { class: c.align }));
    const pick = this.settings.onpick;
    const entry = { tr: h('tr', { tabindex: pick ? '0' : null }, cells), cells, row: null };
    if (pick) entry.tr.addEventListener('click', () => { if (!String(getSelection())) pick(entry.row); });
    entry.tr.rowEntry = entry;
    return entry;
  }

  write(entry) {
    this.columns.forEach((column, i) => {
      const td = entry.cells[i];
      setHidden(td, Boolean(column.left));
      if (column.left) return;
      if (column.cell) column.cell(entry.row, td);
      else {
        const text = column.text(entry.row);
        setText(td, text);
        if (column.full && td.title !== text) td.title = text;
      }
    });
    if (this.settings.picked) {
      const picked = this.settings.picked(entry.row);
      setClass(entry.tr, 'picked', picked);
      entry.tr.setAttribute('aria-selected', String(picked));
    }
    if (this.settings.rowClass) entry.tr.className = this.settings.rowClass(entry.row) + (this.settings.picked && this.settings.picked(entry.row) ? ' picked' : '');
  }

  key(event) {
    const tr = event.target.closest('tr');
    if (!tr || event.target !== tr) return;
    const to = { ArrowDown: tr.nextElementSibling, ArrowUp: tr.previousElementSibling, Home: this.body.firstElementChild, End: this.body.lastElementChild }[event.key];
    if (to) { to.focus(); event.preventDefault(); }
    if ((event.key === 'Enter' || event.key === ' ') && this.settings.onpick) {
      event.preventDefault();
      this.settings.onpick(tr.rowEntry.row);
    }
  }
}

// A cell with a bar behind its number: `share` of 0 to 1.
function barCell(td, text, share) {
  if (!td.bar) {
    td.bar = h('span', { class: 'bar-fill' });
    td.label = h('span', { class: 'bar-text' });
    append(td, [h('span', { class: 'bar-cell' }, td.bar, td.label)]);
  }
  setText(td.label, text);
  td.bar.style.width = (isNumber(share) ? Math.max(0, Math.min(share, 1)) * 100 : 0).toFixed(1) + '%';
}
