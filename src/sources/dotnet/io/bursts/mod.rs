//! CPU profiles of one process: a short session beside the other one.

mod threads;

use std::io::{ErrorKind, Read};
use std::time::Duration;

use bytes::BytesMut;
use threads::Threads;

use super::reading::Turn;
use crate::contract::Peer;
use crate::net::guard::Guarded;
use crate::sources::dotnet::metrics::PROFILE_RUN;
use crate::sources::dotnet::profile::{self, Profile};
use crate::sources::dotnet::session::End;
use crate::sources::dotnet::target::Target;

/// Bytes of one read.
const READ: usize = 64 << 10;
/// Most bytes of one turn: then other processes have theirs.
const TURN: usize = 512 << 10;
/// Time between two reads: the weights of samples are as exact as that.
const STEP: Duration = Duration::from_millis(25);

/// The profile of a process, and the session of a burst.
#[derive(Debug, Default)]
pub(super) struct Bursts {
    profile: Profile,
    threads: Threads,
    reading: Option<Reading>,
    /// When the schedule wants the next burst.
    due: Option<Duration>,
}

/// The stream of a burst.
#[derive(Debug)]
struct Reading {
    socket: Guarded,
    input: BytesMut,
    /// The stream cannot be decoded: its bytes are thrown away.
    discards: bool,
    next: Duration,
}

impl Bursts {
    pub(super) fn new(target: &Target) -> Self {
        Self { threads: Threads::new(target.pid, target.container_pid), ..Self::default() }
    }

    /// The schedule wants a burst. Processes take turns, by their numbers.
    pub(super) fn is_due(&mut self, now: Duration, every: Duration, number: u32) -> bool {
        if every.is_zero() {
            self.due = None;
            return false;
        }
        match self.due {
            Some(due) if due > now => false,
            Some(_) => {
                self.due = Some(now + every);
                true
            }
            None => {
                self.due = Some(now + every.mul_f64(f64::from(number % 64) / 64.0));
                false
            }
        }
    }

    /// The session is about to be asked for.
    pub(super) fn begin(&mut self) {
        self.profile.begin(&mut self.threads);
    }

    /// The session is open. `input`: bytes of its stream that came with the answer.
    pub(super) fn opened(&mut self, socket: Guarded, input: BytesMut, now: Duration) {
        self.reading = Some(Reading { socket, input, discards: false, next: now });
    }

    /// The session is about to be stopped.
    pub(super) fn stopping(&mut self) {
        self.profile.stopping(&mut self.threads);
    }

    /// When the next turn is due.
    pub(super) fn next(&self) -> Option<Duration> {
        self.reading.as_ref().map(|reading| reading.next)
    }

    /// The stream has begun.
    pub(super) fn began(&self) -> bool {
        self.profile.began()
    }

    /// Reads what is there, and decodes it.
    pub(super) fn turn(&mut self, now: Duration) -> Turn {
        let mut turn = Turn::default();
        let Some(reading) = &mut self.reading else { return turn };
        while turn.bytes < TURN && turn.end.is_none() {
            let Reading { socket, input, .. } = &mut *reading;
            let filled = input.len();
            input.resize(filled + READ, 0);
            let outcome = socket.read(input.get_mut(filled..).unwrap_or_default());
            input.truncate(filled + outcome.as_ref().copied().unwrap_or(0));
            match outcome {
                Ok(0) => turn.end = Some(End::Cut),
                Ok(read) => turn.bytes += read,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => turn.end = Some(End::Cut),
            }
            if reading.discards {
                reading.input.clear();
            }
        }
        if let Err(error) = self.profile.feed(&mut reading.input, &mut self.threads) {
            turn.fault = Some(error.to_string());
            self.discard();
        }
        if turn.end.is_some() && self.profile.is_whole() {
            turn.end = Some(End::Whole);
        }
        if let Some(reading) = &mut self.reading {
            reading.next = if turn.bytes >= TURN { now } else { now + STEP };
        }
        turn
    }

    /// Throws away what still comes.
    pub(super) fn discard(&mut self) {
        if let Some(reading) = &mut self.reading {
            reading.discards = true;
            reading.input = BytesMut::new();
        }
    }

    /// Ends the burst if the session has ended. `owner`: the instance.
    pub(super) fn settle(&mut self, is_open: bool, owner: &str, peer: &mut Peer) {
        if is_open || !self.profile.is_running() {
            return;
        }
        let why = (!self.profile.began()).then_some("the process gave no session");
        self.reading = None;
        let text = self.profile.finish(why, owner, peer);
        answer(text, peer);
    }

    /// Takes the rows of the process away.
    pub(super) fn reset(peer: &mut Peer) {
        profile::forget_rows(peer);
        answer("reset: what comes next begins at 0".to_owned(), peer);
    }

    /// Bytes in use.
    pub(super) fn held(&self) -> usize {
        self.profile.held() + self.reading.as_ref().map_or(0, |r| r.input.capacity())
    }
}

/// Sets the value of `profile.run`.
pub(super) fn answer(text: String, peer: &mut Peer) {
    peer.answer(PROFILE_RUN, text);
}
