'use strict';
// Numbers as people read them: three digits that matter, the unit with them.

const NONE = '–';

function digits(x) {
  const a = Math.abs(x);
  if (a >= 100 || a === 0) return x.toFixed(0);
  return x.toFixed(a >= 10 ? 1 : a >= 1 ? 2 : 3).replace(/\.?0+$/, '');
}

const isNumber = (x) => typeof x === 'number' && Number.isFinite(x);

function scaled(x, steps) {
  if (!isNumber(x)) return NONE;
  const a = Math.abs(x);
  let [size, unit] = steps[steps.length - 1];
  for (const step of steps) {
    if (a >= step[0] * 0.9995) { [size, unit] = step; break; }
  }
  const text = digits(x / size);
  return unit ? text + '\u202f' + unit : text;
}

const formatCount = (x) => scaled(x, [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e4 / 10, 'k'], [1, '']]);
const formatBytes = (x) => scaled(x, [[1e12, 'TB'], [1e9, 'GB'], [1e6, 'MB'], [1e3, 'kB'], [1, 'B']]);
const formatWhole = (x) => (isNumber(x) ? Math.round(x).toLocaleString('en-US') : NONE);

// Nanoseconds.
function formatTime(ns) {
  if (!isNumber(ns)) return NONE;
  if (ns === 0) return '0';
  if (Math.abs(ns) >= 120e9) return formatSpan(ns / 1e9);
  return scaled(ns, [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']]);
}

// Seconds, the two largest units.
function formatSpan(s) {
  if (!isNumber(s)) return NONE;
  const parts = [[86400, 'd'], [3600, 'h'], [60, 'min'], [1, 's']];
  const whole = Math.floor(Math.abs(s));
  const first = parts.findIndex(([size]) => whole >= size);
  if (first < 0) return digits(s) + '\u202fs';
  const out = [];
  let rest = whole;
  for (const [size, unit] of parts.slice(first, first + 2)) {
    const n = Math.floor(rest / size);
    rest -= n * size;
    if (n) out.push(n + '\u202f' + unit);
  }
  return out.join(' ');
}

const formatRate = (x) => (isNumber(x) ? formatCount(x) + '/s' : NONE);
const formatByteRate = (x) => (isNumber(x) ? formatBytes(x) + '/s' : NONE);
const formatPercent = (x) => {
  if (!isNumber(x)) return NONE;
  return (x > 0 && x < 0.01 ? '<0.01' : x < 1 ? x.toFixed(2).replace(/\.?0+$/, '') : digits(x)) + '\u202f%';
};
const formatCores = (x) => (isNumber(x) ? digits(x) : NONE);

// Seconds since 1970 as local time of day, with the day if it is not today.
function formatClock(t, withDay) {
  const d = new Date(t * 1000);
  if (Number.isNaN(d.getTime())) return NONE;
  const two = (n) => String(n).padStart(2, '0');
  const time = two(d.getHours()) + ':' + two(d.getMinutes()) + ':' + two(d.getSeconds());
  return withDay ? two(d.getMonth() + 1) + '-' + two(d.getDate()) + ' ' + time : time;
}

const FORMATS = {
  count: formatCount, bytes: formatBytes, ns: formatTime, rate: formatRate, byteRate: formatByteRate,
  percent: formatPercent, cores: formatCores, whole: formatWhole,
};

// Factor of PCP's units to nanoseconds or bytes; 1 for all others.
const UNIT_FACTORS = {
  nanosec: 1, microsec: 1e3, millisec: 1e6, sec: 1e9, min: 60e9, hour: 3600e9,
  byte: 1, Kbyte: 1024, Mbyte: 1048576, Gbyte: 1073741824,
};
const unitFactor = (units) => UNIT_FACTORS[String(units || '').split(' ')[0]] || 1;

function median(list) {
  const sorted = list.filter(isNumber).sort((a, b) => a - b);
  return sorted.length ? sorted[sorted.length >> 1] : null;
}
