//! Who and what is known: dynamic metrics and peers by name, bounded; changes are queued for the
//! PMDA thread.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError};
use std::time::Duration;

use super::control_queue::ControlQueue;
use super::limits::Limits;
use super::peer::{Liveness, Peer, RequestQueue, Turn};
use super::rows::{Row, RowChange, Rows};
use super::self_stats::SelfStats;
use super::sync::{Mutex, MutexGuard};
use crate::catalogue::{
    AgentCell, Catalogue, DYNAMIC_CLUSTER, DYNAMIC_MAX, DYNAMIC_PARAM_CLUSTER, Stat, TableDef,
};
use crate::events::Budget;
use crate::model::{
    Charge, Identity, Memory, MetricSpec, Now, Pmid, Purpose, STATIC_ITEMS, SourceId, TableId,
};

/// A metric that some peer brought; lives as long as the PMDA and, through the state file, longer.
#[derive(Debug)]
pub struct DynamicMetric {
    /// Its source.
    pub source: SourceId,
    /// Number within the source: stays the same for ever.
    pub id: u16,
    /// Its description.
    pub spec: MetricSpec,
    /// Its PMID.
    pub pmid: Pmid,
    /// The PMID of the parameter metric that goes with it.
    pub param: Pmid,
}

impl DynamicMetric {
    /// One line and the full help text of its parameter metric. `values`: the metric itself has
    /// values, else there are only parameters.
    #[must_use]
    pub fn param_help(&self, values: bool) -> (String, String) {
        let what = if values {
            format!(": the value of {} that a record brought", self.spec.key)
        } else {
            String::new()
        };
        let help = format!(
            "Parameter of event records{what}. It has no values of its own.\n{}",
            self.spec.help
        );
        (format!("Parameter: {}", self.spec.oneline), help)
    }

    /// Column of its cell in every peer.
    #[must_use]
    pub const fn column(&self) -> u16 {
        STATIC_ITEMS + self.id
    }
}

/// Something that the PMDA thread must tell libpcp before the next fetch.
#[derive(Clone, Debug)]
pub enum Change {
    /// A new metric (and its parameter metric).
    Metric(Arc<DynamicMetric>),
    /// A new instance.
    Join(Arc<Peer>),
    /// An instance that is forgotten.
    Leave(Arc<Peer>),
    /// A new row of a source's table.
    JoinRow(SourceId, TableId, Arc<Row>),
    /// A row that has lost its place.
    LeaveRow(SourceId, TableId, Arc<Row>),
}

#[derive(Debug, Default)]
struct Table {
    by_key: HashMap<String, Arc<DynamicMetric>>,
    /// No metric has had this id or a higher one.
    next_id: usize,
    /// Ids and paths of metrics that earlier runs knew and `limits.names` leaves no room for now,
    /// by key.
    parked: HashMap<String, (usize, String)>,
    paths: HashSet<String>,
    peers: HashMap<String, Arc<Peer>>,
    /// Lives begin and end under this table's lock only.
    turn: Turn,
}

