//! The stream of one session: reads it at times of our own choice.
//!
//! A runtime sends each field of a block by itself: 144 sends for 6 KB (docs/protocols/dotnet.md
//! 2). Each would wake the worker, so the socket is not polled for readiness: it is read at a slow
//! pace that all processes share, and at a quick one while something comes.

use std::cell::RefCell;
use std::io::{ErrorKind, Read};
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;

use crate::clock::nanoseconds;
use crate::contract::Peer;
use crate::model::Now;
use crate::net::guard::{Guard, Guarded};
use crate::sources::dotnet::session::End;
use crate::sources::dotnet::stream::{Parts, Stream, Ticks};

/// Bytes of one read.
const READ: usize = 64 << 10;
/// Most bytes of one turn: then other processes have theirs.
pub(super) const TURN: usize = 512 << 10;
/// Time between two reads of a quiet stream. Runtimes send each 100 ms; an idle one has counters once
/// a second, and a look that finds nothing costs as much as one that does. What a busy one sends
/// meanwhile waits in its buffer (`dotnet.buffer`).
const SLOW: Duration = Duration::from_millis(500);
/// Time between two reads while bytes come.
const QUICK: Duration = Duration::from_millis(8);
/// Time between two reads before the first bytes.
const FIRST: Duration = Duration::from_millis(100);
/// An idle process sends less at once: counters are 5 KB.
const BUSY: usize = 8 << 10;

thread_local! {
    /// Where all streams of a worker are read into.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A stream and its connection.
pub(super) struct Reading {
    socket: Guarded,
    /// Bytes of an incomplete token.
    input: BytesMut,
    pub(super) stream: Box<Stream>,
    /// The stream cannot be decoded: its bytes are thrown away.
    discards: bool,
    /// Bytes that came with the answer and wait for the first turn.
    first: usize,
    /// The last turn brought nothing.
    is_quiet: bool,
    /// The session is being stopped: the process waits until all is read.
    hurries: bool,
    next: Duration,
}

crate::heap_size!(Reading { input, stream });

/// What a turn brought.
#[derive(Debug, Default)]
pub(super) struct Turn {
    pub(super) bytes: usize,
    pub(super) end: Option<End>,
    pub(super) fault: Option<String>,
}

/// Works with the buffer of this worker.
pub(super) fn with_buffer(work: impl FnOnce(&mut [u8])) {
    BUFFER.with_borrow_mut(|buffer| {
        buffer.resize(READ, 0);
        work(buffer);
    });
}

/// Reads once. `None`: nothing is there, or the turn has had its share.
pub(super) fn read<'b>(
    socket: &mut Guarded,
    buffer: &'b mut [u8],
    turn: &mut Turn,
) -> Option<&'b [u8]> {
    if turn.bytes >= TURN || turn.end.is_some() {
        return None;
    }
    let outcome = loop {
        match socket.read(buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            outcome => break outcome,
        }
    };
    match outcome {
        Ok(read @ 1..) => {
            turn.bytes += read;
            return buffer.get(..read);
        }
        Err(error) if error.kind() == ErrorKind::WouldBlock => {}
        Ok(_) | Err(_) => turn.end = Some(End::Cut),
    }
    None
}

impl Reading {
    /// `input`: bytes of the stream that came with the answer.
    pub(super) fn new(
        socket: impl Into<Guarded>,
        input: BytesMut,
        stream: Stream,
        now: Duration,
    ) -> Self {
        Self {
            first: input.len(),
            socket: socket.into(),
            input,
            stream: Box::new(stream),
            discards: false,
            is_quiet: true,
            hurries: false,
            next: now,
        }
    }

    /// When the next turn is due.
    pub(super) const fn next(&self) -> Duration {
        self.next
    }

    /// Has the connection ended if the PMDA stands still.
    pub(super) fn keep(&mut self, guard: &Arc<Guard>) {
        self.socket.keep(guard);
    }

    /// The session is being stopped: reads at the quick pace until its end.
    pub(super) const fn hurry(&mut self) {
        self.hurries = true;
        self.next = Duration::ZERO;
    }

    /// Throws away what still comes.
    pub(super) fn discard(&mut self) {
        self.discards = true;
        self.input = BytesMut::new();
    }

    /// Reads what is there, and decodes it.
    pub(super) fn turn(&mut self, now: Now, parts: &mut Parts, peer: &mut Peer) -> Turn {
        let mut turn = Turn::default();
        let clock = Ticks(nanoseconds());
        if self.first > 0 {
            turn.bytes = std::mem::take(&mut self.first);
            turn.fault = self.take((now, clock), &[], parts, peer);
        }
        with_buffer(|buffer| {
            while let Some(bytes) = read(&mut self.socket, buffer, &mut turn) {
                turn.fault = turn.fault.take().or(self.take((now, clock), bytes, parts, peer));
            }
        });
        if turn.bytes > 0 {
            self.stream.report(parts, peer);
        } else if !self.is_quiet {
            parts.quiet(peer);
        }
        self.is_quiet = turn.bytes == 0;
        if self.stream.is_whole() {
            turn.end = Some(End::Whole);
        } else if turn.end.is_some() && self.socket.was_cut() {
            turn.end = Some(End::Halted);
        }
        if self.input.is_empty() {
            self.input = BytesMut::new();
        }
        self.next = self.after(now.monotonic, turn.bytes);
        turn
    }

    /// When the next turn is due, after one that brought so many bytes.
    fn after(&self, now: Duration, bytes: usize) -> Duration {
        let more_comes = bytes >= BUSY || bytes > 0 && !self.input.is_empty();
        if bytes >= TURN {
            now
        } else if more_comes || self.hurries {
            now + QUICK
        } else {
            aligned(now, if self.stream.began() { SLOW } else { FIRST })
        }
    }

    /// Decodes bytes. What is wrong with them, in words.
    fn take(
        &mut self,
        (now, clock): (Now, Ticks),
        bytes: &[u8],
        parts: &mut Parts,
        peer: &mut Peer,
    ) -> Option<String> {
        if self.discards {
            return None;
        }
        self.input.extend_from_slice(bytes);
        let fault = self.stream.feed(now, clock, &mut self.input, parts, peer).err();
        if fault.is_some() {
            self.discard();
        }
        fault
    }
}

/// The next multiple of `step`: all processes share them, so that a worker wakes once for many.
pub(super) fn aligned(now: Duration, step: Duration) -> Duration {
    let step = u64::try_from(step.as_millis()).unwrap_or(u64::MAX).max(1);
    let now = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
    Duration::from_millis((now / step + 1).saturating_mul(step))
}

#[cfg(test)]
#[path = "reading_tests.rs"]
mod tests;
