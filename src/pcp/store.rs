//! `pmstore`: requests to peers, and the filters of client contexts.

use std::collections::HashSet;
use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::time::Duration;

use super::contexts::{Held, NotTaken};
use super::entries::Row;
use super::fetch::NO_INSTANCE;
use super::state::State;
use super::text::to_string;
use super::{process, sys};
use crate::model::{Control, ControlId, EventLeaf, InDom, StreamKind, ValueSource};
use crate::store::{LogThrottle, Stat, Store};

/// Most bytes of a request.
const REQUEST_MAX: usize = 4096;
/// Most time of the PMDA's thread to understand all values of one PDU.
const UNDERSTAND_TIME: Duration = Duration::from_millis(100);

/// One value of a store request.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) pmid: u32,
    pub(super) inst: u32,
    pub(super) text: Result<String, c_int>,
}

/// All values of a `pmdaResult`, which libpcp_pmda has decoded and which lives during the callback.
///
/// C declares `vset` and `vlist` with one element and allocates as many as the counts say, so they
/// are walked by raw pointers that stem from the whole structure.
pub(super) fn requests(result: *const sys::PmdaResult) -> Vec<Request> {
    let mut all = Vec::new();
    // SAFETY: a valid result, see above.
    let count = unsafe { (*result).numpmid };
    // SAFETY: as above; only an address is taken.
    let sets = unsafe { &raw const (*result).vset }.cast::<*const sys::pmValueSet>();
    for i in 0..usize::try_from(count).unwrap_or_default() {
        // SAFETY: i is below numpmid.
        let place = unsafe { sets.add(i) };
        // SAFETY: as above.
        let set = unsafe { place.read() };
        // SAFETY: each element points to a value set of the same result.
        let pmid = unsafe { (*set).pmid };
        // SAFETY: as above.
        let format = unsafe { (*set).valfmt };
        // SAFETY: as above.
        let values = unsafe { (*set).numval };
        // SAFETY: as above; only an address is taken.
        let list = unsafe { &raw const (*set).vlist }.cast::<sys::pmValue>();
        for j in 0..usize::try_from(values).unwrap_or_default() {
            // SAFETY: j is below numval.
            let value = unsafe { list.add(j) };
            // SAFETY: as above.
            let inst = unsafe { (*value).inst };
            all.push(Request { pmid, inst: inst.cast_unsigned(), text: text(format, value) });
        }
    }
    all
}

fn text(format: c_int, value: *const sys::pmValue) -> Result<String, c_int> {
    let mut atom = MaybeUninit::<sys::pmAtomValue>::uninit();
    let string = sys::PM_TYPE_STRING.cast_signed();
    // SAFETY: the value is of the result being stored; on success a malloc'ed C string is in `cp`.
    let sts = unsafe { sys::pmExtractValue(format, value, string, atom.as_mut_ptr(), string) };
    if sts < 0 {
        return Err(sts);
    }
    // SAFETY: pmExtractValue has set the atom.
    let atom = unsafe { atom.assume_init() };
    // SAFETY: a string was asked for, so `cp` is the member in use.
    let s = unsafe { atom.cp };
    let text = to_string(s).unwrap_or_default();
    // SAFETY: pmExtractValue(3): the caller frees string values.
    unsafe { libc::free(s.cast()) };
    Ok(text)
}

/// Whether a leaf of an event kind takes a filter: that of its own, and by PCP's convention
/// (`pmevent -x`) the records.
const fn takes_filter(leaf: EventLeaf) -> bool {
    matches!(leaf, EventLeaf::Filter | EventLeaf::Records | EventLeaf::HighResRecords)
}

/// What the text of a request becomes.
enum Asked {
    Control(ControlId, String),
    Filter(StreamKind, Option<Held>),
}

