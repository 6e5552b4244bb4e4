//! A session of Mono's log profiler, over a connection or from a growing file
//! (docs/protocols/mono-mlpd.md).
//!
//! ```text
//!  bytes ─▶ mlpd ─▶ visit ─┬─▶ names (methods, classes, threads)      ─┐
//!                          ├─▶ counters ─▶ their updates (as module)  ├─▶ peer, once a flush
//!                          └─▶ events (gc, exceptions, locks, ...)    ─┘
//! ```
//!
//! All threads' buffers come once a second and not in the order of time, so figures are reported
//! and records are sorted when a flush has been read. The session always reads: a stream that is
//! not read grows in the memory of the program, which then cannot end. What it cannot read it
//! closes.

mod clock;
mod counters;
mod state;
#[cfg(test)]
mod tests;

use std::time::Duration;

use bytes::BytesMut;

use self::counters::StreamCounters;
use self::state::{State, Visit};
use super::agent::Settings;
use super::agent::queue::{Answer, items};
use super::counters::Counters;
use super::counters::identity::Origin;
use super::counters::pattern::Pattern;
use super::counters::updates::Updates;
use super::limits;
use super::metrics::{ADD, BYTES, LIST, REMOVE};
use super::mlpd::{Decoder, FileDecoder, GZIP, MlpdError};
use super::process::Joining;
use crate::contract::{Control, Held, Peer, Session, SessionError};
use crate::heap_size;
use crate::model::{ControlId, HeapSize, Now};

/// Decodes the bytes.
#[derive(Debug)]
enum Input {
    /// Those of a connection.
    Live(Box<Decoder>),
    /// Those of a file, or of a gzip stream.
    File(Box<FileDecoder>),
}

impl Input {
    fn new(file: bool) -> Self {
        if file { Self::File(Box::default()) } else { Self::Live(Box::default()) }
    }

    fn decoder(&self) -> &Decoder {
        match self {
            Self::Live(decoder) => decoder,
            Self::File(file) => file.decoder(),
        }
    }

    fn feed(&mut self, input: &mut BytesMut, visit: &mut Visit<'_>) -> Result<(), MlpdError> {
        match self {
            Self::Live(decoder) => decoder.feed(input, visit),
            Self::File(file) => file.feed(input, visit),
        }
    }
}

impl HeapSize for Input {
    fn heap_size(&self) -> usize {
        match self {
            Self::Live(decoder) => decoder.heap_size(),
            Self::File(file) => file.heap_size(),
        }
    }
}

/// The log profiler of one process.
#[derive(Debug)]
pub struct Stream {
    settings: Settings,
    /// `CLOCK_MONOTONIC` of this host in ns.
    ticks: fn() -> u64,
    input: Input,
    state: State,
    /// Time of the first call, and of the header.
    started: Option<Duration>,
    began: Option<Duration>,
}

heap_size!(Stream { settings, input, state });

impl Stream {
    /// For one connection or file. `ticks`: `CLOCK_MONOTONIC` of this host in ns.
    #[must_use]
    pub fn new(origin: Origin, settings: Settings, ticks: fn() -> u64) -> Self {
        Self::joining(origin, None, settings, ticks)
    }

    /// With `joining` for a peer whose process may be one of this host.
    pub(super) fn joining(
        origin: Origin,
        joining: Option<Joining>,
        settings: Settings,
        ticks: fn() -> u64,
    ) -> Self {
        let counters = StreamCounters::new(&settings);
        Self {
            ticks,
            input: Input::new(settings.one_way),
            state: State::new(counters, Updates::of_stream(origin, joining)),
            settings,
            started: None,
            began: None,
        }
    }
}

#[cfg(test)]
impl Stream {
    /// Bytes of the names.
    fn named(&self) -> usize {
        self.state.names.heap_size()
    }
}

impl Session for Stream {
    fn feed(
        &mut self,
        now: Now,
        input: &mut BytesMut,
        _: &mut BytesMut,
        peer: &mut Peer,
    ) -> Result<(), SessionError> {
        if self.started.is_none() && input.starts_with(&GZIP) {
            self.input = Input::new(true);
        }
        self.started.get_or_insert(now.monotonic);
        let before = input.len();
        let (ticks, live) = ((self.ticks)(), !self.settings.one_way);
        let mut visit = Visit { state: &mut self.state, peer, now, ticks, live };
        let result = self.input.feed(input, &mut visit);
        self.state.runtime.count(BYTES, (before - input.len()) as u64);
        if self.state.header.is_some() {
            self.began.get_or_insert(now.monotonic);
        }
        self.state.report(now, ticks, self.input.decoder(), peer);
        result.map_err(|error| fault(error, self.input.decoder().offset()))
    }

