// The page against made pmproxies: made.mjs NOTHING GOOD HOSTILE MANY, four addresses.
import { accessible, count, live, noErrors, open, show, sleep, start, text, tick, ticks, until, verdict, details, sections } from './browser.mjs';

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
    for (const id of ['overview', 'alerts', 'services', 'causes', 'stacks', 'jvm', 'lttng']) { await show(page, id); if (!(await until(() => count(page, `#${id} .empty .what`)))) return false; }
    return true;
  });
  await verdict('nothing is said of what is not known', async () => {
    for (const id of sections) { await show(page, id); await sleep(150); }
    const said = await page.evaluate(() => document.getElementById('main').innerText);
    details(said.match(/.*\bNo (?!values yet).*/g) || '', said.match(/.*\b(none|0\/s)\b.*/g) || '');
    return !/\bNo (?!values yet)/.test(said) && !/\b(none|0\/s)\b/.test(said) && /is seen as soon as the host answers/.test(said);
  });
  await verdict('axe finds nothing while nothing answers', () => accessible(page, 'nothing answers'));
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
  await verdict('times of pmproxy are as it means them', () => page.evaluate(() => padded('{"timestamp":1795703771.64459548,') === '{"timestamp":1795703771.064459548,'
    && padded('{"timestamp":1795703771064.45954,') === '{"timestamp":1795703771064.45954,' && padded('"timestamp":1795703771.164459548') === '"timestamp":1795703771.164459548'));
  await verdict('a host that does not answer holds up no other', () => page.evaluate(async () => {
    const asked = [], whole = window.fetch;
    window.fetch = (url, ...more) => (url.startsWith('http://made') ? (asked.push(url.split('=')[1]), new Promise(() => {})) : whole(url, ...more));
    const [one, other] = ['one', 'other'].map((host) => new Client('http://made', host));
    for (const [client, of] of [[one, '1'], [one, '2'], [other, '3']]) client.get('/pmapi/fetch', { of }).catch(() => {});
    await new Promise((resolve) => setTimeout(resolve));
    window.fetch = whole;
    return asked.join() === '1,3';
  }));
  await mode(good, 'zero');
  await ticks(page, 3);
  await mode(good, 'ok');
  await ticks(page, 2);
  const rates = () => page.evaluate(() => CHARTS.flatMap((c) => (c.format === 'rate' ? [...app.lines.get(c.id).lines.values()].flat() : [])).filter((v) => v !== null));
  await verdict('counters that begin again make no rate', async () => (await until(async () => (await rates()).length > 50)) && (await rates()).every((v) => v >= 0 && v < 5000));
  await mode(good, 'idle');
  await verdict('a host without runtimes has a text in each section', () => until(async () => {
    for (const id of ['overview', 'alerts', 'services', 'causes', 'stacks', 'traces', 'records', 'jvm', 'lttng']) { await show(page, id); await sleep(150); if (!(await count(page, `#${id} .empty .what`))) return false; }
    return true;
  }));
  await mode(good, 'refused');
  await show(page, 'records');
  await verdict('refused event records are told, and what helps', () => until(async () => /refused/.test(await text(page, '#records')) && /pmproxy = "read"/.test(await text(page, '#records'))));
  await page.evaluate(() => Records.chooseTrees());
  await show(page, 'records');
  await verdict('also where trees are looked for', () => until(async () => (await page.evaluate(() => Records.stream.endsWith('.tree') && Records.data)) && /refused/.test(await text(page, '#records'))));
  await mode(good, 'treeless');
  await verdict('which are not made yet where calls are seen', () => until(async () => /made from now on/.test(await text(page, '#records'))));
  await mode(good, 'refused');
  await page.evaluate(() => Traces.store.reset());
  await show(page, 'traces');
  await verdict('and where traces would be', () => until(async () => /refused/.test(await text(page, '#traces')) && /pmproxy = "read"/.test(await text(page, '#traces'))));
  await mode(good, 'ok');
  await verdict('no error in it', () => noErrors(wrong));
  await page.close();
}

