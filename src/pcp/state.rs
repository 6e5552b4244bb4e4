//! What the callbacks share. Lives on the main thread; libpcp_pmda's callbacks have no argument to
//! carry it, so a thread-local holds it, borrowed for the length of one callback.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::ffi::CString;
use std::path::Path;
use std::sync::Arc;

use super::access::Permits;
use super::contexts::Contexts;
use super::entries::Entries;
use super::fetch::FetchScope;
use super::indom::Tables;
use super::keeper::Keeper;
use super::namespace::NameSpace;
use super::{label, process, sys};
use crate::catalogue::AGENT_INDOM;
use crate::model::{Rights, SourceId, TableId};
use crate::store::{Change, DynamicMetric, LogThrottle, Peer, Row, Store};

/// Instances of a domain: id → peer, in the order of ids.
pub(super) type Instances = BTreeMap<u32, Arc<Peer>>;

/// Instances by domain serial: peers, and rows of tables.
#[derive(Debug, Default)]
pub(super) struct Domains(HashMap<u32, Instances>, HashMap<u32, BTreeMap<u32, Arc<Row>>>);

impl Domains {
    pub(super) fn peer(&self, serial: u32, inst: u32) -> Option<&Arc<Peer>> {
        self.0.get(&serial)?.get(&inst)
    }

    pub(super) fn rows(&self, serial: u32) -> Option<&BTreeMap<u32, Arc<Row>>> {
        self.1.get(&serial)
    }

    pub(super) fn instances(&self, serial: u32) -> Option<&Instances> {
        self.0.get(&serial)
    }

    /// Numbers and names of a domain's instances, in the order of the numbers.
    pub(super) fn names(&self, serial: u32) -> Vec<(u32, String)> {
        let name =
            |peer: &Peer| if serial == AGENT_INDOM { peer.agent_name() } else { peer.name.clone() };
        let peers = self.0.get(&serial).into_iter().flatten().map(|(id, p)| (*id, name(p)));
        let rows = self.1.get(&serial).into_iter().flatten().map(|(id, r)| (*id, r.key.clone()));
        peers.chain(rows).collect()
    }
}

/// Everything of the main thread.
#[derive(Debug)]
pub(super) struct State {
    pub(super) store: Arc<Store>,
    pub(super) entries: Entries,
    pub(super) names: NameSpace,
    pub(super) domains: Domains,
    pub(super) fetch: FetchScope,
    /// The request that is being answered.
    pub(super) turn: process::Turn,
    pub(super) contexts: Contexts,
    pub(super) permits: Permits,
    /// For the log of refused requests.
    pub(super) refusals: LogThrottle,
    /// Metrics have come since the last fetch.
    pub(super) names_changed: bool,
    /// The last help text: libpcp_pmda reads it after the callback has returned.
    pub(super) scratch: CString,
    /// Instance domains for libpcp_pmda.
    pub(super) indoms: Tables,
    keeper: Keeper,
}

thread_local! {
    static STATE: RefCell<Option<State>> = const { RefCell::new(None) };
}

/// Runs `f` on the state; `None` before start and after the end.
pub(super) fn with<R>(f: impl FnOnce(&mut State) -> R) -> Option<R> {
    STATE.with_borrow_mut(|s| s.as_mut().map(f))
}

/// Puts the state in its place, or takes it away.
pub(super) fn install(state: Option<State>) {
    STATE.set(state);
}

/// Who may what, from now on; for the main thread, once the agent is initialised.
pub fn set_rights(rights: &Rights) {
    with(|s| s.permits = Permits::new(rights));
}

impl State {
    /// With the static metrics, and what earlier runs left in `dir`: dynamic metrics with their
    /// ids, instances with theirs; then the metrics and rows that always exist. The rest comes
    /// by [`State::apply`].
    pub(super) fn new(store: Arc<Store>, dir: &Path) -> Result<Self, String> {
        let catalogue = Arc::clone(store.catalogue());
        let mut entries = Entries::new(store.domain(), &catalogue);
        catalogue.entries().iter().for_each(|e| entries.push_static(e));
        let mut names = NameSpace::new()?;
        // pmdaTree puts each new name before its siblings: the last becomes the first that pminfo
        // shows.
        for row in entries.rows().iter().rev() {
            names.insert(row.pmid, &row.name)?;
        }
        let (keeper, restored) = Keeper::open(dir, &store);
        let mut state = Self {
            indoms: Tables::new(store.domain(), &catalogue),
            keeper,
            store,
            entries,
            names,
            domains: Domains::default(),
            fetch: FetchScope::default(),
            turn: process::Turn::default(),
            contexts: Contexts::default(),
            permits: Permits::default(),
            refusals: LogThrottle::default(),
            names_changed: false,
            scratch: CString::default(),
        };
        restored.metrics.iter().for_each(|metric| state.add_metric(metric));
        for (source, s) in catalogue.sources() {
            for spec in s.dynamic.map(|d| (d.initial)()).unwrap_or_default() {
                state.store.define(source, &spec);
            }
        }
        state.store.initial_rows();
        state.names.rebuild();
        Ok(state)
    }

