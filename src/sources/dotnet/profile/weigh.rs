//! From samples to processor time by stack and method.

use std::collections::HashMap;
use std::sync::Arc;

use super::methods::Methods;
use super::samples::{Count, NO_ROOM, Samples};
use super::waits::waits;
use crate::meter::folded;
use crate::sources::dotnet::limits;

/// What a sample stands for if nobody knows the thread's processor time, in ns: the sampler's
/// period.
const PERIOD: u64 = 1_000_000;

/// Processor time of a burst in ns.
#[derive(Debug, Default)]
pub(super) struct Weighed {
    /// By number of the stack.
    stacks: Vec<Weight>,
    /// Of stacks without room.
    other: u64,
    /// Of all samples.
    pub(super) time: u64,
    /// Samples whose thread's processor time nobody knows.
    pub(super) untimed: u64,
}

/// A stack's part.
#[derive(Clone, Copy, Debug, Default)]
struct Weight {
    time: u64,
    samples: u64,
}

/// Time by name, and what has none.
#[derive(Debug, Default)]
pub(super) struct Named {
    /// Time by stack, `OUTERMOST,…,LEAF`.
    pub(super) stacks: HashMap<String, u64>,
    /// Time in the method itself, and with what it called, by method.
    pub(super) methods: HashMap<Arc<str>, (u64, u64)>,
    /// Time of stacks for which there was no room.
    pub(super) other: u64,
    /// Frames of samples without a method.
    pub(super) unknown: u64,
}

impl Weighed {
    /// Adds the samples that wait. A thread's time belongs to those of its samples that do not wait;
    /// if all do, to all.
    pub(super) fn add(&mut self, samples: &mut Samples, methods: &Methods) {
        let waiting: Vec<bool> = samples.stacks().iter().map(|s| is_waiting(s, methods)).collect();
        self.stacks.resize(waiting.len(), Weight::default());
        let runs = |c: &Count| waiting.get(c.stack as usize) != Some(&true);
        samples.take(|time, counts| {
            for count in counts {
                if let Some(weight) = self.stacks.get_mut(count.stack as usize) {
                    weight.samples += u64::from(count.samples);
                }
            }
            let running = counts.iter().any(runs);
            let who = |c: &&Count| !running || runs(c);
            let all: u64 = counts.iter().filter(who).map(|c| u64::from(c.samples)).sum();
            if time.is_none() {
                self.untimed += counts.iter().map(|c| u64::from(c.samples)).sum::<u64>();
            }
            let time = time.unwrap_or(if running { all.saturating_mul(PERIOD) } else { 0 });
            let (mut seen, mut given) = (0_u64, 0);
            for count in counts.iter().filter(who) {
                // Shares add up to the whole.
                seen += u64::from(count.samples);
                let share = u128::from(time) * u128::from(seen) / u128::from(all.max(1));
                let until = u64::try_from(share).unwrap_or(time);
                self.give(count.stack, until - given);
                given = until;
            }
            self.time = self.time.saturating_add(given);
        });
    }

    fn give(&mut self, stack: u32, time: u64) {
        match self.stacks.get_mut(stack as usize) {
            Some(weight) if stack != NO_ROOM => weight.time = weight.time.saturating_add(time),
            _ => self.other = self.other.saturating_add(time),
        }
    }

    /// Time by name.
    pub(super) fn named(&self, samples: &Samples, methods: &Methods) -> Named {
        let mut named = Named { other: self.other, ..Named::default() };
        let mut seen: Vec<&Arc<str>> = Vec::new();
        for (ips, weight) in samples.stacks().iter().zip(&self.stacks) {
            if weight.samples == 0 {
                continue;
            }
            let frames: Vec<&Arc<str>> = ips.iter().filter_map(|ip| methods.name(*ip)).collect();
            let unknown = (ips.len() - frames.len()) as u64;
            named.unknown = named.unknown.saturating_add(unknown.saturating_mul(weight.samples));
            if weight.time == 0 {
                continue;
            }
            *named.stacks.entry(folded(&frames, limits::STACK_NAME)).or_default() += weight.time;
            if let Some(leaf) = frames.first() {
                named.methods.entry(Arc::clone(leaf)).or_default().0 += weight.time;
            }
            seen.clear();
            for frame in frames {
                // A recursive method counts once.
                if !seen.contains(&frame) {
                    seen.push(frame);
                    named.methods.entry(Arc::clone(frame)).or_default().1 += weight.time;
                }
            }
        }
        named
    }
}

#[cfg(test)]
impl Weighed {
    /// Samples by folded stack, and frames without a method.
    pub(super) fn counts(
        &mut self,
        samples: &mut Samples,
        methods: &Methods,
    ) -> (std::collections::BTreeMap<String, u64>, u64) {
        self.add(samples, methods);
        let mut counts = std::collections::BTreeMap::new();
        for (ips, weight) in samples.stacks().iter().zip(&self.stacks) {
            let frames: Vec<_> = ips.iter().filter_map(|ip| methods.name(*ip)).collect();
            if weight.samples > 0 {
                *counts.entry(folded(&frames, limits::STACK_NAME)).or_default() += weight.samples;
            }
        }
        (counts, self.named(samples, methods).unknown)
    }
}

/// Whether the innermost known method waits.
fn is_waiting(ips: &[u64], methods: &Methods) -> bool {
    ips.iter().find_map(|ip| methods.name(*ip)).is_some_and(|leaf| waits(leaf))
}
