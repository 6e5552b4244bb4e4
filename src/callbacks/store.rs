//! Store requests: controls of peers and sources, and the filters of client contexts.

use std::collections::HashSet;
use std::time::Duration;

use pmda::process::thread_time;
use pmda::{ContextId, Error, IN_NULL, StoreRequest, StoreValue};

use super::access::Access;
use super::contexts::{Contexts, FilterRefused, SharedFilter};
use super::entries::{Entries, Row};
use super::instances::Instances;
use crate::catalogue::{ControlDef, Stat};
use crate::contract::Control;
use crate::model::{ControlId, EventLeaf, InDom, Pmid, StreamKind, ValueSource};
use crate::store::Store;

/// Most bytes of a request.
const REQUEST_MAX: usize = 4096;
/// Most CPU time of the PMDA's thread to parse all values of one PDU.
const PARSE_TIME: Duration = Duration::from_millis(100);

/// Whether a leaf of an event kind accepts a filter: `filter`, and by PCP's convention (`pmevent
/// -x`) the records.
const fn takes_filter(leaf: EventLeaf) -> bool {
    matches!(leaf, EventLeaf::Filter | EventLeaf::Records | EventLeaf::HighResRecords)
}

/// A parsed value.
enum Parsed {
    Control(ControlId, String),
    Filter(StreamKind, Option<SharedFilter>),
}

/// One store request and the state that answers it.
pub(super) struct StoreCall<'a> {
    pub(super) store: &'a Store,
    pub(super) entries: &'a Entries,
    pub(super) instances: &'a Instances,
    pub(super) contexts: &'a mut Contexts,
    pub(super) access: &'a mut Access,
    pub(super) now: Duration,
}

