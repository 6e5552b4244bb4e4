//! Every recorded trace: its text equals babeltrace's, the properties of its streams equal those of
//! an independent walk over the packets, and neither pieces of metadata nor cuts of packets change
//! a result.
#![cfg(feature = "fs")]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    unreachable_pub,
    missing_docs,
    reason = "a test"
)]

mod kit;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ctf::{DiscardTracker, Event, EventVisitor, NodeId, Packet, Trace, Visitor};
use kit::dump::How;
use kit::{assert_same_lines, captures, corpus, dumped, expected, metadata_beside, shared};

/// Number of empty texts that babeltrace 2.0.4 shows wrongly (see `kit::Stale`); none in texts of
/// 2.1.2.
const STALE: [(&str, usize); 4] =
    [("ust-c-all", 118), ("ust-c-lossy", 112), ("ust-c-perpid", 11), ("live-ust-grow", 58)];

#[test]
fn text_is_babeltraces() {
    assert!(compare_texts(&corpus()) > 4000);
}

#[test]
#[ignore = "reads ../shared/data/lttng"]
fn text_is_babeltraces_for_large_captures() {
    assert!(compare_texts(&shared()) > 6000);
}

/// Compares the text of each capture in a directory; returns the number of events.
fn compare_texts(dir: &Path) -> usize {
    let mut compared = 0;
    for capture in captures(dir) {
        let (ours, told, faults) = dumped(std::slice::from_ref(&capture.trace), How::Dates);
        assert_eq!((told.errors, faults), (vec![], vec![]), "{}", capture.name);
        let theirs = expected(&capture.dir, "pretty").unwrap();
        let stale = assert_same_lines(&capture.name, &ours, &theirs);
        println!("{}: {} events, {stale} texts not cleared", capture.name, ours.lines().count());
        if let Some((_, known)) = STALE.iter().find(|(name, _)| *name == capture.name) {
            assert_eq!(stale, *known, "{}: texts that babeltrace did not clear", capture.name);
        }
        if let Some(cycles) = expected(&capture.dir, "cycles") {
            let (ours, ..) = dumped(std::slice::from_ref(&capture.trace), How::Cycles);
            assert_same_lines(&capture.name, &ours, &cycles);
        }
        compared += ours.lines().count();
    }
    compared
}

#[test]
fn the_article_byte_for_byte() {
    let (text, ..) = dumped(&[corpus().join("article/trace")], How::Cycles);
    let first = "[00000011031997419922] (+????????????) ubuntu-virtual-machine DotNETRuntime:GCStart_V2: { cpu_id = 3 }, \
                 { vpid = 7137 }, { Count = 3, Depth = 2, Reason = 1, Type = 0, ClrInstanceID = 0, ClientSequenceNumber = 0 }";
    assert_eq!(text.lines().next(), Some(first));

    let bytes = std::fs::read(corpus().join("article/packet.bin")).unwrap();
    assert_eq!(bytes.len(), 170);
    let metadata = std::fs::read(corpus().join("article/trace/metadata")).unwrap();
    let trace = Trace::from_metadata(&metadata).unwrap();
    // Only the content was sent; the packet itself is larger.
    let mut packet = Packet::open(&trace, &bytes, 0).unwrap();
    let info = packet.info().clone();
    assert_eq!((info.content_bits, info.packet_bits, info.stream_id), (1360, 32768, Some(3)));
    assert_eq!((info.begin, info.end), (Some(11_031_997_419_922), Some(11_032_585_609_223)));
    let counter = |counter: Option<ctf::Counter>| counter.map(|c| (c.value, c.bits));
    assert_eq!((counter(info.sequence), counter(info.discarded)), (Some((1, 64)), Some((0, 64))));
    let mut values = Values::default();
    packet.read(&mut values).unwrap();
    let event = |cycles, bit, count| (cycles, bit, vec![7137, count, 2, 1, 0, 0, 0]);
    assert_eq!(
        values.events,
        [event(11_031_997_419_922, 0x54 * 8, 3), event(11_032_423_018_061, 0x7f * 8, 4)]
    );
    let clock = &trace.schema().clocks[0];
    assert_eq!(clock.nanoseconds(11_031_997_419_922), 1_514_347_074_563_030_002);
}

