// What the page of an archive says of the rules: alerts.mjs PAGE, a line "apm.RULE INSTANCE" for each that holds at its end.
import { open, show, start, text, until } from './browser.mjs';

const browser = await start();
const { page, wrong } = await open(browser, 'http://localhost:1');
await until(async () => (await text(page, '#status')) === 'archive');
await show(page, 'alerts');
// It has judged, and of enough looks.
if (!(await until(async () => /^\d+ of \d+ rules hold.* means of /.test(await text(page, '#alerts .note'))))) console.log('no word of rules');
// As it stands there: the instances of each rule, each with its value, a remedy and a link to what there is.
const said = await page.evaluate(() => [...document.querySelectorAll('#alerts .alerts > li')].flatMap((li) => [...li.querySelectorAll('.where li')].map((one) => ({
  rule: li.dataset.rule, instance: one.querySelector('.name').textContent, value: one.querySelector('strong')?.textContent || '', least: one.querySelector('.least').textContent,
  whole: Boolean(li.querySelector('.what').textContent && li.querySelector('.why').textContent && li.querySelector('.remedy').textContent
    && document.getElementById(li.querySelector('.look a').getAttribute('href').slice(1)) && li.querySelector('.look code').textContent) }))));
for (const one of said) console.log(`apm.${one.rule} ${one.instance}` + (one.whole && one.value && /^rule: [<>=]+ \d/.test(one.least) ? '' : ' not whole: ' + JSON.stringify(one)));
for (const one of wrong) console.log('wrong: ' + one);
await browser.close();
