'use strict';
// The list of rules that pmie and Prometheus have too (RULES, which build.py puts in), judged by what the page fetches: which conditions hold.

const RULE_WINDOW = 120; // s: pmie takes the mean of as long
const RULE_LEAST = 30;   // s: what happens once in a while is no rate of less
const RULE_STEP = 10;    // s between two looks that are kept
const RULE_LOOKS = 5;    // that must agree where a rule says so

const RULE_METRICS = [...new Set(RULES.flatMap((rule) => rule.of.flatMap((one) => one.metrics)))];
// Which five looks must agree of; of all else older looks have counters only.
const RULE_ALWAYS = new Set(RULES.filter((rule) => rule.always).flatMap((rule) => rule.of[0].metrics));

// Looks of the last two minutes: {time, of: Map metric → Map instance → value}.
class Looks {
  constructor() { this.list = []; }
  forget() { this.list = []; }

  take(values) {
    // Those of an archive may be far apart.
    const oldest = values.time - Math.max(RULE_WINDOW, Archive.data ? RULE_LOOKS * Archive.step() : 0);
    this.list = this.list.filter((look) => look.time >= oldest && look.time <= values.time);
    this.now = { time: values.time, of: new Map(RULE_METRICS.map((name) => [name, values.now(name)])) };
    if (this.list.some((look) => values.time - look.time < RULE_STEP)) return;
    const kept = ([name]) => values.metrics.get(name)?.sem === 'counter' || RULE_ALWAYS.has(name);
    this.list.push({ time: values.time, of: new Map([...this.now.of].filter(kept)) });
  }

  // A value: a counter's mean rate since the oldest look from which it has only grown, anything else as it is at a look; null if it is not known.
  value(values, metric, instance, look = this.now) {
    const m = values.metrics.get(metric), v = look.of.get(metric)?.get(instance);
    if (!m || !isNumber(v)) return null;
    if (m.sem !== 'counter') return v * m.factor;
    let { time } = look, from = v;
    for (const first of [...this.list].reverse()) {
      if (first.time >= look.time) continue;
      const before = first.of.get(metric)?.get(instance);
      if (!isNumber(before) || before > from || look.time - first.time > Math.max(RULE_WINDOW, longestRate)) break;
      ({ time } = first);
      from = before;
    }
    return look.time - time < RULE_LEAST ? null : ((v - from) * m.factor) / (look.time - time);
  }

  // How long it looks already, in seconds.
  span() { return this.list.length ? this.now.time - this.list[0].time : 0; }
}

const RULE_UNITS = {
  '%': { scale: 1e-7, text: formatPercent }, 'count/sec': { scale: 1, text: formatRate }, 'count/min': { scale: 60, text: (v) => formatCount(v) + '/min' },
  sec: { scale: 1e-9, text: (v) => formatTime(v * 1e9) }, msec: { scale: 1e-6, text: (v) => formatTime(v * 1e6) }, '': { scale: 1, text: formatCount },
};

// What a comparison compares, in the unit of its number; null if something of it is not known.
function ruleFigure(one, read) {
  const parts = one.metrics.map(read);
  if (parts.includes(null)) return null;
  if (one.signs[0] === '/') return parts[1] > 0 ? (100 * parts[0]) / parts[1] : null;
  return parts.reduce((sum, v, i) => (one.signs[i - 1] === '-' ? sum - v : sum + v)) * RULE_UNITS[one.unit].scale;
}

const ruleHolds = (one, v) => v !== null && (one.op === '>' ? v > one.number : one.op === '<' ? v < one.number : v === one.number);

// {there: something to judge, holds: [{instance, value, least}]}; `value` and `least` in words.
function judge(rule, values, looks) {
  let there = false;
  const instances = new Set(rule.of.flatMap((one) => [...looks.now.of.get(one.metrics[0]).keys()])), holds = [];
  for (const instance of instances) {
    const figure = (one, look) => ruleFigure(one, (metric) => looks.value(values, metric, instance, look));
    const now = rule.of.map((one) => figure(one, looks.now)), right = rule.of.map((one, i) => ruleHolds(one, now[i]));
    if (now.some((v) => v !== null)) there = true;
    if (rule.word === 'or' ? !right.includes(true) : right.includes(false)) continue;
    if (rule.always && (looks.list.length < RULE_LOOKS || !looks.list.every((look) => ruleHolds(rule.of[0], figure(rule.of[0], look))))) continue;
    const at = Math.max(right.indexOf(true), 0), one = rule.of[at], { text } = RULE_UNITS[one.unit];
    holds.push({ instance, figure: now[at], value: text(now[at]), least: one.op + ' ' + text(one.number) });
  }
  // The worst first.
  const sign = rule.of[0].op === '<' ? 1 : -1;
  return { there, holds: holds.sort((a, b) => sign * (a.figure - b.figure)) };
}
