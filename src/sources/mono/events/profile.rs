//! The CPU profile: samples of a log profiler as processor time by stack and method
//! (docs/protocols/mono-mlpd.md 5).
//!
//! ```text
//!  Event::Hit ─▶ Hits (stacks, threads) ─▶ Ticks (time by stack) ─▶ Named ─▶ rows
//! ```
//!
//! A signal goes to all threads at each tick, also to those that wait: the innermost frame tells
//! whether a thread runs. What has no name yet waits for the end of the flush.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::rows::Fixed;
use super::{Names, words};
use crate::contract::Peer;
use crate::heap_size;
use crate::meter::folded;
use crate::model::{HeapSize, RowItem};
use crate::runtimes::Layout;
use crate::sources::mono::limits;
use crate::sources::mono::metrics as m;
use crate::sources::mono::mlpd::Header;

/// The profile of one process.
#[derive(Debug, Default)]
pub(crate) struct Profile {
    /// The instance; empty until it is known.
    owner: Box<str>,
    program: Box<str>,
    rate: Rate,
    hits: Hits,
    named: Named,
}

heap_size!(Profile { owner, program, hits, named });

impl Profile {
    /// The header of a stream.
    pub(crate) fn header(&mut self, header: &Header) {
        self.rate = Rate::parse(&header.options);
    }

    /// The identity is known. `owner`: the instance name.
    pub(crate) fn start(&mut self, owner: &str, program: &str) {
        (self.owner, self.program) = (owner.into(), program.into());
        if self.rate.is_on() {
            self.named.states.start();
        }
    }

    /// A sample of a thread. `frames`: innermost first.
    pub(crate) fn hit(&mut self, thread: u64, frames: &[u64], names: &Names) {
        if !self.hits.has_room(frames.len()) {
            self.weigh(names);
        }
        self.hits.add(thread, frames);
    }

    /// A flush has been read, when all names have come: tells the time of the samples so far.
    pub(crate) fn settle(&mut self, names: &Names, peer: &mut Peer) {
        if self.owner.is_empty() || (self.hits.is_empty() && self.named.states.is_empty()) {
            return;
        }
        self.weigh(names);
        let mut named = std::mem::take(&mut self.named);
        named.states.settle(&BY_STATE, STATES, &self.owner, peer);
        named.tell(&self.program, peer);
    }

    fn weigh(&mut self, names: &Names) {
        std::mem::take(&mut self.hits).weigh(self.rate, names, &mut self.named);
    }
}

/// Samples in the order of the stream.
#[derive(Debug, Default)]
struct Hits {
    stacks: HashMap<Box<[u64]>, u32, RandomState>,
    /// Thread and number of the stack.
    hits: Vec<(u64, u32)>,
    /// Frames of all stacks.
    frames: usize,
}

impl HeapSize for Hits {
    fn heap_size(&self) -> usize {
        self.hits.heap_size() + self.stacks.heap_size() + self.frames * size_of::<u64>()
    }
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
    const fn is_empty(&self) -> bool {
        self.hits.is_empty()
    }

    /// There is room for a sample of so many frames.
    const fn has_room(&self, frames: usize) -> bool {
        self.hits.len() < limits::PROFILE_HITS && self.frames + frames <= limits::PROFILE_FRAMES
    }

    fn add(&mut self, thread: u64, frames: &[u64]) {
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
    fn weigh(self, rate: Rate, names: &Names, named: &mut Named) {
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
            named.states.add(state as usize, [1]);
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
}

type ByName<T> = HashMap<String, T, RandomState>;

/// Times in ns, and samples.
#[derive(Debug, Default)]
struct Named {
    /// By stack, `OUTERMOST,…,INNERMOST`.
    stacks: ByName<u64>,
    /// In the method itself, and with what it called.
    methods: ByName<(u64, u64)>,
    /// Of stacks for which there was no room.
    other: u64,
    /// Samples by state.
    states: Fixed<3, 1>,
}

impl HeapSize for Named {
    fn heap_size(&self) -> usize {
        let keys = self.stacks.keys().chain(self.methods.keys());
        let names: usize = keys.map(HeapSize::heap_size).sum();
        self.stacks.heap_size() + self.methods.heap_size() + names
    }
}

impl Named {
    /// Adds to the time of a stack, whose innermost frame is the first.
    fn add(&mut self, frames: &[u64], time: u64, names: &Names) {
        let known = frames.iter().filter_map(|id| names.method(*id));
        let known: Vec<String> = known.map(method).collect();
        match room(&mut self.stacks, folded(&known, limits::STACK_NAME)) {
            Some(stack) => *stack += time,
            None => self.other += time,
        }
        let mut seen: Vec<String> = Vec::new();
        for (at, name) in known.into_iter().enumerate() {
            // A recursive method counts once.
            if seen.contains(&name) {
                continue;
            }
            seen.push(name.clone());
            if let Some((own, total)) = room(&mut self.methods, name) {
                *own += if at == 0 { time } else { 0 };
                *total += time;
            }
        }
    }

    /// Adds the time to rows.
    fn tell(self, program: &str, peer: &mut Peer) {
        let mut stacks: Vec<(String, u64)> = self.stacks.into_iter().collect();
        stacks.sort_unstable_by(|(a, s), (b, t)| t.cmp(s).then_with(|| a.cmp(b)));
        let program = program.replace([',', ' '], ";");
        for (slot, (name, time)) in (0..).zip(&stacks) {
            row(slot, Some(name), &[(m::STACK_SAMPLES, *time)], peer);
            let of_program = format!("{program},{name}");
            row(slot, Some(&of_program), &[(m::PROGRAM_STACK_TIME, *time)], peer);
        }
        if self.other > 0 {
            let slot = u32::try_from(stacks.len()).unwrap_or(u32::MAX);
            row(slot, None, &[(m::STACK_SAMPLES, self.other)], peer);
            row(slot, None, &[(m::PROGRAM_STACK_TIME, self.other)], peer);
        }
        let mut methods: Vec<(String, (u64, u64))> = self.methods.into_iter().collect();
        methods.sort_unstable_by(|(a, s), (b, t)| t.cmp(s).then_with(|| a.cmp(b)));
        for (slot, (name, (own, total))) in (0..).zip(methods) {
            row(slot, Some(&name), &[(m::METHOD_SELF, own), (m::METHOD_TOTAL, total)], peer);
        }
        for table in [m::STACKS, m::PROGRAM_STACKS, m::METHODS] {
            peer.free_rows(table);
        }
    }
}

/// The sum of a name. `None`: no room.
fn room<T: Default>(sums: &mut ByName<T>, name: String) -> Option<&mut T> {
    let full = sums.len() >= limits::PROFILE_NAMES && !sums.contains_key(&name);
    (!full).then(|| sums.entry(name).or_default())
}

/// Binds a row for this flush and adds to it. `name` `None`: of all that have none.
fn row(slot: u32, name: Option<&str>, more: &[(RowItem, u64)], peer: &mut Peer) {
    let Some((first, _)) = more.first() else { return };
    peer.row(first.table(), slot, name);
    for (item, more) in more.iter().filter(|(_, more)| *more > 0) {
        peer.row_add(slot, *item, *more);
    }
}

/// Samples a second unless the options have a number.
const DEFAULT: u64 = 100;

/// The clock of ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Clock {
    /// No samples were asked for.
    #[default]
    Off,
    /// Processor time of the process: a tick stands for its period, whatever the number of threads
    /// that run.
    Process,
    /// Wall time: a tick stands for its period of each thread that runs.
    Real,
}

/// How samples are weighted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Rate {
    clock: Clock,
    /// Samples a second; 0: [`DEFAULT`].
    hertz: u64,
}

