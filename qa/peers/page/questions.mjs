// The page at the addresses that docs/questions.md says, for qa/peers/questions/ask.py: a line of standard input is an address behind the
// page's own (?..#..), empty for the same once more; a line of JSON is what the page shows there. questions.mjs PROXY
import { createInterface } from 'node:readline';
import { start, text, tick, until } from './browser.mjs';

const [proxy] = process.argv.slice(2);
const browser = await start();
const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
page.setDefaultTimeout(120000);
const wrong = [];
page.on('pageerror', (error) => wrong.push(String(error.stack)));

const shown = () => page.evaluate(() => {
  const seen = (id) => { const box = document.getElementById(id).getBoundingClientRect(); return box.top < innerHeight && box.bottom > 100; };
  const plain = (rows) => (rows || []).map((r) => Object.fromEntries(Object.entries(r).filter(([, v]) => v === null || typeof v !== 'object')));
  const charts = Object.fromEntries([...app.lines].map(([id, { times, lines }]) => [id, { times, lines: Object.fromEntries([...lines].map(([key, values]) => [key, [...values]])) }]));
  const branch = (node) => ({ name: node.name, total: node.total, children: [...(node.children?.values?.() || node.children || [])].map(branch) });
  const dialog = document.querySelector('dialog .waterfall');
  // Of an archive the rates of all of its time: at one moment of it little may have happened.
  let { values } = app;
  if (Archive.data) {
    values = new Values();
    longestRate = Infinity;
    for (const at of [0, Archive.data.times.length - 1]) values.take(Archive.data.times[at], app.client.sample(Archive.names, at), app.client.metrics);
  }
  return {
    moment: app.moment, sections: [...SECTIONS, ...CAUSES].map((s) => s.id).filter(seen),
    causes: Object.fromEntries(CAUSES.map((cause) => [cause.id, plain(Archive.data ? causeRows(values, cause, app.service) : Causes.rows?.get(cause.id))])),
    alerts: Alerts.holding().flatMap(({ rule, holds }) => holds.map((one) => ({ rule: rule.name, instance: one.instance, figure: one.figure, place: rule.place }))),
    runtimes: plain(Archive.data ? agentRows(values) : Overview.agents), cells: Object.fromEntries(CAUSES.map(({ id }) => [id, [...Causes.tables.get(id).body.rows].map((tr) => [...tr.cells].map((td) => td.innerText))])),
    agents: plain(Overview.agents), services: plain(Services.rows), jvms: plain(Jvm.rows), charts, lttng: plain(Lttng.rows),
    stacks: Stacks.root ? branch(Stacks.root) : null,
    events: [...document.querySelectorAll('#lttng tbody tr')].map((tr) => [...tr.cells].map((td) => td.innerText)),
    trees: Object.fromEntries((Records.data?.rows || []).filter((r) => r.cells.tree).map((r) => [r.cells.trace_id, r.cells.tree])),
    traces: [...Traces.store.traces.values()].map((t) => ({ id: t.id, ms: t.end - t.start })),
    waterfall: dialog ? [...dialog.querySelectorAll('tbody tr:not(.wf-details)')].map((tr) => tr.innerText) : [],
    resident: app.values.base('apm.self.memory.rss', ''),
  };
});

for await (const line of createInterface({ input: process.stdin })) {
  if (line) {
    const [query, hash] = line.replace(/^\?/, '').split('#');
    const own = proxy === '-' ? '' : new URLSearchParams({ proxy, hostspec: 'local:', every: 2 }) + '&';
    await page.goto('about:blank');
    await page.goto('file://' + process.env.PAGE + '?' + own + query + (hash ? '#' + hash : ''));
    await until(async () => ['live', 'archive'].includes(await text(page, '#status')));
  }
  if (proxy !== '-' && !line) {
    const before = await tick(page);
    await until(async () => (await tick(page)) > before);
  }
  console.log(JSON.stringify({ ...(await shown()), wrong }));
}
await browser.close();
