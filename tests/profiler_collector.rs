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
use pmdaapm::contract::{Recorded, RecordedEvent, Session, SessionError};
use pmdaapm::model::{InDom, MetricDef, Now, Semantics};
use pmdaapm::sources::Source;
use pmdaapm::sources::profiler::{AgentSession, Options, Profiler, Settings, SharedState};
use test_kit::profiler as kit;

/// Items that a cut increases: records without names, and torn files.
const CALL_NAMELESS: u16 = 38;
const ERROR_TORN: u16 = 41;

/// All updates, without their order.
#[derive(Debug, Default, PartialEq)]
struct Updates {
    identity: Vec<String>,
    counts: BTreeMap<u16, u64>,
    rows: BTreeMap<(usize, String, u16), u64>,
    sets: BTreeMap<u16, String>,
    events: Vec<String>,
    errors: Vec<String>,
}

impl Updates {
    fn of(seen: &Recorded) -> Self {
        let (log, table) = (seen.log(), Profiler::TABLE);
        let is_counter = |metrics: &[MetricDef], item: u16, indom: InDom| {
            let of = |metric: &&MetricDef| (metric.item, metric.indom) == (item, indom);
            metrics.iter().find(of).is_some_and(|metric| metric.sem == Semantics::Counter)
        };
        let (counts, sets): (Vec<_>, Vec<_>) = log
            .values
            .iter()
            .partition(|(item, _)| is_counter(table.metrics, item.get(), InDom::Peers));
        let counts = counts.into_iter().map(|(item, _)| (item.get(), seen.count(*item)));
        let sets = sets.into_iter().map(|(item, value)| (item.get(), format!("{value:?}")));
        // Percentiles repeat what counts say.
        let rows = log.rows.iter().filter(|((item, _), _)| {
            is_counter(table.row_metrics, item.get(), InDom::Table(item.table()))
        });
        let rows = rows
            .map(|((item, key), value)| ((item.table().index(), key.clone(), item.get()), *value));
        let events = log.events.iter().map(|event| {
            let RecordedEvent { kind, stamp, flags, params } = event;
            format!("{} {stamp} {flags} {params:?}", kind.index())
        });
        let mut events: Vec<_> = events.collect();
        events.sort();
        let identity = log.identities.iter().map(|id| format!("{} {:?}", id.name, id.process));
        Self {
            identity: identity.collect(),
            counts: counts.collect(),
            rows: rows.collect(),
            sets: sets.collect(),
            events,
            errors: log.errors.clone(),
        }
    }
}

fn updates<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Updates, Result<(), SessionError>) {
    let mut collector = AgentSession::new(
        "127.0.0.1:9".into(),
        Options::default(),
        Arc::new(SharedState::new(64 << 20)),
    );
    let mut updates = Recorded::new(&Profiler::TABLE);
    updates.log_mut().packs = true;
    let (mut input, mut out) = (BytesMut::new(), BytesMut::new());
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
    updates.flush();
    (Updates::of(&updates), end)
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
