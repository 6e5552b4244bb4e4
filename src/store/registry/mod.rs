//! The registry of dynamic metrics and peers by name, within limits; changes are queued for the
//! PMDA thread.

mod names;
mod paths;
mod peers;
mod readers;
mod rows;
mod sweep;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, PoisonError};

use paths::Paths;
use readers::Readers;
pub(super) use readers::duration;

use super::control_queue::ControlQueue;
use super::dynamic_metric::DynamicMetric;
use super::held::ById;
use super::limits::Limits;
use super::peer::{Peer, Turn};
use super::rows::{Row, Rows};
use super::self_stats::SelfStats;
use super::sync::{Mutex, MutexGuard};
use crate::catalogue::Catalogue;
use crate::events::Budget;
use crate::model::{Charge, Memory, Purpose, SourceId, TableId};

/// A change that the PMDA thread must pass to libpcp_pmda before the next fetch.
#[derive(Clone, Debug)]
pub enum Change {
    /// A new metric (and its parameter metric).
    Metric(Arc<DynamicMetric>),
    /// A metric that nobody brings and nobody has fetched: its name is free for others. Its id is not.
    Drop(Arc<DynamicMetric>),
    /// It is brought again.
    Again(Arc<DynamicMetric>),
    /// A new instance.
    Join(Arc<Peer>),
    /// An instance that is forgotten.
    Leave(Arc<Peer>),
    /// A new row of a source's table.
    JoinRow(SourceId, TableId, Arc<Row>),
    /// A row that has lost its instance.
    LeaveRow(SourceId, TableId, Arc<Row>),
    /// A row has a first value of the dynamic metric with this column.
    RowHas(SourceId, TableId, Arc<Row>, u16),
}

#[derive(Debug, Default)]
struct Table {
    by_key: HashMap<String, Arc<DynamicMetric>>,
    /// How many of them are sums of others.
    totals: usize,
    /// The first id that no metric ever had, and the first that no sum ever had.
    next_id: usize,
    next_total: usize,
    /// Metrics whose names were dropped, by key. They have their ids if they are brought again.
    dropped: HashMap<String, Arc<DynamicMetric>>,
    /// How often a metric has lost its last bringer, and how often it had when unused names were dropped.
    freed: Arc<AtomicU64>,
    freed_before: Option<u64>,
    /// By key, ids and paths of restored metrics for which `limits.names` has no room now.
    parked: HashMap<String, (usize, String)>,
    paths: Paths,
    peers: HashMap<String, Arc<Peer>>,
    /// Rows of shared tables that connected peers are members of, by the peer's name.
    memberships: HashMap<String, Vec<(TableId, Arc<Row>)>>,
    /// The liveness of peers changes under this table's lock only.
    turn: Turn,
}

/// The state of all sources. One for the process; shared by all threads.
pub struct Store {
    /// Statistics of the PMDA itself.
    pub stats: SelfStats,
    /// Memory for event records.
    pub budget: Arc<Budget>,
    /// Memory for everything that peers cause.
    pub memory: Arc<Memory>,
    catalogue: Arc<Catalogue>,
    domain: u32,
    limits: Mutex<Arc<Limits>>,
    /// The limits have patterns for texts.
    redacts: AtomicBool,
    tables: Vec<Mutex<Table>>,
    /// The dynamic metrics of each source.
    metrics_by_id: Vec<Arc<ById>>,
    rows: Vec<Vec<Mutex<Rows>>>,
    control_queues: Vec<Arc<ControlQueue>>,
    /// The memory charge of names, descriptions and rows.
    metrics: Mutex<Charge>,
    pending: Mutex<Vec<Change>>,
    /// Number of new metrics.
    defined: AtomicU64,
    comings: AtomicU64,
    /// Processes that several sources have peers of are looked for.
    twins: AtomicBool,
    /// Taken before the table of a source.
    readers: Mutex<Readers>,
    /// Metrics that clients have seen for the first time.
    seen: AtomicU64,
    /// The peer at which the next sweep begins to compress records.
    rested: AtomicUsize,
    wake: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("stats", &self.stats).finish_non_exhaustive()
    }
}

