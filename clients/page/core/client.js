'use strict';
// pmproxy's REST API (PMWEBAPI(3)). All answers are checked: whatever is at the other end may be
// something else.

// kind: unreachable (no connection), slow, garbage (no JSON, wrong shape), refused (an error of pmproxy), lost (context).
class Failure extends Error {
  constructor(kind, message) {
    super(message);
    this.kind = kind;
  }
}

const LIMITS = {
  timeout: 10000,   // ms for a request
  address: 7000,    // bytes; pmproxy refuses addresses of 8192
  context: 60,      // s that pmproxy keeps a context without requests
  instances: 20000, // of an instance domain
  again: 5000,      // ms between two looks at an instance domain
};

async function requestText(url, timeout = LIMITS.timeout) {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), timeout);
  try {
    // No headers of its own: pmproxy answers simple requests of any origin. Connections are kept, as browsers do.
    const response = await fetch(url, { signal: abort.signal, cache: 'no-store', credentials: 'omit' });
    return { response, text: await response.text() };
  } catch (error) {
    if (abort.signal.aborted) throw new Failure('slow', 'no answer within ' + timeout / 1000 + ' s');
    throw new Failure('unreachable', 'cannot connect');
  } finally {
    clearTimeout(timer);
  }
}

async function requestJson(url, timeout) {
  const { response, text } = await requestText(url, timeout);
  let data;
  try { data = JSON.parse(padded(text)); } catch { throw new Failure('garbage', 'the answer is not JSON (status ' + response.status + ')'); }
  if (typeof data !== 'object' || data === null) throw new Failure('garbage', 'the answer is no object');
  if (!response.ok || data.success === false) {
    const message = String(data.message || 'status ' + response.status).slice(0, 300);
    throw new Failure(/unknown context|context identifier/i.test(message) ? 'lost' : 'refused', message);
  }
  return data;
}

// pmproxy prints nanoseconds without their leading zeros: docs/upstream/06-pmproxy-times.md. Times of /series are in
// milliseconds, with more digits before the point, and right.
function padded(text) {
  return text.replace(/("timestamp":\s*\d{1,11}\.)(\d{1,8})(?!\d)/, (_, seconds, ns) => seconds + ns.padStart(9, '0'));
}

// The last request to each host: the next one waits for its answer. Two requests that look up contexts at the same time end a pmproxy before
// 7.1.3 now and then (docs/upstream/README.md), and in a tick there are more than one. Who leaves a host that does not answer waits for
// nothing of it. /series has no contexts, and may never answer.
const latest = new Map();

class Client {
  constructor(proxy, hostspec) {
    this.proxy = proxy.replace(/\/+$/, '');
    this.hostspec = hostspec;
    this.requests = 0;
    this.forget();
  }

  forget() {
    this.context = null;
    this.metrics = new Map(); // name → {name, sem, type, units, indom, help}
    this.missing = new Set(); // names that the host does not have
    this.domains = new Map(); // instance domain → {names: Map id → name, sources: Map name → its label source, at}
  }

  get(path, parameters, timeout) {
    this.requests++;
    const host = this.proxy + ' ' + this.hostspec, before = latest.get(host) || Promise.resolve();
    const answer = before.then(() => requestJson(this.proxy + path + '?' + new URLSearchParams(parameters), timeout));
    latest.set(host, answer.catch(() => {}));
    return answer;
  }

  async connect() {
    this.forget();
    const answer = await this.get('/pmapi/context', { hostspec: this.hostspec, polltimeout: LIMITS.context });
    if (!Number.isInteger(answer.context)) throw new Failure('garbage', 'this is no pmproxy: no context in its answer');
    this.context = answer.context;
    this.hostname = String((answer.labels || {}).hostname || answer.hostspec || this.hostspec);
  }

  // Names in pieces that fit into an address.
  static pieces(names) {
    const pieces = [];
    let piece = [], size = 0;
    for (const name of names) {
      if (size + name.length + 3 > LIMITS.address) { pieces.push(piece); piece = []; size = 0; }
      piece.push(name);
      size += name.length + 3;
    }
    if (piece.length) pieces.push(piece);
    return pieces;
  }

