use std::sync::Arc;

use super::super::super::Limits;
use super::super::super::peer::RequestQueue;
use super::*;
use crate::catalogue::test_kit::{self, COLOUR, SAMPLE, SHOP, STREAM, STREAM_BYTES, TOY, ware};
use crate::contract::Peer;
use crate::events::{HighRes, Records, Unpacked};
use crate::model::redact::Pattern;
use crate::model::{Pmid, Stamp};
use crate::store::Store;

const SECRET: &str = "key=hunter2";

fn limits() -> Limits {
    let pattern = Pattern::try_from(r"(?i)key=\w+".to_owned()).expect("a pattern");
    Limits { redact: Redact::new(vec![pattern], "***".into()), ..Limits::default() }
}

fn store(limits: Limits) -> Arc<Store> {
    Store::new(test_kit::catalogue(), 400, limits, 16 << 20)
}

fn peer(store: &Arc<Store>, source: crate::model::SourceId) -> Peer {
    let mut session = store.peer_of(source, &Arc::new(RequestQueue::new(|| ())));
    let labels = ["command", "path"].map(|name| (name, format!("run {SECRET} now")));
    session.is(Identity { name: "app:1".into(), labels: labels.into(), ..Identity::default() });
    session
}

#[derive(Debug)]
struct Packed(u64);

impl Unpacked for Packed {
    fn memory(&self) -> usize {
        100
    }

    fn pack(&self, from: u64, records: usize, bytes: usize, batch: &mut Batch) {
        for n in (from..self.0).take(records) {
            batch.record(Stamp { sec: n.try_into().expect("few"), nsec: 0 }, 1);
            batch.text(Pmid(7), SECRET);
            if batch.size() >= bytes {
                return;
            }
        }
    }
}

#[test]
fn nothing_behind_the_contract_has_what_a_pattern_matches() {
    let store = store(limits());
    let mut session = peer(&store, TOY);
    let shown = store.peers().swap_remove(0);
    assert_eq!(shown.labels(), [("path".into(), "run *** now".to_owned())]);
    session.set(COLOUR, Value::text(&format!("red {SECRET}")));
    session.condition(Condition::Impaired(format!("no {SECRET}").into()));
    let batch = session.batch(SAMPLE).expect("a kind");
    for n in 0..3 {
        batch.record(Stamp { sec: n, nsec: 0 }, 1);
        batch.number(Pmid(1), crate::model::ValueType::U64, 1);
        batch.text(Pmid(2), &format!("{n}: KEY=x, {SECRET} and the rest"));
        batch.number(Pmid(3), crate::model::ValueType::U32, 2);
    }
    session.flush();
    let stream = shown.existing_stream(SAMPLE).expect("made");
    let packed = stream.newest(3);
    let records: Vec<_> = Records::<HighRes>::packed(&packed).map(|r| r.expect("sound")).collect();
    assert_eq!(records.iter().map(|r| r.params.len()).collect::<Vec<_>>(), [3, 3, 3]);
    session.append_later(
        SAMPLE,
        Later {
            records: Box::new(Packed(20_000)),
            count: 20_000,
            bytes: 20_000 * 48,
            truncated: 0,
            newest: Stamp::default(),
        },
    );
    session.finish(false, Departure::lost(format!("it said {SECRET}")));
    assert_eq!(shown.text(1).as_deref(), Some("red ***"));
    assert_eq!(stream.stats().count, 20_003);
    let all =
        [packed, stream.newest(5000)].map(|packed| String::from_utf8_lossy(&packed).into_owned());
    let text = format!("{all:?} {shown:?}");
    assert!(text.contains("2: ***, *** and the rest") && text.contains("it said ***"), "{text}");
    assert!(!text.contains("hunter2") && !text.contains("KEY=x"));
}

#[test]
fn rows_and_their_labels_and_the_name_of_the_peer_stays() {
    let store = store(limits());
    let mut session = peer(&store, SHOP);
    for (slot, key) in [(0, "app:1::GET /?key=a"), (1, "app:1::GET /?key=b"), (2, "app:1::GET /")] {
        session.row(STREAM, slot, Some(key));
        session.row_labels(STREAM, slot, &[("process", "app:1"), ("url", key)]);
        session.row_add(slot, STREAM_BYTES, 10);
    }
    session.define(9, &ware("gauge price"));
    session.flush();
    let peer = store.peers().swap_remove(0);
    let row = |key| store.row(SHOP, STREAM, Some(&peer), Some(key)).expect("a row");
    let both = row("app:1::GET /?***");
    assert_eq!(both.cells.get(STREAM_BYTES.get()), Some(20), "two of one name are one row");
    assert_eq!(row("app:1::GET /").cells.get(STREAM_BYTES.get()), Some(10));
    let labels: Vec<_> = both.labels().into_iter().map(|(_, text)| text).collect();
    assert!(labels.contains(&"app:1::GET /?***".to_owned()), "{labels:?}");
}

#[test]
fn patterns_and_labels_may_change_while_it_runs() {
    let store = store(Limits::default());
    let mut session = peer(&store, TOY);
    let shown = || store.peers().swap_remove(0);
    let labels = |count| shown().labels().len() == count;
    assert!(labels(1), "no command line");
    session.set(COLOUR, Value::text(SECRET));
    assert_eq!(shown().text(1).as_deref(), Some(SECRET));
    store.set_limits(Limits { command_label: true, ..limits() });
    session.set(COLOUR, Value::text(SECRET));
    assert_eq!(shown().text(1).as_deref(), Some("***"));
    drop(session);
    peer(&store, TOY).finish(false, Departure::default());
    assert!(labels(2) && shown().labels().iter().all(|(_, text)| text == "run *** now"));
}
