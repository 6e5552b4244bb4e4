//! Recorded live sessions through the whole layer into a store: the records and counters are those
//! that a simple walk over the same packets finds.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    missing_docs,
    reason = "a test"
)]

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, BytesMut};
use pmdaapm::ctf::schema::Scope;
use pmdaapm::ctf::{
    DiscardTracker, Event, EventVisitor, Kind, Node, NodeId, Packet, Trace, Visitor, decode_string,
};
use pmdaapm::events::{HighRes, Records};
use pmdaapm::model::component;
use pmdaapm::model::{EventKindId, TableId};
use pmdaapm::sources::lttng::{Collector, Protocol, RecordFilter};
use pmdaapm::store::{Change, Limits, Store};
use test_kit::lttng::{NAMES, Relayd, at, settings, whole};

/// The first kind of events and the first table of the source.
const RECORD: EventKindId = EventKindId::new(0);
const CLASSES: TableId = TableId::new(0);

/// A connection: its requests out, its replies in.
#[derive(Default)]
struct Wire {
    out: BytesMut,
    input: BytesMut,
}

impl Wire {
    /// Answers all requests; `false`: the connection is lost.
    fn serve(
        &mut self,
        id: u64,
        relayd: &mut Relayd,
        now: Duration,
        mut feed: impl FnMut(&[u8], &mut BytesMut, &mut BytesMut) -> bool,
    ) -> bool {
        while self.out.len() >= 16 {
            let (length, command) = (self.out.get_u64() as usize, self.out.get_u32());
            self.out.advance(4);
            let reply = relayd.reply(id, command, &self.out.split_to(length), now);
            if !feed(&reply, &mut self.input, &mut self.out) {
                return false;
            }
        }
        true
    }
}

/// Plays a dialogue; at most `size` bytes of a reply at once. `broken`: number of requests after
/// which the reading connection is lost; then it is made again.
fn collect(
    name: &str,
    minor: u32,
    size: usize,
    filter: RecordFilter,
    limits: Limits,
    mut broken: Option<usize>,
) -> (Arc<Store>, Vec<Change>, Vec<u8>) {
    let store = Store::new(pmdaapm::sources::catalogue(), 400, limits, 256 << 20);
    let mut collector = Collector::new(
        "127.0.0.1:5344",
        settings("*"),
        filter,
        store.peer_maker(store.catalogue().id("lttng").unwrap(), false),
        Arc::default(),
    );
    let mut relayd = Relayd::new(minor, &[name]);
    let (mut now, mut requests, mut id) = (Duration::from_secs(1), 0, 1);
    let mut list = Wire::default();
    collector.start(at(now), &mut list.out);
    let (mut reader, mut packed, mut taken) = (None, Vec::new(), 0);
    let end = now + Duration::from_secs(600);
    while now < end && !(relayd.sessions.iter().all(|s| s.over) && reader.is_none()) {
        list.serve(1, &mut relayd, now, |reply, input, out| {
            input.extend_from_slice(reply);
            collector.feed(at(now), input, out).unwrap();
            true
        });
        for (mut new, ()) in collector.due(at(now), || Some(())) {
            let mut wire = Wire::default();
            new.start(at(now), &mut wire.out);
            id += 1;
            reader = Some((id, wire, new));
        }
        let mut wakeup = collector.next_wakeup().unwrap();
        if let Some((id, wire, reader)) = &mut reader {
            let whole = wire.serve(*id, &mut relayd, now, |reply, input, out| {
                requests += 1;
                if broken.is_some_and(|n| requests > n) {
                    return false;
                }
                for piece in reply.chunks(size) {
                    input.extend_from_slice(piece);
                    reader.feed(at(now), input, out).unwrap();
                }
                // Read at once, because the stream keeps the newest records only up to a size.
                if let Some(peer) = store.peers().first()
                    && let Some(stream) = peer.existing_stream(RECORD)
                {
                    let count = stream.stats().count;
                    packed.extend(stream.newest((count - taken) as usize));
                    taken = count;
                }
                true
            });
            broken = broken.filter(|_| whole);
            if !whole || reader.is_over() {
                wakeup = now;
            } else {
                wakeup = wakeup.min(reader.next_wakeup().unwrap());
            }
            if !whole {
                requests = usize::MAX / 2;
            }
        }
        if let Some((id, _, done)) =
            reader.take_if(|(_, _, reader)| requests > usize::MAX / 4 || reader.is_over())
        {
            requests = 0;
            relayd.disconnect(id);
            collector.ended(at(now), done.close(at(now), "the end"));
        }
        now = now.max(wakeup);
        collector.tick(at(now), &mut list.out).unwrap();
        if let Some((_, wire, reader)) = &mut reader {
            reader.tick(at(now), &mut wire.out).unwrap();
        }
    }
    if let Some((_, _, reader)) = reader {
        collector.ended(at(now), reader.close(at(now), "the end"));
    }
    collector.close();
    let changes = store.take_changes();
    (store, changes, packed)
}