fn lock<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Store {
    /// An empty store. `domain`: the PMID domain; `event_memory`: limit of packed event records, in
    /// bytes.
    #[must_use]
    pub fn new(
        catalogue: Arc<Catalogue>,
        domain: u32,
        limits: Limits,
        event_memory: usize,
    ) -> Arc<Self> {
        let sources = || catalogue.sources().map(|(_, source)| source);
        let memory = Arc::new(Memory::default());
        memory.set_limits(limits.memory, event_memory, limits.peer_memory);
        Arc::new(Self {
            stats: SelfStats::default(),
            budget: Budget::new(event_memory),
            metrics: Mutex::new(Charge::new(Arc::clone(&memory), Purpose::Registry)),
            memory,
            domain,
            redacts: AtomicBool::new(!limits.redact.is_empty()),
            limits: Mutex::new(Arc::new(limits)),
            tables: sources()
                .map(|source| {
                    let prefix = format!("apm.{}.", source.name);
                    let names = catalogue.entries().iter().map(|e| e.name.as_str());
                    let names = names.filter_map(|name| name.strip_prefix(prefix.as_str()));
                    let next_total = source.dynamic_ids(true).start;
                    Mutex::new(Table { paths: Paths::new(names), next_total, ..Table::default() })
                })
                .collect(),
            rows: sources()
                .map(|s| {
                    let tables = (0..).map(TableId::new).take(s.tables.len());
                    tables.map(|t| Mutex::new(Rows::new(s.row_layout(t)))).collect()
                })
                .collect(),
            metrics_by_id: sources().map(|_| Arc::default()).collect(),
            control_queues: sources().map(|_| Arc::default()).collect(),
            catalogue,
            pending: Mutex::default(),
            comings: AtomicU64::new(0),
            twins: AtomicBool::new(true),
            seen: AtomicU64::new(0),
            defined: AtomicU64::new(0),
            readers: Mutex::default(),
            rested: AtomicUsize::new(0),
            wake: OnceLock::new(),
        })
    }

    /// The catalogue of sources and static metrics.
    #[must_use]
    pub const fn catalogue(&self) -> &Arc<Catalogue> {
        &self.catalogue
    }

    /// PMID domain.
    #[must_use]
    pub const fn domain(&self) -> u32 {
        self.domain
    }

    /// The queue of requests to a source as a whole.
    #[must_use]
    pub fn control_queue(&self, source: SourceId) -> Option<&Arc<ControlQueue>> {
        self.control_queues.get(source.index())
    }

    /// The limits in force.
    #[must_use]
    pub fn limits(&self) -> Arc<Limits> {
        Arc::clone(&lock(&self.limits))
    }

    /// Sets new limits; known peers and metrics stay.
    pub fn set_limits(&self, limits: Limits) {
        self.memory.set_limits(limits.memory, self.budget.limit(), limits.peer_memory);
        let redacts = !limits.redact.is_empty();
        *lock(&self.limits) = Arc::new(limits);
        self.redacts.store(redacts, Ordering::Release);
    }

    /// The limits, if texts of peers are searched.
    #[inline(always)]
    pub(in crate::store) fn redacts(&self) -> Option<Arc<Limits>> {
        if self.redacts.load(Ordering::Acquire) { Some(self.limits()) } else { None }
    }

    /// Sets `wake`, which is called after a change is queued and must not block. Only the first
    /// call counts.
    pub fn on_change(&self, wake: impl Fn() + Send + Sync + 'static) {
        let _ = self.wake.set(Box::new(wake));
    }

    /// Sets whether processes that several sources have peers of are looked for.
    pub fn look_for_twins(&self, looks: bool) {
        self.twins.store(looks, Ordering::Relaxed);
    }

    /// Peers of the source may be agents within processes that another source of the catalogue finds.
    fn has_twins(&self, source: SourceId) -> bool {
        let of = self.catalogue.source(source).and_then(|source| source.agents_of);
        self.twins.load(Ordering::Relaxed)
            && of.is_some_and(|of| self.catalogue.sources().any(|(_, source)| source.name == of))
    }

    /// Takes the changes since the last call, oldest first.
    pub fn take_changes(&self) -> Vec<Change> {
        std::mem::take(&mut *lock(&self.pending))
    }

    /// Number of metrics that [`Store::take_changes`] has given or will give. Who has shown fewer may see records of
    /// parameters that have no name yet.
    pub fn defined(&self) -> u64 {
        self.defined.load(Ordering::Acquire)
    }

    fn queue(&self, change: Change) {
        if matches!(change, Change::Metric(_)) {
            self.defined.fetch_add(1, Ordering::Release);
        }
        lock(&self.pending).push(change);
        if let Some(wake) = self.wake.get() {
            wake();
        }
    }

    fn table(&self, source: SourceId) -> Option<MutexGuard<'_, Table>> {
        self.tables.get(source.index()).map(lock)
    }

    /// All peers of all sources, for requests to all of them.
    #[must_use]
    pub fn peers(&self) -> Vec<Arc<Peer>> {
        self.tables
            .iter()
            .flat_map(|t| lock(t).peers.values().cloned().collect::<Vec<_>>())
            .collect()
    }
}
