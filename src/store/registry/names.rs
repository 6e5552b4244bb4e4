//! Dynamic metrics by key.

use std::sync::{Arc, OnceLock};

use super::{Change, Store, Table};
use crate::catalogue::{DYNAMIC_CLUSTER, DYNAMIC_MAX, DYNAMIC_PARAM_CLUSTER, Stat};
use crate::model::{MetricSpec, Pmid, SourceId};
use crate::store::dynamic_metric::DynamicMetric;

impl Store {
    /// The metric for `spec`: known by its key, or new. `None` when a limit is reached; this is
    /// counted.
    pub fn define(&self, source: SourceId, spec: &MetricSpec) -> Option<Arc<DynamicMetric>> {
        let limits = self.limits();
        let mut table = self.table(source)?;
        if let Some(known) = table.by_key.get(&spec.key) {
            return Some(Arc::clone(known));
        }
        // Sums are as many as what is summed up at most, and have its names.
        let total = self.is_total(source, spec);
        let names = table.by_key.len().saturating_sub(table.totals);
        if !total && (names >= limits.names.min(DYNAMIC_MAX) || spec.key.len() > limits.name_length)
        {
            self.stats.add(Stat::NamesRejected, 1);
            return None;
        }
        let mut spec = spec.clone();
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
        let metric = self.insert(&mut table, source, id, spec)?;
        // Queued under the table's lock, so that the PMDA thread gets metrics in the order of their
        // ids.
        self.queue(Change::Metric(Arc::clone(&metric)));
        Some(metric)
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
        let names = table.by_key.len().saturating_sub(table.totals);
        if !total && names >= limits.names {
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
        let metric = Arc::new(DynamicMetric {
            source,
            id,
            spec,
            pmid: pmid(DYNAMIC_CLUSTER),
            param: pmid(DYNAMIC_PARAM_CLUSTER),
            total: OnceLock::new(),
        });
        table.by_key.insert(key, Arc::clone(&metric));
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
    const fn next(&self, total: bool) -> usize {
        if total { self.next_total } else { self.next_id }
    }

    /// Marks an id as given.
    fn pass(&mut self, total: bool, id: usize) {
        let next = if total { &mut self.next_total } else { &mut self.next_id };
        *next = (*next).max(id + 1);
    }
}
