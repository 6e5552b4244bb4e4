// The page against made pmproxies: made.mjs NOTHING GOOD HOSTILE MANY, four addresses.
import { count, live, noErrors, open, show, sleep, start, text, tick, ticks, until, verdict, details, sections } from './browser.mjs';

const [nothing, good, hostile, many] = process.argv.slice(2);
const browser = await start();
const ask = async (proxy, path) => (await fetch(proxy + path)).json();
const mode = (proxy, name) => ask(proxy, '/mode?set=' + name);
const trouble = (page, words) => until(async () => !(await page.locator('#trouble').isHidden()) && (await text(page, '#trouble')).includes(words));

// Nothing answers.
{
  const { page, wrong } = await open(browser, nothing);
  await verdict('without a pmproxy the page says so', () => trouble(page, 'does not answer'));
  await verdict('sections without data say what is missing', async () => {
    for (const id of ['overview', 'services', 'stacks', 'jvm', 'lttng']) { await show(page, id); if (!(await until(() => count(page, `#${id} .empty .what`)))) return false; }
    return true;
  });
  await verdict('another host is chosen in the dialog', async () => {
    await page.keyboard.press('h');
    await page.fill('#proxy-input', 'ftp://x');
    await page.keyboard.press('Enter');
    if (!(await text(page, 'dialog .wrong'))) return false;
    await page.fill('#proxy-input', good);
    await page.keyboard.press('Enter');
    await show(page, 'services');
    return (await live(page)) && (await until(async () => (await count(page, '#services tbody tr')) > 5)) && page.url().includes(encodeURIComponent(good));
  });
  await verdict('no error in it', () => noErrors(wrong.filter((w) => !w.startsWith('asked elsewhere: ' + good))));
  await page.close();
}

// What answers is no pmproxy, and becomes one.
{
  await mode(good, 'html');
  const { page, wrong } = await open(browser, good);
  for (const name of ['html', 'empty', 'shapes', 'errors', 'cut']) {
    await mode(good, name);
    await verdict(`answers of kind ${name} are told`, () => trouble(page, name === 'errors' ? 'cannot ask' : name === 'cut' ? 'does not answer' : 'is no pmproxy'));
    await mode(good, 'ok');
    await verdict(`after ${name} the page goes on`, () => live(page));
  }
  await mode(good, 'away');
  await verdict('a host without pmdaapm is told', () => trouble(page, 'pmdaapm does not answer'));
  await mode(good, 'ok');
  await verdict('after it the page goes on', () => live(page));
  await ask(good, '/seen');
  await mode(good, 'ok'); // and forgets the contexts
  await verdict('a forgotten context is made anew without a word', async () => (await until(async () => (await ask(good, '/seen')).paths['/pmapi/context'] > 0))
    && (await ticks(page, 1)) && (await live(page)) && page.locator('#trouble').isHidden());
  await mode(good, 'zero');
  await ticks(page, 3);
  await mode(good, 'ok');
  await ticks(page, 2);
  const rates = () => page.evaluate(() => CHARTS.flatMap((c) => (c.format === 'rate' ? [...app.lines.get(c.id).lines.values()].flat() : [])).filter((v) => v !== null));
  await verdict('counters that begin again make no rate', async () => (await until(async () => (await rates()).length > 50)) && (await rates()).every((v) => v >= 0 && v < 5000));
  await mode(good, 'idle');
  await verdict('a host without runtimes has a text in each section', () => until(async () => {
    for (const id of ['overview', 'services', 'stacks', 'records', 'jvm', 'lttng']) { await show(page, id); await sleep(150); if (!(await count(page, `#${id} .empty .what`))) return false; }
    return true;
  }));
  await mode(good, 'refused');
  await show(page, 'records');
  await verdict('refused event records are told, and what helps', () => until(async () => /refused/.test(await text(page, '#records')) && /pmproxy = "read"/.test(await text(page, '#records'))));
  await mode(good, 'ok');
  await verdict('no error in it', () => noErrors(wrong));
  await page.close();
}

// Names and texts that are markup.
{
  const { page, wrong } = await open(browser, hostile);
  await live(page);
  // Each section is drawn twice: with all services, with a hostile one.
  for (const id of sections) { await show(page, id); await ticks(page, 1); }
  await until(() => page.evaluate(() => { const row = [...document.querySelectorAll('#services tbody tr')].find((r) => r.textContent.includes('<img')); row?.click(); return Boolean(row); }));
  for (const id of sections) { await show(page, id); await ticks(page, 1); }
  await until(() => page.evaluate(() => { const row = document.querySelector('#records tbody tr'); row?.click(); return Boolean(row); }));
  await verdict('markup in names is shown as text', () => until(async () => (await text(page, '#chosen')).includes('<img src=x') && (await text(page, '#services tbody')).includes('<script>')));
  await verdict('nothing of it became an element or was run', () => page.evaluate(() => window.pwned === undefined && !document.querySelector('img, iframe, object, main script, header script, dialog script')));
  await verdict('the policy of the page runs no other script', () => page.evaluate(async () => {
    let refused = 0;
    try { document.body.insertAdjacentHTML('beforeend', '<img src=x onerror="window.pwned=2">'); } catch { refused++; }
    try { const s = document.createElement('script'); s.textContent = 'window.pwned=3'; document.body.append(s); } catch { refused++; }
    await new Promise((resolve) => setTimeout(resolve, 200));
    return window.pwned === undefined && refused === 2;
  }));
  await verdict('no error in it', () => noErrors(wrong.filter((w) => !/Content Security Policy|TrustedHTML|TrustedScript/.test(w))));
  await page.close();
}

// A thousand services of four kinds.
{
  const { page, wrong } = await open(browser, many, { every: 2 });
  await live(page);
  await ask(many, '/seen');
  const first = await tick(page);
  await browser.startTracing(page, { categories: ['toplevel', 'devtools.timeline', 'disabled-by-default-devtools.timeline'] });
  for (const id of sections) { await show(page, id); await ticks(page, 1); }
  const trace = JSON.parse((await browser.stopTracing()).toString()).traceEvents;
  const passed = (await tick(page)) - first + 1;
  const seen = await ask(many, '/seen');
  // Processor time, which does not depend on what else runs, of the tasks of the page's thread.
  const threads = new Set(trace.filter((e) => e.name === 'thread_name' && e.args.name === 'CrRendererMain').map((e) => `${e.pid} ${e.tid}`));
  const tasks = trace.filter((e) => e.name === 'RunTask' || e.name === 'ThreadControllerImpl::RunTask').filter((e) => threads.has(`${e.pid} ${e.tid}`))
    .map((e) => Math.round(e.tdur / 1000));
  const long = tasks.filter((ms) => ms > 50).sort((a, b) => a - b);
  details('1,000 services:', passed, 'ticks,', tasks.length, 'tasks, long ones', JSON.stringify(long), 'asked', JSON.stringify(seen));
  await verdict('a thousand services: tables have their first rows', async () => (await count(page, '#services tbody tr')) === 20 && (await page.evaluate(() => Services.rows.length)) > 900);
  await verdict('a thousand services: half of the long tasks take less than 400 ms of a processor', () => tasks.length > 0 && !(long[long.length >> 1] >= 400));
  await verdict('at most one fetch a tick, and one for records', () => seen.paths['/pmapi/fetch'] <= 2 * passed + 2);
  await verdict('records of twelve runtimes at most', () => seen.tables > 0 && seen.tables <= 12);
  await verdict('few connections for all requests', () => seen.connections <= 12);
  await verdict('no error in it', () => noErrors(wrong));
  await page.close();
}
await browser.close();
