'use strict';
// Which of the rules hold now, for what, and what to do. pmie and Prometheus tell them while nobody looks (docs/alerts.md).

const MOST_OF_ALERT = 6; // instances of a rule that are shown

const Alerts = {
  id: 'alerts', title: 'Alerts',

  build(host) {
    this.looks = new Looks();
    this.note = h('span', { class: 'note', role: 'status' });
    this.list = h('ul', { class: 'alerts' });
    this.empty = h('div');
    append(host, [h('div', { class: 'tools' }, this.note), h('div', { class: 'card' }, this.empty, this.list)]);
    on('restart', () => this.forget());
    on('draw', () => this.count());
    on('connected', () => { if (this.of !== app.client) { this.of = app.client; this.forget(); } });
  },

  forget() { this.looks.forget(); this.judged = []; },

  metrics: () => RULE_METRICS,

  tick() {
    this.looks.take(app.values);
    this.judged = RULES.map((rule) => ({ rule, ...judge(rule, app.values, this.looks) }));
    this.count();
  },

  // How many hold, in the bar.
  count() {
    const length = heard() ? this.holding().length : 0;
    setText(document.querySelector('#nav [data-section="alerts"]'), this.title + (length ? ' ' + length : ''));
  },

  holding() { return (this.judged || []).filter((one) => one.holds.length > 0); },

  draw() {
    const holding = this.holding(), known = heard() && this.judged && this.judged.length > 0;
    const idle = known ? this.judged.filter((one) => !one.there).length : 0;
    const span = known ? this.looks.span() : 0, rates = span >= RULE_LEAST;
    setText(this.note, !known ? '' : [holding.length + ' of ' + RULES.length + ' rules hold', idle ? idle + ' have nothing to judge here' : '',
      rates ? 'rates are means of ' + formatSpan(span) : 'rates need ' + formatSpan(RULE_LEAST)].filter(Boolean).join(' · '));
    setHidden(this.list, !known || !holding.length);
    setHidden(this.empty, known && holding.length > 0);
    if (!known || !holding.length) {
      const content = !known ? waitingState() : rates ? emptyState('No rule holds', 'To be told while nobody looks: docs/alerts.md.') : emptyState('No rule holds yet', 'Those of rates need ' + formatSpan(RULE_LEAST) + '.');
      if (this.empty.textContent !== content.textContent) fill(this.empty, content);
      return;
    }
    // Only what has changed is made anew: a link keeps its focus.
    const nodes = new Map([...this.list.children].map((node) => [node.dataset.rule, node]));
    for (const [name, node] of nodes) if (!holding.some((one) => one.rule.name === name)) node.remove();
    let place = this.list.firstChild;
    for (const one of holding) {
      const node = nodes.get(one.rule.name) || this.make(one.rule);
      this.write(node, one.holds);
      if (node === place) place = place.nextSibling;
      else this.list.insertBefore(node, place);
    }
  },

  make(rule) {
    const link = h('a', { href: '#' + rule.place, onclick: (e) => { e.preventDefault(); goTo(rule.place); } }, 'Open ' + titleOf(rule.place));
    return h('li', { 'data-rule': rule.name }, h('p', { class: 'what' }, rule.summary), h('ul', { class: 'where' }), h('p', { class: 'why' }, rule.why),
      h('p', { class: 'remedy' }, rule.remedy), h('p', { class: 'look' }, link, h('code', null, rule.look), h('code', null, 'pmieconf: apm.' + rule.name)));
  },

  write(node, holds) {
    const lines = holds.slice(0, MOST_OF_ALERT).map((one) => [one.instance || 'pmdaapm', one.value, one.least]);
    if (holds.length > MOST_OF_ALERT) lines.push(['and ' + formatWhole(holds.length - MOST_OF_ALERT) + ' more', '', '']);
    const key = JSON.stringify(lines);
    if (node.alertKey === key) return;
    node.alertKey = key;
    fill(node.querySelector('.where'), lines.map(([name, value, least]) => h('li', null, h('span', { class: 'name' }, name), value && h('strong', { class: 'bad' }, value), least && h('span', { class: 'least' }, 'rule: ' + least))));
  },
};
