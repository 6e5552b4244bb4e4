//! Events of several streams in time order, with errors in between.

use super::*;
use crate::plan::NodeId;
use crate::{Trace, Violation};

const METADATA: &str = "trace { major = 1; minor = 8; byte_order = le; };
    clock { name = c; offset = CYCLES; };
    stream { packet.context := struct { integer { size = 8; } packet_size; integer { size = 8; } packet_seq_num; };
      event.header := struct { integer { size = 8; } id; integer { size = 8; map = clock.c.value; } t; }; };
    event { id = 0; name = e; fields := struct { integer { size = 8; } x; }; };";

fn trace(offset: u64) -> Trace {
    let mut trace = Trace::new();
    trace.metadata(METADATA.replace("CYCLES", &offset.to_string()).as_bytes()).unwrap();
    trace
}

/// A packet with events at these times, numbered.
fn packet(sequence: u8, events: &[(u8, u8)]) -> Vec<u8> {
    let mut bytes = vec![u8::try_from(8 * (2 + 3 * events.len())).unwrap(), sequence];
    events.iter().for_each(|(time, x)| bytes.extend([0, *time, *x]));
    bytes
}

#[derive(Default)]
struct Told {
    now: u64,
    lines: Vec<(i128, usize, u64)>,
    faults: Vec<(usize, Violation)>,
    lost: u64,
    packets: usize,
}

impl Visitor<'_> for Told {
    fn unsigned(&mut self, _: NodeId, value: u64) {
        self.now = value;
    }

    fn signed(&mut self, _: NodeId, _: i64) {}
    fn float(&mut self, _: NodeId, _: f64) {}
    fn string(&mut self, _: NodeId, _: &[u8]) {}
    fn blob(&mut self, _: NodeId, _: &[u8]) {}
}

impl<'t, 'a> MergeVisitor<'t, 'a> for Told {
    fn packet(&mut self, _: usize, _: &Packet<'t, 'a>, lost: Discarded) {
        self.packets += 1;
        self.lost += lost.packets;
    }

    fn fault(&mut self, stream: usize, fault: &PacketError) {
        self.faults.push((stream, fault.violation));
    }

    fn event(&mut self, stream: usize, _: &Event<'t>, nanoseconds: Option<i128>) {
        self.lines.push((nanoseconds.unwrap(), stream, 0));
    }

    fn done(&mut self, _: usize) {
        self.lines.last_mut().unwrap().2 = self.now;
    }
}

fn merged(streams: Vec<Stream<'_, '_>>) -> Told {
    let (mut merge, mut told) = (Merge::new(streams.clone()), Told::default());
    while merge.step(&mut told) {}
    assert!(!merge.step(&mut told));
    // Some single steps and then the rest at once give the same result as all at once.
    for steps in 0..=told.lines.len() {
        let (mut merge, mut at_once) = (Merge::new(streams.clone()), Told::default());
        (0..steps).for_each(|_| assert!(merge.step(&mut at_once)));
        merge.run(&mut at_once);
        assert_eq!((&at_once.lines, &at_once.faults), (&told.lines, &told.faults));
        assert_eq!((at_once.packets, at_once.lost), (told.packets, told.lost));
    }
    told
}

#[test]
fn in_the_order_of_time() {
    let (near, far) = (trace(1000), trace(1005));
    let a = [packet(0, &[(1, 1), (9, 2)]), packet(1, &[(9, 3)]), packet(3, &[(30, 4)])].concat();
    let b = packet(0, &[(3, 5), (4, 6), (40, 7)]);
    let told = merged(vec![Stream::new(&near, &a), Stream::new(&far, &b), Stream::new(&near, &[])]);
    // Equal times: the stream of the smaller number first.
    assert_eq!(
        told.lines,
        [
            (1001, 0, 1),
            (1008, 1, 5),
            (1009, 0, 2),
            (1009, 0, 3),
            (1009, 1, 6),
            (1030, 0, 4),
            (1045, 1, 7)
        ]
    );
    assert_eq!((told.faults.len(), told.packets, told.lost), (0, 4, 1));
}

