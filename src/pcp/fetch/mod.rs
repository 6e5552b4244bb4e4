//! Values: one snapshot for each fetch PDU, of the instances that the client's profile asks for,
//! within a budget.
//!
//! Small values come first, then texts, tables, and event records last, whatever their order in the
//! PDU: records take what is left, and what does not fit comes with the next fetch. A PMID that
//! comes again shares the memory of the first, while the budget lasts. A value set that does not
//! fit is `PM_ERR_TOOBIG`, the others stand.

mod arrays;
mod budget;
mod profile;
mod result;
mod tables;
mod values;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::c_int;
use std::time::Duration;

use budget::Budget;
pub(super) use profile::Profile;
use profile::Wanted;
use result::Results;
use tables::Tables;

use super::contexts::Contexts;
use super::entries::{Entries, Row};
use super::indom;
use super::state::{Domains, State};
use super::{process, sys};
use crate::events::{Delivery, Resolutions};
use crate::model::{EventLeaf, InDom, SourceId, StreamKind, ValueSource, ValueType};
use crate::store::{LogThrottle, Stat, Store};

/// After an answer of this many bytes the memory that libpcp took for it is given back to the
/// system.
const LARGE_BYTES: usize = 2 << 20;

/// `PM_IN_NULL`: the instance of metrics that have none.
pub(super) const NO_INSTANCE: u32 = u32::MAX;

/// Kinds of value sets in the order in which they are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Numbers,
    Texts,
    Tables,
    Arrays,
}

impl Class {
    const fn of(row: &Row) -> Self {
        match row.value {
            ValueSource::Event(_, EventLeaf::Records | EventLeaf::HighResRecords) => Self::Arrays,
            ValueSource::Event(_, EventLeaf::Table) => Self::Tables,
            _ if matches!(row.ty, ValueType::Text) => Self::Texts,
            _ => Self::Numbers,
        }
    }
}

/// The fetch that is being answered.
#[derive(Debug, Default)]
pub(super) struct FetchScope {
    now: Duration,
    stale: Duration,
    ctx: u32,
    max_records: usize,
    /// Places of the PDU in the order in which they are answered, without those that ask for a
    /// PMID again.
    order: Vec<(Class, usize)>,
    /// Where a PMID is asked for first; places that ask for it again, and that first place.
    firsts: HashMap<u32, usize, foldhash::fast::RandomState>,
    again: Vec<(usize, usize)>,
    /// Which arrays this PDU asks for, by source and event kind.
    wants: BTreeMap<StreamKind, Resolutions>,
    /// Arrays of this PDU by source, event kind and instance: libpcp_pmda reads them when the
    /// answer is sent.
    deliveries: HashMap<(StreamKind, u32), Delivery>,
    /// There are so many streams that not even empty arrays of all would fit.
    crowded: bool,
    /// Which stream is read first when not all can give what they have: another with each fetch.
    turn: usize,
    /// Sources whose records this client may not see.
    hidden: HashSet<SourceId>,
    /// Instances that the profile asks for, by domain.
    wanted: HashMap<u32, Wanted>,
    results: Results,
    tables: Tables,
    /// For the log of refused sets.
    refusals: LogThrottle,
}

/// What values are looked up in.
struct World<'s> {
    entries: &'s Entries,
    store: &'s Store,
    contexts: &'s Contexts,
    domains: &'s Domains,
    profile: &'s Profile<'s>,
}

impl FetchScope {
    fn begin(&mut self, entries: &Entries, pmids: &[u32], ctx: i32, now: Duration, store: &Store) {
        let limits = store.limits();
        (self.now, self.stale, self.ctx) = (now, limits.stale, ctx.cast_unsigned());
        self.max_records = limits.max_records;
        self.results.begin(pmids.len(), Budget::new(pmids.len(), process::work_time));
        for (place, pmid) in pmids.iter().enumerate() {
            let first = *self.firsts.entry(*pmid).or_insert(place);
            if first != place {
                self.again.push((place, first));
                continue;
            }
            let row = entries.by_pmid(*pmid);
            self.order.push((row.map_or(Class::Numbers, Class::of), place));
            if let Some(Row {
                value: ValueSource::Event(kind, leaf), source: Some(source), ..
            }) = row
            {
                let want = Resolutions {
                    low: *leaf == EventLeaf::Records,
                    high: *leaf == EventLeaf::HighResRecords,
                };
                if want != Resolutions::default() {
                    let stream = StreamKind { source: *source, kind: *kind };
                    let all = self.wants.entry(stream).or_default();
                    *all = Resolutions { low: all.low || want.low, high: all.high || want.high };
                }
            }
        }
        self.order.sort_by_key(|(class, _)| *class);
    }

    /// Whether this client may not see a metric: records and tables of some sources.
    fn hides(&self, row: &Row) -> bool {
        shows_records(row.value) && row.source.is_some_and(|s| self.hidden.contains(&s))
    }

    /// Calls `f` for each wanted instance of a domain, until the set is refused or the budget's
    /// steps end.
    fn visit<'w, T>(
        &mut self,
        world: &World<'w>,
        serial: u32,
        instances: Option<&'w BTreeMap<u32, std::sync::Arc<T>>>,
        mut f: impl FnMut(&mut Self, u32, &'w T),
    ) {
        let indom = || indom::number(world.store.domain(), serial);
        let wanted = self.wanted.remove(&serial).unwrap_or_else(|| {
            let known = instances.map_or(0, BTreeMap::len);
            self.results.budget.step(if world.profile.is_all() { 1 } else { 2 * known as u64 });
            world.profile.wanted(indom(), instances)
        });
        wanted.visit(instances, |inst, of| {
            if !self.results.budget.step(1) {
                self.results.refuse();
                return false;
            }
            f(self, inst, of);
            !self.results.refused()
        });
        self.wanted.insert(serial, wanted);
    }

