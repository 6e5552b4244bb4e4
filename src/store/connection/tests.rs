use std::time::Duration;

use super::super::Limits;
use super::values::widen;
use super::*;
use crate::catalogue::test_kit::{
    self, BUCKET, BUCKET_COUNT, BUCKET_MAX, COLOUR, SAMPLE, SHOP, STREAM, STREAM_BYTES,
    STREAM_DELAY, TOY,
};
use crate::contract::{Identity, Peer, SampleValue};
use crate::events::{HighRes, Records, Scalar, Unpacked};
use crate::model::{
    Departure, MetricSpec, Place, STATIC_ITEMS, Semantics, Stamp, StreamKind, Units, Value,
};

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
        test_kit::catalogue(),
        400,
        Limits { memory: 3 << 20, ..Limits::default() },
        1 << 20,
    );
    let requests = Arc::new(RequestQueue::new(|| ()));
    let mut session = Connection::new(&store, TOY, &requests);
    session.update(Update::Identity(Identity { name: "app:1".into(), ..Identity::default() }));
    let peer = Arc::clone(session.peer.as_ref().expect("attached"));
    session.set(COLOUR, &Value::text(&"é".repeat(2000)));
    let text = peer.text(1).expect("kept");
    assert!(text.len() < 1030 && text.ends_with("é…"), "{text}");
    assert_eq!(store.stats.get(Stat::TextsCut), 1);
    // The memory has no room for 4096 texts.
    (1..4096).for_each(|column| session.set_text(column, &"x".repeat(1000)));
    let texts = (1..4096).filter(|item| peer.text(*item).is_some()).count();
    let held = store.memory_stat(Stat::MemoryTexts).unwrap_or_default();
    assert!((1000..2000).contains(&texts) && (1 << 20..2 << 20).contains(&held), "{texts} {held}");
    assert!(store.memory_stat(Stat::MemoryRefused) > Some(2000));
    store.set_limits(Limits::default());
    session.set_now(Now { monotonic: std::time::Duration::from_secs(100), ..Now::default() });
    session.finish(false, Departure::default());
    store.sweep(std::time::Duration::from_secs(105));
    assert!(peer.text(2).is_some(), "still shown");
    store.sweep(std::time::Duration::from_secs(111));
    assert_eq!((peer.text(2), store.memory_stat(Stat::MemoryTexts)), (None, Some(0)));
}

#[test]
fn a_sample_sets_cells_and_appends_one_record() {
    let store = Store::new(test_kit::catalogue(), 400, Limits::default(), 1 << 20);
    let mut session = store.peer_of(TOY, &Arc::new(RequestQueue::new(|| ())));
    let spec = MetricSpec {
        key: "GC/x".into(),
        place: Place::Sampled("counter"),
        path: "gc.xx".into(),
        ty: ValueType::U64,
        sem: Semantics::Counter,
        units: Units::Count,
        oneline: "x".into(),
        help: "x".into(),
        labels: vec![],
        persist: "x".into(),
    };
    session.define(3, &spec);
    session.is(Identity { name: "app:1".into(), ..Identity::default() });
    let values = [(3, SampleValue::Wrapping32(5)), (99, Value::U64(1).into())];
    session.sample(SAMPLE, Stamp { sec: 9, nsec: 0 }, &values);
    let peer = shown(&store);
    assert_eq!(peer.cells.get(STATIC_ITEMS), Some(5));
    assert!(peer.existing_stream(SAMPLE).is_none(), "appended when the session's call ends");
    session.flush();
    let packed = peer.existing_stream(SAMPLE).expect("made by the flush").newest(10);
    let records: Vec<_> = Records::<HighRes>::packed(&packed).map(|r| r.expect("sound")).collect();
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].params.iter().map(|p| p.value).collect::<Vec<_>>(), [Scalar::U64(5)]);
    session.finish(false, Departure::default());
    assert!(!peer.liveness.up());
}

/// The only peer.
fn shown(store: &Store) -> Arc<crate::store::Peer> {
    store.peers().swap_remove(0)
}

/// A record without parameters.
#[derive(Debug)]
struct Plain;

impl Unpacked for Plain {
    fn memory(&self) -> usize {
        100
    }

    fn pack(&self, _: u64, _: usize, _: usize, batch: &mut Batch) {
        batch.record(Stamp { sec: 9, nsec: 0 }, 1);
    }
}

