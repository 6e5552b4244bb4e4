//! Captures of real runtimes give the numbers of their facts (qa/corpus/dotnet/README.md).

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::PathBuf;

use bytes::BytesMut;
use serde_json::Value as Json;

use crate::contract::Recorded;
use crate::model::Value;
use crate::sources::Source;
use crate::sources::dotnet::meter::{At, Gc, Meter, Occurrence, Settings};
use crate::sources::dotnet::wire::clr;
use crate::sources::dotnet::wire::clr::Decoded;
use crate::sources::dotnet::wire::nettrace::{Event, Header, Reader, Visitor};
use crate::sources::dotnet::{Dotnet, metrics as m};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("qa/corpus/dotnet")
}

/// What a capture gives.
pub(super) struct Played {
    pub(super) seen: Recorded,
    pub(super) gcs: Vec<Gc>,
    meter: Meter,
    pointer_size: u32,
    /// By occurrence.
    counts: BTreeMap<&'static str, u64>,
    /// Contention by the runtime's own time.
    contention: f64,
    jitting: u64,
    /// Payloads with bytes behind their layout.
    beyond: u64,
    short: u64,
}

impl Visitor for Played {
    fn header(&mut self, header: &Header) {
        self.pointer_size = header.pointer_size.into();
    }

    fn event(&mut self, event: &Event<'_>) {
        let kind = event.event_type;
        let (id, version, payload) = (kind.id, kind.version, event.payload);
        if *kind.provider == *clr::RUNDOWN {
            let decoded = clr::decode_rundown(id, version, self.pointer_size, payload);
            assert!(matches!(decoded, Ok(Decoded::Known | Decoded::MethodLoad { .. })), "{id}");
        }
        if *kind.provider != *clr::RUNTIME {
            return;
        }
        let Ok(decoded) = clr::decode(id, version, self.pointer_size, payload) else {
            self.short += 1;
            return;
        };
        if !matches!(decoded, Decoded::Known | Decoded::Unknown) {
            let less = payload.split_last().map_or(payload, |(_, less)| less);
            let whole = clr::decode(id, version, self.pointer_size, less).is_err();
            self.beyond += u64::from(!whole);
        }
        match decoded {
            Decoded::ContentionStop { duration, .. } => self.contention += duration,
            Decoded::JittingStarted { .. } => self.jitting += 1,
            _ => {}
        }
        let Event { time, thread, capture_thread, .. } = *event;
        let at = At { time, thread, capture_thread, ..At::default() };
        let name = match self.meter.clr(&at, &decoded, &mut self.seen) {
            None => return,
            Some(Occurrence::Gc(gc)) => {
                self.gcs.push(gc);
                "gc"
            }
            Some(Occurrence::Exception { .. }) => "exception",
            Some(Occurrence::Contention { .. }) => "contention",
            Some(Occurrence::Adjustment { .. }) => "adjustment",
            Some(Occurrence::Assembly { .. }) => "assembly",
            Some(Occurrence::Method { .. }) => "method",
            Some(Occurrence::Allocation { .. }) => "allocation",
        };
        *self.counts.entry(name).or_default() += 1;
    }
}

pub(super) fn play(name: &str) -> Played {
    let settings = Settings { runtime_events: true, no_counters: true, from_start: true };
    let mut played = Played {
        seen: Recorded::new(&Dotnet::TABLE),
        gcs: Vec::new(),
        meter: Meter::new(settings),
        pointer_size: 8,
        counts: BTreeMap::new(),
        contention: 0.0,
        jitting: 0,
        beyond: 0,
        short: 0,
    };
    played.meter.start("p:1", &mut played.seen);
    let file = File::open(folder().join(format!("{name}.s2c.gz"))).expect("a capture");
    let mut bytes = Vec::new();
    flate2::read::MultiGzDecoder::new(file).read_to_end(&mut bytes).expect("gzip");
    let begin = bytes.windows(8).position(|w| w == b"Nettrace").expect("a stream");
    let mut input = BytesMut::from(&bytes[begin..]);
    let mut reader = Reader::new();
    reader.feed(&mut input, &mut played).expect("nettrace");
    played
}

