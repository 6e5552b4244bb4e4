//! Values: one snapshot for each fetch PDU, of the instances that the client's profile asks for.

use super::contexts::Contexts;
use super::entries::{Entries, Row};
use super::indom::Cache;
use super::profile::Profile;
use super::result::Results;
use super::state::State;
use super::sys;
use crate::events::{Ask, Caps, Delivery, Keep, Want};
use crate::model::{Area, EventLeaf, Origin, Pmid, ValueType};
use crate::sources::{PARAM_CLUSTER, SOURCES};
use crate::store::{AgentCell, Peer, SelfStats, Stat, Store};
use std::collections::{HashMap, HashSet};
use std::ffi::c_int;
use std::sync::Arc;
use std::time::Duration;

/// Most bytes of event records of one stream, and of all together, in one fetch. The rest comes with the next: a large PDU
/// makes pmcd and the client keep buffers of its size for ever (specs/pcp-figures.md section 4).
const STREAM_BYTES: usize = 1 << 20;
const FETCH_BYTES: usize = 8 << 20;
/// After an answer of this many words the memory that libpcp took for it is given back to the system.
const LARGE_WORDS: usize = 256 << 10;

/// The fetch that is being answered.
#[derive(Debug, Default)]
pub(super) struct FetchScope {
    now: Duration,
    stale: Duration,
    ctx: u32,
    max_records: usize,
    bytes_left: usize,
    /// Which arrays this PDU asks for, by source and event kind.
    wants: HashMap<(usize, u8), Want>,
    /// Arrays of this PDU by source, event kind and instance: libpcp_pmda reads them when the answer is sent.
    deliveries: HashMap<(usize, u8, u32), Delivery>,
    /// Sources whose records this client may not see.
    hidden: HashSet<usize>,
    results: Results,
}

impl FetchScope {
    fn begin(&mut self, entries: &Entries, pmids: &[u32], ctx: i32, now: Duration, store: &Store) {
        let limits = store.limits();
        (self.now, self.stale, self.ctx) = (now, limits.stale, ctx.cast_unsigned());
        (self.max_records, self.bytes_left) = (limits.max_records, FETCH_BYTES);
        self.wants.clear();
        for pmid in pmids {
            if let Some(Row { origin: Origin::Event(kind, leaf), source: Some(source), .. }) = entries.by_pmid(*pmid) {
                let want = self.wants.entry((*source, *kind)).or_default();
                want.low |= *leaf == EventLeaf::Records;
                want.high |= *leaf == EventLeaf::HighResRecords;
            }
        }
    }

    /// Whether this client may not see a metric: records and tables of some sources.
    fn hides(&self, row: &Row) -> bool {
        shows_records(row.origin) && row.source.is_some_and(|s| self.hidden.contains(&s))
    }

    /// The answer has been sent. `true`: it was a large one.
    pub(super) fn release(&mut self) -> bool {
        let large = self.results.words() > LARGE_WORDS || self.bytes_left < FETCH_BYTES / 2;
        self.deliveries = HashMap::new();
        self.results.clear();
        large
    }
}

impl State {
    /// Answers a fetch of `pmids` for a client context; the result stays until [`FetchScope::release`].
    pub(super) fn fetch(&mut self, pmids: &[u32], ctx: i32, profile: &Profile<'_>, now: Duration) -> *mut sys::PmdaResult {
        self.fetch.release();
        self.fetch.begin(&self.entries, pmids, ctx, now, &self.store);
        self.hide(pmids, ctx, now);
        for pmid in pmids {
            self.fetch.results.set(*pmid);
            let otherwise = match self.entries.by_pmid(*pmid) {
                None => sys::PM_ERR_PMID,
                Some(row) => match Entries::serial(row.area, row.source) {
                    None => own(row, &self.store, &mut self.fetch),
                    Some(_) if self.fetch.hides(row) => sys::PM_ERR_PERMISSION,
                    Some(serial) if matches!(row.area, Area::Table(_)) => {
                        let indom = Cache::new(self.store.domain(), serial).indom();
                        profile.visit(indom, self.domains.rows(serial), |inst, of| {
                            if let Some(bits) = of.cells.get(row.item) {
                                self.fetch.results.number(inst, row.ty, bits);
                            }
                        });
                        0
                    }
                    Some(serial) => {
                        let indom = Cache::new(self.store.domain(), serial).indom();
                        let world = World { entries: &self.entries, store: &self.store, contexts: &self.contexts };
                        profile.visit(indom, self.domains.instances(serial), |inst, peer| {
                            value(row, inst, peer, &world, &mut self.fetch);
                        });
                        0
                    }
                },
            };
            self.fetch.results.end(otherwise);
        }
        // pmcd tells its clients that there are new names.
        let status = if std::mem::take(&mut self.names_changed) { sys::PMCD_NAMES_CHANGE } else { 0 };
        self.fetch.results.finish(u8::try_from(status).unwrap_or_default())
    }
}