    fn add_metric(&mut self, metric: &Arc<DynamicMetric>) {
        let first = self.entries.rows().len();
        self.entries.push_dynamic(metric);
        for row in self.entries.rows().get(first..).unwrap_or_default() {
            if let Err(e) = self.names.insert(row.pmid, &row.name) {
                log::error!("name space: {e}");
            }
        }
    }

    /// Tells libpcp_pmda about new metrics and instances. Returns whether the metric table has
    /// changed.
    pub(super) fn apply(&mut self) -> bool {
        let changes = self.store.take_changes();
        if changes.is_empty() {
            return false;
        }
        let mut metrics = false;
        for change in changes {
            match change {
                Change::Metric(metric) => {
                    self.keeper.book.add_metric(&metric);
                    self.add_metric(&metric);
                    metrics = true;
                }
                Change::Join(peer) => self.join(&peer),
                Change::Leave(peer) => self.leave(&peer),
                Change::JoinRow(source, table, row) => self.join_row(source, table, &row),
                Change::LeaveRow(source, table, row) => self.leave_row(source, table, &row),
            }
        }
        if metrics {
            self.names.rebuild();
            self.names_changed = true;
        }
        self.keeper.changed(metrics);
        metrics
    }

    /// Has the state file written if it is time.
    pub(super) fn save(&mut self) {
        self.keeper.turn();
    }

    /// Instance domains of a peer.
    fn serials(&self, peer: &Peer) -> [u32; 2] {
        let source = self.store.catalogue().source(peer.source);
        [source.map_or(AGENT_INDOM, |s| s.indom.serial), AGENT_INDOM]
    }

    fn join(&mut self, peer: &Arc<Peer>) {
        let Some(ids) = self.keeper.book.join_peer(peer) else {
            return log::error!("{} is not shown: no instance number is left", peer.agent_name());
        };
        for (serial, id) in self.serials(peer).into_iter().zip(ids) {
            self.domains.0.entry(serial).or_default().insert(id, Arc::clone(peer));
            self.indoms.changed(serial);
        }
    }

    fn leave(&mut self, peer: &Arc<Peer>) {
        let Some(ids) =
            self.keeper.book.leave_peer(peer, &self.store.limits(), crate::clock::now())
        else {
            return;
        };
        for (serial, id) in self.serials(peer).into_iter().zip(ids) {
            self.domains.0.get_mut(&serial).and_then(|d| d.remove(&id));
            self.indoms.changed(serial);
        }
    }

    fn join_row(&mut self, source: SourceId, table: TableId, row: &Arc<Row>) {
        let Some(def) = self.store.catalogue().table(source, table).copied() else {
            return;
        };
        match self.keeper.book.join_row(source, table, row) {
            Some(id) => drop(
                self.domains.1.entry(def.indom.serial).or_default().insert(id, Arc::clone(row)),
            ),
            None => {
                log::error!("{} {} is not shown: no instance number is left", def.name, row.key)
            }
        }
        self.indoms.changed(def.indom.serial);
    }

    fn leave_row(&mut self, source: SourceId, table: TableId, row: &Arc<Row>) {
        let Some(def) = self.store.catalogue().table(source, table).copied() else {
            return;
        };
        if let Some(id) = self.keeper.book.leave_row(source, table, row, crate::clock::now()) {
            self.domains.1.get_mut(&def.indom.serial).and_then(|d| d.remove(&id));
        }
        self.indoms.changed(def.indom.serial);
    }

    /// Before libpcp_pmda reads the instances of a domain.
    pub(super) fn refresh(&mut self, indom: sys::pmInDom) {
        self.indoms.refresh(indom, &self.domains);
    }

    /// A client context has ended; its number will be used again.
    pub(super) fn forget_context(&mut self, ctx: i32) {
        self.contexts.forget(ctx);
        let ctx = ctx.cast_unsigned();
        for peer in self.domains.0.get(&AGENT_INDOM).into_iter().flat_map(BTreeMap::values) {
            peer.streams().for_each(|s| s.forget(ctx));
        }
    }

    /// Labels of an instance as JSON.
    pub(super) fn instance_labels(&self, indom: sys::pmInDom, inst: u32) -> Option<String> {
        label::of_instance(self.store.catalogue(), &self.domains, indom, inst)
    }
}
