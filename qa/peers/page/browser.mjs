// A headless Chromium with the page in it, and verdicts as lines of text.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
const { chromium } = createRequire(import.meta.url)(process.env.PLAYWRIGHT_CORE);

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
export const details = (...words) => console.error(...words);

// One line on standard output; why it is NO goes to the details.
export async function verdict(text, check) {
  let good = false;
  try { good = await check(); } catch (error) { details('NO:', text, String(error).slice(0, 500)); }
  if (!good) details('NO:', text);
  console.log(text + ': ' + (good ? 'yes' : 'NO'));
}

// Until the check is true, however long that takes; two minutes are a failure, after which others get ten seconds.
let patience = 120;
export async function until(check) {
  const end = Date.now() + patience * 1000;
  for (;;) {
    try { if (await check()) return true; } catch (error) { if (Date.now() > end) details(String(error).slice(0, 300)); }
    if (Date.now() > end) { patience = 10; return false; }
    await sleep(100);
  }
}
// Until the page has fetched that many times more.
export const tick = (page) => page.evaluate(() => app.values.tick);
export async function ticks(page, more) {
  const before = await tick(page);
  return until(async () => (await tick(page)) >= before + more);
}

export async function start() {
  return chromium.launch({ executablePath: process.env.CHROMIUM || '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'] });
}

// A page from file://, with what went wrong in it: errors, requests elsewhere.
export async function open(browser, proxy, options = {}) {
  const { every = 1, hostspec = 'local:', service = '', width = 1280, height = 900, scheme = 'light' } = options;
  const page = await browser.newPage({ viewport: { width, height }, colorScheme: scheme });
  page.setDefaultTimeout(120000);
  const wrong = [];
  page.on('pageerror', (error) => wrong.push('error: ' + error.stack));
  page.on('console', (message) => {
    // Chromium logs each connection that fails and each answer of 400 and more.
    if (message.type() === 'error' && !/Failed to load resource/.test(message.text())) wrong.push('console: ' + message.text());
  });
  page.on('request', (request) => { if (!request.url().startsWith(proxy) && !/^(file|data):/.test(request.url())) wrong.push('asked elsewhere: ' + request.url()); });
  const query = new URLSearchParams({ proxy, hostspec, every, ...(service && { service }) });
  await page.goto('file://' + process.env.PAGE + '?' + query);
  return { page, wrong };
}

export const text = async (page, selector) => (await page.locator(selector).first().textContent()) || '';
export const count = (page, selector) => page.locator(selector).count();
export const live = (page) => until(async () => (await text(page, '#status')) === 'live');
export const noErrors = (wrong) => { if (wrong.length) details(wrong.slice(0, 5).join('\n')); return wrong.length === 0; };
// Brings a section into sight, and again when what is above it has grown and pushed it out (what is not seen is not read), until something
// is clicked or a key is pressed.
export const show = (page, id) => page.evaluate((i) => {
  const look = () => document.getElementById(window.sectionInSight)?.scrollIntoView();
  if (!window.keepsInSight) {
    for (const event of ['pointerdown', 'click', 'keydown']) addEventListener(event, () => { window.sectionInSight = null; }, true);
    window.keepsInSight = setInterval(() => {
      const box = document.getElementById(window.sectionInSight)?.getBoundingClientRect();
      if (box && (box.bottom < 0 || box.top > innerHeight)) look();
    }, 500);
  }
  window.sectionInSight = i;
  look();
}, id);
// Scrolls to the top; no section is kept in sight.
export const top = (page) => page.evaluate(() => { window.sectionInSight = null; scrollTo(0, 0); });
export const sections = ['overview', 'alerts', 'services', 'causes', 'charts', 'durations', 'stacks', 'traces', 'records', 'jvm', 'lttng', 'cost'];

// Whether axe finds nothing wrong in what is shown; what it finds goes to the details.
export async function accessible(page, what) {
  if (!(await page.evaluate(() => Boolean(window.axe)))) await page.evaluate(readFileSync(process.env.AXE, 'utf8'));
  const found = await page.evaluate(async () => (await axe.run()).violations.map((v) => ({ id: v.id, n: v.nodes.length, first: v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160) + ' ' + n.failureSummary.slice(0, 200)) })));
  if (found.length) details(what, JSON.stringify(found, null, 1));
  return found.length === 0;
}
