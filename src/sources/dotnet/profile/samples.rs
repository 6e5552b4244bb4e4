//! The samples of one burst: how often each thread had each stack, and the processor time that they
//! stand for.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::methods::Methods;
use crate::meter::folded;
use crate::model::HeapSize;
use crate::sources::dotnet::limits;

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
    fn groups(&self) -> impl Iterator<Item = (Option<u64>, &[Count])> {
        let ends = self.groups.iter().skip(1).map(|g| g.first).chain([self.counts.len()]);
        let of = |(of, end): (&Group, usize)| {
            (of.time, self.counts.get(of.first..end).unwrap_or_default())
        };
        self.groups.iter().zip(ends).map(of)
    }

    /// Forgets them.
    fn clear(&mut self) {
        self.groups.clear();
        self.counts.clear();
    }

    /// The stacks by number, the leaf first.
    pub(super) fn stacks(&self) -> &[Box<[u64]>] {
        &self.stacks
    }
}

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

/// Shares time by samples, each of which counts so much. Without any of that nothing is given.
fn share(
    time: u64,
    counts: &[Count],
    part: impl Fn(&Count) -> u64,
    mut give: impl FnMut(u32, u64),
) {
    let part = |count: &Count| u128::from(count.samples) * u128::from(part(count));
    let all: u128 = counts.iter().map(part).sum();
    let (mut seen, mut given) = (0, 0);
    for count in counts.iter().filter(|_| all > 0) {
        // Shares add up to the whole.
        seen += part(count);
        let until = u64::try_from(u128::from(time).saturating_mul(seen) / all).unwrap_or(time);
        give(count.stack, until - given);
        given = until;
    }
}

/// What busy stacks are measured in.
const WHOLE: u64 = 1 << 20;
/// A stack of a twentieth of a thread's time has, beside one that waits, nearly all of its own after four.
const STEPS: usize = 8;
/// A stack waits that is so many times less busy than those that have the time.
const IDLE: u64 = 8;
/// With fewer samples nothing is learned of a stack.
const ENOUGH: u64 = 10;

/// Whether each stack waits: by the name of its innermost known method, or as the processor time of threads tells.
///
/// Samples are of wall time, and one that waits in a system call looks like one that runs. A stack whose threads used
/// little time where they had no other one has little of what was used where they had both: the iteration of Richardson
/// and Lucy finds how busy stacks are, and its sums are those of the threads at each step. That is good enough to tell
/// work from waiting, and no more: between two stacks that run it finds chance.
fn waiting(samples: &Samples, methods: &Methods) -> Vec<bool> {
    let mut waiting: Vec<bool> = samples.stacks().iter().map(|s| is_waiting(s, methods)).collect();
    let mut busy: Vec<u64> = waiting.iter().map(|waits| if *waits { 0 } else { WHOLE }).collect();
    // Of timed threads: samples of each stack, and the time that they got.
    let mut got = Vec::new();
    for _ in 0..STEPS {
        got = vec![(0_u64, 0_u64); busy.len()];
        for (time, counts) in samples.groups() {
            let Some(time) = time else { continue };
            let part = |count: &Count| busy.get(count.stack as usize).copied().unwrap_or(WHOLE);
            for count in counts {
                if let Some((all, _)) = got.get_mut(count.stack as usize) {
                    *all += u64::from(count.samples);
                }
            }
            share(time, counts, part, |stack, time| {
                if let Some((_, got)) = got.get_mut(stack as usize) {
                    *got = got.saturating_add(time);
                }
            });
        }
        for (busy, (all, got)) in busy.iter_mut().zip(&got).filter(|(_, (all, _))| *all > 0) {
            let part =
                u128::from(*got) * u128::from(WHOLE) / (u128::from(*all) * u128::from(PERIOD));
            *busy = u64::try_from(part).unwrap_or(u64::MAX);
        }
    }
    // How busy a stack is that has time: those that have more count more.
    let time: u128 = got.iter().map(|(_, got)| u128::from(*got)).sum();
    let weighed =
        busy.iter().zip(&got).map(|(busy, (_, got))| u128::from(*busy) * u128::from(*got));
    let usual = weighed.fold(0_u128, u128::saturating_add) / time.max(1);
    for ((waits, busy), (all, _)) in waiting.iter_mut().zip(busy).zip(got) {
        *waits |= all >= ENOUGH && u128::from(busy) * u128::from(IDLE) < usual;
    }
    waiting
}

/// Whether the innermost known method waits.
fn is_waiting(ips: &[u64], methods: &Methods) -> bool {
    ips.iter().find_map(|ip| methods.name(*ip)).is_some_and(|leaf| waits(leaf))
}

/// Beginnings of the names of methods that wait: a thread whose stack ends in one uses no processor.
const WAITS: &[&str] = &[
    "System.Threading.Monitor.",
    "System.Threading.WaitHandle.",
    "System.Threading.Thread.Sleep",
    "System.Threading.Thread.UninterruptibleSleep",
    "System.Threading.Thread.Join",
    "System.Threading.LowLevel",
    "System.Threading.WaitSubsystem",
    "System.Threading.Lock.",
    "System.Threading.Condition.",
    "System.Threading.SemaphoreSlim.Wait",
    "System.Threading.ManualResetEventSlim.Wait",
    "System.Threading.PortableThreadPool+WorkerThread.WaitForRequest",
    "System.Threading.PortableThreadPool+IOCompletionPoller.Poll",
    "System.Threading.TimerQueue.TimerThread",
    "System.GC.WaitForPendingFinalizers",
    "System.ConsolePal.Read",
    "System.ConsolePal+UnixConsoleStream.Read",
    "System.Net.Sockets.SocketAsyncEngine.EventLoop",
    "System.Net.Sockets.SocketPal.",
    "System.Diagnostics.ProcessWaitState.",
    "System.IO.RandomAccess.Read",
    "System.IO.FileStream.ReadNative",
];

/// Beginnings of system calls that wait, behind `Interop+Sys.` or its generated `<NAME>g__`.
const CALLS: &[&str] = &[
    "Read",
    "PRead",
    "Write",
    "PWrite",
    "Poll",
    "Select",
    "WaitForSocketEvents",
    "Receive",
    "Send",
    "Accept",
    "Connect",
    "WaitPid",
    "WaitId",
    "LowLevelMonitor",
    "FSync",
    "Flock",
    "FLock",
];

/// Whether a method waits, by its name `Namespace.Type.Method`.
pub(super) fn waits(name: &str) -> bool {
    if let Some(call) = name.strip_prefix("Interop+Sys.") {
        let call = call.strip_prefix('<').unwrap_or(call);
        return CALLS.iter().any(|wait| call.starts_with(wait));
    }
    WAITS.iter().any(|wait| name.starts_with(wait))
}

#[cfg(test)]
mod tests {
    use super::{Samples, Weighed, waits};
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

    #[test]
    fn waiting_is_known_by_name() {
        for name in [
            "System.Threading.Monitor.Wait",
            "System.Threading.Thread.Join",
            "System.Threading.LowLevelLifoSemaphore.WaitForSignal",
            "Interop+Sys.Read",
            "Interop+Sys.<Read>g____PInvoke|0_0",
            "System.ConsolePal.Read",
        ] {
            assert!(waits(name), "{name}");
        }
        for name in ["W.Alpha", "System.Threading.Thread.Start", "Interop+Sys.GetPid", "W.Monitor"]
        {
            assert!(!waits(name), "{name}");
        }
    }
}
