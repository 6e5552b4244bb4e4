//! Recorded traces through two traces and streams: one packs all records at once, the other keeps
//! each packet. Whatever is read, both give the same bytes.

use std::fs;
use std::path::{Path, PathBuf};

use super::super::Lttng;
use super::class::{Definitions, RecordFilter};
use super::packer::RecordBuffers;
use super::{RecordContext, StreamPosition, Trace};
use crate::contract::Recorded;
use crate::ctf;
use crate::ctf::Packet;
use crate::events::{Budget, Delivery, Limits, ReadRequest, Resolutions, Stream, StreamStats};
use crate::model::{Now, Pmid};
use crate::sources::Source;
use crate::sources::foreign::ForeignReaders;

/// A session with one trace.
struct Side {
    told: Recorded,
    trace: Trace,
    names: Definitions,
    buffers: RecordBuffers,
    position: StreamPosition,
    packets: u64,
}

impl Side {
    fn new(metadata: &[u8], keeps: bool, memory: usize, names: usize) -> Self {
        let told = Recorded::new(&Lttng::TABLE).with_lines();
        let mut log = told.log_mut();
        log.stream = Some(Stream::new(&Budget::new(memory)));
        (log.keeps, log.room) = (keeps, names);
        drop(log);
        let mut trace = Trace::default();
        assert_eq!(trace.metadata(metadata), Vec::<String>::new());
        Self {
            told,
            trace,
            names: Definitions::new("host", "session"),
            buffers: RecordBuffers::default(),
            position: StreamPosition::default(),
            packets: 0,
        }
    }

    /// Takes a packet; the result as text.
    fn packet(&mut self, bytes: &[u8], filter: &RecordFilter) -> String {
        self.packets += 1;
        // A small share of records must not end the comparison.
        self.position.sparse = false;
        let context = RecordContext {
            session: "session",
            filter,
            foreign: &ForeignReaders::default(),
            now: Now::default(),
            peer: &mut self.told,
            names: &mut self.names,
            buffers: &mut self.buffers,
        };
        let result = self.trace.packet(bytes, self.packets, "channel", &mut self.position, context);
        format!("{result:?} {}", self.position.clock)
    }

    fn stream<T>(&self, look: impl FnOnce(&Stream) -> T) -> T {
        look(self.told.log().stream.as_ref().unwrap())
    }

    fn stats(&self) -> StreamStats {
        let mut stats = self.stream(Stream::stats);
        stats.memory = 0;
        stats
    }
}

/// All that a delivery says.
fn parts(delivery: &Delivery) -> (Option<Vec<u8>>, Option<Vec<u8>>, usize, u64) {
    let bytes = |array: &Option<crate::events::EventArray>| array.as_deref().map(<[u8]>::to_vec);
    (bytes(&delivery.low), bytes(&delivery.high), delivery.records, delivery.missed)
}

/// Metadata and stream files of the recorded traces.
fn traces() -> Vec<(Vec<u8>, Vec<Vec<u8>>)> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("qa/corpus/lttng");
    let facts = fs::read_to_string(corpus.join("facts.txt")).unwrap();
    let files: Vec<PathBuf> =
        facts.lines().map(|line| corpus.join(line.split(' ').next().unwrap())).collect();
    let mut dirs: Vec<&Path> = files.iter().map(|file| file.parent().unwrap()).collect();
    dirs.dedup();
    let streams = |dir: &Path| {
        let own = files.iter().filter(|file| file.parent() == Some(dir));
        own.map(|file| fs::read(file).unwrap()).collect()
    };
    dirs.iter().map(|dir| (fs::read(dir.join("metadata")).unwrap(), streams(dir))).collect()
}

/// The packets of a stream file.
fn packets<'b>(metadata: &[u8], mut bytes: &'b [u8]) -> Vec<&'b [u8]> {
    let trace = ctf::Trace::from_metadata(metadata).unwrap();
    let mut packets = Vec::new();
    while !bytes.is_empty() {
        let size = usize::try_from(Packet::size(&trace, bytes).unwrap().unwrap()).unwrap();
        packets.push(&bytes[..size]);
        bytes = &bytes[size..];
    }
    packets
}

