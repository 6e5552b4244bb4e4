//! Captures through the whole Java profiler session: the updates of the store do not depend on how
//! the bytes are cut.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    missing_docs,
    unreachable_pub,
    reason = "a test"
)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use pmdaapm::contract::{EventValue, Update};
use pmdaapm::contract::{Session, SessionError, Sink};
use pmdaapm::model::{Now, Value};
use pmdaapm::sources::profiler::{AgentSession, Options, Settings, SharedState};
use test_kit::profiler as kit;

/// Items that a cut increases: records without names, and torn files.
const CALL_NAMELESS: u16 = 38;
const ERROR_TORN: u16 = 41;

/// All updates, without their order.
#[derive(Debug, Default, PartialEq)]
struct Updates {
    identity: Vec<String>,
    counts: BTreeMap<u16, u64>,
    rows: BTreeMap<(usize, Option<String>, u16), u64>,
    sets: BTreeMap<u16, String>,
    events: Vec<String>,
    slots: BTreeMap<(usize, u32), Option<String>>,
    errors: Vec<String>,
}

impl Sink for Updates {
    fn update(&mut self, update: Update<'_>) {
        match update {
            Update::Identity(id) => self.identity.push(format!("{} {:?}", id.name, id.process)),
            Update::Count { item, more } => *self.counts.entry(item.get()).or_default() += more,
            Update::Set { item, value } => {
                let text =
                    if let Value::U64(n) = value { n.to_string() } else { format!("{value:?}") };
                self.sets.insert(item.get(), text);
            }
            Update::Row { table, slot, key } => {
                drop(self.slots.insert((table.index(), slot), key.map(Into::into)))
            }
            Update::RowCount { slot, item, more } => {
                let table = item.table().index();
                let key =
                    self.slots.get(&(table, slot)).expect("bound before it is counted").clone();
                *self.rows.entry((table, key, item.get())).or_default() += more;
            }
            Update::Event { kind, stamp, flags, params } => {
                let value = |v: &EventValue<'_>| match v {
                    EventValue::Number(n) => n.to_string(),
                    EventValue::Text(t) => format!("{t:?}"),
                };
                let params: Vec<_> =
                    params.iter().map(|p| format!("{:?}={}", p.id, value(&p.value))).collect();
                self.events.push(format!("{} {stamp} {flags} {}", kind.index(), params.join(" ")));
            }
            Update::Error(what) => self.errors.push(what.into()),
            // Labels, memberships and percentiles repeat what counts say.
            Update::RowLabels { .. }
            | Update::RowMember { .. }
            | Update::RowSet { .. }
            | Update::RowUnset { .. }
            | Update::Condition(_)
            | Update::Unset { .. }
            | Update::Interval(_)
            | Update::Message => {}
            other => panic!("{other:?}"),
        }
    }
}

fn updates<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Updates, Result<(), SessionError>) {
    let mut collector = AgentSession::new(
        "127.0.0.1:9".into(),
        Options::default(),
        Arc::new(SharedState::new(64 << 20)),
    );
    let (mut updates, mut input, mut out) = (Updates::default(), BytesMut::new(), BytesMut::new());
    let (mut now, mut end) = (Now::default(), Ok(()));
    for piece in pieces {
        // All bytes come within the time that calls wait for late words.
        now.monotonic += Duration::from_micros(1);
        input.extend_from_slice(piece);
        end = collector.feed(now, &mut input, &mut out, &mut updates);
        while end.is_ok() && collector.unfinished() {
            end = collector.feed(now, &mut input, &mut out, &mut updates);
        }
        if end.is_err() {
            break;
        }
    }
    collector.close(now, &mut out, &mut updates);
    updates.events.sort();
    (updates, end)
}

fn requests(name: &str) -> Vec<u8> {
    kit::play(&kit::script(&kit::read(&kit::corpus().join(name))), Settings::default()).0
}

#[test]
fn the_same_is_told_whole_and_in_pieces() {
    for name in
        ["adv.duplex", "load.duplex", "rotsize.duplex", "err-1.duplex", "parser.test.protocol.gz"]
    {
        let bytes = requests(name);
        let (whole, end) = updates([&bytes[..]]);
        assert!(matches!(end, Ok(()) | Err(SessionError::Closed(_))), "{name}: {end:?}");
        assert!(whole.counts[&0] > 0 && whole.errors.is_empty(), "{name}");
        let calls = whole.events.iter().filter(|e| e.starts_with("0 ")).count() as u64;
        assert_eq!(calls, whole.counts[&0], "{name}: a record for each call");
        let of_methods: u64 = whole
            .rows
            .iter()
            .filter(|((table, _, item), _)| (*table, *item) == (2, 0))
            .map(|(_, n)| n)
            .sum();
        let in_buckets: u64 =
            whole.rows.iter().filter(|((table, ..), _)| *table == 1).map(|(_, n)| n).sum();
        assert_eq!((of_methods, in_buckets), (calls, calls), "{name}");
        for size in [1, 7, 1460] {
            let (pieces, _) = updates(bytes.chunks(size));
            assert_eq!(pieces.counts, whole.counts, "{name} in pieces of {size}");
            assert_eq!(pieces.rows, whole.rows, "{name} in pieces of {size}");
            assert_eq!(pieces.sets, whole.sets, "{name} in pieces of {size}");
            // A larger piece may bring names before a call, so only the number of records does not
            // depend on late words.
            assert_eq!(pieces.events.len(), whole.events.len(), "{name} in pieces of {size}");
        }
    }
}

#[test]
fn wherever_a_session_is_cut_what_was_told_is_sound() {
    let bytes = requests("adv.duplex");
    let whole = updates([&bytes[..]]).0;
    for cut in 0..bytes.len() {
        let (part, end) = updates([&bytes[..cut]]);
        assert!(end.is_ok(), "cut at {cut}: {end:?}");
        assert!(
            part.counts
                .iter()
                .all(|(item, n)| *n <= whole.counts[item]
                    || [CALL_NAMELESS, ERROR_TORN].contains(item)),
            "cut at {cut}"
        );
        assert_eq!(
            part.identity,
            if part.counts.is_empty() { vec![] } else { whole.identity.clone() },
            "cut at {cut}"
        );
    }
}

#[test]
fn damaged_sessions_never_panic_and_end_with_a_fault_or_go_on() {
    let bytes = requests("load.duplex");
    for at in (0..bytes.len()).step_by(97) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x55;
        let _ = updates([&damaged[..]]);
    }
}
