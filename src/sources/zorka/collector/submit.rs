//! Definitions and traces (docs/protocols/zorka.md 3.3, 3.4, 7).
//!
//! A body is decoded before its agent's lock is taken. Then the answer is decided, and only then
//! does the body count: what is answered with an error comes again.

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::{Arc, MutexGuard};

use super::agents::{SessionRef, show_names};
use super::{Collector, Endpoint, Outcome, Reply};
use crate::contract::http::{Dropped, Request};
use crate::model::{Charge, HeapSize, Now, Purpose};
use crate::sources::zorka::limits::{
    CHARGED_BODY, DECODING, NAME, SCRATCH, SESSION_ID, UNWRAPPED, WAITING, WAITING_BYTES,
};
use crate::sources::zorka::meter::TraceContext;
use crate::sources::zorka::names::Names;
use crate::sources::zorka::records::{Allowed, SpanRecords, Spans};
use crate::sources::zorka::session::{
    Agent, Kind, State, Waiting, clean, digits, of_request, of_traces, visible,
};
use crate::sources::zorka::shape::Copies;
use crate::sources::zorka::wire::{
    BodyError, Content, Definition, Encoding, FLAG_CLOSED, TraceBody,
};
use crate::sources::zorka::{metrics as m, wire};

/// Kinds of faults beside those of [`wire::ErrorKind`].
const TOO_LARGE: (u32, &str) = (30, "too_large");
const NO_MEMORY: (u32, &str) = (31, "memory");

/// The session that a request is for.
struct Key<'a> {
    kind: Kind,
    id: Cow<'a, str>,
}

impl<'a> Key<'a> {
    /// `None`: there is none.
    fn of(request: &'a Request<'a>) -> Option<Self> {
        let header =
            |name| request.header(name).and_then(|value| visible(value.trim_ascii(), SESSION_ID));
        if let Some(id) = header("x-zorka-session-id") {
            return Some(Self { kind: Kind::Modern, id: id.into() });
        }
        if let Some(id) = header("x-zorka-session-uuid") {
            return Some(Self { kind: Kind::Legacy, id: id.into() });
        }
        let field = ["host", "uuid"].iter().find_map(|name| wire::field(request.body, name))?;
        let id = visible(field.trim_ascii(), SESSION_ID)?.to_owned();
        Some(Self { kind: Kind::Note, id: id.into() })
    }

    /// The answer to a session that is not known: the agent sends all definitions
    /// (docs/protocols/zorka.md 7).
    fn unknown(key: Option<&Self>) -> Reply {
        let modern = key.is_none_or(|key| key.kind == Kind::Modern);
        Reply::of(if modern { 401 } else { 412 }, Outcome::Unknown)
    }
}

impl Collector {
    /// POST /agent/submit/agd
    pub(super) fn definitions(&self, now: Now, request: &Request<'_>) -> Reply {
        let Some(key) = Key::of(request) else { return Key::unknown(None) };
        let reset = request
            .header("x-zorka-session-reset")
            .is_some_and(|value| value.trim_ascii().eq_ignore_ascii_case(b"true"));
        let session = match self.directory.find(&key.id) {
            Some(session) => session,
            None if key.kind == Kind::Modern && reset || key.kind == Kind::Note => {
                self.new_session(now, &key)
            }
            None => return Key::unknown(Some(&key)),
        };
        let charge = match self.room(request) {
            Ok(charge) => charge,
            Err(fault) => {
                return self.dropped(now, Endpoint::Definitions, &session, request, fault);
            }
        };
        let unwrapped = wire::unwrap(Content::Definitions, request.body, UNWRAPPED);
        let Some((mut state, at)) = lock(&session) else { return Key::unknown(Some(&key)) };
        if reset && !state.waiting.is_empty() {
            // What waits was sent with the definitions before.
            self.name(now, &session.agent, &mut state);
        }
        self.hear(now, &session.agent, &mut state, request);
        if reset {
            state.reset();
            state.meter.add(m::RESETS, 1);
        }
        let State { tables, meter, .. } = &mut *state;
        let Some(tables) = tables.get_mut(at) else { return Key::unknown(Some(&key)) };
        if reset {
            tables.names.reset();
            tables.fresh = true;
        }
        tables.used = now.monotonic;
        meter.add(m::REQUESTS_AGD, 1);
        meter.add(m::BYTES_AGD, request.body.len() as u64);
        let result = unwrapped.and_then(|unwrapped| {
            meter.add(m::BYTES_UNWRAPPED, unwrapped.bytes.len() as u64);
            let (mut symbols, mut methods) = (0, 0);
            let names = &mut tables.names;
            let result = wire::definitions(&unwrapped.bytes, &mut |definition| match definition {
                Definition::Symbol { id, text } => {
                    symbols += 1;
                    names.define_symbol(id, text);
                }
                Definition::Method { id, class, name, signature } => {
                    methods += 1;
                    names.define_method(id, class, name, signature);
                }
                Definition::Attribute { .. } | Definition::Unknown => {}
            });
            names.settle();
            meter.add(m::SYMBOLS_DEFINED, symbols);
            meter.add(m::METHODS_DEFINED, methods);
            result
        });
        drop(charge);
        let outcome = self.fault(now, Endpoint::Definitions, &mut state, result);
        show_names(&mut state, at);
        self.report(now, &mut state);
        Reply::accepted(outcome)
    }