#[test]
fn records_that_are_packed_later_leave_room_for_others() {
    let store = Store::new(test_kit::catalogue(), 400, Limits::default(), 1 << 20);
    let mut session = store.peer_of(TOY, &Arc::new(RequestQueue::new(|| ())));
    session.is(Identity { name: "app:1".into(), ..Identity::default() });
    let streams = || shown(&store).streams().count();
    // The share of the stream that there will be.
    assert!(session.keeps(SAMPLE, 256 << 10, 0) && !session.keeps(SAMPLE, (256 << 10) + 1, 0));
    assert_eq!(streams(), 0);
    let later = || Later {
        records: Box::new(Plain),
        count: 1,
        bytes: 24,
        truncated: 0,
        newest: Stamp { sec: 9, nsec: 0 },
    };
    session.append_later(SAMPLE, later());
    assert!(session.keeps(SAMPLE, 256 << 10, 0) && !session.keeps(SAMPLE, (256 << 10) + 1, 0));
    assert!(session.keeps(SAMPLE, 1000, 500) && !session.keeps(SAMPLE, 1000, 501));
    let peer = shown(&store);
    let stream = peer.existing_stream(SAMPLE).expect("made");
    assert_eq!((stream.stats().count, stream.newest(2).len()), (1, 24));
    session.finish(false, Departure::default());
    session.append_later(SAMPLE, later());
}

/// A peer of source [`SHOP`] with rows `x` at slot 0 of the table of peers and of the shared table.
fn shop(store: &Arc<Store>, name: &str) -> Peer {
    let mut session = store.peer_of(SHOP, &Arc::new(RequestQueue::new(|| ())));
    session.is(Identity { name: name.into(), ..Identity::default() });
    for (table, key) in [(STREAM, format!("{name}::x")), (BUCKET, "x".into())] {
        session.row(table, 0, Some(&key));
    }
    session
}

#[test]
fn a_row_of_a_peer_is_set_unset_and_follows_its_key() {
    let store = Store::new(test_kit::catalogue(), 400, Limits::default(), 1 << 20);
    let mut session = shop(&store, "a");
    let peer = shown(&store);
    let row = || store.row(SHOP, STREAM, Some(&peer), Some("a::x")).expect("room");
    let first = row();
    session.row_set(0, STREAM_DELAY, 9);
    session.row_set(0, STREAM_DELAY, 5);
    session.flush();
    assert_eq!(first.cells.get(1), Some(5));
    session.row_unset(0, STREAM_DELAY);
    assert_eq!(first.cells.get(1), None);
    // No slot, no table.
    session.row_set(1, STREAM_DELAY, 1);
    session.row_unset(7, STREAM_BYTES);
    session.flush();
    assert_eq!(first.cells.memory(), 3 * 8, "a word of bits, and two cells");
    // Values of a sliding period go with the peer, those of counters stay.
    let (now, stale) = (Duration::from_secs(1), Duration::ZERO);
    assert!(first.fresh(Duration::ZERO, stale));
    session.finish(false, Departure::default());
    assert!(!first.fresh(now, stale));
}

#[test]
fn a_shared_row_is_raised_and_set_by_all() {
    let store = Store::new(test_kit::catalogue(), 400, Limits::default(), 1 << 20);
    let (mut a, mut b) = (shop(&store, "a"), shop(&store, "b"));
    let row = store.row(SHOP, BUCKET, None, Some("x")).expect("room");
    for (session, values) in [(&mut a, [5, 3]), (&mut b, [9, 7])] {
        for value in values {
            session.row_max(0, BUCKET_MAX, value);
            session.row_add(0, BUCKET_COUNT, 1);
        }
        session.flush();
    }
    assert_eq!((row.cells.get(9), row.cells.get(0)), (Some(9), Some(4)));
    let now = Duration::from_secs(100);
    let fresh = |after| row.fresh(now + Duration::from_secs(after), Duration::from_secs(10));
    assert!(!fresh(0), "no value of a sliding period was set");
    b.set_now(Now { monotonic: now, ..Now::default() });
    b.row_set(0, BUCKET_MAX, 6);
    b.flush();
    assert_eq!(row.cells.get(9), Some(6));
    assert!(fresh(59) && !fresh(60));
    a.row_unset(0, BUCKET_MAX);
    assert_eq!(row.cells.get(9), None);
    // The rest is of several keys.
    let other = store.row(SHOP, BUCKET, None, None).expect("the rest");
    a.row(BUCKET, 1, None);
    a.row_set(1, BUCKET_MAX, 6);
    a.flush();
    assert_eq!(other.cells.get(9), None);
}