/// Every record as text: time, event, then the plain parameters by name.
fn records(packed: &[u8], changes: &[Change]) -> Vec<String> {
    let names: HashMap<_, _> = changes
        .iter()
        .filter_map(|c| {
            if let Change::Metric(m) = c { Some((m.param, m.spec.path.clone())) } else { None }
        })
        .collect();
    let records = Records::<HighRes>::packed(packed).map(Result::unwrap);
    let line = |r: pmdaapm::events::Record<'_>| {
        let mut params = BTreeMap::new();
        for p in &r.params {
            match (names.get(&p.pmid), p.pmid.item()) {
                (Some(name), _) => drop(params.insert(name.clone(), p.value.to_string())),
                (None, 1) => drop(params.insert(" event".into(), p.value.to_string())),
                (None, 2) => drop(params.insert(" cpu".into(), p.value.to_string())),
                _ => {}
            }
        }
        format!("{} {params:?}", r.stamp.as_nanos())
    };
    records.map(line).collect()
}

/// A slow and simple decoder.
struct Walk<'n> {
    cpu: u64,
    nodes: &'n [Node],
    line: BTreeMap<String, String>,
    depth: usize,
    base: i128,
    stamp: i128,
    lines: Vec<String>,
    event: String,
}

impl Walk<'_> {
    fn put(&mut self, node: NodeId, value: impl FnOnce(&Node) -> String, mapping: Option<String>) {
        let Some(node) = self.nodes.get(node.index()) else { return };
        let top = node.parent.is_some_and(|p| self.nodes[p.index()].parent.is_none());
        if self.depth > 0
            || !top
            || node.hidden
            || (node.name.starts_with('_') && node.name.ends_with("_length"))
        {
            return;
        }
        let path = if node.scope == Scope::Payload {
            let (provider, event) = self.event.split_once(':').unwrap();
            format!("{}.{}.{}", component(provider), component(event), component(&node.name))
        } else {
            format!("ctx.{}", component(&node.name))
        };
        if let Some(mapping) = mapping {
            self.line.insert(format!("{path}_label"), mapping);
        }
        self.line.insert(path, value(node));
    }

    fn number(&mut self, node: NodeId, value: i128) {
        let mappings = self.nodes.get(node.index()).and_then(|n| n.mappings.as_ref());
        let names: Vec<&str> =
            mappings.iter().flat_map(|l| l.of(value)).map(|name| &**name).collect();
        let mapping = match names[..] {
            [] => None,
            [one] => Some(one.to_owned()),
            _ => {
                Some(names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", "))
            }
        };
        self.put(node, |_| value.to_string(), mapping);
    }
}

impl<'a> Visitor<'a> for Walk<'_> {
    fn unsigned(&mut self, node: NodeId, value: u64) {
        self.number(node, value.into());
    }
    fn signed(&mut self, node: NodeId, value: i64) {
        self.number(node, value.into());
    }
    fn float(&mut self, node: NodeId, value: f64) {
        self.put(node, |_| value.to_string(), None);
    }
    fn string(&mut self, node: NodeId, value: &'a [u8]) {
        let encoding = if let Kind::String(encoding) = self.nodes[node.index()].kind {
            encoding
        } else {
            Default::default()
        };
        self.put(node, |_| decode_string(value, encoding).into_owned(), None);
    }
    fn blob(&mut self, _: NodeId, _: &'a [u8]) {}
    fn open(&mut self, _: NodeId, _: u64) {
        self.depth += 1;
    }
    fn close(&mut self, _: NodeId) {
        self.depth -= 1;
    }
}