/// Names of captures of real runtimes, and their facts.
fn facts() -> Vec<(String, Json)> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder()).expect("captures") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
        if let Some(name) = name.strip_suffix(".facts.json")
            && !name.starts_with("handmade")
        {
            let file = BufReader::new(File::open(&path).expect("facts"));
            all.push((name.to_owned(), serde_json::from_reader(file).expect("JSON")));
        }
    }
    assert!(all.len() >= 35, "{}", all.len());
    all
}

fn counts(facts: &Json, key: &str) -> BTreeMap<String, u64> {
    let of = facts[key].as_object().expect("an object");
    of.iter().map(|(k, v)| (k.clone(), v.as_u64().unwrap_or_default())).collect()
}

#[test]
fn captures_have_the_numbers_of_their_facts() {
    for (name, facts) in facts() {
        let played = play(&name);
        let Played { seen, counts: occurred, .. } = &played;
        assert_eq!((played.beyond, played.short, seen.count(m::UNKNOWN)), (0, 0, 0), "{name}");

        let exceptions = counts(&facts, "exceptions");
        assert_eq!(seen.counted(m::EXCEPTION_TYPE), exceptions, "{name}");
        let thrown: u64 = exceptions.values().sum();
        assert_eq!(seen.count(m::EXCEPTIONS), thrown, "{name}");
        assert_eq!(occurred.get("exception").copied().unwrap_or_default(), thrown, "{name}");

        let (mut own, mut of_reason, mut of_kind) = ([0; 3], BTreeMap::new(), [0; 3]);
        for (kind, n) in counts(&facts, "gcs") {
            let mut parts = kind.split(' ').map(|part| {
                part.trim_start_matches(char::is_alphabetic).parse::<usize>().expect("a number")
            });
            let mut next = || parts.next().expect("gen, type and reason");
            own[next()] += n;
            of_kind[next()] += n;
            let reason = clr::gc_reason(u32::try_from(next()).expect("a reason"));
            *of_reason.entry(reason.to_owned()).or_default() += n;
        }
        let row = |item, key| seen.cell(item, key).unwrap_or_default();
        let names = ["gen0", "gen1", "gen2"];
        assert_eq!(names.map(|key| row(m::GC_OWN, key)), own, "{name}");
        let [gen0, gen1, gen2] = own;
        let rises = [gen0 + gen1 + gen2, gen1 + gen2, gen2];
        assert_eq!(names.map(|key| row(m::GC_COUNT, key)), rises, "{name}");
        assert_eq!(seen.counted(m::GC_REASON), of_reason, "{name}");
        let kinds = [seen.count(m::GC_BACKGROUND), seen.count(m::GC_FOREGROUND)];
        assert_eq!(kinds, of_kind[1..], "{name}");
        assert_eq!(played.gcs.len() as u64, rises[0], "{name}: a record for each collection");

        let reasons = counts(&facts, "suspend_reasons");
        let pauses: u64 = ["1", "6"].iter().filter_map(|reason| reasons.get(*reason)).sum();
        assert_eq!(seen.count(m::PAUSE_COUNT), pauses, "{name}");
        assert_eq!(seen.counted(m::PAUSES).values().sum::<u64>(), pauses, "{name}");
        let sum: u64 = played.gcs.iter().filter_map(|gc| gc.pause).sum();
        assert_eq!(seen.count(m::PAUSE_TOTAL), sum, "{name}: each pause belongs to a collection");

        let alloc = counts(&facts, "alloc");
        if let Some(ticks) = alloc.get("ticks") {
            assert_eq!(seen.counted(m::ALLOC_TYPE_SAMPLES).values().sum::<u64>(), *ticks, "{name}");
            assert_eq!(seen.counted(m::ALLOC_TYPE_BYTES).values().sum::<u64>(), alloc["bytes"]);
            assert_eq!(seen.count(m::ALLOC_BYTES), alloc["bytes"], "{name}");
        }
        let contention = &facts["contention"];
        assert_eq!(contention["stops"].as_u64(), Some(seen.count(m::CONTENTION_COUNT)), "{name}");
        assert_eq!(contention["ns"].as_f64(), Some(played.contention), "{name}");
        let (time, told) = (seen.count(m::CONTENTION_TIME), played.contention);
        assert!((time as f64 - told).abs() < 100.0, "{name}: {time} {told}");
        assert_eq!(facts["jitted"].as_u64(), Some(played.jitting), "{name}");
        if played.jitting > 0 {
            assert_eq!(seen.count(m::JIT_METHODS), played.jitting, "{name}");
            assert_eq!(seen.counted(m::JIT_TIER).values().sum::<u64>(), played.jitting, "{name}");
            assert!(seen.count(m::JIT_TIME) > 0 && seen.count(m::JIT_IL_BYTES) > 0, "{name}");
        }
    }
}