impl State {
    /// All values of a store request. Filters are understood before any is set, so that an error
    /// changes nothing.
    pub(super) fn store(&mut self, requests: Vec<Request>, ctx: i32, now: Duration) -> c_int {
        // pmstore(1) without -i sends the same text for every instance.
        let groups = requests.chunk_by(|a, b| a.pmid == b.pmid && a.text == b.text);
        let mut understood = Vec::new();
        let until = process::thread_time() + UNDERSTAND_TIME;
        for group in groups {
            if process::thread_time() > until {
                self.store.stats.add(Stat::PduCut, 1);
                log::warn!(
                    "a store of {} by {} is too big",
                    requests.len(),
                    self.contexts.get(ctx).who.shown()
                );
                return sys::PM_ERR_TOOBIG;
            }
            let Some(first) = group.first() else { continue };
            match self.understand(first, ctx, now) {
                Ok(asked) => understood.push((
                    first.pmid,
                    asked,
                    group.iter().map(|r| r.inst).collect::<Vec<_>>(),
                )),
                Err(status) => return status,
            }
        }
        for (pmid, asked, instances) in understood {
            let status = match asked {
                Asked::Control(control, text) => {
                    self.request(pmid, control, &text, &instances, ctx)
                }
                Asked::Filter(kind, filter) => {
                    self.set_filter(pmid, kind, filter.as_ref(), &instances, ctx)
                }
            };
            if status < 0 {
                return status;
            }
        }
        0
    }

    fn understand(&mut self, request: &Request, ctx: i32, now: Duration) -> Result<Asked, c_int> {
        let Some(row) = self.entries.by_pmid(request.pmid) else { return Err(sys::PM_ERR_PMID) };
        let catalogue = self.store.catalogue();
        let control = |control| row.source.and_then(|source| catalogue.control(source, control));
        let storable = match row.value {
            ValueSource::Control(id) => control(id).is_some_and(|c| c.storable),
            ValueSource::Event(_, leaf) => takes_filter(leaf),
            _ => false,
        };
        if !storable {
            return Err(sys::PM_ERR_PERMISSION);
        }
        let text = match &request.text {
            Ok(text) if text.len() <= REQUEST_MAX => text,
            Ok(_) => return Err(sys::PM_ERR_BADSTORE),
            Err(status) => return Err(*status),
        };
        let who = &mut self.contexts.get(ctx).who;
        let (allowed, asked) = match (row.value, row.source) {
            (ValueSource::Control(id), _) => {
                if control(id).is_some_and(|c| c.needs_text) && text.trim().is_empty() {
                    return Err(sys::PM_ERR_BADSTORE);
                }
                (self.permits.control.holds(who, now), Asked::Control(id, text.clone()))
            }
            (ValueSource::Event(kind, _), Some(source)) => {
                let kind = StreamKind { source, kind };
                if !self.permits.filter.holds(who, now) {
                    (false, Asked::Filter(kind, None))
                } else if text.trim().is_empty() {
                    (true, Asked::Filter(kind, None))
                } else {
                    let names = self.entries.parameters(source);
                    let who = who.shown();
                    match self.contexts.filter(source, ctx, text, &names) {
                        Ok(filter) => (true, Asked::Filter(kind, Some(filter))),
                        Err(e) => {
                            log::warn!("{}: a filter of {who} is refused: {e}: {text:?}", row.name);
                            self.contexts.set_refused(kind, ctx, Some(format!("{e}: {text}")));
                            let many = matches!(e, NotTaken::TooMany(_));
                            return Err(if many {
                                sys::PM_ERR_TOOBIG
                            } else {
                                sys::PM_ERR_BADSTORE
                            });
                        }
                    }
                }
            }
            _ => return Err(sys::PM_ERR_PERMISSION),
        };
        if allowed {
            return Ok(asked);
        }
        let name = row.name.clone();
        self.denied(ctx, &format!("store to {name}"), now);
        Err(sys::PM_ERR_PERMISSION)
    }

