//! Records of the runtime's events.

use super::kit::{all, capture, play, play_in, recorded};
use crate::contract::{Recorded, RecordedEvent};
use crate::events::flags::{ID, PARENT, POINT};
use crate::model::{EventKindId, Stamp};
use crate::sources::dotnet::meter::{At, Occurrence};
use crate::sources::dotnet::records::{Lookup, Origin, Records, Settings};
use crate::sources::dotnet::wire::clr::Utf16;
use crate::sources::dotnet::{Config, metrics as m};

/// Ten collections and twelve exceptions of each runtime.
#[test]
fn collections_and_exceptions() {
    for name in ["gc-exc-9", "gc-exc-10", "gc-exc-31"] {
        let seen = play(name, &all());
        let collections = seen.events(m::GC);
        let numbers: Vec<_> =
            collections.iter().map(|r| r.get("number").unwrap().parse::<u32>().unwrap()).collect();
        assert_eq!(numbers, (numbers[0]..numbers[0] + 10).collect::<Vec<_>>(), "{name}");
        for record in &collections {
            assert_eq!(record.get("reason"), Some("induced"), "{name} {record:?}");
            assert_eq!(record.get("type"), Some("blocking"));
            let [pause, duration] =
                ["pause", "duration"].map(|n| record.get(n).unwrap().parse::<u64>().unwrap());
            assert!(pause > duration && duration > 0, "{name} {record:?}");
            assert!(record.get("after").is_some() && record.get("promoted").is_some());
        }
        let all = [
            "thread",
            "thread_name",
            "number",
            "generation",
            "reason",
            "type",
            "pause",
            "duration",
            "before",
            "after",
            "promoted",
        ];
        assert_eq!(collections[9].names(), all, "{name}");
        let exceptions = seen.events(m::EXCEPTION);
        for kind in ["System.ArgumentNullException", "FirstException", "SecondException"] {
            let mut of = exceptions.iter().filter(|r| r.get("type").unwrap().ends_with(kind));
            assert_eq!(of.clone().count(), 4, "{name} {kind}");
            assert!(of.all(|r| r.get("hresult").is_some() && r.get("flags").is_some()));
        }
        assert_eq!(exceptions.len(), 12);
        assert!(exceptions.iter().all(|r| r.get("stack").is_some()), "{name}");
        assert!(!seen.events(m::CONTENTION).is_empty());
        assert!(seen.records().iter().all(|r| r.flags == POINT));
    }
}

/// Background collections have records of their own; order is that of their ends.
#[test]
fn background_collections() {
    let bytes = capture("background-gc-9");
    let seen = play_in(&bytes, &all(), usize::MAX, 1);
    let collections = seen.events(m::GC);
    assert_eq!(collections.len(), 12);
    let of = |kind| collections.iter().filter(|r| r.get("type") == Some(kind)).count();
    assert_eq!((of("background"), of("foreground"), of("blocking")), (4, 1, 7));
    assert!(collections.is_sorted_by_key(|r| r.stamp));
    // Their times and lengths as docs/events.md has them: pauses are apart, one is within a background collection.
    let span = |r: &RecordedEvent, length| {
        let length: i128 = r.get(length).unwrap().parse().unwrap();
        (r.stamp.as_nanos() - length, r.stamp.as_nanos())
    };
    let (background, others): (Vec<_>, Vec<_>) =
        collections.iter().partition(|r| r.get("type") == Some("background"));
    let pauses: Vec<_> = others.iter().map(|r| span(r, "pause")).collect();
    assert!(pauses.is_sorted_by(|a, b| a.1 < b.0), "{pauses:?}");
    let foreground = others.iter().find(|r| r.get("type") == Some("foreground")).unwrap();
    let (begin, end) = span(foreground, "pause");
    let around = background.iter().map(|r| span(r, "duration"));
    assert_eq!(around.filter(|(from, to)| *from < begin && end < *to).count(), 1);
    assert_eq!(play_in(&bytes, &all(), 100, usize::MAX).records(), seen.records());
}

/// By default waits shorter than 10 ms have no record.
#[test]
fn only_long_waits_for_locks() {
    let lengths = |config: &Config| -> Vec<u64> {
        let seen = play("default-9", config);
        let of = seen.events(m::CONTENTION);
        of.iter().map(|r| r.get("duration").unwrap().parse().unwrap()).collect()
    };
    let (all, long) = (lengths(&all()), lengths(&Config::default()));
    assert_eq!(all.len(), 8);
    assert_eq!(long, all.into_iter().filter(|ns| *ns >= 10_000_000).collect::<Vec<_>>());
    assert!(!long.is_empty());
}

