// The page of an archive that peers/made_archive.py made: from 12:00:00 to 12:02:00 UTC each second has 32 calls and one
// error, and the 99th percentile, which is logged each 10 s, is as many ms as seconds have passed by then.
import { accessible, count, noErrors, open, show, sleep, start, text, until, verdict } from './browser.mjs';

const BEGIN = 1795348800;
const browser = await start();
const { page, wrong } = await open(browser, 'http://localhost:1');
const asked = [];
page.on('request', (request) => { if (!/^(file|data):/.test(request.url())) asked.push(request.url()); });
const clock = () => text(page, '#moment-clock');
const near = (a, b) => Math.abs(a - b) <= 1e-3 * Math.abs(b);
const shown = () => page.evaluate((begin) => { const [row] = Services.rows; return { seconds: app.moment - begin, calls: row.calls, errors: row.errors, p99: row.p99 / 1e6, shown: document.querySelector('#services tbody').innerText, legend: Charts.charts.get('latency').items.map((i) => i.value.textContent) }; }, BEGIN);
const right = async () => {
  const s = await shown();
  return near(s.calls, 32) && near(s.errors, 1) && s.p99 === Math.floor(s.seconds / 10) * 10 && s.shown.includes('32/s') && parseFloat(s.legend[0]) === s.p99;
};

await until(async () => (await text(page, '#status')) === 'archive');
await show(page, 'charts');
await verdict('its charts have all of the time', () => until(() => page.evaluate((begin) => {
  const { data } = Charts.charts.get('calls').plot;
  return data[0][0] === begin && data[0][data[0].length - 1] === begin + 120 && data[1].length === 121 && data[1].slice(1).every((v) => Math.abs(v - 32) < 0.1);
}, BEGIN)));
await verdict('an address chooses the moment, 12:01', async () => {
  await page.goto(page.url().replace(/&at=.*/, '') + '&at=12:01');
  await show(page, 'services');
  await show(page, 'charts');
  return (await until(async () => (await clock()) === '12:01:00')) && (await until(right)) && (await shown()).seconds === 60;
});
await verdict('so does a click on a chart', async () => {
  const box = await page.locator('#charts .u-over').first().boundingBox();
  await page.mouse.click(box.x + box.width * 0.25, box.y + 40);
  return (await until(async () => Math.abs((await shown()).seconds - 30) <= 2)) && (await until(right)) && /at=2026-11-22T12%3A00%3A[23]\d/.test(page.url());
});
await verdict('and keys, and the slider', async () => {
  const before = (await shown()).seconds;
  await page.mouse.move(5, 300);
  await page.keyboard.press('.');
  await page.focus('#moment');
  await page.keyboard.press('ArrowRight');
  return (await shown()).seconds === before + 2 && (await until(right));
});
await verdict('before the first moment there is no rate', async () => {
  await page.focus('#moment');
  await page.keyboard.press('Home');
  return until(async () => { const s = await shown(); return s.seconds === 0 && s.calls === null && !s.shown.includes('32/s'); });
});
await verdict('what was not logged is said', async () => {
  for (const [id, words] of [['traces', /apm.events of pmlogconf/], ['records', /pcp apm -a made/], ['stacks', /Nothing was logged/]]) { await show(page, id); if (!(await until(async () => words.test(await text(page, '#' + id))))) return false; }
  return true;
});
await verdict('markup in it is text', async () => {
  await show(page, 'overview');
  return until(async () => { const t = await text(page, '#overview'); return t.includes('</script><script>') && t.includes('__proto__') && page.evaluate(() => window.pwned === undefined); });
});
await verdict('what comes and goes has values where it had them', () => page.evaluate(() => {
  const client = new ArchiveClient({ host: '', times: [0, 1, 2, 3, 4], metrics: { m: { values: { late: [2, 5, 6], always: 7 } } } });
  return JSON.stringify([0, 1, 2, 3, 4].map((at) => [...client.sample(['m'], at).get('m')])) === '[[["always",7]],[["always",7]],[["late",5],["always",7]],[["late",6],["always",7]],[["always",7]]]';
}));
await verdict('what has no value at a moment has none of before', () => page.evaluate(() => {
  const { metrics } = Archive.data, name = 'apm.service.latency.p99', kept = metrics[name];
  metrics[name] = { ...kept, values: { 'shop/orders': [0, ...Array(50).fill(7)] } };
  const at = (moment) => { Archive.choose(moment); return Services.rows[0].p99; };
  const right = at(49) === 7 && at(50) === null;
  metrics[name] = kept;
  Archive.choose(60);
  return right;
}));
await verdict('a step looks at the rules once, and at causes when they are in sight', () => page.evaluate(() => {
  const { tick } = Alerts;
  let judged = 0;
  Alerts.tick = () => { judged++; tick.call(Alerts); };
  visibleSections.delete('causes');
  Archive.choose(60);
  Alerts.tick = tick;
  return judged === 1 && Causes.rows === null && Alerts.looks.list.length > 3;
}));
await verdict('an address leads to the same moment, between seconds too', () => page.evaluate(() => {
  const { times } = Archive.data;
  Archive.data.times = times.map((t) => t + 0.7);
  Archive.choose(60);
  const at = Archive.nearest(momentOf(new URLSearchParams(location.search).get('at'), times[times.length - 1]));
  Archive.data.times = times;
  return at === 60;
}));
await verdict('it asks nobody', () => asked.length === 0);
await verdict('axe finds nothing in it', () => accessible(page, 'archive'));
await page.setViewportSize({ width: 390, height: 844 });
await sleep(300);
await verdict('390 pixels: nothing is cut off', () => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth && ['where', 'moment', 'moment-clock', 'help'].every((id) => {
  const box = document.getElementById(id).getBoundingClientRect();
  return box.width > 20 && box.left >= 0 && box.right <= innerWidth;
})));
await verdict('no error in it', async () => noErrors(wrong) && (await count(page, '#services tbody tr')) === 1);
await browser.close();