#[test]
fn collections_rise_as_programs_count_them() {
    let mut seen_any = 0;
    for (name, _) in facts() {
        let Ok(truth) = std::fs::read_to_string(folder().join(format!("{name}.truth.jsonl")))
        else {
            continue;
        };
        let counts: Vec<Json> = truth
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .filter(|line: &Json| line["cmd"] == "counts")
            .collect();
        let ([first, .., last], played) = (&counts[..], play(&name)) else { continue };
        if played.gcs.is_empty() {
            continue;
        }
        seen_any += 1;
        for key in ["gen0", "gen1", "gen2"] {
            let rise =
                last[key].as_u64().unwrap_or_default() - first[key].as_u64().unwrap_or_default();
            assert_eq!(
                played.seen.cell(m::GC_COUNT, key).unwrap_or_default(),
                rise,
                "{name} {key}"
            );
        }
    }
    assert!(seen_any >= 5, "{seen_any}");
}

#[test]
fn sums_of_pauses_are_those_of_another_decoder() {
    for (name, ns) in [
        ("background-gc-9", 144_551_427),
        ("default-9", 2_771_578),
        ("default-31", 1_862_738),
        ("gc-exc-31", 3_834_456),
        ("gc-exc-9", 11_139_875),
        ("gc-exc-10", 8_454_213),
    ] {
        assert_eq!(play(name).seen.count(m::PAUSE_TOTAL), ns, "{name}");
    }
}

#[test]
fn a_background_collection_has_its_pauses_and_its_end() {
    let played = play("background-gc-9");
    let of = |number| played.gcs.iter().find(|gc| gc.number == number).copied().expect("a record");
    let numbers: Vec<_> = played.gcs.iter().map(|gc| gc.number).collect();
    assert_eq!(numbers.len(), 12, "{numbers:?}");
    // 2 begins in the pause of 3, and has one pause of its own; 4 has two, and 5 comes between.
    let two = of(2);
    assert_eq!((two.generation, two.kind, two.pause), (2, 1, Some(772_609)));
    assert_eq!(two.duration, 71_482_819);
    let three = of(3);
    assert_eq!((three.generation, three.kind, three.pause), (1, 0, Some(40_866_541)));
    let four = of(4);
    assert_eq!((four.generation, four.kind, four.reason), (2, 1, 7));
    assert_eq!(four.pause, Some(353_375 + 432_773));
    let five = of(5);
    assert_eq!((five.generation, five.kind, five.pause), (1, 2, Some(24_835_247)));
    let heap = four.heap.expect("statistics");
    assert_eq!(heap.promoted, 31_742_040 + 4_194_328, "not those of 5 again");
    let Some(Value::Text(mode)) = played.seen.value(m::GC_MODE) else { panic!("a mode") };
    assert_eq!(&*mode, "workstation, concurrent, interactive");
}

#[test]
fn sampled_allocations_are_estimated() {
    // 51,200 x 1024 and 209 x 100,000 bytes were allocated.
    let bytes = play("alloc-sampled-10").seen.count(m::ALLOC_BYTES);
    assert!((70_000_000..76_000_000).contains(&bytes), "{bytes}");
}

#[test]
fn pools_and_waits_are_seen() {
    let Played { seen, .. } = play("starve-9");
    let adjustments = BTreeMap::from([("initializing".to_owned(), 1), ("warmup".to_owned(), 3)]);
    assert_eq!(seen.counted(m::ADJUSTMENT), adjustments);
    assert_eq!((seen.count(m::POOL_TARGET), seen.count(m::STARVATION)), (3, 0));
    assert!(matches!(seen.value(m::POOL_THROUGHPUT), Some(Value::F64(_))));
    let waits = BTreeMap::from([("other".to_owned(), 12_118_699)]);
    assert_eq!(play("waits-9").seen.counted(m::WAIT_TIME), waits);
}