// Traces whose every figure is known: see trace_table of page_proxy.py.
{
  const { page, wrong } = await open(browser, good);
  const id = (n) => '4bf92f3577b34da6a3ce929d0e0e47' + String(n).padStart(2, '0');
  const lines = () => page.evaluate(() => [...document.querySelectorAll('dialog.trace .waterfall tbody tr[aria-level]:not(.wf-details)')].map((tr) => ({
    level: Number(tr.ariaLevel), name: tr.querySelector('.wf-service').textContent, operation: tr.querySelector('.wf-operation').textContent, error: Boolean(tr.querySelector('.wf-error')),
    mark: tr.querySelector('.wf-mark')?.textContent.trim() || '', at: tr.querySelector('.wf-at').textContent, took: tr.querySelector('.wf-took').textContent,
    left: Math.round(parseFloat(tr.querySelector('.wf-bar').style.left) * 100), width: Math.round(parseFloat(tr.querySelector('.wf-bar').style.width) * 100) })));
  const ids = () => page.evaluate(() => [...Traces.table.rows.values()].map((r) => r.row.id));
  await live(page);
  await show(page, 'traces');
  await page.mouse.move(5, 300);
  await verdict('traces of three services, the failed and then the slowest first', () => until(async () => JSON.stringify((await ids()).slice(0, 10)) === JSON.stringify([19, 17, 15, 13, 11, 9, 7, 5, 3, 1].map(id))));
  await verdict('their figures are what was sent', () => page.evaluate((one) => {
    const t = Traces.store.find(one);
    return t.spans.size === 4 && t.services.size === 3 && t.errors === 1 && Math.abs(t.end - t.start - 27) < 0.01 && t.root.operation === 'http GET /page/a=b';
  }, id(19)));
  await page.click('#traces [data-value="failed"]');
  await verdict('only those that failed', () => until(() => page.evaluate(() => Traces.table.data.length === 10 && Traces.table.data.every((t) => t.errors === 1))));
  await page.click('#traces [data-value="all"]');
  await page.locator('#traces tbody tr').first().focus();
  await page.keyboard.press('Enter');
  // 27 ms: the second service from 1 to 4, the third from 5 to 7, and from 6 to 6.5 a span without its cause.
  const wanted = [
    { level: 1, name: 'orders', operation: 'http GET /page/a=b', error: false, mark: '', at: '0', took: '27\u202fms', left: 0, width: 10000 },
    { level: 2, name: 'stock', operation: 'http select * from orders where id = 19', error: false, mark: '', at: '1\u202fms', took: '3\u202fms', left: 370, width: 1111 },
    { level: 2, name: 'billing', operation: 'http Shop.do', error: true, mark: '', at: '5\u202fms', took: '2\u202fms', left: 1852, width: 741 },
    { level: 1, name: 'billing', operation: 'http /lost', error: false, mark: 'cause not here', at: '6\u202fms', took: '500\u202fµs', left: 2222, width: 185 },
  ];
  await verdict('a waterfall has a bar for each span, where and as long as it ran, below what caused it', async () => {
    const good = await until(async () => JSON.stringify(await lines()) === JSON.stringify(wanted));
    if (!good) details(JSON.stringify(await lines()));
    return good;
  });
  await verdict('its address can be kept', () => page.url().includes('trace=' + id(19)));
  await verdict('arrows go from line to line, Enter opens one, with its fault', async () => {
    if (!(await until(() => page.evaluate(() => document.activeElement.closest('.waterfall') !== null)))) return false;
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    const said = await page.evaluate(() => { const tr = document.activeElement; return tr.ariaExpanded + ' ' + tr.nextElementSibling.innerText; });
    details(said);
    return /^true/.test(said) && said.includes('shop.NoMoney: card refused, again, at Pay.do(Pay.java:7)') && (await count(page, '.waterfall tr[tabindex="0"]')) === 1;
  });
  await verdict('the id of its cause leads to that', async () => {
    await page.click('.wf-details:not([hidden]) a:text-is("a19")');
    return until(() => page.evaluate(() => document.querySelector('.waterfall tr.picked .wf-service')?.textContent === 'orders' && document.activeElement.classList.contains('picked')));
  });
  await verdict('axe finds nothing in it', () => accessible(page, 'waterfall'));
  await page.keyboard.press('Escape');
  await verdict('Escape closes it', async () => (await until(async () => (await count(page, 'dialog')) === 0)) && !page.url().includes('trace='));
  await show(page, 'records');
  await page.click('#records [data-value="zorka.span"]');
  await verdict('ids in tables of records are links to it', async () => {
    if (!(await until(async () => (await count(page, '#records td a.trace-link')) > 20))) return false;
    await page.fill('#record-search', 'c07');
    await until(async () => (await count(page, '#records tbody tr')) === 1);
    await page.click('#records td a:text-is("a07")');
    return until(async () => (await text(page, 'dialog h2')) === 'Trace ' + id(7) && page.evaluate(() => document.querySelector('.waterfall tr.picked .wf-service')?.textContent === 'orders'));
  });
  await page.keyboard.press('Escape');
  await page.fill('#record-search', '');
  await page.evaluate((one) => Traces.show(one), '9'.repeat(32));
  await verdict('of 900 spans 400 are drawn, which is said', () => until(async () => (await lines()).length === 400 && /Only 400 of at least 900 spans/.test(await text(page, '.waterfall-cut'))));
  await verdict('levels below the 24th have their number', () => page.evaluate(() => [...document.querySelectorAll('.waterfall .wf-depth')].some((e) => e.textContent.trim() === '(39)')));
  await page.keyboard.press('Escape');
  await page.evaluate(() => Traces.show('feedfeedfeedfeed'));
  await verdict('an id that has no record says where to look', () => until(async () => /pcp apm trace feedfeed/.test(await text(page, 'dialog'))));
  await page.keyboard.press('Escape');
  await page.goto(page.url().replace(/&trace=[^&]*/, '') + '&trace=' + id(4).toUpperCase());
  await verdict('an address opens it, whatever the form of the id', () => until(async () => (await lines()).length === 4));
  await page.keyboard.press('Escape');
  await verdict('no error in it', () => noErrors(wrong));
  await page.close();
}

