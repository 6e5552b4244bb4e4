use std::collections::HashMap;
use std::io::Read;

use bytes::BytesMut;

use super::{Clock, Profile};
use crate::contract::Recorded;
use crate::model::{HeapSize, RowItem};
use crate::sources::Source;
use crate::sources::dotnet::{Dotnet, limits, metrics as m};

/// A stream of the corpus without the answer before it.
fn stream(name: &str) -> Vec<u8> {
    let path = format!("{}/qa/corpus/dotnet/{name}.s2c.gz", env!("CARGO_MANIFEST_DIR"));
    let packed = std::fs::read(path).expect("in the corpus");
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut bytes).expect("sound");
    let at = bytes.windows(8).position(|w| w == b"Nettrace").expect("a stream");
    bytes.split_off(at)
}

/// Processor time of threads: so much for each call.
#[derive(Default)]
struct Fake {
    each: Option<u64>,
    calls: HashMap<u64, u64>,
    all: Option<HashMap<u64, u64>>,
}

impl Clock for Fake {
    fn all(&mut self) -> Option<HashMap<u64, u64>> {
        self.all.clone()
    }

    fn one(&mut self, thread: u64) -> Option<u64> {
        let each = self.each?;
        let calls = self.calls.entry(thread).or_default();
        *calls += 1;
        Some(*calls * each)
    }
}

fn time(rows: &Recorded, item: RowItem, name: &str) -> u64 {
    rows.cell(item, name).unwrap_or_default()
}

fn sum(rows: &Recorded, item: RowItem) -> u64 {
    rows.rows(item).values().sum()
}

fn recorded() -> Recorded {
    Recorded::new(&Dotnet::TABLE)
}

/// Slots of a session: what is bound to others is lost.
const SLOTS: u32 = 32_768;

/// A burst in pieces of some size.
fn burst(bytes: &[u8], piece: usize, clock: &mut Fake) -> (Recorded, String, Profile) {
    let (mut profile, mut rows) = (Profile::default(), recorded());
    profile.begin(clock);
    let mut input = BytesMut::new();
    for piece in bytes.chunks(piece) {
        input.extend_from_slice(piece);
        profile.feed(&mut input, clock).expect("a sound stream");
    }
    let answer = profile.finish(None, OWNER, &mut rows);
    (rows, answer, profile)
}

/// The instance of the process.
const OWNER: &str = "w:7";
const ALPHA: &str = "W+<Cpu>c__AnonStorey3.<>m__0,W.Beta,W.Alpha";
const GAMMA: &str = "W+<Cpu>c__AnonStorey3.<>m__0,W.Gamma";

/// The numbers are those of tools/dotnet/nettrace.py: samples, different stacks, frames without a
/// method, CRC-32 of the sorted lines `STACK COUNT`.
#[test]
fn stacks_are_those_of_another_decoder() {
    for (name, samples, stacks, unknown, crc) in [
        ("profile-31", 1495, 9, 0, 0x7af1_0ebf),
        ("profile-9", 1083, 24, 0, 0xf87a_f4f7),
        ("profile-slim-9", 1390, 27, 0, 0xf2ff_a051),
    ] {
        let (folded, rest) = Profile::folded_counts(&stream(name));
        let lines: String = folded.iter().map(|(n, c)| format!("{n} {c}\n")).collect();
        let mut sum = flate2::Crc::new();
        sum.update(lines.as_bytes());
        let all: u64 = folded.values().sum();
        assert_eq!((all, folded.len(), rest, sum.sum()), (samples, stacks, unknown, crc), "{name}");
    }
}

#[test]
fn without_a_clock_only_what_does_not_wait_counts() {
    let (rows, answer, _) = burst(&stream("profile-9"), 4096, &mut Fake::default());
    let ms = |name| time(&rows, m::STACK_SAMPLES, name) / 1_000_000;
    assert_eq!((ms(ALPHA), ms(GAMMA)), (162, 65));
    assert!(answer.starts_with("done: 1083 samples"), "{answer}");
    assert!(answer.contains("could not be read for 1083 samples"), "{answer}");
    let waiting = |(_, name): &&(RowItem, String)| {
        name.ends_with("Thread.Join") || name.ends_with("Sys.Read")
    };
    assert_eq!(rows.log().rows.keys().find(waiting), None);
    assert_eq!(rows.count(m::SAMPLES), 1083);
    assert_eq!(rows.count(m::PROFILE_CPU), sum(&rows, m::STACK_SAMPLES));
}

