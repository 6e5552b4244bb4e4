//! What the callbacks share. Lives on the main thread; libpcp_pmda's callbacks have no argument to carry it, so a
//! thread-local holds it, borrowed for the length of one callback.

use super::access::Permits;
use super::contexts::Contexts;
use super::entries::Entries;
use super::fetch::FetchScope;
use super::indom::Cache;
use super::namespace::NameSpace;
use super::{label, sys};
use crate::model::Rights;
use crate::sources::SOURCES;
use crate::store::{AGENT_INDOM, Change, DynamicMetric, Peer, Quiet, Row, Store, catalogue};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::ffi::CString;
use std::sync::Arc;
use std::time::Duration;

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
}

/// How often instances are saved.
const SAVE: Duration = Duration::from_secs(1);
/// Serial numbers of the name tables of dynamic metrics: pseudo domains that no metric has.
const NAMES_SERIAL: u32 = 1000;

/// Everything of the main thread.
#[derive(Debug)]
pub(super) struct State {
    pub(super) store: Arc<Store>,
    pub(super) entries: Entries,
    pub(super) names: NameSpace,
    pub(super) domains: Domains,
    pub(super) fetch: FetchScope,
    pub(super) contexts: Contexts,
    pub(super) permits: Permits,
    /// For the log of refused requests.
    pub(super) refusals: Quiet,
    /// Metrics have come since the last fetch.
    pub(super) names_changed: bool,
    /// The last help text: libpcp_pmda reads it after the callback has returned.
    pub(super) scratch: CString,
    unsaved: Quiet,
    /// Caches that have changed since they were saved, and when that was.
    dirty: Vec<Cache>,
    saved: Option<Duration>,
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
    /// With the static metrics; the rest comes by [`State::restore`] and [`State::apply`].
    pub(super) fn new(store: Arc<Store>) -> Result<Self, String> {
        let mut entries = Entries::new(store.domain());
        catalogue().into_iter().for_each(|e| entries.push_static(e));
        let mut names = NameSpace::new()?;
        // pmdaTree puts each new name before its siblings: the last becomes the first that pminfo shows.
        for row in entries.rows().iter().rev() {
            names.insert(row.pmid, &row.name)?;
        }
        names.rebuild();
        Ok(Self {
            store,
            entries,
            names,
            domains: Domains::default(),
            fetch: FetchScope::default(),
            contexts: Contexts::default(),
            permits: Permits::default(),
            refusals: Quiet::default(),
            names_changed: false,
            scratch: CString::default(),
            unsaved: Quiet::default(),
            dirty: Vec::new(),
            saved: None,
        })
    }

    fn cache(&self, serial: u32) -> Cache {
        Cache::new(self.store.domain(), serial)
    }

    fn names_cache(&self, source: usize) -> Cache {
        self.cache(NAMES_SERIAL + SOURCES.get(source).map_or(0, |s| s.indom))
    }

