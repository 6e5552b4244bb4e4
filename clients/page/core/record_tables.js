'use strict';
// Tables of records over a context of their own, which is limited to few instances: with 1,000 runtimes a table of each
// would be megabytes a look. pmproxy gives no event arrays, so that these tables are all that there is of records.

class RecordTables {
  forget() { this.client = null; }

  // wanted: [[metric, instances]]; → Map metric → Map instance → text
  async fetch(main, wanted) {
    if (!this.client || this.client.proxy !== main.proxy || this.client.hostspec !== main.hostspec || this.of !== main.context) {
      this.client = new Client(main.proxy, main.hostspec);
      this.of = main.context;
      this.limited = new Map();
      await this.client.connect();
    }
    await this.client.describe(wanted.map(([metric]) => metric));
    const known = wanted.filter(([metric]) => this.client.metrics.has(metric));
    for (const [metric, instances] of known) {
      const source = metric.split('.')[1], signature = [...instances].sort().join('\n');
      if (this.limited.get(source) === signature) continue;
      await this.client.only(metric, instances);
      this.limited.set(source, signature);
    }
    return known.length ? (await this.client.fetch(known.map(([metric]) => metric))).values : new Map();
  }
}

// Instances of a stream that have records, those with most new ones first.
function busiestInstances(stream, service) {
  const metric = streamMetric(stream, 'count'), source = stream.split('.')[0];
  const all = [...app.values.all(metric)].filter(([name, count]) => count > 0 && (!service || serviceKey(source, serviceOfInstance(source, name)) === service));
  const rank = ([name, count]) => (app.values.rate(metric, name) || 0) * 1e9 + count;
  return all.sort((a, b) => rank(b) - rank(a)).map(([name]) => name);
}

// 1 if an instance of a stream is of the chosen service.
const ofService = (stream, instance) => {
  const source = stream.split('.')[0];
  return app.service && serviceKey(source, serviceOfInstance(source, instance)) === app.service ? 1 : 0;
};

// pmcd does not give records to this client.
function refusedState() {
  const reason = String(app.values.one('apm.self.access.reason') || ''), denied = app.values.one('apm.self.access.denied');
  return emptyState('Event records are refused to this client',
    'Everyone who reaches pmproxy would see them. To allow that, use the host local: (press h), write pmproxy = "read" in [access] of apm.toml, and run pkill -HUP -x pmdaapm.' + (denied > 0 && reason ? ' The PMDA says: ' + reason : ''), '[access] pmproxy = "read"');
}

// Whether this host has answered at all: before that nothing is known of what it has.
const heard = () => (Archive.data ? [...app.values.metrics.values()].some((m) => m.time === app.values.time && m.values.size > 0) : app.values.has('apm.self.uptime'));
// Whether it has said what it has of a metric.
const answered = (metric) => heard() && app.client !== null && (app.values.metrics.has(metric) || app.client.missing.has(metric));
// Whether what is missing may only be unknown: before an answer, and in an archive.
const unsure = (metric) => Archive.data !== null || !answered(metric);
const waitingState = () => (Archive.data ? emptyState('Nothing was logged of this at this moment', 'A click on a chart chooses another one.') : app.failure ? emptyState('Nothing is known yet', 'What is here is seen as soon as the host answers.') : emptyState('Waiting for the first values …'));