impl State {
    /// Finds out which of the sources that `pmids` want records of are not for this client.
    fn hide(&mut self, pmids: &[u32], ctx: i32, now: Duration) {
        let rows = pmids.iter().filter_map(|pmid| self.entries.by_pmid(*pmid));
        let sources: HashSet<usize> = rows.filter(|r| shows_records(r.origin)).filter_map(|r| r.source).collect();
        self.fetch.hidden.clear();
        if sources.is_empty() {
            return;
        }
        let who = &mut self.contexts.get(ctx).who;
        let hidden = sources.into_iter().filter(|s| !self.permits.events(*s).is_some_and(|p| p.holds(who, now)));
        self.fetch.hidden.extend(hidden);
        if let Some(source) = self.fetch.hidden.iter().next().and_then(|s| SOURCES.get(*s)) {
            self.denied(ctx, &format!("see event records of {}", source.name), now);
        }
    }
}

const fn shows_records(origin: Origin) -> bool {
    matches!(origin, Origin::Event(_, EventLeaf::Records | EventLeaf::HighResRecords | EventLeaf::Table))
}

/// `PM_IN_NULL`: the instance of metrics that have none.
pub(super) const NO_INSTANCE: u32 = u32::MAX;

/// A metric without instances: the PMDA's own, or a parameter, which has no values.
fn own(row: &Row, store: &Store, scope: &mut FetchScope) -> c_int {
    match row.origin {
        Origin::SelfStat => self_stat(row, store, scope),
        Origin::Control(verb) => {
            if let Some(desk) = row.source.and_then(|source| store.desk(source)) {
                scope.results.text(NO_INSTANCE, &desk.answered(verb));
            }
        }
        _ => {}
    }
    0
}

fn self_stat(row: &Row, store: &Store, scope: &mut FetchScope) {
    let bits = match SelfStats::by_item(row.item) {
        Some(Stat::Version) => return scope.results.text(NO_INSTANCE, env!("CARGO_PKG_VERSION")),
        Some(Stat::ConfigFile) => return scope.results.text(NO_INSTANCE, &store.stats.config_file()),
        Some(Stat::Uptime) => u64::try_from(store.stats.uptime(scope.now).as_nanos()).unwrap_or(u64::MAX),
        Some(Stat::MemoryEvents) => store.budget.held() as u64,
        Some(Stat::MemoryLimit) => store.budget.limit() as u64,
        Some(stat) => store.stats.get(stat),
        None => return,
    };
    scope.results.number(NO_INSTANCE, row.ty, bits);
}

/// What values of peers are looked up in.
struct World<'s> {
    entries: &'s Entries,
    store: &'s Store,
    contexts: &'s Contexts,
}