    /// What earlier runs knew: dynamic metrics with their ids, instances with theirs; then the metrics that always exist.
    pub(super) fn restore(&mut self) {
        let forget = self.store.limits().forget;
        self.cache(AGENT_INDOM).load(Some(forget));
        for (i, source) in SOURCES.iter().enumerate() {
            for (id, line) in self.names_cache(i).load(None) {
                let (path, persist) = line.split_once(' ').unwrap_or((&line, ""));
                let spec = source.dynamic.and_then(|d| (d.restore)(persist)).map(|mut spec| {
                    path.clone_into(&mut spec.path);
                    spec
                });
                let metric = spec.and_then(|spec| self.store.restore_metric(i, id as usize, spec));
                match metric {
                    Some(metric) => self.add_metric(&metric),
                    None => {
                        log::warn!("{} name table: entry {id} {line:?} is not understood; its id stays reserved", source.name);
                        self.store.reserve_id(i, id as usize);
                    }
                }
            }
            for spec in source.dynamic.map(|d| (d.initial)()).unwrap_or_default() {
                self.store.define(i, &spec);
            }
            for table in source.tables {
                // Ids are known again; rows come when somebody adds to them.
                let cache = self.cache(table.indom);
                for (_, key) in cache.load(Some(forget)) {
                    let _ = cache.remove(&key, usize::MAX);
                }
            }
            for (_, name) in self.cache(source.indom).load(Some(forget)) {
                self.store.restore_peer(i, &name, crate::clock::now().mono);
            }
        }
        self.store.initial_rows();
        self.names.rebuild();
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

    /// Tells libpcp_pmda about new metrics and instances. Returns whether the metric table has changed.
    pub(super) fn apply(&mut self) -> bool {
        let changes = self.store.take_changes();
        if changes.is_empty() {
            return false;
        }
        let (mut metrics, mut dirty) = (false, Vec::new());
        for change in changes {
            match change {
                Change::Metric(metric) => {
                    let cache = self.names_cache(metric.source);
                    match cache.add(&format!("{} {}", metric.spec.path, metric.spec.persist)) {
                        Ok(id) if id == u32::from(metric.id) => {}
                        other => log::error!("name table gave {other:?} for {}, expected {}", metric.spec.key, metric.id),
                    }
                    dirty.push(cache);
                    self.add_metric(&metric);
                    metrics = true;
                }
                Change::Join(peer) => dirty.extend(self.join(&peer)),
                Change::Leave(peer) => dirty.extend(self.leave(&peer)),
                Change::JoinRow(source, table, row) => dirty.extend(self.join_row(source, table, &row)),
                Change::LeaveRow(source, table, row) => dirty.extend(self.leave_row(source, table, &row)),
            }
        }
        if metrics {
            self.names.rebuild();
            self.names_changed = true;
        }
        self.dirty.extend(dirty);
        self.dirty.sort_by_key(|c| c.indom());
        self.dirty.dedup();
        // A metric comes once in its life, a thousand instances may come in one second.
        self.save(metrics);
        metrics
    }

    /// Saves what has changed: at most once a second, since whole files are written and the disk is waited for; or at once.
    pub(super) fn save(&mut self, at_once: bool) {
        let now = crate::clock::now().mono;
        let soon = self.saved.is_some_and(|at| now.saturating_sub(at) < SAVE);
        if self.dirty.is_empty() || soon && !at_once {
            return;
        }
        self.saved = Some(now);
        let failed: Vec<String> = self.dirty.drain(..).filter_map(|c| c.save().err()).collect();
        if let Some(e) = failed.first()
            && let Some(n) = self.unsaved.allow(now)
        {
            let advice = "ids may differ after a restart; is $PCP_VAR_DIR/config/pmda writable for this user?";
            log::error!("cannot save names and instances: {e}; {advice}{}", Quiet::more(n));
        }
    }

    fn places(&self, peer: &Peer) -> [(u32, String); 2] {
        let own = SOURCES.get(peer.source).map_or(AGENT_INDOM, |s| s.indom);
        [(AGENT_INDOM, peer.agent_name()), (own, peer.name.clone())]
    }

    fn join(&mut self, peer: &Arc<Peer>) -> [Cache; 2] {
        self.places(peer).map(|(serial, name)| {
            let cache = self.cache(serial);
            match cache.add(&name) {
                Ok(id) => drop(self.domains.0.entry(serial).or_default().insert(id, Arc::clone(peer))),
                Err(e) => log::error!("instance {e}"),
            }
            cache
        })
    }

    fn join_row(&mut self, source: usize, table: u8, row: &Arc<Row>) -> Option<Cache> {
        let serial = SOURCES.get(source)?.tables.get(usize::from(table))?.indom;
        let cache = self.cache(serial);
        match cache.add(&row.key) {
            Ok(id) => drop(self.domains.1.entry(serial).or_default().insert(id, Arc::clone(row))),
            Err(e) => log::error!("instance {e}"),
        }
        Some(cache)
    }

    fn leave_row(&mut self, source: usize, table: u8, row: &Arc<Row>) -> Option<Cache> {
        let def = SOURCES.get(source)?.tables.get(usize::from(table))?;
        let cache = self.cache(def.indom);
        match cache.remove(&row.key, 4 * def.max) {
            Ok(id) => drop(self.domains.1.get_mut(&def.indom).and_then(|d| d.remove(&id))),
            Err(e) => log::error!("instance {e}"),
        }
        Some(cache)
    }

    fn leave(&mut self, peer: &Arc<Peer>) -> [Cache; 2] {
        let keep = 4 * self.store.limits().instances;
        self.places(peer).map(|(serial, name)| {
            let cache = self.cache(serial);
            match cache.remove(&name, keep) {
                Ok(id) => drop(self.domains.0.get_mut(&serial).and_then(|d| d.remove(&id))),
                Err(e) => log::error!("instance {e}"),
            }
            cache
        })
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
        label::of_instance(&self.domains, indom, inst)
    }
}
