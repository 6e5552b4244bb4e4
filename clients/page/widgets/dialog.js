'use strict';
// Dialogs: the browser's own, so that focus stays inside and Escape closes them.

function showDialog(title, content, className) {
  const close = h('button', { type: 'button', class: 'ghost', 'aria-label': 'Close', onclick: () => dialog.close() }, '✕');
  const dialog = h('dialog', { class: className, 'aria-label': title }, h('div', { class: 'dialog-head' }, h('h2', null, title), close), content);
  dialog.addEventListener('click', (e) => { if (e.target === dialog) dialog.close(); });
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

const KEYS = [
  ['?', 'This help'], ['p', 'Pause and go on'], ['t', 'Light, dark, as the system'], ['h', 'Host and proxy'],
  ['/', 'Search (flame graph, traces or records, whichever is nearest)'], ['Esc', 'Clear search, zoom, then the chosen service'],
  ['1 – 9', 'Go to one of the first nine sections'], ['[ and ]', 'Service before and after'], ['Tab, arrows', 'Through rows, frames, waterfalls and the heat map; Enter chooses'],
  ['0', 'Reset the zoom of the flame graph'], [', and .', 'Time before and after, in the page of an archive'],
];

function helpDialog() {
  const words = [
    ['Rates', 'Counters are shown as their change a second between two looks. After a restart of the PMDA there is one gap.'],
    ['p50, p95, p99', 'Percentiles of the last minute, over all pods of a service. They are not kept when nothing happens.'],
    ['Paused', 'Share of time in which a runtime stood still for garbage collections.'],
    ['Alerts', 'The rules of pmie, Prometheus and Grafana that hold now. Rates are means of the time that this page has looked, at most two minutes.'],
    ['Causes', 'Methods, locks, exceptions and collections. A figure with a line below it leads there.'],
    ['Traces', 'Spans that have the same trace id, as far as their records are here: the newest 50 and the slowest 50 of each runtime, and those that this page has seen.'],
    ['Records', 'Single calls, spans, collections: the newest, and the slowest of the last five minutes.'],
    ['Call trees', 'The methods of the slowest calls, made while somebody looks. Stood still is a part of the total: the runtime was paused.'],
  ];
  showDialog('Keys and words', [
    h('dl', { class: 'keys' }, KEYS.map(([key, text]) => [h('dt', null, key.split(' ').map((k) => (/^(–|and)$/.test(k) ? ' ' + k + ' ' : h('kbd', null, k)))), h('dd', null, text)])),
    h('dl', { class: 'words' }, words.map(([word, text]) => [h('dt', null, word), h('dd', null, text)])),
  ], 'help');
}

function connectionDialog(apply) {
  const proxy = h('input', { id: 'proxy-input', name: 'proxy', value: app.options.proxy, required: true, spellcheck: 'false', autocomplete: 'url' });
  const host = h('input', { id: 'host-input', name: 'hostspec', value: app.options.hostspec, required: true, maxlength: '255', spellcheck: 'false', autocomplete: 'off', list: 'hosts' });
  const wrong = h('p', { class: 'wrong', role: 'alert' });
  const recent = (remembered().hosts || []).filter((x) => typeof x === 'string').slice(0, 8);
  const form = h('form', {
    onsubmit: (e) => {
      e.preventDefault();
      const address = proxyAddress(proxy.value.trim());
      if (!address) { setText(wrong, 'A pmproxy has an address like http://host:44322.'); proxy.focus(); return; }
      remember({ hosts: [...new Set([host.value.trim(), ...recent])].slice(0, 8) });
      dialog.close();
      apply(address, host.value.trim() || 'local:');
    },
  },
  h('label', { for: 'proxy-input' }, 'pmproxy'), proxy, h('p', { class: 'hint' }, 'The pmproxy that this page asks, mostly on port 44322.'),
  h('label', { for: 'host-input' }, 'Host'), host, h('datalist', { id: 'hosts' }, recent.map((x) => h('option', { value: x }))),
  h('p', { class: 'hint' }, 'The pmcd that pmproxy asks: ', h('code', null, 'local:'), ' is its own host, and the way to event records; ', h('code', null, 'web1'), ' or ', h('code', null, 'web1:44321'), ' another one.'),
  wrong, h('div', { class: 'buttons' }, h('button', { type: 'submit', class: 'primary' }, 'Connect')));
  const dialog = showDialog('Connection', form, 'connection');
  host.focus();
  host.select();
}
