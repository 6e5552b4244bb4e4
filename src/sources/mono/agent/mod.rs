//! The inspector of one connection.
//!
//! ```text
//!              nothing fits: Malformed, Unsupported     bad value: Malformed, Limit
//!                      ▲                                      ▲
//!            bytes ┌───┴─────┐  one left, or   ┌───────┐ all  │  ┌────────┐ the first Sample, if a   ┌──────────┐
//!   ──────────────▶│Detecting├────────────────▶│ Hello ├──────┴─▶│Greeted ├─────────────────────────▶│Introduced│
//!                  └───┬─────┘ Headers+Sample  └───┬───┘ headers └────────┘ counter names the       └──────────┘
//!                      │ 10 s, unless Hello        │ 10 s                   process; at once if not
//!                      ▼ was all there             ▼                        (or after 10 s)
//!                   Timeout                     Timeout
//! ```
//!
//! * Detecting: bytes are stored until the dialect is known ([`detect`]); nothing is
//!   sent.
//! * Hello: headers go to [`super::counters`]; nothing is sent.
//! * Greeted: the selection is requested ([`selection`]). Updates wait in
//!   [`super::counters::updates`], because the name of a peer must not change.
//! * Introduced: Samples become updates, responses go to `selection`.
//!
//! A file passes through the same states, without time-outs (its tail may still be written) and
//! without requests.

mod detect;
pub(super) mod queue;
mod requests;
mod selection;
mod tokens;

use std::time::Duration;

use bytes::{Buf, BytesMut};
use mono_counters::numbers::Space;

use self::detect::{Decision, Detector};
use self::queue::RequestQueue;
use self::requests::Agent;
use self::selection::{Io, Selection};
use self::tokens::{Framing, Part, ProtocolError, Token, Tokenizer, Violation};
use super::counters::identity::Origin;
use super::counters::pattern::Pattern;
use super::counters::updates::Updates;
use super::counters::{Bounds, Counters};
use super::limits;
use super::process::Joining;
use crate::contract::{Control, Held, Peer, Session, SessionError};
use crate::heap_size;
use crate::model::{HeapSize, Now};
use crate::read::Order;

/// The settings of an inspector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Counters to show; empty: all that the agent announces.
    pub select: Vec<Pattern>,
    /// Probe agents that announce no counters, to distinguish those of 2014 from others. A strict
    /// agent may close the connection.
    pub probe: bool,
    /// Longest name of a counter, in bytes.
    pub name_length: usize,
    /// Most counters of one connection that can be shown.
    pub names: usize,
    /// The peer is a file: nothing is sent, and there are no time-outs.
    pub one_way: bool,
}

heap_size!(Settings { select });

impl Default for Settings {
    fn default() -> Self {
        Self { select: Vec::new(), probe: false, name_length: 200, names: 4096, one_way: false }
    }
}

/// The inspector of one connection or file.
#[derive(Debug)]
pub struct Inspector {
    settings: Settings,
    phase: Phase,
    updates: Updates,
    /// Bytes received before the dialect is known.
    held: BytesMut,
    /// Time of the first call.
    started: Option<Duration>,
    /// Time of the complete Hello.
    greeted: Option<Duration>,
}

heap_size!(Inspector { settings, phase, updates, held });

#[derive(Debug)]
enum Phase {
    Detecting(Detector),
    Reading(Box<Reading>),
}

/// The state once the dialect is known.
#[derive(Debug)]
struct Reading {
    tokenizer: Tokenizer,
    counters: Counters,
    /// Exists from the end of Hello on.
    selection: Option<Selection>,
}

heap_size!(Reading { tokenizer, counters, selection });

impl Phase {
    /// The selection and the counters, once Hello is complete.
    fn greeted(&mut self) -> Option<(&mut Selection, &mut Counters)> {
        match self {
            Self::Reading(reading) => Some((reading.selection.as_mut()?, &mut reading.counters)),
            Self::Detecting(_) => None,
        }
    }
}

impl HeapSize for Phase {
    fn heap_size(&self) -> usize {
        match self {
            Self::Detecting(detector) => detector.heap_size(),
            Self::Reading(reading) => reading.heap_size(),
        }
    }
}

impl Inspector {
    /// For one connection or file.
    #[must_use]
    pub fn new(origin: Origin, settings: Settings) -> Self {
        Self::joining(origin, None, settings)
    }

    /// With `joining` for a peer whose process may be one of this host.
    pub(super) fn joining(origin: Origin, joining: Option<Joining>, settings: Settings) -> Self {
        Self {
            settings,
            phase: Phase::Detecting(Detector::new()),
            updates: Updates::new(origin, joining),
            held: BytesMut::new(),
            started: None,
            greeted: None,
        }
    }

