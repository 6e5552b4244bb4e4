'use strict';
// Tables of records: a header, then one record a line.

// Rows of cells; quotes as RFC 4180 has them. At most `limit` rows.
function parseCsv(text, limit = 1000) {
  const rows = [];
  let row = [], cell = '', quoted = false;
  const end = () => { row.push(cell); cell = ''; };
  for (let i = 0; i < text.length && rows.length < limit; i++) {
    const c = text[i];
    if (quoted) {
      if (c !== '"') cell += c;
      else if (text[i + 1] === '"') { cell += '"'; i++; } else quoted = false;
    } else if (c === '"' && cell === '') quoted = true;
    else if (c === ',') end();
    else if (c === '\n') { end(); rows.push(row); row = []; }
    else if (c !== '\r') cell += c;
  }
  if (rows.length < limit && (cell !== '' || row.length)) { end(); rows.push(row); }
  return rows;
}

// Tables of several instances as one: {columns, rows: [{instance, cells: {column: text}}]}.
function mergeTables(byInstance, limit = 1000) {
  const columns = [], rows = [];
  for (const [instance, text] of byInstance) {
    if (typeof text !== 'string' || !text) continue;
    const [head, ...records] = parseCsv(text, limit);
    if (!head) continue;
    for (const name of head) if (!columns.includes(name) && columns.length < 64) columns.push(name);
    for (const record of records) {
      if (record.length < 2) continue;
      const cells = Object.create(null);
      head.forEach((name, i) => { cells[name] = record[i] ?? ''; });
      rows.push({ instance, cells });
      if (rows.length >= limit * 4) return { columns, rows };
    }
  }
  return { columns, rows };
}

// A cell as a number, or null.
function cellNumber(text) {
  if (text === '' || text == null || text === '-') return null;
  const x = Number(text);
  return Number.isFinite(x) ? x : null;
}

// Milliseconds since 1970 of a record's time, or null.
function cellTime(text) {
  const t = Date.parse(String(text || '').replace(/(\.\d{3})\d+/, '$1'));
  return Number.isNaN(t) ? null : t;
}