// Trees of slow calls: see tree_table of page_proxy.py.
{
  const { page, wrong } = await open(browser, good);
  await live(page);
  const rows = () => page.evaluate(() => [...document.querySelectorAll('dialog .call-tree tbody tr')].map((tr) => [...tr.cells].filter((td) => !td.hidden).map((td) => td.textContent).join(' | ')));
  const frames = () => page.evaluate(() => [...document.querySelectorAll('dialog .call-tree .frame')].map((f) => f.getAttribute('aria-label')));
  await show(page, 'services');
  await verdict('a long duration leads to the trees of its service', async () => {
    if (!(await until(() => page.evaluate(() => {
      const at = Services.table.columns.findIndex((c) => c.id === 'p99'), row = [...Services.table.rows.values()].find((e) => e.row.source === 'profiler' && e.cells[at].querySelector('a.lead'));
      row?.cells[at].querySelector('a.lead').click();
      return Boolean(row);
    })))) return false;
    return until(() => page.evaluate(() => Records.stream === 'profiler.tree' && Records.order === 'slowest' && Records.table && Records.table.data.length === 3
      && Records.table.data.every((r) => serviceKey('profiler', serviceOfInstance('profiler', r.instance)) === app.service) && Records.trees.getBoundingClientRect().top < innerHeight));
  });
  await verdict('they have service, duration, time that the JVM stood still, and nodes', () => until(async () => {
    const heads = await page.evaluate(() => [...document.querySelectorAll('#records th')].map((th) => th.textContent.trim()));
    return ['Duration, ms', 'Suspended, ms', 'Nodes', 'Service', 'Pod'].every((head) => heads.includes(head)) && !heads.includes('Tree') && !heads.includes('Runtime');
  }));
  await page.locator('#records tbody tr').first().focus();
  await page.keyboard.press('Enter');
  const tree = ['Shop.do | 400\u202fms | 100\u202fms | 50\u202fms | 1', 'Store.find | 200\u202fms | 190\u202fms | 40\u202fms | 3', 'Pool.borrow | 10\u202fms | 10\u202fms | 0 | 7',
    'Json.write | 97\u202fms | 97\u202fms | – | 2', 'others | 3\u202fms | – | – | 5'];
  await verdict('one is a table of its methods, callers first, small ones summed up', async () => {
    const right = await until(async () => JSON.stringify(await rows()) === JSON.stringify(tree));
    if (!right) details(JSON.stringify(await rows()));
    return right && page.evaluate(() => [...document.querySelectorAll('dialog .call-tree tbody tr')].map((tr) => tr.cells[0].style.paddingLeft).join() === '8px,20px,32px,20px,20px'
      && document.querySelector('dialog .call-tree tbody tr:nth-child(2) .bar-fill').style.width === '50%');
  });
  await verdict('and a flame graph of the same times', async () => {
    const said = await frames();
    details(JSON.stringify(said));
    return said.length === 6 && said[0] === 'Shop.do, 400\u202fms (100\u202f%), own 100\u202fms' && said.includes('A.b, 2\u202fms (0.5\u202f%), own 2\u202fms');
  });
  await verdict('sorted by own time, and as a tree again', async () => {
    await page.click('dialog .call-tree th[data-column="own"] button');
    const flat = (await rows()).map((row) => row.split(' | ')[0]).join();
    await page.click('dialog .call-tree th[data-column="order"] button');
    return flat === 'Store.find,Shop.do,Json.write,Pool.borrow,others' && JSON.stringify(await rows()) === JSON.stringify(tree);
  });
  await verdict('axe finds nothing in it', () => accessible(page, 'call tree'));
  await verdict('a call that is not there is told', async () => {
    await page.click('dialog .related button');
    return until(async () => /no longer among/.test(await text(page, 'dialog .related')));
  });
  await page.keyboard.press('Escape');
  await page.evaluate((one) => { chooseService(null); Traces.show(one); }, '4bf92f3577b34da6a3ce929d0e0e4707');
  await verdict('from the span of a trace to its tree', async () => {
    if (!(await until(async () => (await count(page, '.waterfall tbody tr[aria-level]:not(.wf-details)')) === 4))) return false;
    await page.locator('.waterfall tbody tr').first().click();
    await page.click('.wf-details:not([hidden]) .related button');
    return until(async () => JSON.stringify(await rows()) === JSON.stringify(['Shop.do | 15\u202fms | 12\u202fms | 1', 'Http.get | 3\u202fms | 3\u202fms | 1']));
  });
  await verdict('to its record, and to its trace again', async () => {
    await page.click('dialog .related button');
    if (!(await until(async () => (await count(page, 'dialog .call-tree')) === 0 && /http.url=\/page/.test(await text(page, 'dialog'))))) return false;
    await page.click('dialog a.trace-link');
    return until(async () => (await text(page, 'dialog h2')) === 'Trace 4bf92f3577b34da6a3ce929d0e0e4707');
  });
  await verdict('a span whose tree is not kept says so', async () => {
    await until(async () => (await count(page, '.waterfall tbody tr[aria-level]:not(.wf-details)')) === 4);
    await page.locator('.waterfall tbody tr[aria-level]:not(.wf-details)').nth(1).click();
    await page.click('.wf-details:not([hidden]) .related button');
    return until(async () => /No tree is kept/.test(await text(page, '.wf-details:not([hidden]) .related')));
  });
  await page.keyboard.press('Escape');
  await verdict('texts of trees may be anything', () => page.evaluate(() => {
    const names = (text) => { const root = callTree(text); return root && callNodes(root).map((n) => [n.depth, n.total, n.self, n.stop, n.executions, n.name].join('/')).join(' '); };
    const wide = callTree('0,1,1,,1,a ' + Array.from({ length: 30000 }, (_, n) => `${n},1,1,,1,b`).join(' '));
    return names('') === null && names('x') === null && names('7,5,1,0,1,A 9,4,4,,,B 0,1,,0,1,B 1,x,1,0,1,C') === '0/5000/1000/0/1/A 1/4000/4000///B 1/1000/1000/0/1/B' && callNodes(wide).length === 10000
      && Math.max(...callNodes(wide).map((n) => n.depth)) === 128 && names('0,5,1,0,1,A 1,2,2,0,1,B 1,2,2,0,1,B').split(' ').length === 3;
  }));
  await verdict('an address opens them', async () => {
    await page.goto(page.url().split('#')[0] + '#trees');
    await page.reload();
    return until(() => page.evaluate(() => Records.order === 'slowest' && otherStream(Records.stream) !== undefined && Records.table && Records.table.data.length > 0));
  });
  await verdict('no error in it', () => noErrors(wrong));
  await page.close();
}