/// A metric's value of one peer, if it has one.
fn value(row: &Row, inst: u32, peer: &Peer, world: &World<'_>, scope: &mut FetchScope) {
    // What is said of an agent stays true when it has gone; what it said itself does not.
    let agents = row.area == Area::Agents;
    let keeps = SOURCES.get(peer.source).is_some_and(|s| s.keeps_values);
    let told = agents || keeps || peer.life.fresh(scope.now, scope.stale);
    let bits = match row.origin {
        Origin::Idle => u64::try_from(peer.life.idle(scope.now).as_nanos()).ok(),
        Origin::Cell if agents => peer.agent.get(row.item),
        Origin::Text if agents && row.item == AgentCell::SOURCE => {
            return scope.results.text(inst, SOURCES.get(peer.source).map_or("", |s| s.name));
        }
        Origin::Text if agents => return scope.results.text(inst, &peer.address()),
        Origin::Control(verb) => return scope.results.text(inst, &peer.answer(verb)),
        Origin::Event(kind, leaf) => return event(row, inst, peer, (kind, leaf), world, scope),
        Origin::Cell => peer.cells.get(row.item).filter(|_| told),
        Origin::Recent => peer.cells.get(row.item).filter(|_| peer.life.fresh(scope.now, scope.stale)),
        Origin::Column(column) if row.ty != ValueType::Text => peer.cells.get(column).filter(|_| told),
        Origin::Column(item) => return text(inst, peer.text(item).filter(|_| told), scope),
        Origin::Text => return text(inst, peer.text(row.item).filter(|_| told), scope),
        Origin::Param | Origin::SelfStat => None,
    };
    if let Some(bits) = bits {
        scope.results.number(inst, row.ty, bits);
    }
}

fn text(inst: u32, text: Option<Arc<str>>, scope: &mut FetchScope) {
    if let Some(text) = text {
        scope.results.text(inst, &text);
    }
}

/// A leaf of an event stream.
fn event(row: &Row, inst: u32, peer: &Peer, (kind, leaf): (u8, EventLeaf), world: &World<'_>, scope: &mut FetchScope) {
    let World { entries, store, contexts } = *world;
    let ctx = scope.ctx.cast_signed();
    let filter = || contexts.known(ctx).and_then(|c| c.filter((peer.source, kind), inst));
    match leaf {
        EventLeaf::Filter => return scope.results.text(inst, filter().map_or("", |f| f.text())),
        EventLeaf::FilterError => {
            if let Some(why) = contexts.refused((peer.source, kind), ctx) {
                scope.results.text(inst, why);
            }
            return;
        }
        _ => {}
    }
    let Some(stream) = peer.existing_stream(kind) else { return };
    let stats = stream.stats();
    let number = match leaf {
        EventLeaf::Count => stats.count,
        EventLeaf::Bytes => stats.bytes,
        EventLeaf::Lost => stats.lost,
        EventLeaf::Memory => stats.memory,
        EventLeaf::Clients => stats.clients.into(),
        EventLeaf::Truncated => stats.truncated,
        EventLeaf::Table => {
            let prefix = format!("apm.{}.param.", SOURCES.get(peer.source).map_or("", |s| s.name));
            let name = |p: Pmid| entries.by_pmid(p.0).map(|r| r.name.trim_start_matches(&prefix));
            return scope.results.text(inst, &crate::store::csv(stream, name));
        }
        EventLeaf::Filter | EventLeaf::FilterError => return,
        EventLeaf::Records | EventLeaf::HighResRecords => {
            let key = (peer.source, kind, inst);
            let (ctx, left, max) = (scope.ctx, scope.bytes_left, scope.max_records);
            let want = scope.wants.get(&(peer.source, kind)).copied().unwrap_or_default();
            let delivery = scope.deliveries.entry(key).or_insert_with(|| {
                let caps = Caps { records: if left == 0 { 0 } else { max }, bytes: STREAM_BYTES.min(left) };
                let cluster = SOURCES.get(peer.source).map_or(0, |s| s.cluster + PARAM_CLUSTER);
                let lost = Pmid::new(store.domain(), cluster, 0);
                let keeps = filter().map(|f| |record: &[u8]| f.keeps(record, &peer.name));
                let filter = keeps.as_ref().map(|k| k as Keep<'_>);
                stream.read(ctx, &Ask { want, caps, lost, filter })
            });
            let array = if leaf == EventLeaf::Records { &delivery.low } else { &delivery.high };
            if let Some(array) = array {
                scope.bytes_left = left.saturating_sub(array.len());
                scope.results.array(inst, array);
            }
            return;
        }
    };
    scope.results.number(inst, row.ty, number);
}
