'use strict';
// Figures of services and runtimes in the columns that pcp apm has too: COLUMNS, which build.py puts in.

// How the page writes a figure; `scale` is of what Values has, nanoseconds and bytes, a second if it is a rate.
const COLUMN_FORMATS = {
  rate: { text: formatRate }, time: { text: formatTime }, bytes: { text: formatBytes }, byteRate: { text: formatByteRate }, whole: { text: formatWhole },
  percent: { text: formatPercent }, share: { text: formatPercent, scale: 1e-7 }, cores: { text: formatCores, scale: 1e-9 },
};

const leafMetrics = (tree) => [...new Set(COLUMNS[tree].flatMap((c) => c.leaves.map((leaf) => 'apm.' + tree + '.' + leaf)))];

function figure(values, tree, column, instance) {
  const [first, second] = column.leaves.map((leaf) => 'apm.' + tree + '.' + leaf);
  const v = column.how === 'rate' ? values.rate(first, instance) : column.how === 'ratio' ? values.mean(first, second, instance) : values.base(first, instance);
  if (v === null) return null;
  if (column.how !== 'part') return v * (COLUMN_FORMATS[column.format].scale || 1);
  const whole = values.base(second, instance);
  return whole > 0 ? (100 * v) / whole : null;
}

// All figures of an instance: {calls, errors, mean, …}.
const figures = (values, tree, instance) => Object.fromEntries(COLUMNS[tree].map((c) => [c.id, figure(values, tree, c, instance)]));

// The columns of a table with these figures. A column that no row has a value for is left out. leads: {figure: the id of what tells more}.
function figureColumns(tree, ids, leads = {}, own = {}) {
  return ids.map((id) => {
    const column = COLUMNS[tree].find((c) => c.id === id), { text } = COLUMN_FORMATS[column.format];
    const made = { id, title: column.title, hint: column.hint, align: 'right', optional: true, value: (r) => r[id], text: (r) => text(r[id]) };
    if (leads[id]) made.cell = (r, td) => leadCell(td, text(r[id]), leads[id], r[id] > 0 && (tree === 'service' ? r.key : r.service));
    return { ...made, ...own[id] };
  });
}

// A figure that leads to what tells more of it, for its service: an address that can be kept. The link stays the same, and so has its focus.
function leadCell(td, text, id, service) {
  if (!service) {
    if (td.lead) { td.replaceChildren(); td.lead = null; }
    setText(td, text);
    return;
  }
  if (!td.lead) fill(td, td.lead = h('a', { class: 'lead', onclick: (e) => {
    if (e.ctrlKey || e.metaKey || e.shiftKey) return;
    e.preventDefault();
    e.stopPropagation();
    if (app.service !== td.leadOf) chooseService(td.leadOf);
    goTo(id);
  } }));
  setText(td.lead, text);
  td.leadOf = service;
  // What else is chosen is in the address too, and changes.
  const query = new URLSearchParams(location.search);
  query.set('service', service);
  const href = '?' + query + '#' + id;
  if (td.lead.getAttribute('href') === href) return;
  td.lead.href = href;
  td.lead.title = titleOf(id) + ' of ' + keyName(service);
}
