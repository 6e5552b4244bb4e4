use super::super::Limits;
use super::values::widen;
use super::*;
use crate::catalogue::testkit::{self, COLOUR, SAMPLE, TOY};
use crate::events::{HighRes, Records, Scalar};
use crate::model::{MetricSpec, SampleValue, Semantics, Units, Value};

#[test]
fn a_counter_of_32_bits_is_widened() {
    for first in [false, true] {
        assert_eq!(widen(None, 7, first), 7);
        assert_eq!(widen(Some(7), 9, first), 9);
        assert_eq!(widen(Some(9), u32::MAX, first), 0xffff_ffff);
        assert_eq!(widen(Some(0xffff_ffff), 3, first), 0x1_0000_0003);
        assert_eq!(widen(Some(0x5_0000_0003), 3, first), 0x5_0000_0003);
    }
    assert_eq!((widen(Some(100), 5, false), widen(Some(100), 5, true)), (0x1_0000_0005, 5));
}

#[test]
fn texts_are_short_charged_and_forgotten_when_the_peer_is_gone() {
    let store = Store::new(
        testkit::catalogue(),
        400,
        Limits { memory: 3 << 20, ..Limits::default() },
        1 << 20,
    );
    let requests = Arc::new(RequestQueue::new(|| ()));
    let mut sink = PeerSink::new(&store, TOY, &requests);
    sink.update(Update::Identity(Identity { name: "app:1".into(), ..Identity::default() }));
    let peer = Arc::clone(sink.peer().expect("attached"));
    sink.update(Update::Set { item: COLOUR, value: Value::text(&"é".repeat(2000)) });
    let text = peer.text(1).expect("kept");
    assert!(text.len() < 1030 && text.ends_with("é…"), "{text}");
    assert_eq!(store.stats.get(Stat::TextsCut), 1);
    // The memory has no room for 4096 texts.
    (1..4096).for_each(|column| sink.set_text(column, &"x".repeat(1000)));
    let texts = (1..4096).filter(|item| peer.text(*item).is_some()).count();
    let held = store.memory_stat(Stat::MemoryTexts).unwrap_or_default();
    assert!((1000..2000).contains(&texts) && (1 << 20..2 << 20).contains(&held), "{texts} {held}");
    assert!(store.memory_stat(Stat::MemoryRefused) > Some(2000));
    store.set_limits(Limits::default());
    sink.set_now(Now { monotonic: std::time::Duration::from_secs(100), ..Now::default() });
    sink.finish(false);
    store.sweep(std::time::Duration::from_secs(105));
    assert!(peer.text(2).is_some(), "still shown");
    store.sweep(std::time::Duration::from_secs(111));
    assert_eq!((peer.text(2), store.memory_stat(Stat::MemoryTexts)), (None, Some(0)));
}

#[test]
fn a_sample_sets_cells_and_appends_one_record() {
    let store = Store::new(testkit::catalogue(), 400, Limits::default(), 1 << 20);
    let mut sink = PeerSink::new(&store, TOY, &Arc::new(RequestQueue::new(|| ())));
    let spec = MetricSpec {
        key: "GC/x".into(),
        path: "gc.xx".into(),
        ty: ValueType::U64,
        sem: Semantics::Counter,
        units: Units::Count,
        oneline: "x".into(),
        help: "x".into(),
        labels: vec![],
        persist: "x".into(),
    };
    sink.update(Update::Define { slot: 3, spec: &spec });
    sink.update(Update::Identity(Identity { name: "app:1".into(), ..Identity::default() }));
    let values = [(3, SampleValue::Wrapping32(5)), (99, Value::U64(1).into())];
    sink.update(Update::Sample { kind: SAMPLE, stamp: Stamp { sec: 9, nsec: 0 }, values: &values });
    let peer = Arc::clone(sink.peer().expect("attached"));
    assert_eq!(peer.cells.get(64), Some(5));
    let packed = peer.existing_stream(SAMPLE).expect("made by the sample").newest(10);
    let records: Vec<_> = Records::<HighRes>::packed(&packed).map(|r| r.expect("sound")).collect();
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].params.iter().map(|p| p.value).collect::<Vec<_>>(), [Scalar::U64(5)]);
    sink.finish(false);
    assert!(!peer.liveness.up());
}