#[test]
fn a_threads_time_goes_to_its_samples_that_run() {
    // The file has no batches of its own: pieces of any size are some.
    let clock =
        |all: bool| Fake { each: Some(7_000_003), all: all.then(HashMap::new), ..Fake::default() };
    for piece in [1 << 20, 10_000, 700] {
        let mut fake = clock(true);
        let (rows, answer, _) = burst(&stream("profile-9"), piece, &mut fake);
        let used: u64 = fake.calls.values().map(|calls| calls * 7_000_003).sum();
        assert_eq!(sum(&rows, m::STACK_SAMPLES), used, "{piece}");
        assert_eq!(rows.count(m::PROFILE_CPU), used);
        assert_eq!(sum(&rows, m::METHOD_SELF), used - time(&rows, m::STACK_SAMPLES, "unknown"));
        assert!(!answer.contains("could not be read"), "{answer}");
        let (alpha, gamma) =
            (time(&rows, m::STACK_SAMPLES, ALPHA), time(&rows, m::STACK_SAMPLES, GAMMA));
        assert!(alpha > gamma && gamma > 0, "{alpha} {gamma}");
        assert_eq!(time(&rows, m::METHOD_TOTAL, "W.Beta"), time(&rows, m::METHOD_TOTAL, "W.Alpha"));
        assert_eq!(time(&rows, m::METHOD_SELF, "W.Beta"), 0);
        // A thread whose time before is not known begins with the second batch.
        let mut fake = clock(false);
        let (rows, ..) = burst(&stream("profile-9"), piece, &mut fake);
        let used: u64 = fake.calls.values().map(|calls| (calls - 1) * 7_000_003).sum();
        assert!(sum(&rows, m::STACK_SAMPLES) >= used, "{piece}");
    }
}

#[test]
fn what_a_thread_does_after_the_samples_is_not_in_them() {
    let bytes = stream("profile-9");
    let mut clock = Fake { each: Some(1_000_000_000), ..Fake::default() };
    let (mut profile, mut rows) = (Profile::default(), recorded());
    clock.all = Some(HashMap::new());
    profile.begin(&mut clock);
    clock.all = Some((0..100_000).map(|thread| (thread, 5_000_000)).collect());
    profile.stopping(&mut clock);
    profile.feed(&mut BytesMut::from(&bytes[..]), &mut clock).expect("sound");
    assert!(profile.began() && profile.is_whole() && profile.is_running());
    profile.finish(None, OWNER, &mut rows);
    assert!(!profile.is_running());
    let threads = clock.calls.len() as u64;
    assert_eq!(sum(&rows, m::STACK_SAMPLES), threads * 5_000_000);
}

#[test]
fn methods_stay_between_bursts_and_the_burst_goes() {
    let bytes = stream("profile-slim-9");
    let (_, answer, mut profile) = burst(&bytes, 4096, &mut Fake::default());
    let kept = profile.heap_size();
    assert!(kept > 50_000 && answer.contains("methods known"), "{kept} {answer}");
    // A second burst without its end: the names are known, the stream is cut.
    let mut clock = Fake::default();
    profile.begin(&mut clock);
    profile.feed(&mut BytesMut::from(&bytes[..60_000]), &mut clock).expect("sound");
    assert!(profile.heap_size() > kept);
    let mut rows = recorded();
    let answer = profile.finish(Some("the connection ended"), OWNER, &mut rows);
    assert!(answer.starts_with("failed: the connection ended: "), "{answer}");
    assert!(time(&rows, m::STACK_SAMPLES, GAMMA) > 0, "{:?}", rows.log().rows);
    assert!(profile.heap_size() <= kept + 4096);
    assert_eq!(profile.finish(None, OWNER, &mut rows), "");
}

