//! Samples that wait for the end of a flush, and the time that they stand for.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::named::Named;
use super::rate::{Clock, Rate};
use super::state::State;
use crate::sources::mono::limits;
use crate::sources::mono::runtime::Names;

/// Samples in the order of the stream.
#[derive(Debug, Default)]
pub(super) struct Hits {
    stacks: HashMap<Box<[u64]>, u32, RandomState>,
    /// Thread and number of the stack.
    hits: Vec<(u64, u32)>,
    /// Frames of all stacks.
    frames: usize,
}

/// The weights of running samples by stack, in periods of a tick.
#[derive(Debug, Default)]
struct Ticks {
    /// Tick of each thread's last sample.
    seen: HashMap<u64, u32, RandomState>,
    tick: u32,
    /// Stacks of threads that ran at this tick.
    running: Vec<u32>,
    time: Vec<u64>,
    /// The period of a tick in ns.
    period: u64,
}

impl Ticks {
    /// A tick ends: the threads that ran share its time, the last one with the remainder.
    fn end(&mut self) {
        let count = self.running.len() as u64;
        for (at, stack) in (0..).zip(self.running.drain(..)) {
            let share = self.period * (at + 1) / count - self.period * at / count;
            if let Some(time) = self.time.get_mut(stack as usize) {
                *time += share;
            }
        }
        self.tick += 1;
    }

    /// A sample of a thread. `running`: its stack, if it ran.
    fn hit(&mut self, thread: u64, running: Option<u32>) {
        // A tick samples each thread once.
        if self.seen.get(&thread) == Some(&self.tick) {
            self.end();
        }
        self.seen.insert(thread, self.tick);
        self.running.extend(running);
    }
}

impl Hits {
    pub(super) const fn is_empty(&self) -> bool {
        self.hits.is_empty()
    }

    /// There is room for a sample of so many frames.
    pub(super) const fn has_room(&self, frames: usize) -> bool {
        self.hits.len() < limits::PROFILE_HITS && self.frames + frames <= limits::PROFILE_FRAMES
    }

    pub(super) fn add(&mut self, thread: u64, frames: &[u64]) {
        let next = u32::try_from(self.stacks.len()).unwrap_or(u32::MAX);
        let stack = match self.stacks.get(frames) {
            Some(stack) => *stack,
            None => {
                self.frames += frames.len();
                self.stacks.insert(frames.into(), next);
                next
            }
        };
        self.hits.push((thread, stack));
    }

    /// Adds the samples to what has names.
    pub(super) fn weigh(self, rate: Rate, names: &dyn Names, named: &mut Named) {
        let mut stacks: Vec<&[u64]> = vec![&[]; self.stacks.len()];
        for (frames, number) in &self.stacks {
            stacks.get_mut(*number as usize).into_iter().for_each(|stack| *stack = frames);
        }
        let state = |frames: &&[u64]| State::of(frames.first().map(|id| names.method(*id)));
        let states: Vec<State> = stacks.iter().map(state).collect();
        let mut hits_of = vec![0_u64; stacks.len()];
        let mut by_thread = HashMap::<u64, u64, RandomState>::default();
        let mut ticks =
            Ticks { time: vec![0; stacks.len()], period: rate.period(), ..Ticks::default() };
        for (thread, stack) in &self.hits {
            let state = states.get(*stack as usize).copied().unwrap_or(State::Native);
            named.state(state);
            *by_thread.entry(*thread).or_default() += 1;
            let running = state == State::Running;
            ticks.hit(*thread, running.then_some(*stack));
            if running {
                hits_of.get_mut(*stack as usize).into_iter().for_each(|hits| *hits += 1);
            }
        }
        ticks.end();
        // A sample that comes late parts one tick in two; a thread that lived all the time has one
        // sample of each.
        let most = by_thread.values().max().copied().unwrap_or(0);
        let found = u64::from(ticks.tick).max(1);
        for ((frames, time), hits) in stacks.iter().zip(ticks.time).zip(hits_of) {
            let time = match rate.clock {
                Clock::Real => hits.saturating_mul(rate.period()),
                Clock::Process | Clock::Off => {
                    let exact = u128::from(time) * u128::from(most) / u128::from(found);
                    u64::try_from(exact).unwrap_or(time)
                }
            };
            if hits > 0 {
                named.add(frames, time, names);
            }
        }
    }

    /// Allocated bytes.
    pub(super) fn memory(&self) -> usize {
        self.hits.capacity() * size_of::<(u64, u32)>()
            + self.stacks.capacity() * (size_of::<(Box<[u64]>, u32)>() + 1)
            + self.frames * size_of::<u64>()
    }
}
