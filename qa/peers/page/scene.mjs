// The page with all six sources at work: scene.mjs PROXY, steps on standard input. It writes `step NAME` and waits
// for a line, so that the test can restart programs meanwhile. With SHOTS the screenshots of the docs go there.
import { createInterface } from 'node:readline';
import { count, live, noErrors, open, show, sleep, start, text, tick, top, until, verdict, sections } from './browser.mjs';

const [proxy] = process.argv.slice(2);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const step = async (name) => { console.log('step ' + name); await lines.next(); };
const shots = process.env.SHOTS;
const browser = await start();
const { page, wrong } = await open(browser, proxy);
const number = (selector) => page.locator(selector).count();
const drawn = (id) => page.evaluate((i) => { const u = Charts.charts.get(i).plot; return u ? u.data.slice(1).filter((l) => l.some((v) => v !== null)).length : 0; }, id);

await verdict('the page is live', () => live(page));
await verdict('six kinds of runtimes, in words', () => until(async () => {
  const kinds = new Set(await page.evaluate(() => Overview.agents.map((a) => a.source)));
  return kinds.size === 6 && (await page.evaluate(() => Overview.agents.filter((a) => a.state === 'sending').length)) >= 10;
}));
await show(page, 'services');
await verdict('calls, mean and percentiles of Java and Zorka services', () => until(() => page.evaluate(() =>
  ['profiler', 'zorka'].every((source) => Services.rows.some((r) => r.source === source && r.calls > 0 && r.mean > 0 && r.p99 >= r.p50 && r.p50 > 0)))));
await verdict('collections of .NET, Mono and Java programs', () => until(() => page.evaluate(() =>
  ['dotnet', 'jvm'].every((source) => Services.rows.some((r) => r.source === source && r.collections > 0))
  // Programs of Mono that only the module shows have them in the chart.
  && [...app.lines.get('gc').lines].some(([key, line]) => keySource(key) === 'mono' && line[line.length - 1] > 0))));
await show(page, 'causes');
await verdict('methods, locks, exceptions and collections have their causes, of five sources', () => until(() => page.evaluate(() => CAUSES.every(({ id }) => Causes.rows.get(id)?.length > 0)
  && new Set([...Causes.rows.values()].flat().map((r) => r.source)).size === 5)));
if (shots) { await sleep(1500); await page.mouse.move(5, 300); await page.screenshot({ path: shots + '/page-causes.png' }); }
await show(page, 'alerts');
await verdict('most rules have something to judge, and are', () => until(() => page.evaluate(() => Alerts.judged.filter((one) => one.there).length > RULES.length / 2 && Alerts.looks.span() > 0)));
await show(page, 'charts');
for (const id of ['calls', 'errors', 'latency', 'pauses', 'gc', 'stopped', 'cpu', 'waiting', 'allocated', 'heap', 'exceptions', 'threads']) {
  await verdict(`chart ${id} has lines`, () => until(async () => (await drawn(id)) > 0));
}
await show(page, 'durations');
for (const kind of ['profiler', 'zorka', 'dotnet']) {
  await verdict(`durations of ${kind} are in the heat map`, async () => {
    await page.click(`#durations [data-value="${kind}"]`);
    return until(() => page.evaluate((k) => Durations.some(k) && !Durations.map.canvas.hidden, kind));
  });
}
await page.click('#durations [data-value="profiler"]');

// The flame graph.
await show(page, 'stacks');
for (const kind of ['dotnet', 'zorka', 'profiler']) {
  await verdict(`a flame graph of ${kind}`, async () => {
    await page.click(`#stacks [data-value="${kind}"]`);
    return until(async () => (await number('#stacks .frame')) > 3);
  });
}
await verdict('a frame is zoomed to by a click and back by 0', async () => {
  const before = await number('#stacks .frame');
  await page.locator('#stacks .frame').nth(2).click();
  if (!(await page.evaluate(() => Stacks.graph.zoomed()))) return false;
  await page.keyboard.press('0');
  return !(await page.evaluate(() => Stacks.graph.zoomed())) && (await number('#stacks .frame')) >= before;
});
await verdict('search marks frames and says their share', async () => {
  const name = await page.evaluate(() => Stacks.graph.boxes[Stacks.graph.boxes.length - 1].node.name);
  await page.fill('#flame-search', name);
  if (!(await number('#stacks .frame.hit')) || !/frames found/.test(await text(page, '#flame-note'))) return false;
  if (shots) { await page.fill('#flame-search', ''); await page.mouse.move(400, 400); await page.screenshot({ path: shots + '/page-flame.png' }); await page.fill('#flame-search', name); }
  await page.keyboard.press('Escape');
  return (await number('#stacks .frame.hit')) === 0;
});
await verdict('arrow keys go from frame to frame', async () => {
  await page.evaluate(() => document.activeElement.blur());
  await page.focus('#stacks .flame');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  return (await number('#stacks .frame.focus')) === 1 && !(await page.locator('.flame-tip').isHidden());
});
await verdict('a tooltip says time and share', async () => { await page.locator('#stacks .frame').nth(1).hover(); return /%/.test(await text(page, '.flame-tip')); });
await verdict('methods and stacks as tables', async () => {
  await page.click('#stacks [data-value="methods"]');
  if (!(await until(async () => (await number('#stacks tbody tr')) > 2))) return false;
  await page.click('#stacks [data-value="stacks"]');
  return until(() => page.evaluate(() => Stacks.stackTable.rows.size > 1));
});
await page.click('#stacks [data-value="graph"]');

