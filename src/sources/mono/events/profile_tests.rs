use std::fs::File;
use std::io::Read;

use bytes::BytesMut;
use flate2::read::GzDecoder;

use super::*;
use crate::contract::Recorded;
use crate::model::RowItem;
use crate::sources::Source;
use crate::sources::mono::mlpd::{Decoder, Event, Header, Visitor};
use crate::sources::mono::{Mono, limits, metrics as m};

fn recorded() -> Recorded {
    Recorded::new(&Mono::TABLE)
}

fn of(rows: &Recorded, item: RowItem, name: &str) -> u64 {
    rows.cell(item, name).unwrap_or_default()
}

fn sum(rows: &Recorded, item: RowItem) -> u64 {
    rows.rows(item).values().sum()
}

struct Reading {
    profile: Profile,
    methods: Names,
    rows: Recorded,
    events: u32,
}

impl Visitor for Reading {
    fn header(&mut self, header: &Header) {
        self.profile.header(header);
        self.profile.start("Truth:1", "Truth");
    }

    fn event(&mut self, _time: u64, event: Event<'_>) {
        match event {
            Event::Method { method, name, .. } => self.methods.name_method(method, name),
            Event::Hit { thread, frames, .. } => self.profile.hit(thread, frames, &self.methods),
            // Each flush ends with such a point.
            Event::Sync { .. } => self.profile.settle(&self.methods, &mut self.rows),
            _ => {}
        }
        self.events += 1;
    }
}

fn capture(name: &str) -> Reading {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/qa/corpus/mono/mlpd");
    let file = File::open(format!("{folder}/{name}.mlpd.gz")).unwrap();
    let mut bytes = Vec::new();
    GzDecoder::new(file).read_to_end(&mut bytes).unwrap();
    let mut reading = Reading {
        profile: Profile::default(),
        methods: Names::default(),
        rows: recorded(),
        events: 0,
    };
    Decoder::default().feed(&mut BytesMut::from(&bytes[..]), &mut reading).unwrap();
    reading.profile.settle(&reading.methods, &mut reading.rows);
    reading
}

const HOT: &str =
    "<Module>.runtime_invoke_void_object,Truth.Main,Truth.Cpu,Truth.Outer,Truth.HotLeaf";

fn within(found: u64, wanted: u64, percent: u64) -> bool {
    found.abs_diff(wanted) * 100 <= wanted * percent
}

/// 645 hits at 200 Hz; the program itself saw 3.27 s (truth in the facts).
#[test]
fn hits_times_their_period_are_processor_time() {
    let Reading { rows, .. } = capture("m06-sample");
    let period = 5_000_000;
    assert_eq!(of(&rows, m::STATE_SAMPLES, "running"), 645);
    assert_eq!(of(&rows, m::STATE_SAMPLES, "native"), 646);
    assert_eq!(of(&rows, m::STATE_SAMPLES, "blocked"), 0);
    let all = sum(&rows, m::STACK_SAMPLES);
    assert!(within(all, 645 * period, 1) && within(all, 3_270_000_000, 3), "{all}");
    assert!(within(of(&rows, m::STACK_SAMPLES, HOT), 473 * period, 1));
    assert!(within(of(&rows, m::METHOD_SELF, "Truth.HotLeaf"), 473 * period, 1));
    assert!(within(of(&rows, m::METHOD_TOTAL, "Truth.HotLeaf"), 476 * period, 1));
    assert!(within(of(&rows, m::METHOD_TOTAL, "Truth.Main"), 645 * period, 1));
    assert_eq!(
        of(&rows, m::PROGRAM_STACK_TIME, &format!("Truth,{HOT}")),
        of(&rows, m::STACK_SAMPLES, HOT)
    );
    assert_eq!(sum(&rows, m::METHOD_SELF), all);
    assert_eq!(sum(&rows, m::PROGRAM_STACK_TIME), all);
}

#[test]
fn mono_612_is_alike() {
    let Reading { rows, .. } = capture("m20-mono612-sample");
    let running = of(&rows, m::STATE_SAMPLES, "running");
    assert!(running > 100 && within(sum(&rows, m::STACK_SAMPLES), running * 10_000_000, 2));
    let leaf = |name: &str| of(&rows, m::METHOD_SELF, name);
    assert!(within(leaf("Truth.HotLeaf"), 3 * leaf("Truth.WarmLeaf"), 15));
}

/// Four threads that run and four that wait, 100 Hz of the process's clock: 144 ticks, 421 hits of
/// running threads. The program had 1.60 s in all, its start and end among it.
#[test]
fn threads_that_run_at_once_share_a_tick() {
    let Reading { rows, .. } = capture("s-sample-threads");
    assert_eq!(of(&rows, m::STATE_SAMPLES, "running"), 421);
    assert_eq!(of(&rows, m::STATE_SAMPLES, "blocked"), 560);
    let all = sum(&rows, m::STACK_SAMPLES);
    assert!(within(all, 1_440_000_000, 3), "{all}");
}

fn profile(options: &str) -> Profile {
    let mut profile = Profile::default();
    profile.header(&Header { options: options.to_owned(), ..Header::default() });
    profile
}

fn methods(count: u64) -> Names {
    let mut names = Names::default();
    (1..=count).for_each(|id| names.name_method(id, format!("N.C:M{id} (int)").as_bytes()));
    names
}