    /// The answer has been sent. `true`: it was a large one.
    pub(super) fn release(&mut self) -> bool {
        let large = !self.order.is_empty() && self.results.budget.used() > LARGE_BYTES;
        self.deliveries = HashMap::new();
        self.order.clear();
        self.firsts.clear();
        self.again.clear();
        self.wants.clear();
        self.wanted.clear();
        self.crowded = false;
        self.results.clear();
        if large {
            (self.order, self.again, self.firsts) = (Vec::new(), Vec::new(), HashMap::default());
        }
        large
    }
}

impl State {
    /// Answers a fetch of `pmids` for a client context; the result stays until
    /// [`FetchScope::release`].
    pub(super) fn fetch(
        &mut self,
        pmids: &[u32],
        ctx: i32,
        profile: &Profile<'_>,
        now: Duration,
    ) -> *mut sys::PmdaResult {
        self.fetch.release();
        self.fetch.begin(&self.entries, pmids, ctx, now, &self.store);
        self.hide(pmids, ctx, now);
        let Self { entries, store, contexts, domains, fetch, .. } = self;
        let world = World { entries, store, contexts, domains, profile };
        let mut refused = (0, None);
        let mut ended = |fits: bool, pmid: u32| {
            if !fits {
                refused = (refused.0 + 1, refused.1.or(Some(pmid)));
            }
        };
        let order = std::mem::take(&mut fetch.order);
        let mut delivered = fetch.wants.is_empty();
        for (class, place) in &order {
            if *class == Class::Arrays && !delivered {
                delivered = true;
                fetch.deliver(&world);
            }
            let pmid = pmids.get(*place).copied().unwrap_or_default();
            fetch.results.set(*place, pmid);
            let otherwise = fetch.answer(pmid, &world);
            ended(fetch.results.end(otherwise), pmid);
        }
        fetch.order = order;
        let again = std::mem::take(&mut fetch.again);
        for (place, of) in &again {
            let pmid = pmids.get(*place).copied().unwrap_or_default();
            ended(fetch.results.repeat(*place, *of, pmid), pmid);
        }
        fetch.again = again;
        if let (sets, Some(pmid)) = refused {
            self.refused(sets, pmid, pmids.len(), ctx, now);
        }
        // pmcd tells its clients that there are new names.
        let status =
            if std::mem::take(&mut self.names_changed) { sys::PMCD_NAMES_CHANGE } else { 0 };
        self.fetch.results.finish(u8::try_from(status).unwrap_or_default())
    }

    /// Value sets did not fit into the budget: counted, and logged once a minute.
    fn refused(&mut self, sets: u64, pmid: u32, of: usize, ctx: i32, now: Duration) {
        self.store.stats.add(Stat::FetchRefused, sets);
        if let Some(n) = self.fetch.refusals.allow(now) {
            let who = self.contexts.get(ctx).who.shown();
            let name = self.entries.by_pmid(pmid).map_or("?", |row| row.name.as_str());
            let why = if self.fetch.results.budget.steps() == 0 { "time" } else { "bytes" };
            let more = LogThrottle::more(n);
            log::warn!(
                "a fetch of {of} metrics by {who} is too big ({why}): {sets} of them refused, first {name}{more}"
            );
        }
    }
}

impl FetchScope {
    /// Puts a metric's values into the open set; the status of a set without values.
    fn answer(&mut self, pmid: u32, world: &World<'_>) -> c_int {
        let Some(row) = world.entries.by_pmid(pmid) else { return sys::PM_ERR_PMID };
        match world.entries.serial(row) {
            None => values::own(row, world.store, self),
            Some(_) if self.hides(row) => sys::PM_ERR_PERMISSION,
            Some(_) if self.crowded && Class::of(row) == Class::Arrays => {
                self.results.refuse();
                0
            }
            Some(serial) if matches!(row.indom, InDom::Table(_)) => {
                self.visit(world, serial, world.domains.rows(serial), |scope, inst, of| {
                    if let Some(bits) = of.cells.get(row.item) {
                        scope.results.number(inst, row.ty, bits);
                    }
                });
                0
            }
            Some(serial) => {
                self.visit(world, serial, world.domains.instances(serial), |scope, inst, peer| {
                    values::value(row, inst, peer, world, scope);
                });
                0
            }
        }
    }
}

impl State {
    /// Finds out which of the sources that `pmids` want records of are not for this client.
    fn hide(&mut self, pmids: &[u32], ctx: i32, now: Duration) {
        let rows = pmids.iter().filter_map(|pmid| self.entries.by_pmid(*pmid));
        let sources: HashSet<SourceId> =
            rows.filter(|r| shows_records(r.value)).filter_map(|r| r.source).collect();
        self.fetch.hidden.clear();
        if sources.is_empty() {
            return;
        }
        let who = &mut self.contexts.get(ctx).who;
        let hidden = sources
            .into_iter()
            .filter(|s| !self.permits.events(*s).is_some_and(|p| p.holds(who, now)));
        self.fetch.hidden.extend(hidden);
        if let Some(source) = self.fetch.hidden.iter().next() {
            let name = self.store.catalogue().name(*source);
            self.denied(ctx, &format!("see event records of {name}"), now);
        }
    }
}

const fn shows_records(value: ValueSource) -> bool {
    matches!(
        value,
        ValueSource::Event(_, EventLeaf::Records | EventLeaf::HighResRecords | EventLeaf::Table)
    )
}