fn filters() -> [RecordFilter; 3] {
    let some = RecordFilter { count_only: vec!["*:tick".into()], ..RecordFilter::default() };
    // Texts are cut.
    let short = RecordFilter { field_size: 9, ..RecordFilter::default() };
    [RecordFilter::default(), some, short]
}

/// Three clients that read in different ways, and one who looks at the newest records.
fn read(sides: &[Side; 2]) {
    let even = |record: &[u8]| record.len().is_multiple_of(8);
    for (client, (low, high, records, bytes, filtered)) in (1..).zip([
        (true, false, 100, 1 << 20, false),
        (true, true, 1000, 3000, true),
        (false, true, 100_000, 16 << 20, false),
    ]) {
        let limits = Limits::new(records, bytes);
        let mut request = ReadRequest::new(Resolutions { low, high }, limits, Pmid::new(1, 1, 0));
        request.filter = filtered.then_some(&even);
        let [packed, kept] =
            sides.each_ref().map(|side| side.stream(|stream| stream.read(client, &request)));
        assert!(parts(&packed) == parts(&kept), "client {client}");
    }
    for n in [1, 50, 5000] {
        let [packed, kept] = sides.each_ref().map(|side| side.stream(|stream| stream.newest(n)));
        assert!(packed == kept, "the newest {n}");
    }
    assert_eq!(sides[0].stats(), sides[1].stats());
    assert_eq!(sides[0].told.log().lines, sides[1].told.log().lines);
}

#[test]
fn kept_packets_give_the_same_records() {
    let mut kept = 0;
    for (metadata, streams) in traces() {
        for (filter, names) in filters().iter().zip([usize::MAX, 5, 20]) {
            let mut sides =
                [false, true].map(|keeps| Side::new(&metadata, keeps, 256 << 20, names));
            for bytes in &streams {
                for packet in packets(&metadata, bytes) {
                    let [a, b] = sides.each_mut().map(|side| side.packet(packet, filter));
                    assert_eq!(a, b);
                    read(&sides);
                }
                // Later names and classes do not change records that were not read.
                for side in &mut sides {
                    let mut log = side.told.log_mut();
                    log.room = log.room.saturating_mul(2);
                    drop(log);
                    let class = "event { name = \"late:one\"; id = 60000; stream_id = 0; };";
                    let grows = metadata.starts_with(b"/* CTF 1.8 */") && side.packets < 3;
                    assert!(!grows || side.trace.metadata(class.as_bytes()).len() < 2);
                }
                read(&sides);
            }
            while sides[0].stream(|stream| stream.read(1, &everything())).records > 0 {
                sides[1].stream(|stream| stream.read(1, &everything()));
            }
            read(&sides);
            kept += sides[1].told.log().later;
            assert_eq!(sides[0].told.log().later, 0);
        }
    }
    assert!(kept > 90, "{kept}");
}

fn everything() -> ReadRequest<'static> {
    let both = Resolutions { low: true, high: true };
    ReadRequest::new(both, Limits::new(usize::MAX, 8 << 20), Pmid::new(1, 1, 0))
}