#[test]
fn members_of_a_row_are_its_connected_peers() {
    let store = Store::new(test_kit::catalogue(), 400, Limits::default(), 1 << 20);
    let at = |s| Now { monotonic: Duration::from_secs(s), ..Now::default() };
    let join = |name: &str, key: &str| {
        let mut session = store.peer_of(SHOP, &Arc::new(RequestQueue::new(|| ())));
        session.set_now(at(1));
        let process = Some(name.to_owned());
        let id = Identity { name: name.into(), process, ..Identity::default() };
        session.is(id);
        session.row(BUCKET, 3, Some(key));
        (0..3).for_each(|_| session.row_member(BUCKET, 3));
        session
    };
    let row = |key| store.row(SHOP, BUCKET, None, key).expect("room");
    let (x, y) = (row(Some("x")), row(Some("y")));
    let mut all: Vec<_> =
        (0..20).map(|n| join(&n.to_string(), if n % 4 == 0 { "y" } else { "x" })).collect();
    assert_eq!((x.members(), y.members()), (15, 5));
    // The same process connects again, while its old connection looks alive.
    let mut again = join("1", "x");
    assert_eq!(x.members(), 15);
    all[1].finish(false, Departure::default());
    assert_eq!(x.members(), 15);
    again.finish(true, Departure::default());
    assert_eq!(x.members(), 14);
    let mut back = join("1", "y");
    assert_eq!((x.members(), y.members()), (14, 6), "of another row by now");
    back.row(BUCKET, 3, Some("x"));
    back.row_member(BUCKET, 3);
    assert_eq!((x.members(), y.members()), (15, 5));
    // A session that panics only drops its peer, and a peer that has ended joins nothing.
    all.truncate(10);
    back.finish(false, Departure::default());
    back.row_member(BUCKET, 3);
    assert_eq!((x.members(), y.members()), (6, 3));
    // Values of a sliding period end some time after the last member has gone.
    let mut last = join("z", "z");
    let z = row(Some("z"));
    last.row_set(3, BUCKET_MAX, 6);
    last.set_now(at(20));
    last.finish(false, Departure::default());
    let fresh = |s| z.fresh(Duration::from_secs(s), Duration::ZERO);
    assert!(z.members() == 0 && fresh(29) && !fresh(30));
    assert_eq!(z.cells.get(9), Some(6));
}

#[test]
fn members_follow_the_place_of_their_key() {
    let store = Store::new(test_kit::catalogue(), 400, Limits::default(), 1 << 20);
    let mut sessions: Vec<_> = (0..20).map(|n| shop(&store, &format!("p{n}"))).collect();
    let tick = |sessions: &mut [Peer]| {
        sessions.iter_mut().for_each(|s| s.row_member(BUCKET, 1));
    };
    // The table has places for `x` and 17 keys, and one more for the rest.
    sessions[0].row_add(0, BUCKET_COUNT, 10);
    for (n, session) in (1..).zip(&mut sessions) {
        session.row(BUCKET, 1, Some(&format!("key{n}")));
        session.row_add(1, BUCKET_COUNT, 10);
    }
    tick(&mut sessions);
    let members = |key: Option<&str>| store.row(SHOP, BUCKET, None, key).map(|r| r.members());
    assert_eq!((members(Some("key1")), members(Some("key20"))), (Some(1), members(None)));
    assert_eq!(members(None), Some(3));
    // The last keys get the places of `x` and the first.
    sessions.iter_mut().skip(17).for_each(|session| session.row_add(1, BUCKET_COUNT, 100));
    tick(&mut sessions);
    let all: u64 = (1..=20)
        .map(|n| format!("key{n}"))
        .filter_map(|key| {
            let row = store.row(SHOP, BUCKET, None, Some(&key))?;
            (*row.key == *key).then(|| row.members())
        })
        .sum();
    let rest = members(None).expect("the rest");
    assert_eq!((all, rest), (18, 2));
    assert_eq!(members(Some("key20")), Some(1));
    sessions.clear();
    assert_eq!((members(None), members(Some("key20"))), (Some(0), Some(0)));
}