    fn decide(&mut self, (framing, order): Decision) {
        let bounds = Bounds { name_length: self.settings.name_length, names: self.settings.names };
        let counters = Counters::new(order, self.settings.select.clone(), bounds);
        let reading =
            Reading { tokenizer: Tokenizer::new(framing, order), counters, selection: None };
        self.phase = Phase::Reading(Box::new(reading));
    }

    fn read(
        &mut self,
        now: Now,
        input: &mut BytesMut,
        io: &mut Io<'_>,
    ) -> Result<(), SessionError> {
        let mut read = 0;
        let result = loop {
            let Phase::Reading(reading) = &mut self.phase else { break Ok(()) };
            match reading.tokenizer.token(input.get(read..).unwrap_or_default()) {
                Ok(None) => break Ok(()),
                Err(error) => break Err(session_error(error)),
                Ok(Some((token, length))) => {
                    if let Err(error) = self.token(now, token, io) {
                        break Err(error);
                    }
                    read += length;
                }
            }
        };
        input.advance(read);
        result
    }

    // Once a counter: not worth a call.
    #[inline(always)]
    fn token(&mut self, now: Now, token: Token<'_>, io: &mut Io<'_>) -> Result<(), SessionError> {
        let Phase::Reading(reading) = &mut self.phase else { return Ok(()) };
        let Reading { tokenizer, counters, selection } = &mut **reading;
        let updates = &mut self.updates;
        match (token, selection) {
            (Token::Headers(Part::Preamble | Part::Hello), _) => counters.restart(),
            (Token::Header(Part::Preamble | Part::Hello, header), _) => counters.announce(&header),
            (Token::HeadersEnd(Part::Preamble), _) if tokenizer.framing() == Framing::B => {
                updates.message(io.peer)
            }
            (Token::HeadersEnd(Part::Preamble | Part::Hello), _) => self.greet(now, io),
            // B lists only the counters that it samples already, so it receives no List.
            (Token::Header(Part::List, _), _) => {}
            (Token::Headers(Part::List) | Token::List, Some(selection)) => selection.list_begins(),
            (Token::Pair(first, second), Some(selection)) => {
                if !selection.list_pair(first, second) {
                    let max = limits::COUNTERS as u64;
                    return Err(SessionError::Limit {
                        limit: "counters of a list",
                        got: max + 1,
                        max,
                    });
                }
            }
            (Token::HeadersEnd(Part::List) | Token::ListEnd, Some(selection)) => {
                updates.message(io.peer);
                selection.list_ends(counters, io);
                self.refresh(io);
            }
            (Token::Added(status, header), Some(selection)) => {
                if let Some(header) = &header {
                    counters.announce(header);
                }
                updates.message(io.peer);
                selection.added(status, header.map(|h| h.index), counters, io);
                self.refresh(io);
            }
            (Token::Removed(status), Some(selection)) => {
                updates.message(io.peer);
                selection.removed(status, counters, io);
                self.refresh(io);
            }
            (Token::Sample(stamp), _) => updates.sample(stamp),
            (Token::Value { index, bytes }, _) => {
                updates.value(index, counters.value(index, bytes))
            }
            (Token::SampleEnd, _) => {
                updates.sample_ends(now, tokenizer.framing() != Framing::A, counters, io.peer)
            }
            // The tokenizer accepts only Hello as the first message.
            (_, None) => {}
        }
        Ok(())
    }

    /// Hello is complete.
    fn greet(&mut self, now: Now, io: &mut Io<'_>) {
        let Phase::Reading(reading) = &mut self.phase else { return };
        let Reading { tokenizer, counters, selection } = &mut **reading;
        self.greeted = Some(now.monotonic);
        counters.settle();
        let agent = match (tokenizer.framing(), counters.space()) {
            (Framing::A, _) => Agent::A,
            (Framing::B, _) => Agent::B,
            (Framing::N, None) => Agent::Unknown,
            (Framing::N, Some(Space::E3)) => Agent::Note,
            (Framing::N, Some(Space::E1 | Space::E2)) => Agent::C,
        };
        self.updates.dialect(dialect(agent, tokenizer.order()), io.peer);
        self.updates.message(io.peer);
        if !counters.has_identity() {
            self.updates.introduce(counters, io.peer);
        }
        let selection = selection.insert(Selection::new(RequestQueue::new(
            agent,
            self.settings.one_way,
            tokenizer.order(),
        )));
        selection.begin(self.settings.probe, counters, io);
    }

    /// Reports changes that a response or a request has made.
    fn refresh(&mut self, io: &mut Io<'_>) {
        let Phase::Reading(reading) = &mut self.phase else { return };
        if let Some(selection) = &reading.selection {
            self.updates.dialect(dialect(selection.agent(), reading.tokenizer.order()), io.peer);
        }
        self.updates.refresh(&mut reading.counters, io.peer);
    }