    /// POST /agent/submit/trc
    pub(super) fn traces(&self, now: Now, request: &Request<'_>) -> Reply {
        let Some(key) = Key::of(request) else { return Key::unknown(None) };
        let Some(session) = self.directory.find(&key.id) else { return Key::unknown(Some(&key)) };
        let charge = match self.room(request) {
            Ok(charge) => charge,
            Err(fault) => return self.dropped(now, Endpoint::Traces, &session, request, fault),
        };
        let reply = with_scratch(|scratch| {
            scratch.body.clear();
            let unwrapped = wire::unwrap(Content::Trace, request.body, UNWRAPPED);
            let (bytes, encoding, result) = match unwrapped {
                Ok(unwrapped) => {
                    let result = wire::trace(&unwrapped.bytes, &mut scratch.body);
                    (unwrapped.bytes, unwrapped.encoding, result)
                }
                Err(error) => (Cow::default(), Encoding::Raw, Err(error)),
            };
            let decoded = Decoded { bytes: &bytes, base64: encoding == Encoding::Base64, result };
            let locked = lock(&session);
            locked.map(|(state, at)| {
                self.decide(now, request, &session.agent, state, at, &decoded, scratch)
            })
        });
        drop(charge);
        match reply {
            Some(Some(reply)) => reply,
            Some(None) => {
                let mut reply = Key::unknown(Some(&key));
                reply.outcome = Outcome::Undefined;
                reply
            }
            None => Key::unknown(Some(&key)),
        }
    }

    /// Decides on a decoded trace body, and counts it. `None`: the agent has to define everything
    /// anew.
    #[allow(clippy::too_many_arguments, reason = "the parts of one request")]
    fn decide(
        &self,
        now: Now,
        request: &Request<'_>,
        agent: &Arc<Agent>,
        mut state: MutexGuard<'_, State>,
        at: usize,
        decoded: &Decoded<'_>,
        scratch: &mut Scratch,
    ) -> Option<Reply> {
        self.hear(now, agent, &mut state, request);
        let id =
            ["x-zorka-trace-id", "x-zorka-trace-uuid"].iter().find_map(|name| request.header(name));
        let copy = of_request(id.unwrap_or_default(), request.body);
        let is_copy = state.requests.contains(copy);
        let names = &state.tables.get(at)?.names;
        if !is_copy && misses_methods(&scratch.body, names) && state.ask() {
            state.meter.add(m::REQUESTS_REJECTED, 1);
            self.report(now, &mut state);
            return None;
        }
        // From here on the answer is success.
        let State { tables, meter, requests, traces, .. } = &mut *state;
        let tables = tables.get_mut(at)?;
        tables.used = now.monotonic;
        let fingerprint = of_traces(&scratch.body, &tables.names);
        let fresh = std::mem::take(&mut tables.fresh);
        let is_again = fresh && fingerprint.is_some_and(|hash| traces.contains(hash));
        meter.add(m::REQUESTS_TRC, 1);
        meter.add(m::BYTES_TRC, request.body.len() as u64);
        if is_copy || is_again {
            meter.add(m::DUPLICATES, 1);
            self.report(now, &mut state);
            return Some(Reply::accepted(Outcome::Duplicate));
        }
        requests.push(copy);
        fingerprint.into_iter().for_each(|hash| traces.push(hash));
        meter.add(m::BYTES_UNWRAPPED, decoded.bytes.len() as u64);
        let outcome = self.fault(now, Endpoint::Traces, &mut state, decoded.result);
        if outcome == Outcome::Accepted || !scratch.body.records.is_empty() {
            let id = id.and_then(|id| visible(id.trim_ascii(), SESSION_ID));
            let Decoded { bytes, base64, result } = *decoded;
            let trace = Trace { now, id, bytes, base64 };
            self.account(agent, &mut state, at, &trace, result.is_ok(), scratch);
        }
        self.report(now, &mut state);
        Some(Reply::accepted(outcome))
    }