#[test]
fn a_fault_costs_the_packet_and_an_unknown_size_the_stream() {
    let trace = trace(0);
    let mut bad = packet(1, &[(5, 2), (6, 3), (7, 4)]);
    bad[5] = 77; // no such class, in the middle
    let a = [packet(0, &[(1, 1)]), bad, packet(2, &[(8, 5)])].concat();
    let mut cut = packet(1, &[(4, 7)]);
    cut[0] += 8; // larger than what is there
    let b = [packet(0, &[(2, 6)]), cut].concat();
    let zero = [packet(0, &[(3, 8)]), vec![0; 8]].concat();
    let told =
        merged(vec![Stream::new(&trace, &a), Stream::new(&trace, &b), Stream::new(&trace, &zero)]);
    let numbers: Vec<u64> = told.lines.iter().map(|line| line.2).collect();
    assert_eq!(numbers, [1, 6, 8, 2, 5]);
    let mut faults = told.faults;
    faults.sort_by_key(|fault| fault.0);
    assert_eq!(
        faults,
        [
            (0, Violation::EventClass(77)),
            (1, Violation::Size { got: 48, max: 40 }),
            (2, Violation::Size { got: 0, max: 16 })
        ]
    );
}

#[test]
fn streams_without_clocks_come_first() {
    let with = trace(1);
    let mut without = Trace::new();
    let text = METADATA
        .replace(" map = clock.c.value;", "")
        .replace("clock { name = c; offset = CYCLES; };", "");
    without.metadata(text.as_bytes()).unwrap();
    let (a, b) = (packet(0, &[(1, 1)]), packet(0, &[(200, 2), (3, 3)]));
    let streams = vec![Stream::new(&with, &a), Stream::new(&without, &b)];
    let mut merge = Merge::new(streams);
    struct ByteOrder(Vec<(usize, bool)>);
    impl Visitor<'_> for ByteOrder {
        fn unsigned(&mut self, _: NodeId, _: u64) {}
        fn signed(&mut self, _: NodeId, _: i64) {}
        fn float(&mut self, _: NodeId, _: f64) {}
        fn string(&mut self, _: NodeId, _: &[u8]) {}
        fn blob(&mut self, _: NodeId, _: &[u8]) {}
    }
    impl<'t, 'a> MergeVisitor<'t, 'a> for ByteOrder {
        fn packet(&mut self, _: usize, _: &Packet<'t, 'a>, _: Discarded) {}
        fn fault(&mut self, _: usize, _: &PacketError) {}
        fn event(&mut self, stream: usize, _: &Event<'t>, nanoseconds: Option<i128>) {
            self.0.push((stream, nanoseconds.is_some()));
        }
        fn done(&mut self, _: usize) {}
    }
    let mut order = ByteOrder(Vec::new());
    while merge.step(&mut order) {}
    assert_eq!(order.0, [(1, false), (1, false), (0, true)]);
}

#[test]
fn appended_bytes_go_on() {
    let trace = trace(0);
    let (a, b) = (packet(5, &[(250, 1)]), packet(8, &[(3, 2)]));
    let mut stream = Stream::new(&trace, &a);
    let mut seen = Vec::new();
    for more in [Some(&b), None] {
        loop {
            match stream.advance().unwrap() {
                Next::Packet(lost) => seen.push((0, lost.packets)),
                Next::Event(event) => {
                    seen.push((1, event.cycles));
                    stream.visit(&mut Told::default()).unwrap();
                }
                Next::End => break,
            }
        }
        if let Some(more) = more {
            stream.append(more);
        }
    }
    // The 8-bit clock continues from the packet before, and two packets are missing.
    assert_eq!(seen, [(0, 0), (1, 250), (0, 2), (1, 259)]);
}
