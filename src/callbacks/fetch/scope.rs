//! The state of the present fetch.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use foldhash::fast::RandomState;
use pmda::{ContextId, FetchRequest, Profile, Results, Wanted};

use super::tables::Tables;
use crate::callbacks::contexts::Contexts;
use crate::callbacks::entries::{Entries, Row};
use crate::callbacks::instances::Instances;
use crate::events::{Delivery, Resolutions};
use crate::model::{EventLeaf, SourceId, StreamKind, ValueSource, ValueType};
use crate::store::{LogThrottle, Store};

/// After an answer of more bytes its memory is freed instead of reused.
const LARGE_BYTES: usize = 2 << 20;

/// Among as many PMIDs one is found faster by a look at each than by its hash.
const FEW: usize = 32;

/// Kinds of value sets in the order in which they are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    Numbers,
    Texts,
    Tables,
    Arrays,
}

impl Class {
    pub(super) const fn of(row: &Row) -> Self {
        match row.value {
            ValueSource::Event(_, EventLeaf::Records | EventLeaf::HighResRecords) => Self::Arrays,
            ValueSource::Event(_, EventLeaf::Table | EventLeaf::Slowest) => Self::Tables,
            _ if matches!(row.ty, ValueType::Text) => Self::Texts,
            _ => Self::Numbers,
        }
    }
}

/// The state in which values are looked up.
pub(in crate::callbacks) struct World<'s> {
    pub(super) entries: &'s Entries,
    pub(super) store: &'s Store,
    pub(super) contexts: &'s Contexts,
    pub(super) instances: &'s Instances,
    /// New metrics that clients may see.
    pub(super) shown: u64,
    pub(super) profile: Profile<'s>,
}

/// Peers or rows by instance number.
type ById<T> = BTreeMap<u32, Arc<T>>;

/// The state of one fetch, and memory that the next reuses.
#[derive(Debug, Default)]
pub(in crate::callbacks) struct FetchScope {
    pub(super) now: Duration,
    pub(super) stale: Duration,
    pub(super) context: ContextId,
    pub(super) max_records: usize,
    /// Positions in the PDU in the order of answering, without repeated PMIDs, and those of their rows.
    pub(super) order: Vec<(Class, usize, Option<usize>)>,
    /// The first position of each PMID if they are many; then repeated positions with their first.
    firsts: HashMap<u32, usize, RandomState>,
    pub(super) again: Vec<(usize, usize)>,
    /// The requested arrays by stream kind.
    pub(super) wants: BTreeMap<StreamKind, Resolutions>,
    /// Arrays of this PDU by stream and instance.
    pub(super) deliveries: HashMap<(StreamKind, u32), Delivery>,
    /// Not even empty arrays of all streams would fit.
    pub(super) crowded: bool,
    /// The stream that is read first when not all can be read fully; rotates with each fetch.
    pub(super) turn: usize,
    /// Sources whose records this client may not see.
    pub(super) hidden: HashSet<SourceId>,
    /// Instances in the profile, by domain.
    wanted: HashMap<u32, Wanted, RandomState>,
    pub(super) tables: Tables,
    /// Throttle for log lines about refused sets.
    pub(super) refusals: LogThrottle,
}