    /// Charges the memory that a large body takes while it is decoded.
    fn room(&self, request: &Request<'_>) -> Result<Option<Charge>, (u32, &'static str)> {
        match request.dropped {
            Some(Dropped::TooLarge) => return Err(TOO_LARGE),
            Some(Dropped::NoMemory) => return Err(NO_MEMORY),
            None if request.body.len() < CHARGED_BODY => return Ok(None),
            None => {}
        }
        let mut charge = Charge::new(Arc::clone(&self.memory), Purpose::Input);
        let bytes = DECODING * request.body.len();
        if charge.resize(bytes, bytes) { Ok(Some(charge)) } else { Err(NO_MEMORY) }
    }

    /// Answers a request whose body is dropped: an error would only make it come again.
    fn dropped(
        &self,
        now: Now,
        endpoint: Endpoint,
        session: &SessionRef,
        request: &Request<'_>,
        fault: (u32, &'static str),
    ) -> Reply {
        if let Some((mut state, at)) = lock(session) {
            self.hear(now, &session.agent, &mut state, request);
            if let Some(tables) = state.tables.get_mut(at) {
                tables.used = now.monotonic;
            }
            let requests =
                if endpoint == Endpoint::Traces { m::REQUESTS_TRC } else { m::REQUESTS_AGD };
            state.meter.add(requests, 1);
            state.meter.add(m::DROPPED, 1);
            self.report(now, &mut state);
        }
        self.counts.fault(now, fault);
        Reply::accepted(Outcome::Dropped)
    }

    /// Counts the fault of a body.
    fn fault(
        &self,
        now: Now,
        endpoint: Endpoint,
        state: &mut State,
        result: Result<(), BodyError>,
    ) -> Outcome {
        let Err(error) = result else { return Outcome::Accepted };
        state.meter.add(m::DECODE_ERRORS, 1);
        self.counts.fault(now, (error.kind() as u32, error.kind().name()));
        if state.attached
            && let Some(peer) = &mut state.peer
        {
            let body = if endpoint == Endpoint::Traces { "traces" } else { "definitions" };
            peer.at(now);
            peer.error(&format!("a body of {body} cannot be read: {error}"));
        }
        Outcome::Faulty
    }

    /// A session that the agent has chosen.
    fn new_session(&self, now: Now, key: &Key<'_>) -> SessionRef {
        let agent = self.new_agent(now, key.kind);
        let mut state = agent.lock();
        let (tables, _) = state.add(now, &key.id, Names::new(&self.memory));
        state.digits = digits(&key.id);
        state.dialect = "modern";
        if key.kind == Kind::Note {
            state.wanted = clean(&key.id, NAME);
            state.dialect = "note";
        }
        drop(state);
        let opened = self.directory.open(&key.id, SessionRef { agent: Arc::clone(&agent), tables });
        if !Arc::ptr_eq(&opened.agent, &agent) {
            self.directory.remove(&agent, "");
        }
        opened
    }
}

/// Locks the agent of a session; the position of the session. `None`: it has ended meanwhile.
fn lock(session: &SessionRef) -> Option<(MutexGuard<'_, State>, usize)> {
    let state = session.agent.lock();
    let at = state.find(session.tables).filter(|_| !session.agent.is_retired())?;
    Some((state, at))
}

/// A record that has ended is of a method that is not defined, although there was room for it.
fn misses_methods(body: &TraceBody, names: &Names) -> bool {
    let closed = |flags: u8| flags & FLAG_CLOSED != 0;
    names.rejected() == 0
        && body.records.iter().any(|r| closed(r.flags) && names.get_method(r.method).is_none())
}

/// A body without its encoding, and what was wrong with it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decoded<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) base64: bool,
    pub(super) result: Result<(), BodyError>,
}