  // Learns what the metrics are; unknown ones are in `missing` afterwards.
  async describe(names) {
    const wanted = names.filter((name) => !this.metrics.has(name));
    for (const piece of Client.pieces(wanted)) {
      const answer = await this.get('/pmapi/metric', { context: this.context, names: piece.join(',') });
      if (!Array.isArray(answer.metrics)) throw new Failure('garbage', 'no metrics in the answer');
      for (const name of piece) this.missing.add(name);
      for (const m of answer.metrics) {
        if (!m || typeof m.name !== 'string' || m.success === false || !m.sem) continue;
        this.missing.delete(m.name);
        this.metrics.set(m.name, {
          name: m.name, sem: m.sem, type: m.type, units: m.units, indom: m.indom, pmid: m.pmid,
          help: String(m['text-oneline'] || ''),
        });
      }
    }
  }

  async refreshDomain(metric, domain) {
    const answer = await this.get('/pmapi/indom', { context: this.context, name: metric.name });
    domain.at = Date.now();
    if (!Array.isArray(answer.instances)) return;
    domain.names.clear();
    domain.sources.clear();
    for (const i of answer.instances.slice(0, LIMITS.instances)) {
      if (!i || !Number.isInteger(i.instance)) continue;
      domain.names.set(i.instance, String(i.name));
      if (i.labels && typeof i.labels.source === 'string') domain.sources.set(String(i.name), i.labels.source);
    }
  }

  // {time, values: Map metric → Map instance → number or text}; instance '' without a domain.
  async fetch(names) {
    const known = names.filter((name) => this.metrics.has(name));
    const byId = known.reduce((n, name) => n + name.length + 3, 0) > LIMITS.address;
    const list = byId ? { pmids: known.map((n) => this.metrics.get(n).pmid).join(',') } : { names: known.join(',') };
    const answer = await this.get('/pmapi/fetch', { context: this.context, ...list });
    if (!Array.isArray(answer.values) || !isNumber(answer.timestamp)) throw new Failure('garbage', 'no values in the answer');
    const values = new Map();
    for (const v of answer.values) {
      const metric = v && this.metrics.get(v.name);
      if (!metric || !Array.isArray(v.instances)) continue;
      values.set(v.name, await this.named(metric, v.instances));
    }
    return { time: answer.timestamp, values };
  }

  async named(metric, instances) {
    const out = new Map();
    let domain = null;
    if (metric.indom && metric.indom !== 'none') {
      domain = this.domains.get(metric.indom);
      if (!domain) this.domains.set(metric.indom, domain = { names: new Map(), sources: new Map(), at: 0 });
      const unknown = instances.some((i) => i && i.instance != null && !domain.names.has(i.instance));
      if (unknown && Date.now() - domain.at > LIMITS.again) await this.refreshDomain(metric, domain);
    }
    for (const i of instances.slice(0, LIMITS.instances)) {
      if (!i || (typeof i.value !== 'number' && typeof i.value !== 'string')) continue;
      const name = domain ? domain.names.get(i.instance) : '';
      if (name !== undefined) out.set(name, i.value);
    }
    return out;
  }

  // The label `source` of an instance.
  sourceOf(metricName, instance) {
    const metric = this.metrics.get(metricName), domain = metric && this.domains.get(metric.indom);
    return domain ? domain.sources.get(instance) : undefined;
  }

  // Limits the instances of a domain that this context's fetches bring.
  async only(metricName, instances) {
    const metric = this.metrics.get(metricName);
    if (!metric) return;
    let domain = this.domains.get(metric.indom);
    if (!domain) this.domains.set(metric.indom, domain = { names: new Map(), sources: new Map(), at: 0 });
    if (instances.some((name) => ![...domain.names.values()].includes(name))) await this.refreshDomain(metric, domain);
    const wanted = new Set(instances);
    const ids = [...domain.names].filter(([, name]) => wanted.has(name)).map(([id]) => id);
    // Without an instance, `add` would add all of them.
    await this.get('/pmapi/profile', { context: this.context, expr: 'del', name: metricName });
    if (ids.length) await this.get('/pmapi/profile', { context: this.context, expr: 'add', name: metricName, instance: ids.join(',') });
  }
}
