'use strict';
// Where the time goes: flame graph, methods and stacks of all profiles.

const Stacks = {
  id: 'stacks', title: 'Flame graph',

  build(host) {
    this.source = 'profiler';
    this.view = 'graph';
    this.baseline = new Map(); // source → stacks when "since now" was pressed
    this.sources = choice('Profile', PROFILES.map((p) => [p.id, p.title]), this.source, (id) => { this.source = id; this.picked = true; this.graph.zoom = null; this.draw(); });
    this.views = choice('View', [['graph', 'Flame graph'], ['methods', 'Methods'], ['stacks', 'Stacks']], this.view, (view) => { this.view = view; this.draw(); });
    this.search = h('input', { type: 'search', placeholder: 'Search frames', 'aria-label': 'Search frames', id: 'flame-search', oninput: () => this.draw() });
    this.resetButton = h('button', { type: 'button', id: 'flame-reset', class: 'ghost', disabled: true, title: 'Reset the zoom (0)', onclick: () => this.reset() }, 'Reset zoom');
    this.since = h('button', { type: 'button', id: 'flame-since', class: 'ghost', title: 'Only time from now on, or all since the PMDA started', onclick: () => this.toggleBaseline() });
    this.note = h('span', { class: 'note', role: 'status', id: 'flame-note' });
    this.graph = new FlameGraph((node) => { this.resetButton.disabled = !node; this.describe(); });
    this.empty = h('div');
    const time = (id, title, hint) => ({ id, title, hint, align: 'right', value: (r) => r[id], cell: (r, td) => barCell(td, formatTime(r[id]), r[id] / this.total) });
    this.methods = new Table([
      { id: 'key', title: 'Method', value: (r) => r.key, text: (r) => r.key, full: true }, time('self', 'Own time', 'Without what it called'), time('total', 'Total time', 'With what it called; recursion once'),
    ], { caption: 'Methods by time', sort: ['self', 'down'], onpick: (r) => this.find(r.key) });
    this.calls = new Table([
      { id: 'service', title: 'Service', value: (r) => r.service, text: (r) => r.service, full: true },
      { id: 'method', title: 'Root method', value: (r) => r.method, text: (r) => r.method, full: true },
      { id: 'rate', title: 'Calls', align: 'right', value: (r) => r.rate, text: (r) => formatRate(r.rate) },
      { id: 'count', title: 'All calls', align: 'right', value: (r) => r.count, text: (r) => formatWhole(r.count) },
      { id: 'errors', title: 'Errors', align: 'right', value: (r) => r.errors, text: (r) => formatWhole(r.errors) },
      { id: 'time', title: 'Time', align: 'right', value: (r) => r.time, text: (r) => formatTime(r.time) },
      { id: 'mean', title: 'Mean', align: 'right', value: (r) => r.mean, text: (r) => formatTime(r.mean) },
    ], { caption: 'Methods that are called from outside', sort: ['time', 'down'], limit: 12, onpick: (r) => this.find(r.method) });
    this.stackTable = new Table([
      { id: 'stack', title: 'Stack', value: (r) => r.key, text: (r) => r.key.split(',').join(' › '), full: true }, time('self', 'Own time', 'Time in its last frame'),
    ], { caption: 'Stacks by time', sort: ['self', 'down'] });
    this.tables = h('div', null, this.methods.node, this.callsBox = h('div', null, h('h3', null, 'Root methods'), this.calls.node));
    append(host, [
      h('div', { class: 'tools' }, this.sources, this.views, this.search, this.resetButton, this.since, this.note),
      h('div', { class: 'card' }, this.empty, this.graph.node, this.tables, this.stackTable.node),
    ]);
    on('service', (key) => {
      this.graph.zoom = null;
      const source = key && keySource(key);
      if (PROFILES.some((p) => p.id === source)) { this.source = source; this.sources.set(source); }
    });
    on('restart', () => this.baseline.clear());
  },

  metrics() {
    const methods = this.profile().methods;
    return [...PROFILES.map((p) => p.stacks), ...(methods ? ['count', 'errors', 'time'].map((m) => methods + m) : [])];
  },

  profile() { return PROFILES.find((p) => p.id === this.source); },
  tick() {
    if (!this.picked && !app.values.has(this.profile().stacks)) {
      const other = PROFILES.find((p) => app.values.has(p.stacks));
      if (other) { this.source = other.id; this.sources.set(other.id); }
    }
  },

  toggleBaseline() {
    if (this.baseline.has(this.source)) this.baseline.delete(this.source);
    else this.baseline.set(this.source, { at: app.values.time, stacks: new Map(profileStacks(app.values, this.profile())) });
    this.draw();
  },

  reset() { this.graph.reset(); this.resetButton.disabled = true; },

  find(method) {
    this.view = 'graph';
    this.views.set('graph');
    this.search.value = method;
    this.draw();
  },

  draw() {
    const { values } = app, profile = this.profile();
    const baseline = this.baseline.get(this.source);
    // The chosen service limits the graph when it has this kind of profile.
    const service = app.service && keySource(app.service) === this.source ? keyName(app.service) : null;
    const foreign = app.service && !service;
    const stacks = foreign ? new Map() : stacksSince(profileStacks(values, profile), baseline && baseline.stacks);
    const root = stackTree(stacks, service);
    this.total = root.total || 1;
    const none = root.total <= 0;
    setHidden(this.empty, !none);
    setHidden(this.graph.node, none || this.view !== 'graph');
    setHidden(this.tables, none || this.view !== 'methods');
    setHidden(this.stackTable.node, none || this.view !== 'stacks');
    setText(this.since, baseline ? 'Show all time' : 'Only from now');
    this.graph.setSearch(this.search.value);
    if (none) this.explain(profile, baseline, foreign);
    else if (this.view === 'graph') this.graph.show(root);
    else if (this.view === 'methods') this.drawMethods(root, profile, service);
    else this.stackTable.update(this.matching([...stacks].filter(([key]) => !service || key.split(',', 1)[0] === service).map(([key, self]) => ({ key, self })).filter((r) => r.self > 0)));
    this.resetButton.disabled = !this.graph.zoomed();
    this.root = root;
    this.describe();
  },

  matching(rows) {
    const text = this.search.value.trim().toLowerCase();
    return rows.filter((r) => !text || r.key.toLowerCase().includes(text));
  },

  drawMethods(root, profile, service) {
    this.methods.update(this.matching(methodTable(root, service ? 0 : 1)));
    setHidden(this.callsBox, !profile.methods);
    if (!profile.methods) return;
    const { values } = app, rows = [];
    for (const [key, count] of values.all(profile.methods + 'count')) {
      const [name, method] = splitRow(key);
      if (service && name !== service) continue;
      const time = values.base(profile.methods + 'time', key);
      rows.push({ key, service: name, method, count, time, rate: values.rate(profile.methods + 'count', key), errors: values.all(profile.methods + 'errors').get(key), mean: count > 0 && time !== null ? time / count : null });
    }
    this.calls.update(this.matching(rows));
  },

  explain(profile, baseline, foreign) {
    const content = unsure(profile.stacks) ? waitingState() : foreign ? emptyState(keyName(app.service) + ' has no ' + profile.title + ' stacks', 'Choose another profile, or press Esc for all services.')
      : baseline ? emptyState('No new time in stacks since ' + formatClock(baseline.at), 'Stacks come with finished calls and traces.')
      : profile.id === 'dotnet' ? emptyState('No .NET profile yet', 'A profile is taken on request, for some seconds:', 'pmstore apm.dotnet.profile.run 3')
      : profile.id === 'jvm' ? emptyState('No JVM profile yet', 'A recording is made on request, with attach = true in [jvm] of apm.toml:', 'pmstore -i shop:4711 apm.jvm.control.profile 5')
      : profile.id === 'mono' ? emptyState('No Mono profile yet', 'Programs whose log profiler samples have one:', 'mono --profile=log:nodefaults,sample=100,output=#7 …')
      : emptyState('No ' + profile.title + ' stacks yet', profile.id === 'profiler' ? 'They come with the traces of Java calls.' : 'They come with the traces of Zorka agents.');
    if (this.empty.textContent !== content.textContent) fill(this.empty, content);
  },

  describe() {
    const baseline = this.baseline.get(this.source);
    const parts = [];
    if (this.root && this.root.total > 0) parts.push(formatTime(this.root.total) + ' of stacks since ' + (baseline ? formatClock(baseline.at) : 'the PMDA started'));
    if (this.graph.zoomed() && this.view === 'graph') parts.push('zoom: ' + this.graph.zoom.name);
    if (this.search.value.trim() && this.view === 'graph' && this.root && this.root.total > 0) {
      const { frames, share } = this.graph.found();
      parts.push(frames ? frames + ' frames found, ' + formatPercent(share * 100) + ' of the time' : 'nothing found');
    }
    setText(this.note, parts.join(' · '));
  },
};
