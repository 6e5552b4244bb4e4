//! The inspector: one agent's conversation.
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
//! * Detecting: bytes are held back until the dialect is known ([`super::detect`]); nothing is
//!   sent.
//! * Hello: headers go to [`super::counters`]; nothing is sent.
//! * Greeted: the selection is pursued ([`super::steering`]). What the sink would be told waits in
//!   [`super::report`], for a peer is to have one name only.
//! * Introduced: Samples become updates, responses go to `steering`.
//!
//! A file passes through the same states, without time-outs (its tail may still be written) and
//! without requests.

use std::time::Duration;

use bytes::{Buf, BytesMut};

use super::counters::{Bounds, Counters};
use super::detect::{Decision, Detector};
use super::dialogue::Dialogue;
use super::numbers::Space;
use super::report::Report;
use super::requests::Agent;
use super::steering::{Steering, Ways};
use super::wire::{Fault, Framing, Part, Token, Tokenizer, Wrong};
use super::{Pattern, Peer, Settings, limits};
use crate::model::{Control, Now, Update};
use crate::read::Order;
use crate::sources::{Held, Session, SessionError, Sink};

/// One agent's conversation.
#[derive(Debug)]
pub struct Inspector {
    settings: Settings,
    phase: Phase,
    report: Report,
    /// Bytes that came before the dialect was known.
    held: BytesMut,
    /// When the first call came.
    started: Option<Duration>,
    /// When Hello was complete.
    greeted: Option<Duration>,
}

#[derive(Debug)]
enum Phase {
    Detecting(Detector),
    Reading(Box<Reading>),
}

/// What exists once the dialect is known.
#[derive(Debug)]
struct Reading {
    tokenizer: Tokenizer,
    counters: Counters,
    /// From the end of Hello on.
    steering: Option<Steering>,
}

impl Phase {
    /// What there is once Hello is complete.
    fn greeted(&mut self) -> Option<(&mut Steering, &mut Counters)> {
        match self {
            Self::Reading(reading) => Some((reading.steering.as_mut()?, &mut reading.counters)),
            Self::Detecting(_) => None,
        }
    }
}

impl Inspector {
    /// For one connection or file.
    #[must_use]
    pub fn new(peer: Peer, settings: Settings) -> Self {
        Self {
            settings,
            phase: Phase::Detecting(Detector::new()),
            report: Report::new(peer),
            held: BytesMut::new(),
            started: None,
            greeted: None,
        }
    }

    fn decide(&mut self, (framing, order): Decision) {
        let bounds = Bounds { name_length: self.settings.name_length, names: self.settings.names };
        let counters = Counters::new(order, self.settings.select.clone(), bounds);
        let reading =
            Reading { tokenizer: Tokenizer::new(framing, order), counters, steering: None };
        self.phase = Phase::Reading(Box::new(reading));
    }

    fn read(
        &mut self,
        now: Now,
        input: &mut BytesMut,
        ways: &mut Ways<'_>,
    ) -> Result<(), SessionError> {
        let mut read = 0;
        let result = loop {
            let Phase::Reading(reading) = &mut self.phase else { break Ok(()) };
            match reading.tokenizer.token(input.get(read..).unwrap_or_default()) {
                Ok(None) => break Ok(()),
                Err(fault) => break Err(blame(fault)),
                Ok(Some((token, length))) => {
                    if let Err(error) = self.token(now, token, ways) {
                        break Err(error);
                    }
                    read += length;
                }
            }
        };
        input.advance(read);
        result
    }

    fn token(
        &mut self,
        now: Now,
        token: Token<'_>,
        ways: &mut Ways<'_>,
    ) -> Result<(), SessionError> {
        let Phase::Reading(reading) = &mut self.phase else { return Ok(()) };
        let Reading { tokenizer, counters, steering } = &mut **reading;
        let report = &mut self.report;
        match (token, steering) {
            (Token::Headers(Part::Preamble | Part::Hello), _) => counters.restart(),
            (Token::Header(Part::Preamble | Part::Hello, header), _) => counters.announce(&header),
            (Token::HeadersEnd(Part::Preamble), _) if tokenizer.framing() == Framing::B => {
                report.message(ways.sink)
            }
            (Token::HeadersEnd(Part::Preamble | Part::Hello), _) => self.greet(now, ways),
            // B lists what it samples already, so nobody asks it to.
            (Token::Header(Part::List, _), _) => {}
            (Token::Headers(Part::List) | Token::List, Some(steering)) => steering.list_begins(),
            (Token::Pair(first, second), Some(steering)) => {
                if !steering.list_pair(first, second) {
                    let max = limits::COUNTERS as u64;
                    return Err(SessionError::Limit {
                        limit: "counters of a list",
                        got: max + 1,
                        max,
                    });
                }
            }
            (Token::HeadersEnd(Part::List) | Token::ListEnd, Some(steering)) => {
                report.message(ways.sink);
                steering.list_ends(counters, ways);
                self.aftermath(ways);
            }
            (Token::Added(status, header), Some(steering)) => {
                if let Some(header) = &header {
                    counters.announce(header);
                }
                report.message(ways.sink);
                steering.added(status, header.map(|h| h.index), counters, ways);
                self.aftermath(ways);
            }
            (Token::Removed(status), Some(steering)) => {
                report.message(ways.sink);
                steering.removed(status, counters, ways);
                self.aftermath(ways);
            }
            (Token::Sample(stamp), _) => report.sample(stamp),
            (Token::Value { index, bytes }, _) => report.value(index, counters.value(index, bytes)),
            (Token::SampleEnd, _) => {
                report.sample_ends(now, tokenizer.framing() != Framing::A, counters, ways.sink)
            }
            // The tokenizer lets nothing but Hello come first.
            (_, None) => {}
        }
        Ok(())
    }

