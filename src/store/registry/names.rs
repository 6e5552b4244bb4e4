//! Dynamic metrics by key.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{Change, Store, Table};
use crate::catalogue::{DYNAMIC_CLUSTER, DYNAMIC_MAX, DYNAMIC_PARAM_CLUSTER, Stat};
use crate::model::{MetricSpec, Pmid, SourceId};
use crate::store::dynamic_metric::DynamicMetric;
use crate::store::held::{Held, has_share};

impl Store {
    /// The metric for `spec`, which no peer brings: known by its key, or new. `None` when a limit is reached; this is
    /// counted.
    pub fn define(&self, source: SourceId, spec: &MetricSpec) -> Option<Arc<DynamicMetric>> {
        let (metric, _) = self.defined_of(source, spec, None)?;
        // It always exists; a sum does with what it sums up.
        if !self.is_total(source, spec) {
            metric.seen();
        }
        Some(metric)
    }

    /// The metric for `spec`, which a peer brings that holds these already.
    pub(in crate::store) fn define_for(
        &self,
        source: SourceId,
        spec: &MetricSpec,
        held: &mut Held,
    ) -> Option<Arc<DynamicMetric>> {
        let of = self.metrics_by_id.get(source.index())?;
        let (metric, new) = self.defined_of(source, spec, Some(held.brought()))?;
        held.add(&metric, new, of);
        Some(metric)
    }

    /// The metric for `spec`, and whether it is new. `brought`: as many have come from the same peer, who brings this
    /// one too.
    fn defined_of(
        &self,
        source: SourceId,
        spec: &MetricSpec,
        brought: Option<usize>,
    ) -> Option<(Arc<DynamicMetric>, bool)> {
        let limits = self.limits();
        let mut table = self.table(source)?;
        if let Some(known) = table.by_key.get(&spec.key) {
            if brought.is_some() {
                known.brought();
            }
            return Some((Arc::clone(known), false));
        }
        // Sums are as many as what is summed up at most, and have its names.
        let total = self.is_total(source, spec);
        let most = limits.names.min(DYNAMIC_MAX);
        if !total && table.names() >= most {
            self.drop_unused(&mut table, source);
        }
        let room = most.saturating_sub(table.names());
        let ids =
            self.catalogue.source(source)?.dynamic_ids(false).end.saturating_sub(table.next_id);
        let has_id = table.dropped.contains_key(&spec.key) || table.parked.contains_key(&spec.key);
        let left = if has_id { room } else { room.min(ids) };
        let shares = left > 0 && brought.is_none_or(|brought| has_share(brought, left));
        if !total && (!shares || spec.key.len() > limits.name_length) {
            self.stats.add(Stat::NamesRejected, 1);
            return None;
        }
        let metric = self.add(&mut table, source, spec, total)?;
        if brought.is_some() {
            metric.brought();
        }
        Some((metric, true))
    }

    fn add(
        &self,
        table: &mut Table,
        source: SourceId,
        spec: &MetricSpec,
        total: bool,
    ) -> Option<Arc<DynamicMetric>> {
        if let Some(metric) = self.take_back(table, &spec.key, total) {
            // With its sum, whose column it has.
            let sum = self.sum_key(source, &metric.spec);
            sum.into_iter().for_each(|key| drop(self.take_back(table, &key, true)));
            return Some(metric);
        }
        let mut spec = spec.clone();
        let parked = table.parked.contains_key(&spec.key);
        let id = match table.parked.remove(&spec.key) {
            Some((id, path)) => {
                spec.path = path;
                id
            }
            None => table.next(total),
        };
        if !self.has_id(source, total, id) {
            self.stats.add(Stat::NamesRejected, 1);
            return None;
        }
        let metric = self.insert(table, source, id, spec)?;
        if parked {
            metric.seen();
        }
        // Queued under the table's lock, so that the PMDA thread gets metrics in the order of their
        // ids.
        self.queue(Change::Metric(Arc::clone(&metric)));
        Some(metric)
    }

    /// Drops the names that nobody brings and no client has seen. Their ids stay theirs.
    fn drop_unused(&self, table: &mut Table, source: SourceId) {
        let freed = Some(table.freed.load(Ordering::Acquire));
        if table.freed_before == freed {
            return;
        }
        table.freed_before = freed;
        let unused: Vec<Arc<DynamicMetric>> = (table.by_key.values())
            .filter(|m| m.is_unused() && !self.is_total(source, &m.spec))
            .cloned()
            .collect();
        if !unused.is_empty() {
            log::info!(
                "{}: limits.names is reached: {} names that nobody brings any more and no client has fetched are dropped",
                self.catalogue.name(source),
                unused.len()
            );
        }
        for metric in unused {
            self.drop_name(table, &metric.spec.key, false);
            if let Some(key) = self.sum_key(source, &metric.spec)
                && table.by_key.get(&key).is_some_and(|sum| !sum.is_seen())
            {
                self.drop_name(table, &key, true);
            }
        }
    }

