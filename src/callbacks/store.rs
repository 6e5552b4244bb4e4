//! Store requests: controls of peers and sources, and the filters of client contexts.

use std::collections::HashSet;
use std::fmt::Write;
use std::time::Duration;

use pmda::process::thread_time;
use pmda::{ContextId, Error, IN_NULL, StoreRequest, StoreValue};

use super::access::Access;
use super::audit::Stored;
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

/// A metric of the request is not there, or an instance.
const NO_METRIC: &str = "no such metric";
const NO_INSTANCE: &str = "no such instance";

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

/// Why a group of values is refused: the error for the client, and words for the log.
type Refused = (Error, String);

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
            let Some((first, text)) = group.first() else { continue };
            let value = if thread_time() > until {
                self.store.stats.add(Stat::PduCut, 1);
                Err((Error::TOOBIG, format!("a store of {} values is too big", values.len())))
            } else {
                self.parse(first.pmid, text, ctx)
            };
            let instances = group.iter().map(|(value, _)| value.inst).collect::<Vec<_>>();
            let shown = text.as_deref().unwrap_or_default();
            match value {
                Ok(value) => parsed.push((first.pmid, value, instances, shown)),
                Err((error, why)) => {
                    self.audit(first.pmid, shown, String::new(), Some(why), ctx);
                    return Err(error);
                }
            }
        }
        for (pmid, value, instances, shown) in parsed {
            let mut to = String::new();
            let done = match value {
                Parsed::Control(control, text) => {
                    self.request(pmid, control, &text, &instances, &mut to)
                }
                Parsed::Filter(kind, filter) => {
                    self.set_filter(pmid, kind, filter.as_ref(), &instances, ctx, &mut to)
                }
            };
            let (error, why) = done.err().unzip();
            self.audit(pmid, shown, to, why, ctx);
            if let Some(error) = error {
                return Err(error);
            }
        }
        Ok(())
    }

    /// The line of the log.
    fn audit(
        &mut self,
        pmid: Pmid,
        value: &str,
        to: String,
        refused: Option<String>,
        ctx: ContextId,
    ) {
        let row = self.entries.by_pmid(pmid.0);
        let stored = Stored {
            who: self.contexts.get(ctx).who.audited(),
            metric: row.map_or(NO_METRIC, |row| &row.name),
            value,
            to,
            refused,
            is_filter: row.is_some_and(|row| matches!(row.value, ValueSource::Event(..))),
        };
        self.access.audit.log(&stored, &self.store.limits().redact, self.now);
    }

    fn parse(
        &mut self,
        pmid: Pmid,
        text: &Result<String, Error>,
        ctx: ContextId,
    ) -> Result<Parsed, Refused> {
        let now = self.now;
        let row = self.entries.by_pmid(pmid.0).ok_or((Error::PMID, NO_METRIC.into()))?;
        let catalogue = self.store.catalogue();
        let control = |control| row.source.and_then(|source| catalogue.control(source, control));
        let storable = match row.value {
            ValueSource::Control(id) => control(id).is_some_and(|c| c.storable),
            ValueSource::Event(_, leaf) => takes_filter(leaf),
            _ => false,
        };
        let no_store = || (Error::PERMISSION, "nothing can be stored to it".to_owned());
        if !storable {
            return Err(no_store());
        }
        let who = &mut self.contexts.get(ctx).who;
        let permits = &self.access.permits;
        let permit = match row.value {
            ValueSource::Control(_) => &permits.control,
            _ => &permits.filter,
        };
        if !permit.holds(who, now) {
            let what = format!("store to {}", row.name);
            return Err((Error::PERMISSION, Access::refused(&self.store.stats, who, &what)));
        }
        let text = match text {
            Ok(text) if text.len() <= REQUEST_MAX => text,
            Ok(_) => return Err((Error::BADSTORE, format!("more than {REQUEST_MAX} bytes"))),
            Err(error) => return Err((*error, "no text".into())),
        };
        match (row.value, row.source) {
            (ValueSource::Control(id), _) => {
                let takes =
                    |c: &ControlDef| (!c.needs_text || !text.trim().is_empty()) && (c.takes)(text);
                if !control(id).is_some_and(takes) {
                    return Err((Error::BADSTORE, "it does not take this value".into()));
                }
                Ok(Parsed::Control(id, text.clone()))
            }
            (ValueSource::Event(kind, _), Some(source)) => {
                let kind = StreamKind { source, kind };
                if text.trim().is_empty() {
                    return Ok(Parsed::Filter(kind, None));
                }
                let names = self.entries.parameters(source);
                self.contexts
                    .filter(source, ctx, text, &names)
                    .map(|filter| Parsed::Filter(kind, Some(filter)))
                    .map_err(|e| {
                        self.contexts.set_refused(kind, ctx, Some(format!("{e}: {text}")));
                        let many = matches!(e, FilterRefused::TooMany(_));
                        (if many { Error::TOOBIG } else { Error::BADSTORE }, e.to_string())
                    })
            }
            _ => Err(no_store()),
        }
    }

    fn set_filter(
        &mut self,
        pmid: Pmid,
        kind: StreamKind,
        filter: Option<&SharedFilter>,
        instances: &[u32],
        ctx: ContextId,
        note: &mut String,
    ) -> Result<(), Refused> {
        let row = self.entries.by_pmid(pmid.0).ok_or((Error::PMID, NO_METRIC.into()))?;
        let serial = self.entries.serial(row).unwrap_or_default();
        let known = self.instances.peers(serial);
        let everyone = instances.contains(&IN_NULL);
        if !everyone && instances.iter().any(|i| known.is_none_or(|k| !k.contains_key(i))) {
            return Err((Error::INST, NO_INSTANCE.into()));
        }
        // A filter for all instances also applies to future ones.
        let meant: HashSet<u32> = instances.iter().copied().collect();
        let all = everyone || known.is_some_and(|k| k.keys().all(|i| meant.contains(i)));
        if !self.contexts.set_filter(ctx, kind, (!all).then_some(instances), filter) {
            return Err((Error::TOOBIG, "too many filters of single instances".into()));
        }
        let unknown = filter.map(SharedFilter::unknown).unwrap_or_default();
        if !unknown.is_empty() {
            *note = format!(" (no parameter is called {unknown} yet)");
        }
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
        to: &mut String,
    ) -> Result<(), Refused> {
        let row = self.entries.by_pmid(pmid.0).ok_or((Error::PMID, NO_METRIC.into()))?;
        if row.indom == InDom::Null {
            return request_of_source(row, self.store, control, text);
        }
        let all = self.instances.peers(self.entries.serial(row).unwrap_or_default());
        let (mut known, mut taken) = (0, 0);
        // When no instance is named, pmproxy(1) stores to `IN_NULL`: all connected peers get the
        // request.
        let everyone = instances.contains(&IN_NULL);
        let named: HashSet<u32> = instances.iter().copied().collect();
        let meant = all
            .into_iter()
            .flatten()
            .filter(|(inst, p)| named.contains(inst) || everyone && p.liveness.up());
        for (_, peer) in meant {
            if known == 0 {
                *to = format!(" of {}", peer.agent_name());
            }
            known += 1;
            if peer.post(Control::Request(control, text.to_owned())) {
                taken += 1;
            } else {
                peer.set_answer(control, "not connected");
            }
        }
        if known > 1 {
            let _ = write!(to, " and {} more", known - 1);
        }
        match (known > 0 || everyone, taken > 0) {
            (false, _) => Err((Error::INST, NO_INSTANCE.into())),
            (true, false) => Err((Error::AGAIN, "not connected".into())),
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
) -> Result<(), Refused> {
    let Some(control_queue) = row.source.and_then(|source| store.control_queue(source)) else {
        return Err((Error::PMID, NO_METRIC.into()));
    };
    control_queue.request(control, text).map_err(|why| (Error::BADSTORE, why.to_string()))
}
