//! The CPU profile: samples of a log profiler as processor time by stack and method
//! (docs/protocols/mono-mlpd.md 5).
//!
//! ```text
//!  Event::Hit ─▶ hits (stacks, threads) ─▶ ticks (time by stack) ─▶ names ─▶ rows
//! ```
//!
//! A signal goes to all threads at each tick, also to those that wait: the innermost frame tells
//! whether a thread runs. What has no name yet waits for the end of the flush.

mod hits;
mod method;
mod named;
mod rate;
mod state;
#[cfg(test)]
mod tests;

use super::metrics as m;
use super::mlpd::Header;
use super::runtime::Names;
use crate::contract::Peer;
use crate::runtimes::bind;
use hits::Hits;
use named::Named;
use rate::Rate;
use state::State;

/// The profile of one process.
#[derive(Debug, Default)]
pub(crate) struct Profile {
    /// The instance; empty until it is known.
    owner: Box<str>,
    program: Box<str>,
    rate: Rate,
    hits: Hits,
    named: Named,
    bound: bool,
}

impl Profile {
    /// The header of a stream.
    pub(crate) fn header(&mut self, header: &Header) {
        self.rate = Rate::parse(&header.options);
    }

    /// The identity is known. `owner`: the instance name.
    pub(crate) fn start(&mut self, owner: &str, program: &str, peer: &mut Peer) {
        (self.owner, self.program) = (owner.into(), program.into());
        if self.rate.is_on() {
            self.bind(peer);
        }
    }

    /// A sample of a thread. `frames`: innermost first.
    pub(crate) fn hit(&mut self, thread: u64, frames: &[u64], names: &dyn Names) {
        if !self.hits.has_room(frames.len()) {
            self.weigh(names);
        }
        self.hits.add(thread, frames);
    }

    /// Reports the time of the samples so far: at the end of a flush, when all names have come.
    pub(crate) fn report(&mut self, names: &dyn Names, peer: &mut Peer) {
        if self.owner.is_empty() || (self.hits.is_empty() && self.named.is_empty()) {
            return;
        }
        self.weigh(names);
        let named = std::mem::take(&mut self.named);
        self.bind(peer);
        for (slot, hits) in (0..).zip(named.states) {
            if hits > 0 {
                peer.row_add(slot, m::STATE_SAMPLES, hits);
            }
        }
        named.report(&self.program, peer);
    }

    fn weigh(&mut self, names: &dyn Names) {
        std::mem::take(&mut self.hits).weigh(self.rate, names, &mut self.named);
    }

    /// The rows of states, those of 0 included.
    fn bind(&mut self, peer: &mut Peer) {
        if std::mem::replace(&mut self.bound, true) {
            return;
        }
        for (slot, state) in (0..).zip(State::ALL) {
            bind(m::SAMPLE_STATES, &self.owner, slot, ("state", state.name()), peer);
            peer.row_add(slot, m::STATE_SAMPLES, 0);
        }
    }

    /// Allocated bytes.
    pub(crate) fn memory(&self) -> usize {
        self.owner.len() + self.program.len() + self.hits.memory() + self.named.memory()
    }
}