/// All that is known. One for the process; shared by all threads.
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
    tables: Vec<Mutex<Table>>,
    rows: Vec<Vec<Mutex<Rows>>>,
    control_queues: Vec<Arc<ControlQueue>>,
    /// What names, descriptions and rows take.
    metrics: Mutex<Charge>,
    pending: Mutex<Vec<Change>>,
    comings: AtomicU64,
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
    /// Empty. `domain` goes into the PMIDs; `event_memory` bounds packed event records, in bytes.
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
            limits: Mutex::new(Arc::new(limits)),
            tables: sources().map(|_| Mutex::default()).collect(),
            rows: sources().map(|s| s.tables.iter().map(|_| Mutex::default()).collect()).collect(),
            control_queues: sources().map(|_| Arc::default()).collect(),
            catalogue,
            pending: Mutex::default(),
            comings: AtomicU64::new(0),
            wake: OnceLock::new(),
        })
    }

    /// The metrics and sources that there are.
    #[must_use]
    pub const fn catalogue(&self) -> &Arc<Catalogue> {
        &self.catalogue
    }

    /// PMID domain.
    #[must_use]
    pub const fn domain(&self) -> u32 {
        self.domain
    }

    /// Where requests to a source as a whole go.
    #[must_use]
    pub fn control_queue(&self, source: SourceId) -> Option<&Arc<ControlQueue>> {
        self.control_queues.get(source.index())
    }

    /// The limits in force.
    #[must_use]
    pub fn limits(&self) -> Arc<Limits> {
        Arc::clone(&lock(&self.limits))
    }

    /// New limits; what is already known stays.
    pub fn set_limits(&self, limits: Limits) {
        self.memory.set_limits(limits.memory, self.budget.limit(), limits.peer_memory);
        *lock(&self.limits) = Arc::new(limits);
    }

    /// `wake` is called after a change is queued; it must not block. Only the first call counts.
    pub fn on_change(&self, wake: impl Fn() + Send + Sync + 'static) {
        let _ = self.wake.set(Box::new(wake));
    }

    /// Changes since the last call, oldest first.
    pub fn take_changes(&self) -> Vec<Change> {
        std::mem::take(&mut *lock(&self.pending))
    }

    fn queue(&self, change: Change) {
        lock(&self.pending).push(change);
        if let Some(wake) = self.wake.get() {
            wake();
        }
    }

    fn table(&self, source: SourceId) -> Option<MutexGuard<'_, Table>> {
        self.tables.get(source.index()).map(lock)
    }

    /// The metric for `spec`: known by its key, or new. `None` when a limit is reached, which is
    /// counted.
    pub fn define(&self, source: SourceId, spec: &MetricSpec) -> Option<Arc<DynamicMetric>> {
        let limits = self.limits();
        let mut table = self.table(source)?;
        if let Some(known) = table.by_key.get(&spec.key) {
            return Some(Arc::clone(known));
        }
        if table.by_key.len() >= limits.names.min(DYNAMIC_MAX)
            || spec.key.len() > limits.name_length
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
            None => table.next_id,
        };
        if id >= DYNAMIC_MAX {
            self.stats.add(Stat::NamesRejected, 1);
            return None;
        }
        let metric = self.insert(&mut table, source, id, spec)?;
        // Queued under the table's lock, so that the PMDA thread hears of them in the order of
        // their ids.
        self.queue(Change::Metric(Arc::clone(&metric)));
        Some(metric)
    }

    /// A metric that an earlier run knew, with the id it had, which no other may have. `Ok(None)`:
    /// there is no room for it now, its id is kept until it is defined again.
    ///
    /// # Errors
    /// Why it cannot be: its id is out of range, or its key is known. Nothing changes, but the id
    /// is never given out.
    pub fn restore_metric(
        &self,
        source: SourceId,
        id: usize,
        spec: MetricSpec,
    ) -> Result<Option<Arc<DynamicMetric>>, &'static str> {
        let limits = self.limits();
        let mut table = self.table(source).ok_or("no such source")?;
        if id >= DYNAMIC_MAX {
            return Err("the id is out of range");
        }
        table.next_id = table.next_id.max(id + 1);
        if table.by_key.contains_key(&spec.key) || table.parked.contains_key(&spec.key) {
            return Err("its key has another id");
        }
        if table.by_key.len() >= limits.names {
            table.parked.insert(spec.key, (id, spec.path));
            return Ok(None);
        }
        Ok(self.insert(&mut table, source, id, spec))
    }

    /// Ids below `next` are not given out any more, whoever had them.
    pub fn reserve_ids(&self, source: SourceId, next: usize) {
        if let Some(mut table) = self.table(source) {
            table.next_id = table.next_id.max(next.min(DYNAMIC_MAX));
        }
    }

    fn insert(
        &self,
        table: &mut Table,
        source: SourceId,
        id: usize,
        mut spec: MetricSpec,
    ) -> Option<Arc<DynamicMetric>> {
        // Two raw names may come out the same when sanitised; the second gets a number.
        let plain = spec.path.clone();
        let mut n = 1;
        while !table.paths.insert(spec.path.clone()) {
            n += 1;
            spec.path = format!("{plain}_{n}");
        }
        table.next_id = table.next_id.max(id + 1);
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
        });
        table.by_key.insert(key, Arc::clone(&metric));
        self.stats.add(Stat::NamesRegistered, 1);
        Some(metric)
    }

    /// A connection says who it is. A name whose owner is connected and alive goes to the owner:
    /// the newcomer gets a number behind its own. `None` when `limits.instances` is reached
    /// with all peers connected, which is counted.
    pub fn attach(
        &self,
        source: SourceId,
        id: &Identity,
        requests: &Arc<RequestQueue>,
        now: Now,
    ) -> Option<Arc<Peer>> {
        let limits = self.limits();
        let mut table = self.table(source)?;
        let mut name = id.name.clone();
        let mut n = 1;
        let another = |p: &Arc<Peer>| {
            let same_process =
                id.process.as_ref().is_some_and(|process| p.process().as_ref() == Some(process));
            !same_process && p.liveness.up() && p.liveness.fresh(now.mono, Duration::ZERO)
        };
        while table.peers.get(&name).is_some_and(another) {
            n += 1;
            name = format!("{}#{n}", id.name);
        }
        let peer = match table.peers.get(&name) {
            Some(peer) => Arc::clone(peer),
            None => {
                if table.peers.len() >= limits.instances && !self.evict(&mut table, now.mono) {
                    self.stats.add(Stat::InstancesRejected, 1);
                    return None;
                }
                self.join(
                    &mut table,
                    Peer::new(
                        &self.catalogue,
                        source,
                        name,
                        Liveness::absent(now.mono, Duration::ZERO),
                    ),
                )
            }
        };
        self.comings.fetch_add(1, Ordering::Relaxed);
        // Still under the lock: who makes room, or sweeps, sees a peer that is connected.
        peer.liveness.attach(&mut table.turn, now.mono);
        if !id.resumes {
            peer.forget_values();
        }
        peer.introduce(id.peer.clone(), id.labels.clone());
        let before = peer.set_process(id.process.clone());
        if let Some(item) = self.catalogue.source(source).and_then(|s| s.restarts) {
            peer.cells.add(item.get(), u64::from(before.is_some() && before != id.process));
        }
        peer.set_requests(requests);
        peer.agent.set(AgentCell::Up as u16, 1);
        peer.count(AgentCell::Connects, 1);
        peer.agent.set(AgentCell::ConnectTime as u16, now.wall.as_millis().cast_unsigned());
        Some(peer)
    }

    /// An instance that an earlier run knew: not connected, for the time `gone`. `None` when
    /// `limits.instances` is reached.
    pub fn restore_peer(
        &self,
        source: SourceId,
        name: &str,
        now: Duration,
        gone: Duration,
    ) -> Option<Arc<Peer>> {
        let limits = self.limits();
        let mut table = self.table(source)?;
        if table.peers.contains_key(name) || table.peers.len() >= limits.instances {
            return None;
        }
        Some(self.join(
            &mut table,
            Peer::new(&self.catalogue, source, name.to_owned(), Liveness::absent(now, gone)),
        ))
    }

    /// Changes with every peer that comes or goes: times of leaving have changed.
    #[must_use]
    pub fn comings(&self) -> u64 {
        self.comings.load(Ordering::Relaxed)
    }

    fn join(&self, table: &mut Table, peer: Peer) -> Arc<Peer> {
        let peer = Arc::new(peer);
        table.peers.insert(peer.name.clone(), Arc::clone(&peer));
        self.stats.add(Stat::InstancesRegistered, 1);
        self.queue(Change::Join(Arc::clone(&peer)));
        peer
    }

    /// The end of a connection.
    pub fn detach(&self, peer: &Peer, requests: &Arc<RequestQueue>, now: Now) {
        let Some(mut table) = self.table(peer.source) else { return };
        self.comings.fetch_add(1, Ordering::Relaxed);
        peer.clear_requests(requests);
        peer.liveness.detach(&mut table.turn, now.mono);
        if !peer.liveness.up() {
            peer.agent.set(AgentCell::Up as u16, 0);
        }
    }

    /// Forgets the peer that has been gone longest; `false` when all are connected.
    fn evict(&self, table: &mut Table, now: Duration) -> bool {
        let gone = table.peers.values().filter_map(|p| Some((p.liveness.gone_for(now)?, p)));
        let longest = gone.max_by(|(a, p), (b, q)| a.cmp(b).then_with(|| p.name.cmp(&q.name)));
        let Some(name) = longest.map(|(_, p)| p.name.clone()) else { return false };
        self.leave(table, &name);
        true
    }

    fn leave(&self, table: &mut Table, name: &str) {
        if let Some(peer) = table.peers.remove(name) {
            self.stats.sub(Stat::InstancesRegistered, 1);
            for n in (0..).take(self.rows.get(peer.source.index()).map_or(0, Vec::len)) {
                self.change_rows(peer.source, TableId::new(n), |def, rows, changes| {
                    if def.of_peer {
                        rows.forget_peer(&peer, changes);
                    }
                });
            }
            self.queue(Change::Leave(peer));
        }
    }

    /// Housekeeping, every few seconds: forgets peers gone too long, trims idle streams, measures
    /// memory.
    pub fn sweep(&self, now: Duration) {
        let limits = self.limits();
        let mut memory = 0;
        for table in &self.tables {
            let mut table = lock(table);
            let gone: Vec<String> = (table.peers.values())
                .filter(|p| p.liveness.gone_for(now).is_some_and(|d| d > limits.forget))
                .map(|p| p.name.clone())
                .collect();
            gone.iter().for_each(|name| self.leave(&mut table, name));
            for peer in table.peers.values() {
                // Nobody sees the texts of one that is gone, unless its values are sums of ours.
                if self.catalogue.source(peer.source).is_some_and(|s| !s.keeps_values)
                    && peer.liveness.gone_for(now).is_some_and(|gone| gone > limits.stale)
                {
                    peer.forget_texts();
                }
                peer.charge_cells(&self.memory);
            }
            table.peers.values().flat_map(|p| p.streams()).for_each(crate::events::Stream::trim);
            memory += table
                .by_key
                .values()
                .map(|m| size_of::<DynamicMetric>() + 4 * m.spec.help.len())
                .sum::<usize>();
        }
        for ((source, _), tables) in self.catalogue.sources().zip(&self.rows) {
            for (n, table) in (0..).zip(tables) {
                self.change_rows(source, TableId::new(n), |def, rows, changes| {
                    rows.promote(def, changes)
                });
                memory += lock(table).memory();
            }
        }
        lock(&self.metrics).set(memory);
        self.relieve(now);
    }

    /// When there is too little room for those that hold a lot, the texts of peers that are gone
    /// go; if that is not enough, the peers, those gone longest first.
    fn relieve(&self, now: Duration) {
        if self.memory.over() == 0 {
            return;
        }
        for table in &self.tables {
            lock(table)
                .peers
                .values()
                .filter(|p| p.liveness.gone_for(now).is_some())
                .for_each(|p| p.forget_texts());
        }
        let mut over = self.memory.over();
        for table in &self.tables {
            let mut table = lock(table);
            let gone = table
                .peers
                .values()
                .filter_map(|p| Some((p.liveness.gone_for(now)?, p.name.clone(), p.charged())));
            let mut gone: Vec<(Duration, String, usize)> = gone.collect();
            gone.sort_by(|a, b| b.cmp(a));
            for (_, name, bytes) in gone {
                if over == 0 {
                    return;
                }
                self.leave(&mut table, &name);
                over = over.saturating_sub(bytes);
            }
        }
    }

    /// Changes the rows of a table and tells the PMDA thread.
    fn change_rows<T>(
        &self,
        source: SourceId,
        table: TableId,
        change: impl FnOnce(&TableDef, &mut Rows, &mut Vec<RowChange>) -> T,
    ) -> Option<T> {
        let def = self.catalogue.table(source, table)?;
        let mut rows = lock(self.rows.get(source.index())?.get(table.index())?);
        let mut changes = Vec::new();
        let result = change(def, &mut rows, &mut changes);
        for change in changes {
            self.queue(match change {
                RowChange::Join(row) => Change::JoinRow(source, table, row),
                RowChange::Leave(row) => Change::LeaveRow(source, table, row),
            });
        }
        Some(result)
    }

    /// The row of a key in a table: its own, that for all the rest, or none where there is no room.
    /// In a table of peers it belongs to `peer` and goes with it.
    pub fn row(
        &self,
        source: SourceId,
        table: TableId,
        peer: Option<&Arc<Peer>>,
        key: Option<&str>,
    ) -> Option<Arc<Row>> {
        self.change_rows(source, table, |def, rows, changes| rows.get(def, peer, key, changes))
            .flatten()
    }

    /// A key without a row of its own has added this much to what places are given for.
    pub fn wait_for_row(&self, source: SourceId, table: TableId, key: &str, more: u64) {
        self.change_rows(source, table, |def, rows, _| rows.wait(def, key, more));
    }

    /// Makes the rows that always exist.
    pub fn initial_rows(&self) {
        for (source, s) in self.catalogue.sources() {
            for (n, def) in (0..).zip(s.tables) {
                let table = TableId::new(n);
                for key in (def.initial)() {
                    self.row(source, table, None, Some(&key));
                }
            }
        }
    }

    /// All peers of all sources: for requests that go to everyone.
    #[must_use]
    pub fn peers(&self) -> Vec<Arc<Peer>> {
        self.tables
            .iter()
            .flat_map(|t| lock(t).peers.values().cloned().collect::<Vec<_>>())
            .collect()
    }
}

#[cfg(test)]
#[path = "registry_tests.rs"]
mod tests;