/// Integers of events, with clock and position.
#[derive(Clone, Debug, Default, PartialEq)]
struct Values {
    now: Vec<i128>,
    at: (u64, u64),
    events: Vec<(u64, u64, Vec<i128>)>,
}

impl<'a> Visitor<'a> for Values {
    fn unsigned(&mut self, _: NodeId, value: u64) {
        self.now.push(value.into());
    }

    fn signed(&mut self, _: NodeId, value: i64) {
        self.now.push(value.into());
    }

    fn float(&mut self, _: NodeId, value: f64) {
        self.now.push(value.to_bits().into());
    }

    fn string(&mut self, _: NodeId, value: &'a [u8]) {
        self.now.extend(value.iter().map(|b| i128::from(*b)));
    }

    fn blob(&mut self, node: NodeId, value: &'a [u8]) {
        self.string(node, value);
    }
}

impl<'t> EventVisitor<'t, '_> for Values {
    fn event(&mut self, event: &Event<'t>) -> bool {
        self.now.clear();
        self.at = (event.cycles, event.bit);
        true
    }

    fn done(&mut self) {
        self.events.push((self.at.0, self.at.1, std::mem::take(&mut self.now)));
    }
}

/// Packets of a stream file.
fn packets<'t, 'a>(trace: &'t Trace, bytes: &'a [u8]) -> Vec<(&'a [u8], Packet<'t, 'a>)> {
    let (mut all, mut rest, mut clock) = (Vec::new(), bytes, 0);
    while !rest.is_empty() {
        let mut packet = Packet::open(trace, rest, clock).unwrap();
        let size = usize::try_from(packet.info().packet_bits / 8).unwrap();
        all.push((&rest[..size], packet.clone()));
        packet.read(&mut Values::default()).unwrap();
        (rest, clock) = (&rest[size..], packet.clock());
    }
    all
}

#[test]
fn streams_are_as_the_independent_walk_found_them() {
    let facts = std::fs::read_to_string(corpus().join("facts.txt")).unwrap();
    let mut checked = 0;
    for line in facts.lines() {
        let (file, numbers) = line.split_once(' ').unwrap();
        let want: Vec<u64> = numbers.split(' ').map(|n| n.parse().unwrap()).collect();
        let path = corpus().join(file);
        let bytes = std::fs::read(&path).unwrap();
        let trace = metadata_beside(&path);
        let all = packets(&trace, &bytes);
        let mut cpu = Values::default();
        all[0].1.visit_context(&mut cpu).unwrap();
        let info = |n: usize| all[n].1.info();
        let last = all.len() - 1;
        let value = |counter: Option<ctf::Counter>| counter.unwrap().value;
        let content: u64 = all.iter().map(|(_, p)| p.info().content_bits / 8).sum();
        let got = [
            bytes.len() as u64,
            all.len() as u64,
            value(info(0).sequence),
            value(info(last).sequence),
            u64::try_from(*cpu.now.last().unwrap()).unwrap(),
            info(0).begin.unwrap(),
            info(last).end.unwrap(),
            value(info(0).discarded),
            value(info(last).discarded),
            content,
        ];
        assert_eq!(got.to_vec(), want, "{file}");
        // The tracker finds the losses found by the walk.
        let mut losses = DiscardTracker::default();
        let lost = all
            .iter()
            .map(|(_, p)| losses.packet(p.info()))
            .fold((0, 0), |n, l| (n.0 + l.events, n.1 + l.packets));
        assert_eq!(lost, (want[8], want[3] - want[2] + 1 - want[1]), "{file}");
        checked += 1;
    }
    assert_eq!(checked, 13);
}

#[test]
fn what_was_discarded_is_told() {
    let (_, told, _) = dumped(&[corpus().join("ust-c-lossy/trace")], How::Counts);
    let lines: Vec<&str> =
        told.lost.iter().map(|line| line.split(" within").next().unwrap()).collect();
    let want = [
        "WARNING: Tracer discarded 2108 events between [2026-11-21 02:06:03.487198922] and [2026-11-21 02:06:03.691214538]",
        "WARNING: Tracer discarded 2108 events between [2026-11-21 02:06:03.487216483] and [2026-11-21 02:06:03.691237352]",
    ];
    assert_eq!(lines, want);
    assert_eq!(told.counts.values().sum::<u64>(), 3784);
    assert_eq!(told.counts["demo:tick"], 474);
    assert_eq!(told.counts["demo:request"], 472);
}

