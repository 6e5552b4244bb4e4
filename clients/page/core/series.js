'use strict';
// Past values through pmproxy's /series, when it has a Redis or Valkey behind it.

const HISTORY_LIMITS = { series: 40, instances: 12, samples: 240, probe: 4000 };

// {ok: true} or {ok: false, why}: a pmproxy without a key server accepts /series requests and never answers.
async function probeHistory(client) {
  try {
    const url = client.proxy + '/series/query?' + new URLSearchParams({ expr: 'apm.agent.up{hostname == "' + escapeText(client.hostname) + '"}' });
    const found = await requestJson(url, HISTORY_LIMITS.probe);
    if (!Array.isArray(found)) return { ok: false, why: 'pmproxy’s answer to /series is no list' };
    if (!found.length) return { ok: false, why: 'pmproxy has a key server, but no archive of this host with apm metrics: a pmlogger must log them' };
    return { ok: true };
  } catch (error) {
    if (error.kind === 'slow') return { ok: false, why: 'pmproxy has no Redis or Valkey (resp.servers in pmproxy.conf): only live values' };
    return { ok: false, why: 'pmproxy does not serve /series: ' + error.message };
  }
}

const escapeText = (text) => String(text).replace(/[\\"]/g, '\\$&');

// Lines of a metric of the past: Map instance → [[time, value]], times in seconds.
async function pastValues(client, metric, seconds) {
  const ask = (path, parameters) => requestJson(client.proxy + '/series/' + path + '?' + new URLSearchParams(parameters), 20000);
  const found = await ask('query', { expr: metric + '{hostname == "' + escapeText(client.hostname) + '"}' });
  const series = Array.isArray(found) ? found.filter((s) => typeof s === 'string').slice(0, HISTORY_LIMITS.series) : [];
  if (!series.length) return new Map();
  const interval = Math.max(Math.round(seconds / HISTORY_LIMITS.samples), 1);
  const list = series.join(',');
  const [values, instances] = await Promise.all([
    ask('values', { series: list, start: '-' + seconds + 'seconds', finish: 'now', interval: interval + 'seconds' }),
    ask('instances', { series: list }),
  ]);
  const names = new Map();
  for (const i of Array.isArray(instances) ? instances : []) if (i && i.instance) names.set(i.instance, String(i.name));
  const lines = new Map();
  for (const v of Array.isArray(values) ? values : []) {
    const time = Number(v && v.timestamp) / 1000, value = Number(v && v.value);
    if (!isNumber(time) || !isNumber(value)) continue;
    const name = v.instance ? names.get(v.instance) : '';
    if (name === undefined) continue;
    if (!lines.has(name)) lines.set(name, []);
    lines.get(name).push([time, value]);
  }
  for (const line of lines.values()) line.sort((a, b) => a[0] - b[0]);
  return lines;
}

// Rates between the values of a counter; a fall or a long gap has none.
function pastRates(line, longest) {
  const out = [];
  for (let i = 1; i < line.length; i++) {
    const [t0, v0] = line[i - 1], [t1, v1] = line[i];
    const dt = t1 - t0;
    out.push([t1, dt > 0 && dt <= longest && v1 >= v0 ? (v1 - v0) / dt : null]);
  }
  return out;
}

// Lines on one axis of times: [[times], [values of line 1], …], and the sums of lines of one service.
function alignLines(lines, seconds) {
  const step = Math.max(Math.round(seconds / HISTORY_LIMITS.samples), 1);
  const slots = new Set();
  const slotted = new Map();
  for (const [key, parts] of lines) {
    const own = new Map();
    for (const part of parts) {
      const once = new Map();
      for (const [t, v] of part) once.set(Math.round(t / step), v);
      for (const [slot, v] of once) if (v !== null) own.set(slot, (own.get(slot) || 0) + v);
    }
    for (const slot of own.keys()) slots.add(slot);
    slotted.set(key, own);
  }
  const times = [...slots].sort((a, b) => a - b);
  const out = new Map();
  for (const [key, own] of slotted) out.set(key, times.map((slot) => own.get(slot) ?? null));
  return { times: times.map((slot) => slot * step), lines: out };
}