// Figures lead to what they are of.
{
  const { page, wrong } = await open(browser, good);
  await live(page);
  const named = async (id) => (await text(page, `#services th[data-column="${id}"]`)).trim();
  for (const [figure, cause, source] of [['exceptions', 'exceptions', 'dotnet'], ['waiting', 'locks', 'mono'], ['mean', 'methods', 'profiler'], ['paused', 'collections', 'dotnet']]) {
    await page.evaluate(() => chooseService(null));
    await show(page, 'services');
    await verdict(`a click on ${figure} of ${source} leads to its ${cause}`, async () => {
      if (!(await until(() => page.evaluate(([f, s]) => {
        const at = Services.table.columns.findIndex((c) => c.id === f);
        const row = [...Services.table.rows.values()].find((e) => e.row.source === s && e.cells[at].querySelector('a.lead'));
        row?.cells[at].querySelector('a.lead').click();
        return Boolean(row);
      }, [figure, source])))) { details(await named(figure)); return false; }
      return until(() => page.evaluate(([c, s]) => {
        const table = Causes.tables.get(c), top = document.getElementById(c).getBoundingClientRect().top;
        const rows = [...table.rows.values()].map((e) => e.row);
        return app.service && keySource(app.service) === s && top >= 0 && top < innerHeight && rows.length > 0 && rows.every((r) => r.service === app.service && r.total > 0);
      }, [cause, source]));
    });
  }
  await page.evaluate(() => chooseService(null));
  await verdict('columns without a value are left out', () => page.evaluate(() => {
    const shown = (rows) => { Services.table.update(rows); return Services.table.columns.filter((c) => !document.querySelector(`#services th[data-column="${c.id}"]`).hidden).map((c) => c.id); };
    const all = shown(Services.rows), java = Services.rows.filter((r) => r.source === 'profiler'), some = shown(java), { cells } = [...Services.table.rows.values()][0];
    const kept = Services.table.columns.filter((c) => !c.optional || java.some((r) => isNumber(r[c.id]))).map((c) => c.id);
    return all.includes('cpu') && !some.includes('cpu') && some.join() === kept.join() && Services.table.columns.every((c, i) => cells[i].hidden === !kept.includes(c.id));
  }));
  await show(page, 'services');
  await verdict('a figure leads to the address that is there now', () => page.evaluate(() => {
    const links = () => { Services.draw(); return [...document.querySelectorAll('#services a.lead')].map((a) => new URL(a.href).searchParams.get('trace')); };
    const kept = location.href, before = links();
    history.replaceState(null, '', kept.replace('?', '?trace=t7&'));
    const after = links();
    history.replaceState(null, '', kept);
    return before.length > 3 && before.every((id) => id === null) && after.every((id) => id === 't7');
  }));
  await show(page, 'causes');
  await verdict('a source that the page does not know has its own name', () => until(() => page.evaluate(() => Causes.tables.get('collections').data.some((r) => r.source === 'toy')
    && (Causes.tables.get('collections').update(Causes.rows.get('collections').filter((r) => r.source === 'toy')), document.querySelector('#collections ~ .table tbody').innerText.includes('toy')))));
  await verdict('a sample of a JVM is 20 ms of its method', () => until(() => page.evaluate(() => {
    const row = Causes.rows.get('methods').find((r) => r.source === 'jvm');
    return row && row.total === 20e6 * app.values.base('apm.jvm.profile.methods.self', row.owner + '::' + row.what) && row.service === 'jvm|' + row.owner.replace(/:\d+$/, '');
  })));
  // What is above it may still grow.
  await verdict('and of the stacks of its service', () => until(async () => (await show(page, 'stacks')) || page.evaluate(() => {
    const metric = 'apm.jvm.profile.stacks', { values } = app;
    const service = [...profileStacks(values, PROFILES.find((p) => p.id === 'jvm'))].filter(([stack]) => stack.startsWith('orders,'));
    const samples = [...values.all(metric)].filter(([name]) => name.startsWith('orders:')).reduce((sum, [, n]) => sum + n, 0);
    return samples > 0 && service.length > 1 && service.reduce((sum, [, ns]) => sum + ns, 0) === 20e6 * samples;
  })));
  await verdict('the past has services that are gone, once', () => page.evaluate(async () => {
    const kept = window.pastValues, now = Math.floor(Date.now() / 60000) * 60, metric = CHARTS.find((c) => c.id === 'cpu');
    window.pastValues = async (_, name) => new Map(name === 'apm.service.cpu.time' ? [['old/one', [[now - 60, 0], [now, 60e9]]]] : name === 'apm.profiler.service.cpu' ? [['old/one', [[now - 60, 0], [now, 30e9]]]] : []);
    const { lines } = await History.lines(app.client, metric, 900);
    window.pastValues = kept;
    return JSON.stringify([...lines]) === '[["|old/one",[1]]]';
  }));
  await verdict('rates of rules: of 30 s at least, since the newest restart, of no old look', () => page.evaluate(() => {
    const values = new Values(), looks = new Looks(), rule = RULES.find((one) => one.name === 'panics'), [metric] = rule.of[0].metrics;
    const of = (time, count) => { values.take(time, new Map([[metric, new Map([['', count]])]]), new Map([[metric, { sem: 'counter', units: 'count' }]])); looks.take(values); return looks.value(values, metric, ''); };
    const seen = [[0, 100], [10, 110], [30, 130], [40, 5], [60, 25], [80, 45], [190, 155], [700, 155], [710, 156]].map(([time, count]) => of(time, count));
    return JSON.stringify(seen) === JSON.stringify([null, null, 1, null, null, 1, 1, null, null]) && looks.list.length === 2;
  }));
  await verdict('an older look has what is needed, the worst of a rule is the first', () => page.evaluate(() => {
    const values = new Values(), looks = new Looks(), rule = RULES.find((one) => one.name === 'jvm_container_limit');
    const [limit, heap] = rule.of[0].metrics, about = new Map([limit, heap].map((name) => [name, { sem: 'instant', units: 'byte' }]));
    values.take(1, new Map([[limit, new Map([['a', 9], ['b', 5], ['c', 20]])], [heap, new Map([['a', 10], ['b', 10], ['c', 10]])]]), about);
    looks.take(values);
    return looks.list.length === 1 && !looks.list[0].of.has(limit) && judge(rule, values, looks).holds.map((one) => one.instance).join() === 'b,a';
  }));
  await show(page, 'alerts');
  await verdict('an alert leads to what to look at', async () => {
    const link = '#alerts [data-rule="dotnet_starvation"] a';
    if (!(await until(async () => (await count(page, link)) === 1))) { details('no alert'); return false; }
    // What is above it may still grow: then it is pushed out of sight again.
    return until(async () => {
      await page.click(link);
      const { top, height } = await page.evaluate(() => ({ top: document.getElementById('charts').getBoundingClientRect().top, height: innerHeight }));
      if (top >= 0 && top < height) return true;
      throw new Error(`charts at ${top} of ${height}`);
    });
  });
  await verdict('no error in it', () => noErrors(wrong));
  await page.close();
}