#[test]
fn reading_resumes_at_every_mark() {
    let facts = std::fs::read_to_string(corpus().join("facts.txt")).unwrap();
    for path in facts.lines().map(|line| corpus().join(line.split(' ').next().unwrap())) {
        let bytes = std::fs::read(&path).unwrap();
        let trace = metadata_beside(&path);
        let mut clock = 0;
        for (bytes, mut packet) in packets(&trace, &bytes) {
            // The marks are found by one who skips the fields.
            let (mut marks, mut skips) = (vec![packet.mark()], Skips(0));
            while packet.read_at_most(40, &mut skips).unwrap() {
                marks.push(packet.mark());
            }
            let content = usize::try_from(packet.info().content_bits / 8).unwrap();
            let open = || Packet::open(&trace, &bytes[..content], clock).unwrap();
            let mut all = Values::default();
            open().read(&mut all).unwrap();
            assert_eq!(skips.0, all.events.len());
            for (n, mark) in marks.into_iter().enumerate().rev() {
                let (mut resumed, mut rest) = (open(), Values::default());
                resumed.resume(mark);
                resumed.read(&mut rest).unwrap();
                assert!(rest.events == all.events[40 * n..], "{} from {n}", path.display());
            }
            clock = packet.clock();
        }
    }
}

/// Counts events whose fields it skips.
struct Skips(usize);

impl<'a> Visitor<'a> for Skips {
    fn unsigned(&mut self, _: NodeId, _: u64) {}
    fn signed(&mut self, _: NodeId, _: i64) {}
    fn float(&mut self, _: NodeId, _: f64) {}
    fn string(&mut self, _: NodeId, _: &'a [u8]) {}
    fn blob(&mut self, _: NodeId, _: &'a [u8]) {}
}

impl<'t> EventVisitor<'t, '_> for Skips {
    fn event(&mut self, _: &Event<'t>) -> bool {
        false
    }

    fn done(&mut self) {}

    fn skipped(&mut self) {
        self.0 += 1;
    }
}

fn metadata_files(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            metadata_files(&path, found);
        } else if path.file_name().is_some_and(|name| name == "metadata") {
            found.push(path);
        }
    }
}

/// Schema, clocks of streams, nodes of classes: all contents of a trace.
fn description(trace: &Trace) -> String {
    let mut text = format!("{:?}", trace.schema());
    for stream in trace.streams() {
        text += &format!("{:?} {:?} {:?}", stream.id, stream.clock, stream.context_nodes());
        for event in stream.events() {
            text += &format!("{} {:?}", event.name, event.nodes());
        }
    }
    text
}

#[test]
fn metadata_may_come_in_any_pieces() {
    let mut files = Vec::new();
    metadata_files(&corpus(), &mut files);
    let others = captures(&corpus()).into_iter().map(|c| c.trace);
    others.for_each(|dir| metadata_files(&dir, &mut files));
    files.sort();
    files.dedup();
    assert!(files.len() >= 7);
    for file in files {
        let bytes = std::fs::read(&file).unwrap();
        let whole = description(&Trace::from_metadata(&bytes).unwrap());
        let pieces = |pieces: &mut dyn Iterator<Item = &[u8]>| {
            let mut trace = Trace::new();
            let mut classes = 0;
            for piece in pieces {
                trace.metadata(piece).unwrap();
                // The number of classes never decreases.
                let now = trace.streams().iter().map(|s| s.events().len()).sum();
                assert!(now >= classes);
                classes = now;
            }
            assert!(!trace.unfinished());
            description(&trace)
        };
        assert_eq!(pieces(&mut bytes.chunks(1)), whole, "{} byte by byte", file.display());
        for cut in (0..bytes.len()).step_by(bytes.len() / 200 + 1) {
            let (head, tail) = bytes.split_at(cut);
            assert_eq!(
                pieces(&mut [head, tail].into_iter()),
                whole,
                "{} cut at {cut}",
                file.display()
            );
        }
        // Every beginning of the metadata is either incomplete or valid.
        for cut in (0..bytes.len()).step_by(bytes.len() / 400 + 1) {
            let mut trace = Trace::new();
            trace
                .metadata(&bytes[..cut])
                .unwrap_or_else(|e| panic!("{} up to {cut}: {e}", file.display()));
        }
    }
}

