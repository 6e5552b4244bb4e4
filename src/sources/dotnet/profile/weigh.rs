//! The processor time that samples stand for, by stack and by method.

use std::collections::HashMap;
use std::sync::Arc;

use super::methods::Methods;
use super::samples::{Count, NO_ROOM, PERIOD, Samples};
use super::waits::{share, waiting};
use crate::meter::folded;
use crate::sources::dotnet::limits;

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

crate::heap_size!(Weighed { stacks });

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
    /// Adds the samples that are there, and forgets them. A thread's time belongs to those of its samples that do not
    /// wait; if all do, to all.
    pub(super) fn add(&mut self, samples: &mut Samples, methods: &Methods) {
        let waiting = waiting(samples, methods);
        self.stacks.resize(waiting.len(), Weight::default());
        let runs = |c: &Count| waiting.get(c.stack as usize) != Some(&true);
        for (time, counts) in samples.groups() {
            for count in counts {
                if let Some(weight) = self.stacks.get_mut(count.stack as usize) {
                    weight.samples += u64::from(count.samples);
                }
            }
            let running = counts.iter().any(runs);
            let part = |c: &Count| u64::from(!running || runs(c));
            let time = time.unwrap_or_else(|| {
                self.untimed += counts.iter().map(|c| u64::from(c.samples)).sum::<u64>();
                let ran = counts.iter().filter(|c| runs(c)).map(|c| u64::from(c.samples));
                ran.sum::<u64>().saturating_mul(PERIOD)
            });
            self.time = self.time.saturating_add(time);
            share(time, counts, part, |stack, time| self.give(stack, time));
        }
        samples.clear();
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

#[cfg(test)]
mod tests {
    use super::{Samples, Weighed};
    use crate::sources::dotnet::profile::Methods;

    const MS: u64 = 1_000_000;

    /// Milliseconds of each of two stacks of a thread whose batches have (samples of the first, of the second,
    /// microseconds of processor time).
    fn times(batches: &[(u32, u32, u64)]) -> (u64, u64) {
        let (mut samples, mut weighed) = (Samples::default(), Weighed::default());
        samples.stack(1, [1].into_iter());
        samples.stack(2, [2].into_iter());
        for (first, second, us) in batches {
            (0..*first).for_each(|_| samples.sample(7, 1));
            (0..*second).for_each(|_| samples.sample(7, 2));
            samples.batch(|_| Some(us * 1000));
        }
        weighed.add(&mut samples, &Methods::default());
        assert_eq!(weighed.time, batches.iter().map(|(_, _, us)| us * 1000).sum::<u64>());
        (weighed.stacks[0].time / MS, weighed.stacks[1].time / MS)
    }

    #[test]
    fn a_stack_that_waits_by_a_name_that_nobody_knows_does_not_get_the_time_of_others() {
        // 30 ms of work in each half second, and waits for the next request.
        let request = [(30, 70, 30_000), (0, 100, 100), (0, 100, 0), (0, 100, 200), (0, 100, 0)];
        let (works, waits) = times(&request.repeat(6));
        assert!(works >= 177 && works + waits <= 182, "{works} {waits}");
        // Work that lasts for longer than a batch.
        let (works, waits) = times(&[(100, 0, 99_000), (40, 60, 41_000), (0, 100, 1000)]);
        assert!((137..141).contains(&works) && waits <= 3, "{works} {waits}");
    }

    #[test]
    fn stacks_that_run_share_by_their_samples() {
        assert_eq!(times(&[(60, 40, 100_000); 5]), (300, 200));
        // The time of a batch is read some ms after its samples end.
        assert_eq!(times(&[(80, 20, 60_000), (70, 30, 140_000)].repeat(5)), (730, 270));
        // A busy machine lets them run for a part of the time.
        assert_eq!(times(&[(60, 40, 50_000), (30, 20, 25_000)]), (45, 30));
        // Only what waits was seen.
        assert_eq!(times(&[(0, 100, 0), (0, 10, 5000)]), (0, 5));
    }
}
