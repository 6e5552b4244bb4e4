'use strict';
// The list of rules that pmie and Prometheus have too (RULES, which build.py puts in), judged by what the page fetches: which conditions hold.

const RULE_WINDOW = 120; // s: pmie takes the mean of as long
const RULE_STEP = 10;    // s between two looks that are kept
const RULE_LOOKS = 5;    // that must agree where a rule says so

const ruleMetrics = () => [...new Set(RULES.flatMap((rule) => rule.of.flatMap((one) => one.metrics)))];

// Looks of the last two minutes. A look is of the maps that Values has made, so that it takes no room of its own.
class Looks {
  constructor() { this.list = []; }
  forget() { this.list = []; }

  take(values) {
    const last = this.list[this.list.length - 1];
    if (last && values.time < last.time) this.list = [];
    this.now = { time: values.time, of: new Map(ruleMetrics().map((name) => [name, values.now(name)])) };
    if (!last || values.time - last.time >= RULE_STEP) this.list.push(this.now);
    // The last two remain: looks that are far apart, as of an archive, have rates too.
    while (this.list.length > 2 && this.list[0].time < values.time - RULE_WINDOW) this.list.shift();
  }

  // A value: a counter's mean rate since the oldest look from which it has only grown, anything else as it is at a look; null if it is not known.
  value(values, metric, instance, look = this.now) {
    const m = values.metrics.get(metric), v = look.of.get(metric).get(instance);
    if (!m || !isNumber(v)) return null;
    if (m.sem !== 'counter') return v * m.factor;
    for (const first of this.list) {
      const before = first.of.get(metric).get(instance);
      if (isNumber(before) && before <= v && first.time < look.time) return ((v - before) * m.factor) / (look.time - first.time);
    }
    return null;
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
    const figures = (look) => rule.of.map((one) => ruleFigure(one, (metric) => looks.value(values, metric, instance, look)));
    const agreed = (list) => rule.of.map((one, i) => ruleHolds(one, list[i]));
    const now = figures(looks.now), right = agreed(now);
    if (now.some((v) => v !== null)) there = true;
    if (rule.word === 'or' ? !right.includes(true) : right.includes(false)) continue;
    if (rule.always && (looks.list.length < RULE_LOOKS || !looks.list.every((look) => ruleHolds(rule.of[0], figures(look)[0])))) continue;
    const at = Math.max(right.indexOf(true), 0), one = rule.of[at], { text } = RULE_UNITS[one.unit];
    holds.push({ instance, figure: now[at], value: text(now[at]), least: one.op + ' ' + text(one.number) });
  }
  return { there, holds: holds.sort((a, b) => b.figure - a.figure) };
}