#[test]
fn methods_that_cannot_be_decoded_are_told() {
    let bytes = stream("profile-9");
    let mut parts = super::Parts::default();
    let mut part = super::Part { parts: &mut parts, methods: &mut super::Methods::default() };
    part.method(super::clr::decode(143, 2, 8, &[1; 20]), false);
    part.method(super::clr::decode_rundown(144, 2, 8, &[1; 20]), true);
    assert_eq!(parts.bad, 2);
    let (mut profile, mut clock) = (Profile::default(), Fake::default());
    profile.begin(&mut clock);
    profile.feed(&mut BytesMut::from(&bytes[..]), &mut clock).expect("sound");
    if let Some(burst) = &mut profile.burst {
        burst.parts.bad += parts.bad;
    }
    let answer = profile.finish(None, OWNER, &mut recorded());
    assert!(answer.ends_with("; 2 methods could not be decoded"), "{answer}");
}

#[test]
fn a_reset_takes_the_rows_away_and_gives_their_places_to_others() {
    let bytes = stream("profile-9");
    let (mut profile, mut rows) = (Profile::default(), recorded());
    let mut again = |rows: &mut Recorded| {
        let mut clock = Fake::default();
        profile.begin(&mut clock);
        profile.feed(&mut BytesMut::from(&bytes[..]), &mut clock).expect("sound");
        profile.finish(None, OWNER, rows);
    };
    again(&mut rows);
    let once = rows.log().rows.clone();
    again(&mut rows);
    assert_eq!(time(&rows, m::STACK_SAMPLES, ALPHA), 2 * 162_000_000);
    super::forget_rows(&mut rows);
    assert_eq!(rows.log().rows.len(), 0);
    let mut clock = Fake::default();
    profile.begin(&mut clock);
    profile.feed(&mut BytesMut::from(&bytes[..]), &mut clock).expect("sound");
    profile.finish(None, OWNER, &mut rows);
    assert_eq!(rows.log().rows, once);
}

#[test]
fn no_time_is_lost_with_more_methods_than_slots() {
    let many = u64::from(SLOTS) + 10;
    let named = super::weigh::Named {
        stacks: (0..many).map(|n| (format!("A.M{n}"), n + 1)).collect(),
        methods: (0..many).map(|n| (format!("A.M{n}").into(), (n + 1, n + 2))).collect(),
        other: 7,
        ..Default::default()
    };
    let mut rows = recorded();
    super::add_rows(&named, OWNER, &mut rows);
    let all = (1..=many).sum::<u64>();
    assert_eq!((sum(&rows, m::STACK_SAMPLES), sum(&rows, m::METHOD_SELF)), (all + 7, all));
    assert_eq!(sum(&rows, m::METHOD_TOTAL), all + many);
}

#[test]
fn any_cut_and_any_change_of_a_stream_is_survived() {
    let bytes = stream("profile-9");
    let mut seed = 9_u32;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        seed as usize % below
    };
    for _ in 0..60 {
        let mut bytes = bytes[..random(bytes.len())].to_vec();
        for _ in 0..random(20) {
            let at = random(bytes.len().max(1));
            if let Some(byte) = bytes.get_mut(at) {
                *byte = u8::try_from(random(256)).expect("a byte");
            }
        }
        let (mut profile, mut clock) = (Profile::default(), Fake::default());
        profile.begin(&mut clock);
        let _ = profile.feed(&mut BytesMut::from(&bytes[..]), &mut clock);
        let mut rows = recorded();
        profile.finish(None, OWNER, &mut rows);
        assert!(sum(&rows, m::STACK_SAMPLES) == rows.count(m::PROFILE_CPU));
    }
}

#[test]
fn stacks_frames_and_counts_are_bounded() {
    let mut samples = super::samples::Samples::default();
    for id in 1..50_000_u32 {
        samples.stack(id, (0..60).map(|n| u64::from(id) * 100 + n));
        samples.sample(u64::from(id % 50), id);
    }
    assert!(samples.stacks().len() <= limits::PROFILE_STACKS);
    assert!(samples.stacks().iter().map(|s| s.len()).sum::<usize>() <= limits::PROFILE_FRAMES);
    samples.point();
    (0..40_000).for_each(|thread| samples.sample(thread, 1));
    let mut full = false;
    for _ in 0..20 {
        full |= !samples.batch(|_| None);
        (0..16_000).for_each(|thread| samples.sample(thread, 1));
    }
    assert!(full && samples.heap_size() < 64 << 20, "{}", samples.heap_size());
}