/// A trace body that counts.
pub(super) struct Trace<'a> {
    pub(super) now: Now,
    pub(super) id: Option<&'a str>,
    pub(super) bytes: &'a [u8],
    pub(super) base64: bool,
}

impl Collector {
    /// Counts a body whose request is answered with success, or keeps it until the agent's name is
    /// known. `is_whole`: it was read to its end.
    fn account(
        &self,
        agent: &Arc<Agent>,
        state: &mut State,
        at: usize,
        trace: &Trace<'_>,
        is_whole: bool,
        scratch: &mut Scratch,
    ) {
        let Trace { now, id, bytes, base64 } = *trace;
        if state.wanted.is_empty() {
            let Some(tables) = state.tables.get(at) else { return };
            let found = state.facts.learn(&scratch.body, bytes, &tables.names);
            let held: usize = state.waiting.iter().map(|w| w.bytes.len()).sum();
            let room = state.waiting.len() < WAITING && held + bytes.len() <= WAITING_BYTES;
            if !found && room && is_whole {
                let (tables, trace_id, bytes) = (tables.number, id.map(Into::into), bytes.into());
                return state.waiting.push(Waiting { now, tables, trace_id, bytes, base64 });
            }
            // Traces that wait were sent before this one.
            self.name(now, agent, state);
        } else if agent.kind == Kind::Modern && !state.facts.is_complete() {
            // The first traces may be of jobs, which have no attributes.
            let Some(tables) = state.tables.get(at) else { return };
            if state.facts.learn(&scratch.body, bytes, &tables.names) {
                self.rename(now, agent, state);
            }
        }
        count(state, at, trace, &self.allowed(), scratch);
    }

    /// Names an agent that has not registered by what is known of it, and counts the traces that
    /// have waited for that.
    pub(super) fn name(&self, now: Now, agent: &Arc<Agent>, state: &mut State) {
        if !state.wanted.is_empty() {
            return;
        }
        state.wanted = state.best_name();
        self.arrive(now, agent, state);
        let waiting = std::mem::take(&mut state.waiting);
        let mut scratch = Scratch::default();
        let allowed = self.allowed();
        for trace in waiting {
            let Some(at) = state.find(trace.tables) else { continue };
            // It was decoded without a fault before.
            let _ = wire::trace(&trace.bytes, &mut scratch.body);
            let Waiting { now, trace_id, bytes, base64, .. } = &trace;
            let id = trace_id.as_deref();
            let trace = Trace { now: *now, id, bytes, base64: *base64 };
            count(state, at, &trace, &allowed, &mut scratch);
        }
    }
}

/// Counts a body; the agent has a name.
fn count(
    state: &mut State,
    at: usize,
    trace: &Trace<'_>,
    allowed: &Allowed,
    scratch: &mut Scratch,
) {
    let State { tables, meter, peer, trace_ids, facts, .. } = state;
    let (Some(tables), Some(peer)) = (tables.get_mut(at), peer) else { return };
    if let Some(id) = trace.id {
        let hash = of_request(id.as_bytes(), &[]);
        if !trace_ids.contains(hash) {
            trace_ids.push(hash);
            meter.add(m::TRACE_IDS, 1);
        }
    }
    let Scratch { body, copies, records } = scratch;
    copies.find(body);
    let context =
        TraceContext { trace_id: trace.id, bytes: trace.bytes, base64: trace.base64, copies };
    peer.at(trace.now);
    meter.trace(trace.now, &context, body, &mut tables.names, peer);
    let service = if facts.service.is_empty() { &facts.app } else { &facts.service };
    let now = trace.now.wall;
    let spans = Spans { now, context, body, names: &tables.names, service };
    records.emit(&spans, allowed, peer);
    if meter.trees.on {
        records.trees(&spans, trace.now.monotonic, &mut meter.trees, peer);
    }
}

/// A decoded body, which of its records are copies, and what makes event records of it.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub(super) body: TraceBody,
    pub(super) copies: Copies,
    pub(super) records: SpanRecords,
}

crate::heap_size!(Scratch { body, copies, records });

thread_local! {
    static FREE: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

/// Calls `work` with the thread's buffers. Large ones are freed afterwards.
pub(super) fn with_scratch<R>(work: impl FnOnce(&mut Scratch) -> R) -> R {
    let mut scratch = FREE.take().unwrap_or_default();
    let result = work(&mut scratch);
    if scratch.heap_size() <= SCRATCH {
        FREE.set(Some(scratch));
    }
    result
}