impl Rate {
    /// Reads `log:…,sample=200`, `sample-real` and, of Mono 5, `sample=cycles/1000`.
    fn parse(options: &str) -> Self {
        let mut rate = Self::default();
        for (name, value) in words(options) {
            let clock = match name {
                "sample" => Clock::Process,
                "sample-real" => Clock::Real,
                "nosample" | "nosample-real" => Clock::Off,
                _ => continue,
            };
            let hertz = value.rsplit('/').next().and_then(|hertz| hertz.parse().ok());
            rate = Self { clock, hertz: hertz.unwrap_or(0) };
        }
        rate
    }

    fn is_on(self) -> bool {
        self.clock != Clock::Off
    }

    /// Nanoseconds between two ticks.
    const fn period(self) -> u64 {
        1_000_000_000 / if self.hertz == 0 { DEFAULT } else { self.hertz }
    }
}

/// What a thread did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Running,
    Blocked,
    Native,
}

/// Rows of the table of states, as [`State`].
const STATES: [&str; 3] = ["running", "blocked", "native"];
const BY_STATE: Layout<1> = Layout { items: [m::STATE_SAMPLES], label: "state" };

/// Calls of the runtime.
const CALL: &str = "(wrapper managed-to-native) ";
/// Beginnings of the names of those that wait.
const WAITS: &[&str] = &[
    "object:__icall_wrapper_mono_monitor_enter",
    "System.Threading.Monitor:",
    "System.Threading.Thread:SleepInternal",
    "System.Threading.Thread:JoinInternal",
    "System.Threading.WaitHandle:",
    "System.Threading.InternalThread:",
    "System.Net.Sockets.Socket:",
    "System.Threading.RuntimeThread:",
    "System.IOSelector:",
    "System.IO.MonoIO:Read",
    "System.Diagnostics.Process:Wait",
    "Interop/Sys:Poll",
    "Interop/Sys:Select",
];

impl State {
    /// `innermost`: the method's name; `Some(None)`: it has none; `None`: no managed frame.
    fn of(innermost: Option<Option<&str>>) -> Self {
        match innermost {
            None => Self::Native,
            Some(Some(name)) if waits(name) => Self::Blocked,
            Some(_) => Self::Running,
        }
    }
}

fn waits(name: &str) -> bool {
    name.strip_prefix(CALL).is_some_and(|call| WAITS.iter().any(|wait| call.starts_with(wait)))
}

/// The name of a method that has none.
const UNKNOWN: &str = "unknown";

/// `Namespace.Class.Method` of `(wrapper …) Namespace.Class:Method (arguments)`. Commas, which part
/// frames, become `;`, and blanks go.
fn method(name: &str) -> String {
    let name = match name.strip_prefix("(wrapper ").and_then(|rest| rest.split_once(") ")) {
        Some((_, name)) => name,
        None => name,
    };
    let name = name.split_once(" (").map_or(name, |(name, _)| name);
    let (class, method) = name.rsplit_once(':').unwrap_or(("", name));
    // `Class::.ctor` is `Class:` and `.ctor`.
    let parted = if class.is_empty() { "" } else { "." };
    let mut text = String::with_capacity(name.len());
    for c in class.chars().chain(parted.chars()).chain(method.chars()) {
        match c {
            ',' => text.push(';'),
            c if c.is_whitespace() || c.is_control() => {}
            c => text.push(c),
        }
    }
    if text.is_empty() { UNKNOWN.to_owned() } else { text }
}

#[cfg(test)]
#[path = "profile_tests.rs"]
mod tests;
