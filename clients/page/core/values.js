'use strict';
// The newest two values of each metric, and rates from them.

const LONGEST = 90; // s between two values that still make a rate
let longestRate = LONGEST;

// The difference of a counter, or null when it began again.
function counterDelta(before, after, type) {
  if (!isNumber(before) || !isNumber(after)) return null;
  if (after >= before) return after - before;
  // A 32-bit counter that went over its end; a 64-bit one does not live to see it.
  if ((type === 'u32' || type === '32') && before > 2 ** 31 * 0.75) {
    const wrapped = after - before + 2 ** 32;
    if (wrapped < 2 ** 31) return wrapped;
  }
  return null;
}

class Values {
  constructor() { this.reset(); }

  reset() {
    this.metrics = new Map(); // name → {time, values, before: {time, values}, sem, type, factor}
    this.time = 0;
    this.tick = 0;
    this.uptime = null;
  }

  // Takes a fetch in. Returns true when the PMDA is another one than before.
  take(time, fetched, described) {
    const uptime = (fetched.get('apm.self.uptime') || new Map()).get('');
    const restarted = isNumber(uptime) && isNumber(this.uptime) && uptime < this.uptime;
    if (isNumber(uptime)) this.uptime = uptime;
    const backwards = time < this.time;
    for (const [name, values] of fetched) {
      const old = this.metrics.get(name);
      const metric = described.get(name) || {};
      const fresh = old && !restarted && !backwards && time > old.time;
      this.metrics.set(name, {
        time, values, sem: metric.sem, type: metric.type, factor: unitFactor(metric.units),
        before: fresh ? { time: old.time, values: old.values } : null,
      });
    }
    this.time = time;
    this.tick++;
    return restarted;
  }

  has(name) { return this.metrics.has(name) && this.metrics.get(name).values.size > 0; }

  // Map instance → value as it is; empty for what is not there.
  all(name) {
    const m = this.metrics.get(name);
    return m ? m.values : new Map();
  }

  // Like all(), but only what came with the newest fetch.
  now(name) {
    const m = this.metrics.get(name);
    return m && m.time === this.time ? m.values : new Map();
  }

  one(name) { return this.all(name).get(''); }

  // A value in nanoseconds or bytes when its unit is one of time or space.
  base(name, instance) {
    const m = this.metrics.get(name);
    const v = m ? m.values.get(instance) : undefined;
    return isNumber(v) ? v * m.factor : null;
  }

  // Map instance → difference since the fetch before (null: unknown), in base units.
  deltas(name) {
    const m = this.metrics.get(name), out = new Map();
    if (!m) return out;
    for (const [instance, value] of m.values) {
      const before = m.before && m.before.values.get(instance);
      const delta = counterDelta(before, value, m.type);
      out.set(instance, delta === null ? null : delta * m.factor);
    }
    return out;
  }

  // Change a second of a counter, in base units a second; null if there is none.
  rate(name, instance = '') {
    const m = this.metrics.get(name);
    if (!m || !m.before) return null;
    const seconds = m.time - m.before.time;
    if (seconds <= 0 || seconds > longestRate) return null;
    const delta = counterDelta(m.before.values.get(instance), m.values.get(instance), m.type);
    return delta === null ? null : delta * m.factor / seconds;
  }

  // Difference of two counters' changes: the mean of what was counted meanwhile.
  mean(time, count, instance) {
    const n = this.rate(count, instance), t = this.rate(time, instance);
    return n > 0 && t !== null ? t / n : null;
  }
}

// Sum of those that are known; null when none is.
function sumKnown(list) {
  const known = list.filter(isNumber);
  return known.length ? known.reduce((a, b) => a + b, 0) : null;
}