// Records.
await show(page, 'records');
for (const kind of ['mono.sample', 'lttng.record', 'zorka.exception', 'dotnet.exception', 'profiler.pause', 'dotnet.gc', 'zorka.span', 'profiler.call']) {
  await verdict(`records of ${kind}`, async () => { await page.click(`#records [data-value="${kind}"]`); return until(async () => (await number('#records tbody tr')) > 1); });
}
await verdict('the slowest calls, the longest first', async () => {
  await page.click('#records [data-value="slowest"]');
  return until(() => page.evaluate(() => {
    if (Records.data?.order !== 'slowest' || !Records.duration) return false;
    const shown = [...Records.table.rows.values()].map((e) => Number(e.row.cells[Records.duration]));
    return shown.length > 3 && shown.every((v, i) => !i || v <= shown[i - 1]);
  }));
});
await verdict('a record opens with all its fields', async () => {
  // A row can go between the focus and the key.
  const opens = await until(async () => {
    if ((await count(page, 'dialog')) === 0) {
      await page.locator('#records tbody tr').first().focus();
      await page.keyboard.press('Enter');
    }
    return (await count(page, 'dialog dl.record dt')) > 3;
  });
  await page.keyboard.press('Escape');
  return opens && await until(async () => (await count(page, 'dialog')) === 0);
});
await show(page, 'traces');
await verdict('a trace over several services as a waterfall', async () => {
  if (!(await until(() => page.evaluate(() => [...Traces.store.traces.values()].some((t) => t.services.size >= 2 && t.spans.size >= 5))))) return false;
  await page.evaluate(() => Traces.show([...Traces.store.traces.values()].filter((t) => t.services.size >= 2 && t.spans.size >= 5).sort((a, b) => b.spans.size - a.spans.size)[0].id));
  const good = await until(() => page.evaluate(() => {
    const lines = [...document.querySelectorAll('.waterfall tbody tr:not(.wf-details)')];
    const bars = lines.map((l) => l.querySelector('.wf-bar').style).map((s) => [parseFloat(s.left), parseFloat(s.width)]);
    return lines.length >= 5 && lines.some((l) => l.ariaLevel === '3') && bars.every(([left, width]) => left >= 0 && left + width < 100.01) && Math.max(...bars.map((b) => b[1])) > 80;
  }));
  if (shots) { await sleep(300); await page.screenshot({ path: shots + '/page-trace.png' }); }
  await page.keyboard.press('Escape');
  return good;
});
await show(page, 'jvm');
await verdict('JVMs with their figures', () => until(() => page.evaluate(() => Jvm.rows.length === 3
  && Jvm.rows.every((r) => r.level === 'good' && r.paused > 0 && r.heap > 0 && r.most >= r.heap && r.resident > 0 && r.threads > 0 && r.cpu !== null && r.cause))));
await verdict('and their rows', () => until(async () => (await number('#jvm tbody tr')) === 3 && /G1 Evacuation Pause/.test(await text(page, '#jvm'))));
await show(page, 'lttng');
await verdict('a live session and classes of events', () => until(async () => (await number('#lttng tbody tr')) > 2 && /reading/.test(await text(page, '#lttng'))));
await show(page, 'cost');
await verdict('own cost and losses', () => until(async () => /pmdaapm \d/.test(await text(page, '#cost .facts')) && (await number('#cost .u-wrap')) === 3 && (await number('#cost tbody tr')) > 10));

// A service is chosen by key and filters everything.
await top(page);
await show(page, 'services');
await page.mouse.move(5, 300);
await page.evaluate(() => document.activeElement.blur());
await verdict('a service is chosen by a key and filters all', async () => {
  const key = await page.evaluate(() => Services.rows.filter((r) => r.source === 'profiler').sort((a, b) => b.calls - a.calls)[0].key);
  // The order of the table changes meanwhile: each key press goes towards it.
  const way = () => page.evaluate((k) => { const keys = [...Services.table.rows.keys()]; return Math.sign(keys.indexOf(k) - keys.indexOf(app.service)); }, key);
  const chosen = await until(async () => {
    const to = await way();
    if (to) await page.keyboard.press(to > 0 ? ']' : '[');
    return (await page.evaluate(() => app.service)) === key;
  });
  if (!chosen) return false;
  // Sections ask for their data when they are seen.
  return until(async () => {
    for (const id of sections) { await show(page, id); await sleep(150); }
    return page.evaluate((k) => {
    const name = keyName(k);
    return app.service === k && Overview.agents.length > 0 && Overview.agents.every((a) => a.name.startsWith(name + '/'))
      && [...Charts.charts.get('calls').items].every((i) => i.key === k || i.key.startsWith(k + '\n')) && Charts.charts.get('calls').items.length > 2
      && Stacks.root.name === name && Records.data && Records.data.rows.length > 0 && Records.data.rows.every((r) => r.instance.startsWith(name + '/'));
  }, key);
  });
});
await verdict('its address can be kept', () => page.url().includes('service=profiler'));
await verdict('Escape shows all again', async () => { await page.keyboard.press('Escape'); return (await page.evaluate(() => app.service)) === null; });

