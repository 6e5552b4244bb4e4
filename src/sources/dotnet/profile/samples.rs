//! The samples of one burst: how often each thread had each stack.

use std::collections::HashMap;
use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use crate::model::HeapSize;
use crate::sources::dotnet::limits;

/// What a sample stands for if nobody knows the thread's processor time, in ns: the sampler's
/// period.
pub(super) const PERIOD: u64 = 1_000_000;

/// The stack for which there was no room.
pub(super) const NO_ROOM: u32 = u32::MAX;

/// Samples of one stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Count {
    /// Number of the stack.
    pub(super) stack: u32,
    /// Samples.
    pub(super) samples: u32,
}

/// The samples of one thread in one batch.
#[derive(Debug)]
struct Group {
    /// Processor time that the thread used, in ns; `None`: nobody knows.
    time: Option<u64>,
    /// The first of its counts; the next group has the first that are not.
    first: usize,
}

/// The samples of a burst.
#[derive(Debug, Default)]
pub(super) struct Samples {
    /// Different stacks, the leaf first.
    stacks: Vec<Box<[u64]>>,
    numbers: HashTable<u32>,
    hasher: RandomState,
    frames: usize,
    /// Numbers of stacks by their ids in the stream, since the last sequence point.
    ids: HashMap<u32, u32>,
    /// Samples of this batch by thread.
    open: HashMap<u64, Vec<Count>>,
    groups: Vec<Group>,
    counts: Vec<Count>,
    /// Samples of all batches.
    pub(super) all: u64,
}

impl HeapSize for Samples {
    fn heap_size(&self) -> usize {
        self.frames * size_of::<u64>()
            + self.stacks.heap_size()
            + self.numbers.heap_size()
            + self.ids.heap_size()
            + self.open.heap_size()
            + self.open.values().map(Vec::heap_size).sum::<usize>()
            + self.groups.heap_size()
            + self.counts.heap_size()
    }
}

impl Samples {
    /// A stack of the stream.
    pub(super) fn stack(&mut self, id: u32, ips: impl Iterator<Item = u64>) {
        if self.ids.len() < limits::PROFILE_IDS {
            let ips: Vec<u64> = ips.take(limits::FRAMES).collect();
            let number = self.number(ips);
            self.ids.insert(id, number);
        }
    }

    fn number(&mut self, ips: Vec<u64>) -> u32 {
        let Self { stacks, numbers, hasher, frames, .. } = self;
        let hash = hasher.hash_one(&*ips);
        let same = |number: &u32| stacks.get(*number as usize).is_some_and(|s| **s == *ips);
        if let Some(known) = numbers.find(hash, same) {
            return *known;
        }
        if stacks.len() >= limits::PROFILE_STACKS || *frames + ips.len() > limits::PROFILE_FRAMES {
            return NO_ROOM;
        }
        let new = u32::try_from(stacks.len()).unwrap_or(NO_ROOM);
        *frames += ips.len();
        stacks.push(ips.into_boxed_slice());
        numbers.insert_unique(hash, new, |n| {
            stacks.get(*n as usize).map_or(0, |stack| hasher.hash_one(&**stack))
        });
        new
    }

    /// Ids of stacks begin anew.
    pub(super) fn point(&mut self) {
        self.ids.clear();
    }

    /// A sample of a thread.
    pub(super) fn sample(&mut self, thread: u64, id: u32) {
        self.all += 1;
        let stack = self.ids.get(&id).copied().unwrap_or(NO_ROOM);
        let room = self.open.len() < limits::PROFILE_THREADS;
        let counts = match self.open.get_mut(&thread) {
            Some(counts) => counts,
            None if room => self.open.entry(thread).or_default(),
            None => return,
        };
        match counts.last_mut() {
            Some(last) if last.stack == stack => last.samples = last.samples.saturating_add(1),
            _ => counts.push(Count { stack, samples: 1 }),
        }
    }

    /// Ends a batch. `time`: the processor time that a thread used since its last one. `false`: the
    /// counts have no room for another batch, and must be given out.
    pub(super) fn batch(&mut self, mut time: impl FnMut(u64) -> Option<u64>) -> bool {
        for (thread, mut counts) in self.open.drain() {
            counts.sort_unstable_by_key(|count| count.stack);
            counts.dedup_by(|more, kept| {
                let same = more.stack == kept.stack;
                if same {
                    kept.samples = kept.samples.saturating_add(more.samples);
                }
                same
            });
            self.groups.push(Group { time: time(thread), first: self.counts.len() });
            self.counts.extend(counts);
        }
        self.counts.len() < limits::PROFILE_COUNTS
    }

    /// Each thread and batch: its processor time and its samples.
    pub(super) fn groups(&self) -> impl Iterator<Item = (Option<u64>, &[Count])> {
        let ends = self.groups.iter().skip(1).map(|g| g.first).chain([self.counts.len()]);
        let of = |(of, end): (&Group, usize)| {
            (of.time, self.counts.get(of.first..end).unwrap_or_default())
        };
        self.groups.iter().zip(ends).map(of)
    }

    /// Forgets them.
    pub(super) fn clear(&mut self) {
        self.groups.clear();
        self.counts.clear();
    }

    /// The stacks by number, the leaf first.
    pub(super) fn stacks(&self) -> &[Box<[u64]>] {
        &self.stacks
    }
}