#[test]
fn wall_time_counts_each_thread() {
    for (options, time) in [("log:sample-real", 60), ("log:sample", 30)] {
        let (mut profile, methods, mut rows) = (profile(options), methods(2), recorded());
        profile.start("p:1", "p");
        for _ in 0..3 {
            profile.hit(7, &[1], &methods);
            profile.hit(8, &[2, 1], &methods);
            profile.hit(9, &[], &methods);
        }
        profile.settle(&methods, &mut rows);
        assert_eq!(sum(&rows, m::STACK_SAMPLES), time * 1_000_000, "{options}");
        assert_eq!(of(&rows, m::METHOD_TOTAL, "N.C.M1"), time * 1_000_000, "{options}");
        assert_eq!(sum(&rows, m::STATE_SAMPLES), 9);
    }
}

/// A thread's late sample is with those of the next tick: the sum stays.
#[test]
fn late_samples_make_no_time() {
    let (mut profile, methods, mut rows) = (profile("log:sample"), methods(3), recorded());
    profile.start("p:1", "p");
    for n in 0..300 {
        let order = match n % 3 {
            0 => [1, 2, 3],
            1 => [3, 1, 2],
            _ => [2, 3, 1],
        };
        order.iter().for_each(|thread| profile.hit(*thread, &[*thread], &methods));
    }
    profile.settle(&methods, &mut rows);
    let all = sum(&rows, m::STACK_SAMPLES);
    assert!(within(all, 300 * 10_000_000, 1), "{all}");
}

#[test]
fn recursion_counts_once() {
    let (mut profile, methods, mut rows) = (profile("log:sample"), methods(2), recorded());
    profile.start("p:1", "p");
    profile.hit(1, &[2, 1, 2, 1], &methods);
    profile.settle(&methods, &mut rows);
    assert_eq!(of(&rows, m::METHOD_TOTAL, "N.C.M2"), 10_000_000);
    assert_eq!(of(&rows, m::METHOD_SELF, "N.C.M2"), 10_000_000);
    assert_eq!(of(&rows, m::METHOD_SELF, "N.C.M1"), 0);
    assert_eq!(of(&rows, m::METHOD_TOTAL, "N.C.M1"), 10_000_000);
    assert_eq!(of(&rows, m::STACK_SAMPLES, "N.C.M1,N.C.M2,N.C.M1,N.C.M2"), 10_000_000);
}

#[test]
fn without_samples_there_are_no_rows() {
    let (mut profile, mut rows) = (profile("log:nodefaults,counter"), recorded());
    profile.start("p:1", "p");
    profile.settle(&methods(1), &mut rows);
    assert!(rows.log().rows.is_empty());
}

/// Each sample has another stack: names and memory are bounded, and no time is lost.
#[test]
fn hostile_stacks_are_bounded() {
    let (mut profile, methods, mut rows) = (profile("log:sample"), methods(9), recorded());
    let count = 60_000_u64;
    let mut frames = vec![1; 500];
    for n in 0..count {
        let digit = |at: u32| n / 8_u64.pow(at) % 8 + 1;
        (0..6).for_each(|at| frames[at as usize] = digit(at));
        let frames = if n % 100 == 0 { &frames[..] } else { &frames[..7] };
        profile.hit(1, frames, &methods);
        if n % 5000 == 0 {
            assert!(profile.heap_size() < 16 << 20, "{}", profile.heap_size());
        }
    }
    profile.start("p:1", "p");
    profile.settle(&methods, &mut rows);
    assert_eq!(sum(&rows, m::STACK_SAMPLES), count * 10_000_000);
    assert!(of(&rows, m::STACK_SAMPLES, "other") > 0);
    assert!(rows.log().rows.len() < 3 * limits::PROFILE_NAMES);
}

#[test]
fn words_have_clock_and_rate() {
    for (options, clock, period) in [
        ("log:nodefaults,counter,sample=200,output=x", Clock::Process, 5_000_000),
        ("log:sample", Clock::Process, 10_000_000),
        ("log:sample-real=1000", Clock::Real, 1_000_000),
        ("log:sample=cycles/50", Clock::Process, 20_000_000),
        ("log:sample=0", Clock::Process, 10_000_000),
        ("log:nodefaults,output=sample", Clock::Off, 10_000_000),
        ("log", Clock::Off, 10_000_000),
    ] {
        let rate = Rate::parse(options);
        assert_eq!((rate.clock, rate.period()), (clock, period), "{options}");
    }
}

#[test]
fn the_innermost_frame_tells() {
    let of = |name: &str| State::of(Some(Some(name)));
    assert_eq!(
        of("(wrapper managed-to-native) System.Threading.Thread:SleepInternal (int)"),
        State::Blocked
    );
    assert_eq!(
        of(
            "(wrapper managed-to-native) System.Threading.WaitHandle:Wait_internal (intptr*,int,bool,int)"
        ),
        State::Blocked
    );
    assert_eq!(
        of("(wrapper managed-to-native) System.Diagnostics.Stopwatch:GetTimestamp ()"),
        State::Running
    );
    assert_eq!(of("System.Threading.Monitor:Enter (object)"), State::Running);
    assert_eq!((State::of(Some(None)), State::of(None)), (State::Running, State::Native));
}

#[test]
fn names_of_methods() {
    for (mono, ours) in [
        ("Truth:HotLeaf (long)", "Truth.HotLeaf"),
        ("A.B/C:.ctor (int,string)", "A.B/C..ctor"),
        (
            "(wrapper runtime-invoke) <Module>:runtime_invoke_void (object,intptr)",
            "<Module>.runtime_invoke_void",
        ),
        ("X.D`2<int, string>:Add (int,string)", "X.D`2<int;string>.Add"),
        ("NoClass", "NoClass"),
        ("", "unknown"),
    ] {
        assert_eq!(method(mono), ours);
    }
}
