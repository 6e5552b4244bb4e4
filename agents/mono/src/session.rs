//! The protocol of one connection, without a socket, a clock or Mono.
//!
//! ```text
//!   open ──▶ Hello ──▶ sample, sample, …            the thread decides when to send
//!                 ▲ List, Add, Remove ▼             answered one by one, in order
//!                     GoodBye, or indexes used up ──▶ Next::Close
//! ```
//!
//! * Indexes count up from 0 and are never reused on the same connection
//!   (docs/protocols/mono-counters.md section 1).
//! * A value is sent when the counter has none yet on this connection, or when its bytes differ
//!   from the last ones sent (docs/protocols/mono-counters.md section 2, only-changed rule).

use mono_counters::message::Status;

use crate::catalogue::{Counter, Selection, section_named};
use crate::requests::Request;
use crate::wire;

/// Limit of a sent value in bytes; only STRING counters can be longer than 8 bytes.
pub(crate) const LONGEST_VALUE: usize = 4096;
/// Indexes used on one connection before it is closed for a new one: well below 32767, where the
/// 2014 agent C ran into negative indexes (docs/protocols/mono-counters.md section 1).
const INDEXES: i16 = 30_000;

/// Counters that can be described and read: Mono's, or a test's.
pub(crate) trait Counters {
    /// All known counters; a counter's position is its id and never changes.
    fn descriptions(&self) -> &[Counter];
    /// Copies the present value of counter `id`. Returns its bytes, 0 without a value.
    fn read(&mut self, id: usize, into: &mut [u8; LONGEST_VALUE]) -> usize;
}

/// Whether the connection continues after a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// The reply, if any, is in the buffer.
    Continue,
    /// Close the connection and connect again later.
    Close,
}

/// The selected counters of one connection, with the values sent last.
#[derive(Debug)]
pub(crate) struct Session {
    selected: Vec<Selected>,
    next_index: i16,
}

#[derive(Debug)]
struct Selected {
    id: usize,
    index: i16,
    /// The bytes last sent; empty before the first value.
    last: Vec<u8>,
}

impl Session {
    /// Begins a connection: appends Hello with the first `always` counters and those of
    /// `selection`.
    pub(crate) fn open(
        counters: &impl Counters,
        selection: &Selection,
        always: usize,
        out: &mut Vec<u8>,
    ) -> Self {
        let known = counters.descriptions();
        let wanted = known
            .iter()
            .enumerate()
            .filter(|(id, counter)| *id < always || selection.takes(counter));
        let (headers, selected): (Vec<_>, Vec<_>) = (0..INDEXES)
            .zip(wanted)
            .map(|(index, (id, counter))| ((index, counter), Selected::new(id, index)))
            .unzip();
        let next_index = selected.last().map_or(0, |last| last.index + 1);
        wire::hello(out, headers.into_iter());
        Self { selected, next_index }
    }

    /// Appends one sample stamped `timestamp`.
    pub(crate) fn sample(
        &mut self,
        counters: &mut impl Counters,
        timestamp: i64,
        out: &mut Vec<u8>,
    ) {
        let mut buffer = [0; LONGEST_VALUE];
        wire::begin_sample(out, timestamp);
        for selected in &mut self.selected {
            let size = counters.read(selected.id, &mut buffer);
            let value = buffer.get(..size).unwrap_or_default();
            if !value.is_empty() && value != selected.last {
                wire::value(out, selected.index, value);
                selected.last.clear();
                selected.last.extend_from_slice(value);
            }
        }
        wire::end_sample(out);
    }

    /// Appends the reply to one request.
    pub(crate) fn answer(
        &mut self,
        request: &Request,
        counters: &impl Counters,
        out: &mut Vec<u8>,
    ) -> Next {
        let known = counters.descriptions();
        match request {
            Request::List => wire::list(out, known),
            Request::Add { name: Some(name), category: Some(category) } => {
                return self.add(name, category, known, out);
            }
            Request::Add { .. } => wire::not_added(out, Status::Nok),
            Request::Remove { index } => wire::removed(out, self.remove(*index)),
            Request::GoodBye => return Next::Close,
        }
        Next::Continue
    }

    fn add(&mut self, name: &str, category: &str, known: &[Counter], out: &mut Vec<u8>) -> Next {
        let found = section_named(category).and_then(|section| {
            known
                .iter()
                .enumerate()
                .find(|(_, counter)| counter.section == section && counter.name == name)
        });
        let Some((id, counter)) = found else {
            wire::not_added(out, Status::NotFound);
            return Next::Continue;
        };
        if self.selected.iter().any(|selected| selected.id == id) {
            wire::not_added(out, Status::Existing);
            return Next::Continue;
        }
        if self.next_index >= INDEXES {
            return Next::Close;
        }
        self.selected.push(Selected::new(id, self.next_index));
        wire::added(out, self.next_index, counter);
        self.next_index += 1;
        Next::Continue
    }

    fn remove(&mut self, index: i16) -> Status {
        if index < 0 {
            self.selected.clear();
            return Status::Ok;
        }
        match self.selected.iter().position(|selected| selected.index == index) {
            Some(place) => {
                self.selected.remove(place);
                Status::Ok
            }
            None => Status::NotFound,
        }
    }
}

impl Selected {
    fn new(id: usize, index: i16) -> Self {
        Self { id, index, last: Vec::new() }
    }
}

#[cfg(test)]
mod tests;