/// Byte range of the content size (bits, little endian) in a packet of the tracer.
const CONTENT_SIZE: std::ops::Range<usize> = 48..56;

#[test]
fn cut_packets_give_what_is_whole_and_an_error() {
    let mut cuts = 0;
    for file in [
        "article/trace/channel0_3",
        "dotnet31-gc/trace/ust/uid/0/64-bit/ch1_1",
        "ust-python/trace/ust/uid/0/64-bit/lttng_python_channel_1",
        "ust-c-perpid/trace/ust/pid/demo-10855-20261121-020632/ch1_0",
        "ust216-ctf-2/trace/ust/uid/0/64-bit/ch1_0",
    ] {
        let path = corpus().join(file);
        let bytes = std::fs::read(&path).unwrap();
        let trace = metadata_beside(&path);
        let (bytes, mut whole) = packets(&trace, &bytes).swap_remove(0);
        let content = usize::try_from(whole.info().content_bits).unwrap();
        let mut all = Values::default();
        whole.read(&mut all).unwrap();
        // The bytes end within the content: such a packet is rejected.
        for cut in 0..content / 8 {
            assert!(Packet::open(&trace, &bytes[..cut], 0).is_err(), "{file} cut at byte {cut}");
        }
        // The content ends earlier, at any bit: events before the cut are reported, the one within
        // the cut is not.
        let ends: BTreeMap<u64, usize> =
            all.events.iter().enumerate().map(|(n, (_, bit, _))| (*bit, n)).collect();
        let first = usize::try_from(*ends.keys().next().unwrap()).unwrap();
        for cut in (first..content).step_by(if content < 30_000 { 1 } else { 61 }) {
            let mut short = bytes.to_vec();
            short[CONTENT_SIZE].copy_from_slice(&(cut as u64).to_le_bytes());
            let mut packet = Packet::open(&trace, &short, 0).unwrap();
            let mut values = Values::default();
            let end = packet.read(&mut values);
            let told = values.events.len();
            assert_eq!(values.events[..], all.events[..told], "{file} ends at bit {cut}");
            let at_event = ends.get(&(cut as u64));
            assert_eq!(end.is_ok(), at_event.is_some(), "{file} ends at bit {cut}: {end:?}");
            assert!(at_event.is_none_or(|n| *n == told), "{file} ends at bit {cut}");
            if let Err(e) = end {
                assert!(e.bit <= cut as u64 && !e.field.is_empty(), "{e}");
                let next = all.events.get(told + 1).map_or(content as u64, |e| e.1);
                assert!(
                    (all.events[told].1..next).contains(&(cut as u64 - 1)),
                    "{file} ends at bit {cut}: {told} events"
                );
            }
            assert_eq!(packet.peek().map(|e| e.is_none()), Ok(true), "something after the end");
            cuts += 1;
        }
    }
    assert!(cuts > 10_000, "only {cuts} cuts");
}

#[test]
fn damaged_packets_never_do_harm() {
    let path = corpus().join("ust216-ctf-2/trace/ust/uid/0/64-bit/ch1_0");
    let bytes = std::fs::read(&path).unwrap();
    let trace = metadata_beside(&path);
    let (packet, _) = packets(&trace, &bytes).swap_remove(0);
    let mut sound = 0;
    // Each byte of the first events, with each bit inverted and with all.
    for at in 0..1500 {
        for flip in [1, 2, 4, 8, 16, 32, 64, 128, 255] {
            let mut bad = packet.to_vec();
            bad[at] ^= flip;
            if let Ok(mut packet) = Packet::open(&trace, &bad, 0) {
                let mut values = Values::default();
                sound += usize::from(packet.read(&mut values).is_ok());
                assert!(values.events.is_sorted_by_key(|e| e.1), "events overlap");
            }
        }
    }
    assert!(sound > 3000, "values may change without harm: {sound}");
}