    /// The key of the sum of a metric.
    fn sum_key(&self, source: SourceId, spec: &MetricSpec) -> Option<String> {
        let totals = self.catalogue.source(source)?.totals?;
        Some((totals.of)(spec)?.key)
    }

    fn drop_name(&self, table: &mut Table, key: &str, total: bool) {
        let Some(metric) = table.by_key.remove(key) else { return };
        table.dropped.insert(key.to_owned(), Arc::clone(&metric));
        if total {
            table.totals -= 1;
        } else {
            self.stats.sub(Stat::NamesRegistered, 1);
        }
        self.queue(Change::Drop(metric));
    }

    fn take_back(&self, table: &mut Table, key: &str, total: bool) -> Option<Arc<DynamicMetric>> {
        let metric = table.dropped.remove(key)?;
        table.by_key.insert(key.to_owned(), Arc::clone(&metric));
        if total {
            table.totals += 1;
        } else {
            self.stats.add(Stat::NamesRegistered, 1);
        }
        self.queue(Change::Again(Arc::clone(&metric)));
        Some(metric)
    }

    /// Clients have seen metrics for the first time.
    pub fn count_seen(&self, more: u64) {
        self.seen.fetch_add(more, Ordering::Relaxed);
    }

    /// A number that changes when clients see metrics for the first time.
    pub fn seen(&self) -> u64 {
        self.seen.load(Ordering::Relaxed)
    }

    /// Restores a metric with its id of an earlier run, which no other metric may have. `Ok(None)`:
    /// there is no room now, and the id stays reserved until the key is defined again.
    ///
    /// # Errors
    /// The id is out of range or the key is known. Nothing changes, but the id is never given out.
    pub fn restore_metric(
        &self,
        source: SourceId,
        id: usize,
        spec: MetricSpec,
    ) -> Result<Option<Arc<DynamicMetric>>, &'static str> {
        let limits = self.limits();
        let mut table = self.table(source).ok_or("no such source")?;
        let total = self.is_total(source, &spec);
        if !self.has_id(source, total, id) {
            return Err("the id is out of range");
        }
        table.pass(total, id);
        if table.by_key.contains_key(&spec.key) || table.parked.contains_key(&spec.key) {
            return Err("its key has another id");
        }
        if !total && table.names() >= limits.names {
            table.parked.insert(spec.key, (id, spec.path));
            return Ok(None);
        }
        Ok(self.insert(&mut table, source, id, spec))
    }

    /// Reserves the ids below `next`, and those of sums below `next_total`: they are never given
    /// out again.
    pub fn reserve_ids(&self, source: SourceId, next: usize, next_total: usize) {
        if let Some(mut table) = self.table(source) {
            table.next_id = table.next_id.max(next.min(DYNAMIC_MAX));
            table.next_total = table.next_total.max(next_total.min(DYNAMIC_MAX));
        }
    }

    pub(super) fn insert(
        &self,
        table: &mut Table,
        source: SourceId,
        id: usize,
        mut spec: MetricSpec,
    ) -> Option<Arc<DynamicMetric>> {
        let param = spec.place.has_param().then_some("param");
        let nodes: Vec<&str> = spec.place.node().into_iter().chain(param).collect();
        spec.path = table.paths.add(&nodes, &spec.path);
        table.pass(self.is_total(source, &spec), id);
        let id = u16::try_from(id).ok()?;
        let first = self.catalogue.source(source)?.cluster;
        let pmid = |base: u16| Pmid::new(self.domain, first + base + id / 1024, id % 1024);
        let key = spec.key.clone();
        let pmids = [pmid(DYNAMIC_CLUSTER), pmid(DYNAMIC_PARAM_CLUSTER)];
        let metric =
            Arc::new(DynamicMetric::new(source, id, spec, pmids, Arc::clone(&table.freed)));
        table.by_key.insert(key, Arc::clone(&metric));
        self.metrics_by_id.get(source.index())?.insert(&metric);
        if self.is_total(source, &metric.spec) {
            table.totals += 1;
        } else {
            self.stats.add(Stat::NamesRegistered, 1);
        }
        Some(metric)
    }

    fn has_id(&self, source: SourceId, total: bool, id: usize) -> bool {
        self.catalogue.source(source).is_some_and(|s| s.dynamic_ids(total).contains(&id))
    }

    fn is_total(&self, source: SourceId, spec: &MetricSpec) -> bool {
        self.catalogue.source(source).is_some_and(|s| s.is_total(spec.place))
    }
}

impl Table {
    /// Names that count.
    fn names(&self) -> usize {
        self.by_key.len().saturating_sub(self.totals)
    }

    const fn next(&self, total: bool) -> usize {
        if total { self.next_total } else { self.next_id }
    }

    /// Marks an id as given.
    fn pass(&mut self, total: bool, id: usize) {
        let next = if total { &mut self.next_total } else { &mut self.next_id };
        *next = (*next).max(id + 1);
    }
}