impl<'t> EventVisitor<'t, '_> for Walk<'t> {
    fn event(&mut self, event: &Event<'t>) -> bool {
        self.nodes = event.class.nodes();
        self.event = event.class.name.to_string();
        self.stamp = self.base + i128::from(event.cycles);
        self.line = BTreeMap::from([
            (" event".into(), self.event.clone()),
            (" cpu".into(), self.cpu.to_string()),
        ]);
        true
    }
    fn done(&mut self) {
        self.lines.push(format!("{} {:?}", self.stamp, self.line));
    }
}

/// Looks for the processor in the packet context.
struct Cpu<'n>(&'n [Node], u64);

impl<'a> Visitor<'a> for Cpu<'_> {
    fn unsigned(&mut self, node: NodeId, value: u64) {
        if &*self.0[node.index()].name == "cpu_id" {
            self.1 = value;
        }
    }
    fn signed(&mut self, _: NodeId, _: i64) {}
    fn float(&mut self, _: NodeId, _: f64) {}
    fn string(&mut self, _: NodeId, _: &'a [u8]) {}
    fn blob(&mut self, _: NodeId, _: &'a [u8]) {}
}

/// Events as text and the number of those that the tracer discarded.
fn walk(name: &str) -> (Vec<String>, u64) {
    let (observed, _) = whole(&mut Relayd::new(16, &[name]), settings("*"));
    let mut trace = Trace::new();
    trace.metadata(observed.metadata.values().next().unwrap()).unwrap();
    let base = trace.schema().clocks[0].nanoseconds(0);
    let (mut lines, mut discarded) = (Vec::new(), 0);
    for stream in observed.streams.values().filter(|s| !s.indexes.is_empty()) {
        let (mut rest, mut losses) = (&stream.bytes[..], DiscardTracker::default());
        for index in &stream.indexes {
            let (bytes, behind) = rest.split_at(index.content_size.div_ceil(8) as usize);
            rest = behind;
            let mut packet = Packet::open(&trace, bytes, 0).unwrap();
            discarded += losses.packet(packet.info()).events;
            let mut cpu = Cpu(packet.stream().context_nodes(), 0);
            packet.visit_context(&mut cpu).unwrap();
            let mut walk = Walk {
                cpu: cpu.1,
                nodes: &[],
                line: BTreeMap::new(),
                depth: 0,
                base,
                stamp: 0,
                lines: Vec::new(),
                event: String::new(),
            };
            packet.read(&mut walk).unwrap();
            lines.append(&mut walk.lines);
        }
    }
    lines.sort();
    (lines, discarded)
}

#[test]
fn records_are_what_a_plain_walk_finds() {
    for name in NAMES {
        let (expected, discarded) = walk(name);
        assert!(expected.len() > 500, "{name}: {} events", expected.len());
        for (minor, size) in [(13, usize::MAX), (16, 4096), (16, 7)] {
            if minor < 15 && name.ends_with("ctf-2") {
                continue;
            }
            let (store, changes, packed) =
                collect(name, minor, size, RecordFilter::default(), Limits::default(), None);
            let got = records(&packed, &changes);
            assert_eq!(got.len(), expected.len(), "{name}");
            compare(name, got, &expected);
            let peer = &store.peers()[0];
            let cell = |item| peer.cells.get(item).unwrap();
            assert_eq!(
                (cell(5), cell(6), cell(9), cell(0)),
                (expected.len() as u64, discarded, 0, 0),
                "{name}: events, discarded, errors, up"
            );
            let rows = changes.iter().filter_map(|c| {
                if let Change::JoinRow(_, CLASSES, row) = c { Some(row) } else { None }
            });
            assert_eq!(
                rows.clone().map(|row| row.cells.get(0).unwrap()).sum::<u64>(),
                expected.len() as u64
            );
            for row in rows {
                let labels: HashMap<_, _> = row.labels().into_iter().collect();
                let session = format!("{}/{}", labels["host"], labels["session"]);
                assert_eq!(
                    (row.key.to_string(), &session),
                    (format!("{session}::{}", labels["event"]), &peer.name)
                );
                assert!(labels["event"].starts_with(&format!("{}:", labels["provider"])));
                assert!(labels["loglevel"].starts_with("TRACE_"), "{labels:?}");
            }
        }
    }
}

/// Checks that each key of the walk is in the record with the same value.
fn compare(name: &str, got: Vec<String>, expected: &[String]) {
    let fields = |line: &str| -> (String, Vec<String>) {
        let (time, map) = line.split_once(" {").unwrap();
        (
            time.to_owned(),
            map.trim_end_matches('}')
                .split("\", \"")
                .map(|f| f.trim_matches('"').to_owned())
                .collect(),
        )
    };
    let mut got: Vec<_> = got.iter().map(|l| fields(l)).collect();
    let mut wanted: Vec<_> = expected.iter().map(|l| fields(l)).collect();
    let key = |f: &(String, Vec<String>)| {
        (
            f.0.clone(),
            f.1.iter()
                .filter(|w| w.starts_with(" cpu") || w.starts_with(" event"))
                .cloned()
                .collect::<Vec<_>>(),
        )
    };
    got.sort_by_key(key);
    wanted.sort_by_key(key);
    for (got, wanted) in got.iter().zip(&wanted) {
        assert_eq!(got.0, wanted.0, "{name}");
        for field in &wanted.1 {
            assert!(got.1.contains(field), "{name}: {field:?} is not in {got:?}");
        }
    }
}

#[test]
fn nothing_is_told_twice_after_a_lost_connection() {
    for requests in [3, 9, 20, 33, 47, 60] {
        let (expected, discarded) = walk("live-ust-grow");
        let (store, changes, packed) = collect(
            "live-ust-grow",
            13,
            usize::MAX,
            RecordFilter::default(),
            Limits::default(),
            Some(requests),
        );
        compare("again", records(&packed, &changes), &expected);
        let cell = |item| store.peers()[0].cells.get(item).unwrap();
        assert_eq!(
            (cell(5), cell(6)),
            (expected.len() as u64, discarded),
            "after {requests} requests"
        );
    }
}

#[test]
fn beyond_the_limit_of_names_fields_are_one_text_and_events_count() {
    let limits = Limits { names: 5, ..Limits::default() };
    let (store, _, packed) =
        collect("live-ust-grow", 13, usize::MAX, RecordFilter::default(), limits, None);
    let (expected, _) = walk("live-ust-grow");
    let all: Vec<_> = Records::<HighRes>::packed(&packed).map(Result::unwrap).collect();
    let with_text = all
        .iter()
        .filter(|r| {
            r.params.iter().any(|p| p.pmid.item() == 4 && p.value.to_string().contains('='))
        })
        .count();
    assert_eq!(all.len(), expected.len());
    assert!(with_text > 100, "{with_text}");
    assert!(store.peers()[0].cells.get(12).unwrap() > 0, "it is counted");
}

#[test]
fn what_is_only_counted_is_no_record() {
    let filter = RecordFilter {
        records: vec!["*".into()],
        count_only: vec!["*:tick".into()],
        ..RecordFilter::default()
    };
    let (store, ..) = collect("live-ust-before", 13, usize::MAX, filter, Limits::default(), None);
    let (expected, _) = walk("live-ust-before");
    let ticks = expected.iter().filter(|l| l.contains("demo:tick\"")).count() as u64;
    let peer = &store.peers()[0];
    assert!(ticks > 10);
    assert_eq!(peer.existing_stream(RECORD).unwrap().stats().count, expected.len() as u64 - ticks);
    assert_eq!(peer.cells.get(5), Some(expected.len() as u64));
}