    fn tick(&mut self, now: Now, _: &mut BytesMut, peer: &mut Peer) -> Result<(), SessionError> {
        let started = *self.started.get_or_insert(now.monotonic);
        self.state.join();
        let waited = |since: Duration| now.monotonic.saturating_sub(since);
        match self.began {
            None if !self.settings.one_way && waited(started) >= limits::HELLO_TIME => {
                return Err(SessionError::Timeout("header"));
            }
            Some(began)
                if !self.state.introduced
                    && (self.state.updates.seat().is_some()
                        || waited(began) >= limits::PROGRAM_TIME) =>
            {
                self.state.introduce(true, peer);
                self.state.report(now, (self.ticks)(), self.input.decoder(), peer);
            }
            _ => {}
        }
        if self.state.introduced {
            self.state.tick(peer);
        }
        Ok(())
    }

    fn control(
        &mut self,
        _: Now,
        request: &Control,
        _: &mut BytesMut,
        peer: &mut Peer,
    ) -> Result<(), SessionError> {
        let State { updates, counters, .. } = &mut self.state;
        match request {
            Control::Replaced => return updates.replaced(),
            Control::Select(patterns) => {
                counters.counters.select(Pattern::sound(patterns, peer));
            }
            Control::Request(control, text) => {
                let text = asked(*control, text, &mut counters.counters);
                peer.answer(*control, text);
            }
        }
        updates.refresh(&mut counters.counters, peer);
        Ok(())
    }

    fn close(&mut self, now: Now, _: &mut BytesMut, peer: &mut Peer) {
        self.state.introduce(true, peer);
        self.state.report(now, (self.ticks)(), self.input.decoder(), peer);
        self.state.end(peer);
        self.state.updates.leave(&self.state.counters.counters, peer);
    }

    fn held(&self) -> Held {
        Held { own: size_of::<Self>() + self.heap_size(), shared: 0 }
    }

    fn established(&self) -> bool {
        self.state.header.is_some()
    }
}

fn fault(error: MlpdError, offset: u64) -> SessionError {
    match error {
        MlpdError::Version(_) | MlpdError::Flags(_) => {
            SessionError::Unsupported(format!("log profiler: {error}"))
        }
        MlpdError::HeaderText(length) => SessionError::Limit {
            limit: "bytes of a text of the header",
            got: length.into(),
            max: limits::MLPD_HEADER_TEXT.into(),
        },
        MlpdError::BufferLength(length) => SessionError::Limit {
            limit: "bytes of a buffer",
            got: length.into(),
            max: limits::MLPD_BUFFER.into(),
        },
        _ => SessionError::Malformed { offset, what: format!("log profiler: {error}") },
    }
}

/// Does what the request says; returns the answer.
fn asked(control: ControlId, text: &str, counters: &mut Counters) -> String {
    if control == LIST {
        let all = Pattern::parse("*").map(|all| counters.matching(&all)).unwrap_or_default();
        let mut answer = Answer::default();
        all.into_iter().for_each(|index| answer.item(";", &counters.key(index)));
        return answer.into_text();
    }
    let items = match items(text) {
        Ok(items) => items,
        Err((what, why)) => return format!("{what}: {why}"),
    };
    let mut answer = Answer::default();
    for item in items {
        let pattern = match Pattern::parse(item) {
            Ok(pattern) => pattern,
            Err(wrong) => {
                answer.item("; ", &format!("not possible: {wrong}"));
                continue;
            }
        };
        let meant = counters.matching(&pattern);
        if meant.is_empty() {
            answer.item("; ", &format!("{item}: NOTFOUND"));
        }
        for index in meant {
            let shown = counters.shown(index);
            let outcome = match control {
                ADD => {
                    counters.force(index);
                    if shown { "EXISTING" } else { "OK" }
                }
                REMOVE => {
                    counters.hide(index);
                    "OK, not shown any more; the log profiler cannot be told"
                }
                // Controls of other sources never reach this session.
                _ => continue,
            };
            answer.item("; ", &format!("{}: {outcome}", counters.key(index)));
        }
    }
    answer.into_text()
}