// Keys, themes, pause, widths.
await verdict('? opens the help, Escape closes it', async () => {
  await page.keyboard.press('?');
  const open = await until(async () => (await count(page, 'dialog.help[open]')) === 1);
  await page.keyboard.press('Escape');
  return open && await until(async () => (await count(page, 'dialog')) === 0);
});
await verdict('every control is reached by Tab and has a name', async () => {
  await top(page);
  await page.evaluate(() => document.activeElement.blur());
  const seen = new Set();
  for (let i = 0; i < 60; i++) {
    await page.keyboard.press('Tab');
    seen.add(await page.evaluate(() => { const e = document.activeElement; return (e.id || e.dataset.value || e.dataset.section || e.tagName) + '|' + Boolean(e.textContent || e.ariaLabel || e.title || e.labels?.length); }));
  }
  return ['where', 'every', 'pause', 'theme', 'help', 'overview', 'cost'].every((id) => seen.has(id + '|true')) && ![...seen].some((s) => s.endsWith('|false') && !s.startsWith('BODY'));
});
await verdict('p pauses and goes on', async () => {
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press('p');
  // What was asked before may still come.
  const still = await until(async () => {
    const before = await tick(page);
    await sleep(2500);
    return (await tick(page)) === before && (await text(page, '#status')) === 'paused';
  });
  await page.keyboard.press('p');
  return still && (await live(page));
});
await verdict('no horizontal scrolling at 1280 and 1024', async () => {
  for (const width of [1024, 1280]) {
    await page.setViewportSize({ width, height: 900 });
    for (const id of sections) {
      await show(page, id);
      await sleep(200);
      if (await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)) { console.error('scrolls at', width, id); return false; }
    }
  }
  return true;
});
const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number)[0]);
await verdict('light and dark by the system and by t', async () => {
  if (!(await until(async () => (await ground()) > 200))) return false;
  await page.emulateMedia({ colorScheme: 'dark' });
  if (!(await until(async () => (await ground()) < 60))) return false;
  await page.keyboard.press('t');
  const chosen = await until(async () => (await ground()) > 200);
  await page.keyboard.press('t');
  await page.keyboard.press('t');
  return chosen;
});
if (shots) {
  await top(page);
  await page.evaluate(() => { for (const e of document.querySelectorAll('.scroll')) e.scrollLeft = 0; });
  await sleep(1500);
  await page.screenshot({ path: shots + '/page-dark.png' });
  await page.emulateMedia({ colorScheme: 'light' });
  await page.evaluate(() => document.getElementById('charts').scrollIntoView());
  await sleep(2500);
  await page.evaluate(() => document.getElementById('charts').scrollIntoView());
  await sleep(500);
  await page.screenshot({ path: shots + '/page-light.png' });
}
await page.emulateMedia({ colorScheme: 'light' });

// History.
await show(page, 'charts');
await verdict('the past from /series', async () => {
  if (!(await until(() => page.evaluate(() => History.probe().then(() => History.available))))) return false;
  await page.click('#charts [data-value="900"]');
  return until(async () => /archives of/.test(await text(page, '#history-note')) && (await drawn('calls')) > 0 && (await drawn('gc')) > 0);
});
await page.click('#charts [data-value="0"]');
await verdict('and back to live', () => until(async () => (await text(page, '#history-note')) === ''));

// Restarts while it is open.
const before = await page.evaluate(() => app.values.uptime);
await step('kill the PMDA');
await verdict('a killed PMDA comes back, rates go on and none is odd', async () => (await until(() => page.evaluate((b) => app.values.uptime < b, before))) && (await live(page)) && until(() => page.evaluate(() => {
  const calls = [...app.lines.get('calls').lines.values()];
  return calls.some((l) => l[l.length - 1] > 0) && calls.flat().every((v) => v === null || (v >= 0 && v < 1e5));
})));
await step('stop pmproxy');
await verdict('a pmproxy that is gone is told', () => until(async () => /pmproxy does not answer/.test(await text(page, '#trouble')) && !(await page.locator('#trouble').isHidden())));
await step('start pmproxy');
await verdict('its return is seen', async () => (await live(page)) && page.locator('#trouble').isHidden());
await verdict('no error in the page, nothing from elsewhere', () => noErrors(wrong));
await browser.close();
// The steps' answers are still awaited, which keeps Node alive.
process.exit();
