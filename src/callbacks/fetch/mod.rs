//! Answers fetch PDUs: one snapshot for each PDU, of the instances in the client's profile, within
//! a budget.
//!
//! Small values are answered first, then texts, tables, and last event records, whatever their
//! order in the PDU: records get what is left, and the next fetch gets the rest. A repeated PMID
//! shares the memory of the first, while the budget lasts. A value set that does not fit is
//! answered with `PM_ERR_TOOBIG`; the others are unaffected.

mod arrays;
mod columns;
mod roll_ups;
mod scope;
mod tables;
mod values;

use std::collections::HashSet;
use std::time::Duration;

pub(super) use columns::Columns;
use pmda::{Error, FetchRequest, Results};
use scope::Class;
pub(super) use scope::{FetchScope, World};

use super::access::Access;
use super::contexts::Contexts;
use super::entries::{Entries, Row};
use super::instances::Instances;
use crate::catalogue::Stat;
use crate::model::{InDom, Pmid, SourceId, ValueSource, ValueType};
use crate::store::{LogThrottle, Store};

/// A fetch and the state that answers it.
pub(super) struct Fetch<'a> {
    pub(super) store: &'a Store,
    pub(super) entries: &'a Entries,
    pub(super) instances: &'a Instances,
    pub(super) contexts: &'a mut Contexts,
    pub(super) access: &'a mut Access,
    pub(super) scope: &'a mut FetchScope,
    pub(super) columns: &'a mut Columns,
    /// New metrics that clients may see.
    pub(super) shown: u64,
    pub(super) now: Duration,
}

impl Fetch<'_> {
    /// Answers a fetch.
    pub(super) fn answer(mut self, request: &FetchRequest<'_>, results: &mut Results) {
        let web = self.contexts.known(request.context).is_some_and(|c| c.who.is_web());
        let hidden = self.hidden(request, web);
        let Fetch { store, entries, instances, contexts, scope, columns, shown, now, .. } = self;
        let profile = request.profile;
        let world = World { entries, store, contexts, instances, shown, profile };
        scope.begin(&world, request, now, hidden, web);
        let mut refused = (0, None);
        let mut ended = |fits: bool, pmid: Pmid| {
            if !fits {
                refused = (refused.0 + 1, refused.1.or(Some(pmid)));
            }
        };
        let pmid_at = |place: usize| Pmid(request.pmids.get(place).copied().unwrap_or_default());
        let order = std::mem::take(&mut scope.order);
        let mut delivered = scope.wants.is_empty();
        // Metrics that no client has fetched before.
        let mut seen = 0;
        for (class, place, at) in &order {
            let row = at.and_then(|at| entries.rows().get(at));
            seen += u64::from(row.is_some_and(|r| r.dynamic.as_ref().is_some_and(|m| m.seen())));
            if row.is_some_and(|row| columns.add(*place, row, &world)) {
                continue;
            }
            if !columns.is_empty() {
                columns.answer(scope, &world, results, &mut ended);
                if row.is_some_and(|row| columns.add(*place, row, &world)) {
                    continue;
                }
            }
            if *class == Class::Arrays && !delivered {
                delivered = true;
                arrays::deliver(scope, &world, results);
            }
            let pmid = pmid_at(*place);
            results.begin_set(*place, pmid);
            let otherwise = match row {
                Some(row) => answer_one(scope, row, &world, results),
                None => Err(Error::PMID),
            };
            ended(results.end_set(otherwise), pmid);
        }
        columns.answer(scope, &world, results, &mut ended);
        columns.end();
        if seen > 0 {
            store.count_seen(seen);
        }
        scope.order = order;
        for (place, of) in &scope.again {
            let pmid = pmid_at(*place);
            ended(results.repeat_set(*place, *of, pmid), pmid);
        }
        if let (sets, Some(pmid)) = refused {
            store.stats.add(Stat::FetchRefused, sets);
            if let Some(n) = scope.refusals.allow(now) {
                let who = contexts.get(request.context).who.shown();
                let name = entries.by_pmid(pmid.0).map_or("?", |row| row.name.as_str());
                let why = if results.budget.steps() == 0 { "time" } else { "bytes" };
                let more = LogThrottle::more(n);
                log::warn!(
                    "a fetch of {} metrics by {who} is too big ({why}): {sets} of them refused, \
                     first {name}{more}",
                    request.pmids.len()
                );
            }
        }
        scope.end(results.budget.used());
    }

    /// Sources with metrics in the request whose records this client may not see.
    /// A web client is not refused the arrays that it cannot get.
    fn hidden(&mut self, request: &FetchRequest<'_>, web: bool) -> HashSet<SourceId> {
        let rows = request.pmids.iter().filter_map(|pmid| self.entries.by_pmid(*pmid));
        let mut sources: HashSet<SourceId> = rows
            .filter(|r| r.shows_records() && !(web && Class::of(r) == Class::Arrays))
            .filter_map(|r| r.source)
            .collect();
        if sources.is_empty() {
            return sources;
        }
        let who = &mut self.contexts.get(request.context).who;
        sources.retain(|s| !self.access.permits.events(*s).is_some_and(|p| p.holds(who, self.now)));
        if let Some(source) = sources.iter().next() {
            let what = format!("see event records of {}", self.store.catalogue().name(*source));
            self.access.denied(&self.store.stats, who, &what, self.now);
        }
        sources
    }
}

/// Adds a metric's values to the open set; returns the status of a set without values.
fn answer_one(
    scope: &mut FetchScope,
    row: &Row,
    world: &World<'_>,
    results: &mut Results,
) -> Result<(), Error> {
    if let ValueSource::RollUp(leaf) = row.value
        && row.ty != ValueType::Text
    {
        roll_ups::answer(row, leaf, scope, world, results);
        return Ok(());
    }
    match world.entries.serial(row) {
        None => values::own(row, world.store, scope.now, results),
        Some(_) if scope.hides(row) => return Err(Error::PERMISSION),
        Some(_) if scope.crowded && Class::of(row) == Class::Arrays => results.refuse(),
        Some(serial) if matches!(row.indom, InDom::Table(_)) => {
            let all = world.instances.rows(serial);
            let rows = match row.value {
                ValueSource::Column(column) | ValueSource::RecentColumn(column) => {
                    world.instances.with_column(serial, column)
                }
                _ => all,
            };
            let visited = all.zip(rows);
            scope.visit(world, serial, visited, results, |scope, results, inst, of| {
                let (bits, recent) = match row.value {
                    ValueSource::Column(column) => (of.brought.get(column), false),
                    ValueSource::RecentColumn(column) => (of.brought.get(column), true),
                    ValueSource::Members => (Some(of.members()), false),
                    value => (of.cells.get(row.item), value == ValueSource::Recent),
                };
                if let Some(bits) = bits
                    && (!recent || of.fresh(scope.now, scope.stale))
                {
                    results.number(inst, row.ty, bits);
                }
            });
        }
        Some(serial) => {
            let peers = world.instances.peers(serial);
            scope.visit(world, serial, peers.zip(peers), results, |scope, results, inst, peer| {
                values::value(row, inst, peer, world, scope, results);
            });
        }
    }
    Ok(())
}