impl FetchScope {
    /// Begins a fetch. `web`: the client's answers cannot have arrays, so it is no reader, and gets none.
    pub(super) fn begin(
        &mut self,
        world: &World<'_>,
        request: &FetchRequest<'_>,
        now: Duration,
        hidden: HashSet<SourceId>,
        web: bool,
    ) {
        let limits = world.store.limits();
        (self.now, self.stale, self.hidden) = (now, limits.stale, hidden);
        (self.context, self.max_records) = (request.context, limits.max_records);
        for (place, pmid) in request.pmids.iter().enumerate() {
            let first = if request.pmids.len() <= FEW {
                request.pmids.iter().position(|first| first == pmid).unwrap_or(place)
            } else {
                *self.firsts.entry(*pmid).or_insert(place)
            };
            if first != place {
                self.again.push((place, first));
                continue;
            }
            let at = world.entries.position(*pmid);
            let row = at.and_then(|at| world.entries.rows().get(at));
            self.order.push((row.map_or(Class::Numbers, Class::of), place, at));
            let Some(row) = row.filter(|_| !web) else { continue };
            if let (ValueSource::Event(kind, leaf), Some(source)) = (row.value, row.source) {
                let want = Resolutions {
                    low: leaf == EventLeaf::Records,
                    high: leaf == EventLeaf::HighResRecords,
                };
                if want != Resolutions::default() {
                    let all = self.wants.entry(StreamKind { source, kind }).or_default();
                    *all = Resolutions { low: all.low || want.low, high: all.high || want.high };
                }
            }
        }
        self.order.sort_by_key(|(class, ..)| *class);
    }

    /// Whether this client may not see a metric: records and tables of some sources.
    pub(super) fn hides(&self, row: &Row) -> bool {
        row.shows_records() && row.source.is_some_and(|s| self.hidden.contains(&s))
    }

    /// Calls `f` for each of `some` instances of `all` of a domain that the profile includes, until
    /// the set is refused or the budget has no steps left.
    pub(super) fn visit<'w, T>(
        &mut self,
        world: &World<'w>,
        serial: u32,
        instances: Option<(&'w ById<T>, &'w ById<T>)>,
        results: &mut Results,
        mut f: impl FnMut(&mut Self, &mut Results, u32, &'w T),
    ) {
        self.walk(world, serial, instances, results, |scope, results, inst, of| {
            if results.budget.step(1) {
                f(scope, results, inst, of);
            } else {
                results.refuse();
            }
            !results.is_refused()
        });
    }

    /// The same until `f` returns `false`. Returns whether all were visited.
    pub(super) fn walk<'w, T>(
        &mut self,
        world: &World<'w>,
        serial: u32,
        instances: Option<(&'w ById<T>, &'w ById<T>)>,
        results: &mut Results,
        mut f: impl FnMut(&mut Self, &mut Results, u32, &'w T) -> bool,
    ) -> bool {
        let Some((instances, some)) = instances else { return true };
        let wanted = self.wanted(world, serial, instances, results);
        let mut whole = true;
        wanted.visit(some, |inst, of| {
            whole = f(self, results, inst, of);
            whole
        });
        self.wanted.insert(serial, wanted);
        whole
    }

    /// How many instances of a domain the profile includes.
    pub(super) fn count<T>(
        &mut self,
        world: &World<'_>,
        serial: u32,
        instances: &ById<T>,
        results: &mut Results,
    ) -> usize {
        let wanted = self.wanted(world, serial, instances, results);
        let count = wanted.count(instances);
        self.wanted.insert(serial, wanted);
        count
    }

    /// The instances of a domain that the profile includes.
    fn wanted<T>(
        &mut self,
        world: &World<'_>,
        serial: u32,
        instances: &ById<T>,
        results: &mut Results,
    ) -> Wanted {
        self.wanted.remove(&serial).unwrap_or_else(|| {
            let indom = pmda::InDom::new(world.store.domain(), serial);
            let all = world.profile.is_all();
            results.budget.step(if all { 1 } else { 2 * instances.len() as u64 });
            world.profile.wanted(indom, instances)
        })
    }

    /// Ends the fetch, whose answer has this many bytes.
    pub(super) fn end(&mut self, bytes: usize) {
        self.deliveries = HashMap::new();
        self.order.clear();
        self.firsts.clear();
        self.again.clear();
        self.wants.clear();
        self.wanted.clear();
        self.crowded = false;
        if bytes > LARGE_BYTES {
            (self.order, self.again, self.firsts) = (Vec::new(), Vec::new(), HashMap::default());
        }
    }
}