impl StoreCall<'_> {
    /// Stores all values of the request. Filters are parsed before any is set, so that an error
    /// changes nothing.
    pub(super) fn answer(mut self, request: &StoreRequest<'_>) -> Result<(), Error> {
        let ctx = request.context;
        let values: Vec<(&StoreValue<'_>, Result<String, Error>)> =
            request.values.iter().map(|value| (value, value.text())).collect();
        // pmstore(1) without -i sends the same text for every instance.
        let groups = values.chunk_by(|(a, text), (b, other)| a.pmid == b.pmid && text == other);
        let mut parsed = Vec::new();
        let until = thread_time() + PARSE_TIME;
        for group in groups {
            if thread_time() > until {
                self.store.stats.add(Stat::PduCut, 1);
                let who = self.contexts.get(ctx).who.shown();
                log::warn!("a store of {} values by {who} is too big", values.len());
                return Err(Error::TOOBIG);
            }
            let Some((first, text)) = group.first() else { continue };
            let instances = group.iter().map(|(value, _)| value.inst).collect::<Vec<_>>();
            parsed.push((first.pmid, self.parse(first.pmid, text, ctx)?, instances));
        }
        for (pmid, value, instances) in parsed {
            match value {
                Parsed::Control(control, text) => {
                    self.request(pmid, control, &text, &instances, ctx)?;
                }
                Parsed::Filter(kind, filter) => {
                    self.set_filter(pmid, kind, filter.as_ref(), &instances, ctx)?;
                }
            }
        }
        Ok(())
    }

    fn parse(
        &mut self,
        pmid: Pmid,
        text: &Result<String, Error>,
        ctx: ContextId,
    ) -> Result<Parsed, Error> {
        let now = self.now;
        let row = self.entries.by_pmid(pmid.0).ok_or(Error::PMID)?;
        let catalogue = self.store.catalogue();
        let control = |control| row.source.and_then(|source| catalogue.control(source, control));
        let storable = match row.value {
            ValueSource::Control(id) => control(id).is_some_and(|c| c.storable),
            ValueSource::Event(_, leaf) => takes_filter(leaf),
            _ => false,
        };
        if !storable {
            return Err(Error::PERMISSION);
        }
        let text = match text {
            Ok(text) if text.len() <= REQUEST_MAX => text,
            Ok(_) => return Err(Error::BADSTORE),
            Err(error) => return Err(*error),
        };
        let who = &mut self.contexts.get(ctx).who;
        let (allowed, asked) = match (row.value, row.source) {
            (ValueSource::Control(id), _) => {
                let takes =
                    |c: &ControlDef| (!c.needs_text || !text.trim().is_empty()) && (c.takes)(text);
                if !control(id).is_some_and(takes) {
                    return Err(Error::BADSTORE);
                }
                (self.access.permits.control.holds(who, now), Parsed::Control(id, text.clone()))
            }
            (ValueSource::Event(kind, _), Some(source)) => {
                let kind = StreamKind { source, kind };
                if !self.access.permits.filter.holds(who, now) {
                    (false, Parsed::Filter(kind, None))
                } else if text.trim().is_empty() {
                    (true, Parsed::Filter(kind, None))
                } else {
                    let names = self.entries.parameters(source);
                    let who = who.shown();
                    match self.contexts.filter(source, ctx, text, &names) {
                        Ok(filter) => (true, Parsed::Filter(kind, Some(filter))),
                        Err(e) => {
                            log::warn!("{}: a filter of {who} is refused: {e}: {text:?}", row.name);
                            self.contexts.set_refused(kind, ctx, Some(format!("{e}: {text}")));
                            let many = matches!(e, FilterRefused::TooMany(_));
                            return Err(if many { Error::TOOBIG } else { Error::BADSTORE });
                        }
                    }
                }
            }
            _ => return Err(Error::PERMISSION),
        };
        if allowed {
            return Ok(asked);
        }
        let who = &self.contexts.get(ctx).who;
        self.access.denied(&self.store.stats, who, &format!("store to {}", row.name), now);
        Err(Error::PERMISSION)
    }

    fn set_filter(
        &mut self,
        pmid: Pmid,
        kind: StreamKind,
        filter: Option<&SharedFilter>,
        instances: &[u32],
        ctx: ContextId,
    ) -> Result<(), Error> {
        let row = self.entries.by_pmid(pmid.0).ok_or(Error::PMID)?;
        let serial = self.entries.serial(row).unwrap_or_default();
        let known = self.instances.peers(serial);
        let everyone = instances.contains(&IN_NULL);
        if !everyone && instances.iter().any(|i| known.is_none_or(|k| !k.contains_key(i))) {
            return Err(Error::INST);
        }
        // A filter for all instances also applies to future ones.
        let meant: HashSet<u32> = instances.iter().copied().collect();
        let all = everyone || known.is_some_and(|k| k.keys().all(|i| meant.contains(i)));
        if !self.contexts.set_filter(ctx, kind, (!all).then_some(instances), filter) {
            log::warn!("{}: too many filters of single instances", row.name);
            return Err(Error::TOOBIG);
        }
        let (text, who) = (
            filter.map(SharedFilter::text).unwrap_or_default(),
            self.contexts.get(ctx).who.shown(),
        );
        let unknown = filter.map(SharedFilter::unknown).unwrap_or_default();
        let waits = match unknown.is_empty() {
            true => String::new(),
            false => format!("; no parameter is called {unknown} yet"),
        };
        log::info!("{}: {text:?} set by {who}{waits}", row.name);
        self.contexts.set_refused(kind, ctx, None);
        Ok(())
    }

    /// Queues a request for the peer's connection; the answer comes later, in the metric and the
    /// log.
    fn request(
        &mut self,
        pmid: Pmid,
        control: ControlId,
        text: &str,
        instances: &[u32],
        ctx: ContextId,
    ) -> Result<(), Error> {
        let row = self.entries.by_pmid(pmid.0).ok_or(Error::PMID)?;
        if row.indom == InDom::Null {
            let who = self.contexts.get(ctx).who.shown();
            return request_of_source(row, self.store, control, text, &who);
        }
        let all = self.instances.peers(self.entries.serial(row).unwrap_or_default());
        let who = self.contexts.get(ctx).who.shown();
        let (mut known, mut taken) = (false, false);
        // When no instance is named, pmproxy(1) stores to `IN_NULL`: all connected peers get the
        // request.
        let everyone = instances.contains(&IN_NULL);
        let named: HashSet<u32> = instances.iter().copied().collect();
        let meant = all
            .into_iter()
            .flatten()
            .filter(|(inst, p)| named.contains(inst) || everyone && p.liveness.up());
        for (_, peer) in meant {
            known = true;
            log::info!("{}: {} {text:?} requested by {who}", peer.agent_name(), row.name);
            if peer.post(Control::Request(control, text.to_owned())) {
                taken = true;
            } else {
                peer.set_answer(control, "not connected");
            }
        }
        match (known || everyone, taken) {
            (false, _) => Err(Error::INST),
            (true, false) => Err(Error::AGAIN),
            (true, true) => Ok(()),
        }
    }
}

/// Passes a request to the source as a whole.
fn request_of_source(
    row: &Row,
    store: &Store,
    control: ControlId,
    text: &str,
    who: &str,
) -> Result<(), Error> {
    let Some(control_queue) = row.source.and_then(|source| store.control_queue(source)) else {
        return Err(Error::PMID);
    };
    log::info!("{} {text:?} requested by {who}", row.name);
    match control_queue.request(control, text) {
        Ok(()) => Ok(()),
        Err(why) => {
            log::warn!("{} {text:?} of {who} is refused: {why}", row.name);
            Err(Error::BADSTORE)
        }
    }
}