#[test]
fn a_value_for_a_row_that_lost_its_instance_goes_to_the_rest() {
    let store = Store::new(test_kit::catalogue(), 400, Limits::default(), 1 << 20);
    let mut session = shop(&store, "a");
    session.row_max(0, BUCKET_MAX, 7);
    let row = |key| store.row(SHOP, BUCKET, None, key).expect("room");
    let x = row(Some("x"));
    // The table is full: the last of the keys get the rest, and then the places of others.
    for slot in 1..40 {
        let key = format!("key{slot}");
        session.row(BUCKET, slot, Some(&key));
        session.row_max(slot, BUCKET_MAX, u64::from(slot));
        session.row_add(slot, BUCKET_COUNT, 10);
        session.flush();
    }
    let other = row(None);
    assert_eq!(other.cells.get(9), Some(39));
    let labels = &[("text", "the last")][..];
    session.row_labels(BUCKET, 39, labels);
    assert_eq!(other.labels(), []);
    session.row_add(39, BUCKET_COUNT, 100);
    session.flush();
    assert!(x.gone() && row(Some("key39")).cells.get(9).is_none());
    session.row_max(0, BUCKET_MAX, 100);
    session.flush();
    assert_eq!((x.cells.get(9), other.cells.get(9)), (Some(7), Some(100)));
    // The labels follow their key.
    session.row_add(39, BUCKET_COUNT, 1);
    assert_eq!(row(Some("key39")).labels(), [("text", "the last".to_owned())]);
    assert_eq!(other.labels(), []);
}

#[test]
fn a_kind_is_watched_until_its_first_record_and_while_it_is_read() {
    let store = Store::new(test_kit::catalogue(), 400, Limits::default(), 1 << 20);
    let mut session = store.peer_of(TOY, &Arc::new(RequestQueue::new(|| ())));
    session.is(Identity { name: "app:1".into(), ..Identity::default() });
    assert!(session.is_watched(SAMPLE), "a reader needs a stream");
    session.record(SAMPLE, Stamp::default(), 1, |_| ());
    assert!(!session.is_watched(SAMPLE), "the first one waits");
    session.flush();
    assert!(!session.is_watched(SAMPLE));
    let peer = shown(&store);
    peer.existing_stream(SAMPLE).expect("has the first").watch();
    assert!(session.is_watched(SAMPLE));
}

#[test]
fn who_reads_a_kind_has_a_cursor_in_each_stream_before_its_first_record() {
    let store = Store::new(test_kit::catalogue(), 400, Limits::default(), 8 << 10);
    let attach = |name: &str| {
        let mut session = store.peer_of(TOY, &Arc::new(RequestQueue::new(|| ())));
        session.is(Identity { name: name.into(), ..Identity::default() });
        session
    };
    let send = |session: &mut Peer| {
        for _ in 0..1000 {
            session.record(SAMPLE, Stamp::default(), 1, |_| ());
        }
        session.flush();
    };
    let of = |name: &str| store.peers().into_iter().find(|peer| peer.name == name);
    let stats = |session: &Peer| {
        let name = session.name()?;
        let peer = of(name.strip_prefix("toy::")?)?;
        peer.existing_stream(SAMPLE).map(Stream::stats)
    };
    let kind = StreamKind { source: TOY, kind: SAMPLE };
    // Nobody reads.
    let mut before = attach("before");
    send(&mut before);
    assert!(stats(&before).is_some_and(|s| (s.count, s.lost, s.clients) == (1000, 0, 0)));
    // One reads all, one only some.
    store.reads(1, kind, Duration::ZERO);
    store.reads(2, kind, Duration::ZERO);
    store.reads_some(2, kind);
    assert!(
        stats(&before).is_some_and(|s| (s.lost, s.clients) == (0, 2)),
        "also in those that there are"
    );
    let mut later = attach("later");
    assert!(of("later").is_some_and(|p| p.was_attached()) && stats(&later).is_none());
    send(&mut later);
    let told = stats(&later).expect("made");
    assert!(told.clients == 1 && told.lost > 500, "{told:?}");
    // A context that has ended is in no stream, and in none that comes.
    store.forget_reader(1);
    let mut last = attach("last");
    send(&mut last);
    for session in [&later, &last] {
        assert_eq!(stats(session).map(|s| s.clients), Some(0));
    }
}

#[test]
fn names_have_no_invisible_characters() {
    let store = Store::new(test_kit::catalogue(), 400, Limits::default(), 1 << 20);
    let mut session = store.peer_of(TOY, &Arc::new(RequestQueue::new(|| ())));
    session.is(Identity { name: "app\u{202e}1\u{200b}".into(), ..Identity::default() });
    assert_eq!(shown(&store).name, "app_1_");
    let mut session = store.peer_of(SHOP, &Arc::new(RequestQueue::new(|| ())));
    session.is(Identity { name: "shop".into(), ..Identity::default() });
    session.row(BUCKET, 0, Some("a\u{feff}b"));
    session.row_add(0, BUCKET_COUNT, 5);
    session.flush();
    let row = store.row(SHOP, BUCKET, None, Some("a_b")).expect("room");
    assert_eq!(row.cells.get(BUCKET_COUNT.get()), Some(5));
}