#[test]
fn damaged_packets_are_kept_up_to_the_fault() {
    let mut faults = 0;
    for (metadata, streams) in traces() {
        let packets: Vec<_> = streams.iter().flat_map(|b| packets(&metadata, b)).collect();
        let packet = packets.iter().min_by_key(|packet| packet.len()).unwrap();
        let filter = &filters()[0];
        let trace = ctf::Trace::from_metadata(&metadata).unwrap();
        let content = Packet::open(&trace, packet, 0).unwrap().info().content_bits / 8;
        let content = usize::try_from(content).unwrap();
        let mut random = 7_u64;
        for _ in 0..60 {
            let mut sides = [false, true].map(|keeps| Side::new(&metadata, keeps, 64 << 20, 4096));
            let mut bytes = packet.to_vec();
            for _ in 0..3 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let at = 80 + usize::try_from(random >> 33).unwrap() % (content - 80);
                bytes[at] ^= random.to_le_bytes()[3];
            }
            let [a, b] = sides.each_mut().map(|side| side.packet(&bytes, filter));
            assert_eq!(a, b);
            faults += usize::from(a.contains("fault: Some"));
            read(&sides);
        }
    }
    assert!(faults > 20, "{faults}");
}

#[test]
fn what_is_dropped_is_missed_exactly() {
    let (metadata, streams) = traces().swap_remove(5);
    let mut side = Side::new(&metadata, true, 200 << 10, 4096);
    let (mut delivered, mut events) = (0, 0);
    for packet in streams.iter().flat_map(|bytes| packets(&metadata, bytes)) {
        side.packet(packet, &RecordFilter::default());
        let request = {
            let mut request = everything();
            request.limits.records = 100;
            request
        };
        let delivery = side.stream(|stream| stream.read(1, &request));
        delivered += delivery.records as u64 + delivery.missed;
        events = side.stream(Stream::stats).count;
        assert!(side.stream(Stream::stats).memory <= 200 << 10);
    }
    loop {
        let delivery = side.stream(|stream| stream.read(1, &everything()));
        delivered += delivery.records as u64 + delivery.missed;
        if delivery.records == 0 {
            break;
        }
    }
    assert!(side.stream(Stream::stats).lost > 100);
    assert_eq!(delivered, events);
}

#[test]
fn records_that_are_cut_are_packed_to_know_their_size() {
    let metadata = r#"/* CTF 1.8 */
        typealias integer { size = 32; align = 8; } := uint32_t;
        trace { major = 1; minor = 8; byte_order = le; packet.header := struct { uint32_t magic; }; };
        stream { event.header := struct { uint32_t id; }; };
        event { name = "a:texts"; id = 0; fields := struct { string a; uint32_t b; string c; uint32_t d; }; };
        event { name = "a:bits"; id = 1; fields := struct {
            uint32_t _e_length; integer { size = 4; align = 4; } e[_e_length]; uint32_t f; }; };
        event { name = "a:number"; id = 2; fields := struct { uint32_t g; }; };
    "#;
    let event = |packet: &mut Vec<u8>, a: usize, c: usize| {
        packet.extend(2_u64.to_le_bytes());
        packet.extend(0_u32.to_le_bytes());
        for len in [a, c] {
            // A character of two bytes, and one that is not UTF-8.
            packet.extend("é\u{ff}".bytes().cycle().take(len));
            packet.extend([0xff, 0]);
            packet.extend(7_u32.to_le_bytes());
        }
        packet.extend([1, 0, 0, 0, 3, 0, 0, 0, 0x21, 0x03, 9, 0, 0, 0]);
    };
    let mut truncated = Vec::new();
    for (a, c) in [(10, 20), (300_000, 100), (600_000, 5), (300_000, 300_000), (524_000, 100)] {
        let mut packet = 0xC1FC_1FC1_u32.to_le_bytes().to_vec();
        event(&mut packet, a, c);
        event(&mut packet, 1, 2);
        let mut sides =
            [false, true].map(|keeps| Side::new(metadata.as_bytes(), keeps, 256 << 20, 4096));
        for _ in 0..2 {
            let [a, b] = sides.each_mut().map(|side| side.packet(&packet, &filters()[0]));
            assert!(a == b && a.contains("fault: None"), "{a} {b}");
        }
        read(&sides);
        truncated.push(sides[1].stats().truncated);
        assert_eq!((sides[1].told.log().later, sides[1].stats().count), (2, 12));
    }
    assert_eq!(truncated, [0, 0, 8, 4, 0]);
}