#[test]
fn assemblies_methods_and_samples() {
    let seen = play("jit-9", &all());
    let methods = seen.events(m::METHOD);
    assert_eq!(methods.len(), 84);
    let record = methods.iter().find(|r| r.get("il_bytes").is_some()).unwrap();
    assert!(record.get("name").unwrap().contains('.'), "{record:?}");
    assert!(record.get("tier").is_some() && record.get("duration").is_some());
    let seen = play("alloc-9", &all());
    let samples = seen.events(m::ALLOCATION);
    assert_eq!(samples.len(), 308);
    let bytes: u64 = samples.iter().map(|r| r.get("bytes").unwrap().parse::<u64>().unwrap()).sum();
    assert_eq!(bytes, 42_472_992);
    assert!(samples.iter().any(|r| r.get("type") == Some("System.Byte[]")));
    assert!(!play("loader-9", &all()).events(m::ASSEMBLY).is_empty());
    let off = Config { records: Vec::new(), ..all() };
    for name in ["jit-9", "alloc-9", "loader-9", "gc-exc-9", "starve-9"] {
        let seen = play(name, &off);
        assert_eq!((seen.records().len(), seen.count(m::MISSED)), (0, 0), "{name}");
    }
}

fn record(occurrence: &Occurrence<'_>, origin: &Origin<'_>, method: Option<&str>) -> Recorded {
    #[derive(Debug)]
    struct Stacks;
    impl Lookup for Stacks {
        fn stack(&mut self, id: u32, to: &mut String) {
            to.push_str(if id == 7 { "Main,Inner" } else { "" });
        }
    }
    let mut peer = recorded();
    let mut records = Records::new(Settings::new(&Config::default()));
    let at = At { stamp: Stamp { sec: 9, nsec: 1 }, thread: 5, method, ..At::default() };
    records.occurrence(&at, origin, occurrence, &mut Stacks, &mut peer);
    records.release(&mut peer);
    peer
}

fn params(seen: &Recorded, kind: EventKindId) -> Vec<(String, String)> {
    let [record] = &seen.records()[..] else { panic!("{:?}", seen.records()) };
    assert_eq!(record.kind, kind);
    record.params.clone()
}

fn pairs(of: &[(&str, &str)]) -> Vec<(String, String)> {
    of.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn starvation_and_cooperative_blocking() {
    for (reason, word) in [(6, Some("starvation")), (8, Some("cooperative_blocking")), (3, None)] {
        let adjustment = Occurrence::Adjustment { target: 12, throughput: 1.5, reason };
        let seen = record(&adjustment, &Origin::default(), None);
        match word {
            None => assert!(seen.records().is_empty()),
            Some(word) => assert_eq!(
                params(&seen, m::POOL),
                pairs(&[
                    ("thread", "5"),
                    ("reason", word),
                    ("target", "12"),
                    ("throughput", "1.5")
                ])
            ),
        }
    }
}

#[test]
fn locks_have_their_number_or_the_method_that_waits() {
    let wait = Occurrence::Contention { duration: 10_000_000, lock: 0xabc, owner: 77 };
    let ids = Origin { stack: 7, activity: &[1; 16], related: &[2; 16] };
    let seen = record(&wait, &ids, None);
    assert_eq!(seen.records()[0].flags, POINT | ID | PARENT);
    assert_eq!(
        params(&seen, m::CONTENTION),
        pairs(&[
            ("id", "01010101-0101-0101-0101-010101010101"),
            ("parent", "02020202-0202-0202-0202-020202020202"),
            ("thread", "5"),
            ("duration", "10000000"),
            ("lock", "lock@abc"),
            ("lock_owner", "77"),
            ("stack", "Main,Inner"),
        ])
    );
    let seen = record(&wait, &Origin { stack: 8, ..Origin::default() }, Some("Shop.Take"));
    assert_eq!(params(&seen, m::CONTENTION)[2].1, "Shop.Take");
    assert_eq!(seen.records()[0].get("stack"), None);
}

#[test]
fn messages_are_cut() {
    let units: Vec<u8> = [b'x', 0].repeat(50_000);
    let thrown = Occurrence::Exception {
        kind: Utf16::new(&units),
        message: Utf16::new(&units),
        hresult: 0x8000_4003,
        flags: 16,
    };
    let seen = record(&thrown, &Origin::default(), None);
    let record = &seen.records()[0];
    let [kind, message] = ["type", "message"].map(|name| record.get(name).unwrap());
    assert_eq!((kind.chars().count(), message.chars().count()), (4097, 4097));
    assert!(message.ends_with("x…"));
    assert_eq!(seen.records()[0].get("hresult"), Some("2147500035"));
}
