//! Counts trace bodies, those at once whose agent has a name.

use std::sync::Arc;

use super::Collector;
use super::scratch::Scratch;
use crate::model::Now;
use crate::sources::zorka::limits::{WAITING, WAITING_BYTES};
use crate::sources::zorka::meter::agent::TraceContext;
use crate::sources::zorka::metrics as m;
use crate::sources::zorka::records::{Allowed, Spans};
use crate::sources::zorka::session::{Agent, Kind, State, Waiting, of_request};
use crate::sources::zorka::wire::{self, BodyError};

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
    /// known.
    #[allow(clippy::too_many_arguments, reason = "the parts of one request")]
    pub(super) fn account(
        &self,
        now: Now,
        agent: &Arc<Agent>,
        state: &mut State,
        at: usize,
        id: Option<&str>,
        decoded: &Decoded<'_>,
        scratch: &mut Scratch,
    ) {
        if state.wanted.is_empty() {
            let Some(tables) = state.tables.get(at) else { return };
            let found = state.facts.learn(&scratch.body, decoded.bytes, &tables.names);
            let held: usize = state.waiting.iter().map(|w| w.bytes.len()).sum();
            let room = state.waiting.len() < WAITING
                && held + decoded.bytes.len() <= WAITING_BYTES
                && decoded.result.is_ok();
            if !found && room {
                return state.waiting.push(Waiting {
                    now,
                    tables: tables.number,
                    trace_id: id.map(Into::into),
                    bytes: decoded.bytes.into(),
                    base64: decoded.base64,
                });
            }
            // Traces that wait were sent before this one.
            self.name(now, agent, state);
        } else if agent.kind == Kind::Modern && !state.facts.is_complete() {
            // The first traces may be of jobs, which have no attributes.
            let Some(tables) = state.tables.get(at) else { return };
            if state.facts.learn(&scratch.body, decoded.bytes, &tables.names) {
                self.rename(now, agent, state);
            }
        }
        let trace = Trace { now, id, bytes: decoded.bytes, base64: decoded.base64 };
        count(state, at, &trace, &self.allowed(), scratch);
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
}

/// Shows the numbers of names of the session that an agent uses.
pub(super) fn show_names(state: &mut State, at: usize) {
    let State { tables, peer, attached: true, .. } = state else { return };
    let (Some(tables), Some(peer)) = (tables.get(at), peer) else { return };
    let names = &tables.names;
    for (item, n) in [(m::SYMBOLS, names.symbols()), (m::METHODS_KNOWN, names.methods())] {
        peer.set(item, n as u64);
    }
}