    fn set_filter(
        &mut self,
        pmid: u32,
        kind: StreamKind,
        filter: Option<&Held>,
        instances: &[u32],
        ctx: i32,
    ) -> c_int {
        let Some(row) = self.entries.by_pmid(pmid) else { return sys::PM_ERR_PMID };
        let serial = self.entries.serial(row).unwrap_or_default();
        let known = self.domains.instances(serial);
        let everyone = instances.contains(&NO_INSTANCE);
        if !everyone && instances.iter().any(|i| known.is_none_or(|k| !k.contains_key(i))) {
            return sys::PM_ERR_INST;
        }
        // Said to all that there are, it is meant for those to come too.
        let meant: HashSet<u32> = instances.iter().copied().collect();
        let all = everyone || known.is_some_and(|k| k.keys().all(|i| meant.contains(i)));
        if !self.contexts.set_filter(ctx, kind, (!all).then_some(instances), filter) {
            log::warn!("{}: too many filters of single instances", row.name);
            return sys::PM_ERR_TOOBIG;
        }
        let (text, who) =
            (filter.map(Held::text).unwrap_or_default(), self.contexts.get(ctx).who.shown());
        log::info!("{}: {text:?} set by {who}", row.name);
        self.contexts.set_refused(kind, ctx, None);
        0
    }

    /// Passes a request on to the task that talks to the peer; the answer comes later, in the
    /// metric and the log.
    fn request(
        &mut self,
        pmid: u32,
        control: ControlId,
        text: &str,
        instances: &[u32],
        ctx: i32,
    ) -> c_int {
        let Some(row) = self.entries.by_pmid(pmid) else { return sys::PM_ERR_PMID };
        if row.indom == InDom::Null {
            let who = self.contexts.get(ctx).who.shown();
            return request_of_source(row, &self.store, control, text, &who);
        }
        let all = self.domains.instances(self.entries.serial(row).unwrap_or_default());
        let who = self.contexts.get(ctx).who.shown();
        let (mut known, mut taken) = (false, false);
        // pmproxy stores to no instance in particular when none is named: that means all who are
        // connected.
        let everyone = instances.contains(&NO_INSTANCE);
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
            (false, _) => sys::PM_ERR_INST,
            (true, false) => sys::PM_ERR_AGAIN,
            (true, true) => 0,
        }
    }

    /// A request was refused for want of access: counted, and logged once a minute.
    pub(super) fn denied(&mut self, ctx: i32, what: &str, now: Duration) {
        self.store.stats.add(Stat::AccessDenied, 1);
        let who = &self.contexts.get(ctx).who;
        let advice = "see [events] and [access] in apm.toml";
        let why = match who.hosts() {
            [] => format!("{} may not {what}: {advice}", who.shown()),
            [host, more @ ..] => {
                let and = if more.is_empty() {
                    String::new()
                } else {
                    format!(" and {} more", more.len())
                };
                format!(
                    "{} may not {what}: over TCP and without credentials, every client may be on host {host}{and} while that is \
                     connected to pmcd; connect to local: instead, or see allow_hosts and allow_remote in apm.toml",
                    who.shown()
                )
            }
        };
        if let Some(n) = self.refusals.allow(now) {
            log::warn!("{why}{}", LogThrottle::more(n));
        }
        self.store.stats.set_access_reason(why);
    }
}

/// Passes a request on to the source as a whole.
fn request_of_source(row: &Row, store: &Store, control: ControlId, text: &str, who: &str) -> c_int {
    let Some(control_queue) = row.source.and_then(|source| store.control_queue(source)) else {
        return sys::PM_ERR_PMID;
    };
    log::info!("{} {text:?} requested by {who}", row.name);
    match control_queue.request(control, text) {
        Ok(()) => 0,
        Err(why) => {
            log::warn!("{} {text:?} of {who} is refused: {why}", row.name);
            sys::PM_ERR_BADSTORE
        }
    }
}