    /// Hello is complete.
    fn greet(&mut self, now: Now, ways: &mut Ways<'_>) {
        let Phase::Reading(reading) = &mut self.phase else { return };
        let Reading { tokenizer, counters, steering } = &mut **reading;
        self.greeted = Some(now.mono);
        counters.settle();
        let agent = match (tokenizer.framing(), counters.space()) {
            (Framing::A, _) => Agent::A,
            (Framing::B, _) => Agent::B,
            (Framing::N, None) => Agent::Unknown,
            (Framing::N, Some(Space::E3)) => Agent::Note,
            (Framing::N, Some(Space::E1 | Space::E2)) => Agent::C,
        };
        self.report.dialect(dialect(agent, tokenizer.order()), ways.sink);
        self.report.message(ways.sink);
        if !counters.tell_identity() {
            self.report.introduce(counters, ways.sink);
        }
        let steering = steering.insert(Steering::new(Dialogue::new(
            agent,
            self.settings.one_way,
            tokenizer.order(),
        )));
        steering.begin(self.settings.probe, counters, ways);
    }

    /// Tells what an answer or a request has changed.
    fn aftermath(&mut self, ways: &mut Ways<'_>) {
        let Phase::Reading(reading) = &mut self.phase else { return };
        if let Some(steering) = &reading.steering {
            self.report.dialect(dialect(steering.agent(), reading.tokenizer.order()), ways.sink);
        }
        self.report.refresh(&mut reading.counters, ways.sink);
    }

    fn selected(&mut self, patterns: &[String], ways: &mut Ways<'_>) {
        let mut sound = Vec::new();
        for text in patterns {
            match Pattern::parse(text) {
                Ok(pattern) => sound.push(pattern),
                Err(wrong) => ways.sink.update(Update::Error(&wrong)),
            }
        }
        self.settings.select.clone_from(&sound);
        match &mut self.phase {
            Phase::Detecting(_) => {}
            Phase::Reading(reading) => match &mut reading.steering {
                Some(steering) => steering.select(sound, &mut reading.counters, ways),
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
        sink: &mut dyn Sink,
    ) -> Result<(), SessionError> {
        self.started.get_or_insert(now.mono);
        if let Phase::Detecting(detector) = &mut self.phase {
            self.held.unsplit(input.split());
            let Some(decision) = detector.look(&self.held)? else { return Ok(()) };
            self.decide(decision);
        }
        if !self.held.is_empty() {
            self.held.unsplit(input.split());
            *input = std::mem::take(&mut self.held);
        }
        self.read(now, input, &mut Ways { out, sink })
    }

    fn tick(
        &mut self,
        now: Now,
        out: &mut BytesMut,
        sink: &mut dyn Sink,
    ) -> Result<(), SessionError> {
        let started = *self.started.get_or_insert(now.mono);
        let late = now.mono.saturating_sub(self.greeted.unwrap_or(started)) >= limits::HELLO_TIME;
        match &mut self.phase {
            _ if !late => {}
            Phase::Detecting(detector) => match detector.settle() {
                Some(decision) => {
                    self.decide(decision);
                    let mut held = std::mem::take(&mut self.held);
                    let result = self.read(now, &mut held, &mut Ways { out, sink });
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
            Phase::Reading(reading) => self.report.introduce(&mut reading.counters, sink),
        }
        Ok(())
    }

    fn control(
        &mut self,
        _: Now,
        request: &Control,
        out: &mut BytesMut,
        sink: &mut dyn Sink,
    ) -> Result<(), SessionError> {
        let mut ways = Ways { out, sink };
        match (request, &mut self.phase) {
            (Control::Replaced, _) => {
                return Err(SessionError::Closed(
                    "a newer connection of the same process took over",
                ));
            }
            (Control::Select(patterns), _) => self.selected(patterns, &mut ways),
            (Control::Request(verb, text), phase) => match phase.greeted() {
                Some((steering, counters)) => steering.request(*verb, text, counters, &mut ways),
                None => {
                    let text = "not possible: the agent has not said Hello".to_owned();
                    ways.sink.update(Update::Answer { verb: *verb, text });
                }
            },
        }
        self.aftermath(&mut ways);
        Ok(())
    }

    fn close(&mut self, _: Now, out: &mut BytesMut, sink: &mut dyn Sink) {
        self.report.flush(sink);
        if let Some((steering, counters)) = self.phase.greeted() {
            steering.good_bye(counters, out);
        }
    }

    fn held(&self) -> Held {
        let phase = match &self.phase {
            Phase::Detecting(detector) => detector.memory(),
            Phase::Reading(reading) => {
                let Reading { tokenizer, counters, steering } = &**reading;
                size_of::<Reading>()
                    + tokenizer.memory()
                    + counters.memory()
                    + steering.as_ref().map_or(0, Steering::memory)
            }
        };
        Held {
            own: size_of::<Self>() + self.held.capacity() + self.report.memory() + phase,
            shared: 0,
        }
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

fn blame(Fault { at, what }: Fault) -> SessionError {
    let limit = |limit, got, max: usize| SessionError::Limit { limit, got, max: max as u64 };
    match what {
        Wrong::Message => limit("bytes of a message", limits::MESSAGE as u64 + 1, limits::MESSAGE),
        Wrong::StringLength(length) if usize::try_from(length).is_ok_and(|n| n > limits::NAME) => {
            limit("bytes of a name", u64::from(length.unsigned_abs()), limits::NAME)
        }
        what => SessionError::Malformed { offset: at, what: what.to_string() },
    }
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