    fn selected(&mut self, patterns: &[String], io: &mut Io<'_>) {
        let sound = Pattern::sound(patterns, io.peer);
        self.settings.select.clone_from(&sound);
        match &mut self.phase {
            Phase::Detecting(_) => {}
            Phase::Reading(reading) => match &mut reading.selection {
                Some(selection) => selection.select(sound, &mut reading.counters, io),
                None => reading.counters.select(sound),
            },
        }
    }
}

impl Session for Inspector {
    fn feed(
        &mut self,
        now: Now,
        input: &mut BytesMut,
        out: &mut BytesMut,
        peer: &mut Peer,
    ) -> Result<(), SessionError> {
        self.started.get_or_insert(now.monotonic);
        if let Phase::Detecting(detector) = &mut self.phase {
            // A copy: the input may be in the buffer that a worker has for all connections.
            self.held.extend_from_slice(input);
            input.clear();
            let Some(decision) = detector.look(&self.held)? else { return Ok(()) };
            self.decide(decision);
        }
        if !self.held.is_empty() {
            self.held.extend_from_slice(input);
            input.clear();
            input.extend_from_slice(&std::mem::take(&mut self.held));
        }
        self.read(now, input, &mut Io { out, peer })
    }

    fn tick(&mut self, now: Now, out: &mut BytesMut, peer: &mut Peer) -> Result<(), SessionError> {
        let started = *self.started.get_or_insert(now.monotonic);
        let late =
            now.monotonic.saturating_sub(self.greeted.unwrap_or(started)) >= limits::HELLO_TIME;
        match &mut self.phase {
            _ if !late => {}
            Phase::Detecting(detector) => match detector.settle() {
                Some(decision) => {
                    self.decide(decision);
                    let mut held = std::mem::take(&mut self.held);
                    let result = self.read(now, &mut held, &mut Io { out, peer });
                    self.held = held;
                    return result;
                }
                None if !self.settings.one_way => return Err(SessionError::Timeout("Hello")),
                None => {}
            },
            Phase::Reading(_) if self.greeted.is_none() => {
                if !self.settings.one_way {
                    return Err(SessionError::Timeout("Hello"));
                }
            }
            Phase::Reading(reading) => self.updates.introduce(&mut reading.counters, peer),
        }
        self.updates.belong(peer);
        Ok(())
    }

    fn control(
        &mut self,
        _: Now,
        request: &Control,
        out: &mut BytesMut,
        peer: &mut Peer,
    ) -> Result<(), SessionError> {
        let mut io = Io { out, peer };
        match (request, &mut self.phase) {
            (Control::Replaced, _) => return self.updates.replaced(),
            (Control::Select(patterns), _) => self.selected(patterns, &mut io),
            (Control::Request(control, text), phase) => match phase.greeted() {
                Some((selection, counters)) => selection.request(*control, text, counters, &mut io),
                None => {
                    let text = "not possible: the agent has not said Hello".to_owned();
                    io.peer.answer(*control, text);
                }
            },
        }
        self.refresh(&mut io);
        Ok(())
    }

    fn close(&mut self, _: Now, out: &mut BytesMut, peer: &mut Peer) {
        self.updates.flush(peer);
        if let Some((selection, counters)) = self.phase.greeted() {
            self.updates.leave(counters, peer);
            selection.goodbye(counters, out);
        }
    }

    fn held(&self) -> Held {
        Held { own: size_of::<Self>() + self.heap_size(), shared: 0 }
    }

    fn established(&self) -> bool {
        self.greeted.is_some()
    }
}

/// The text of the metric and label `dialect`.
fn dialect(agent: Agent, order: Order) -> String {
    let agent = match agent {
        Agent::Unknown | Agent::Note => "note",
        Agent::A => "2014-A",
        Agent::B => "2014-B",
        Agent::C => "2014-C",
    };
    let order = match order {
        Order::Little => "little-endian",
        Order::Big => "big-endian",
    };
    format!("{agent} {order}")
}

fn session_error(ProtocolError { offset, violation }: ProtocolError) -> SessionError {
    let limit = |limit, got, max: usize| SessionError::Limit { limit, got, max: max as u64 };
    match violation {
        Violation::Message => {
            limit("bytes of a message", limits::MESSAGE as u64 + 1, limits::MESSAGE)
        }
        Violation::StringLength(length)
            if usize::try_from(length).is_ok_and(|n| n > limits::NAME) =>
        {
            limit("bytes of a name", u64::from(length.unsigned_abs()), limits::NAME)
        }
        violation => SessionError::Malformed { offset, what: violation.to_string() },
    }
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