// Narrow, wide, light, dark.
for (const [width, height, scheme] of [[390, 844, 'light'], [1280, 900, 'dark'], [2560, 1300, 'light']]) {
  const { page, wrong } = await open(browser, good, { width, height, scheme });
  await live(page);
  for (const id of sections) { await show(page, id); await sleep(200); }
  await ticks(page, 2);
  await verdict(`${width} pixels: nothing is cut off, the width is used`, () => page.evaluate(() => {
    const inside = (e) => { const box = e.getBoundingClientRect(); return box.width > 20 && box.left >= 0 && box.right <= innerWidth + 0.5; };
    const outside = ['where', 'status', 'every', 'pause', 'theme', 'help'].filter((id) => !inside(document.getElementById(id)));
    const where = document.getElementById('where');
    return !outside.length && where.scrollWidth <= where.clientWidth && document.documentElement.scrollWidth <= innerWidth && document.querySelector('#charts .charts').clientWidth > innerWidth * 0.93;
  }));
  await show(page, 'records');
  await verdict(`${width} pixels: durations of records, traces and methods are in sight`, () => until(() => page.evaluate(() => ['#records th[data-column^="duration"]', '#traces th[data-column="duration"]', '#methods ~ .table th[data-column="now"]'].every((at) => {
    const th = document.querySelector(at);
    return th && th.getBoundingClientRect().right <= innerWidth;
  }))));
  await verdict(`${width} pixels: axe finds nothing`, () => accessible(page, width));
  await show(page, 'traces');
  await until(async () => (await count(page, '#traces tbody tr')) > 10);
  await page.locator('#traces tbody tr').first().click();
  await verdict(`${width} pixels: a waterfall fits, axe finds nothing`, async () => (await until(async () => (await count(page, '.waterfall tbody tr')) > 3))
    && (await page.evaluate(() => { const d = document.querySelector('dialog'); return d.scrollWidth <= d.clientWidth && [...d.querySelectorAll('.wf-track, .wf-took')].slice(0, 8).every((e) => { const b = e.getBoundingClientRect(); return b.left >= 0 && b.right <= innerWidth && b.width > 30; }); }))
    && (await accessible(page, 'waterfall ' + width)));
  await page.keyboard.press('Escape');
  await page.evaluate(() => Records.chooseTrees());
  await show(page, 'records');
  await until(async () => (await page.evaluate(() => Records.table?.data[0]?.cells.tree)) && ((await page.locator('#records tbody tr').first().click()) || true));
  await verdict(`${width} pixels: a tree fits, axe finds nothing`, async () => (await until(async () => (await count(page, 'dialog .call-tree tbody tr')) > 1))
    && (await page.evaluate(() => { const d = document.querySelector('dialog'); return d.scrollWidth <= d.clientWidth && document.querySelectorAll('dialog .frame').length > 1; }))
    && (await accessible(page, 'tree ' + width)));
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
  await page.evaluate(() => chooseService(null));
  await show(page, 'traces');
  await until(() => page.evaluate(() => { const row = document.querySelector('#traces tbody tr'); row?.click(); return Boolean(document.querySelector('.waterfall tbody tr')); }));
  await page.keyboard.press('Enter');
  await verdict('markup in traces is shown as text', () => until(async () => /<img src=x|<script>/.test(await text(page, 'dialog.trace'))));
  await page.keyboard.press('Escape');
  await page.evaluate(() => { const row = [...document.querySelectorAll('#services tbody tr')].find((r) => r.textContent.includes('<img')); row.click(); });
  await show(page, 'records');
  await until(() => page.evaluate(() => { const row = document.querySelector('#records tbody tr'); row?.click(); return Boolean(row); }));
  await verdict('markup in names is shown as text', () => until(async () => (await text(page, '#chosen')).includes('<img src=x') && (await text(page, '#services tbody')).includes('<script>')));
  await page.evaluate(() => Traces.show("4bf9'; >ran"));
  await verdict('a command to copy has an id as one word', () => until(async () => (await text(page, 'dialog.trace')).includes("pcp apm trace '4bf9'\\''; >ran'")));
  await page.keyboard.press('Escape');
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
  await verdict('one request at a time', () => seen.beside === 1);
  await verdict('few connections for all requests', () => seen.connections <= 12);
  await verdict('no error in it', () => noErrors(wrong));
  await page.close();
}
await browser.close();
