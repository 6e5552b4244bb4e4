//! A recorded trace of .NET Core 3.1, and one made by hand.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use super::super::class::{Definitions, RecordFilter};
use super::super::packer::RecordBuffers;
use super::super::{RecordContext, StreamPosition, Trace};
use crate::contract::Recorded;
use crate::model::Now;
use crate::sources::Source;
use crate::sources::foreign::{ForeignEvent, ForeignFeed, ForeignReader, ForeignReaders};
use crate::sources::lttng::Lttng;

/// `CLASS process thread payload`, and the hosts of feeds.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<String>>>);

impl ForeignReader for Seen {
    fn open(&self, host: &str) -> Box<dyn ForeignFeed> {
        self.0.lock().unwrap().push(format!("host {host}"));
        Box::new(self.clone())
    }
}

impl ForeignFeed for Seen {
    fn class(&mut self, name: &str) -> Option<u32> {
        self.0.lock().unwrap().push(format!("class {name}"));
        (!name.starts_with("Not")).then_some(7)
    }

    fn event(&mut self, _: Now, event: &ForeignEvent<'_>) {
        let ForeignEvent { class, process, thread, stamp, payload } = event;
        let payload: String = payload.iter().map(|byte| format!("{byte:02x}")).collect();
        let text = format!("{class} {process:?} {thread} {} {payload}", stamp.sec);
        self.0.lock().unwrap().push(text);
    }
}

fn read(metadata: &[u8], packets: &[Vec<u8>], records: &str) -> (Vec<String>, u64) {
    let seen = Seen::default();
    let foreign = ForeignReaders::default();
    foreign.offer("DotNETRuntime", Arc::new(seen.clone()));
    let mut trace = Trace::default();
    assert_eq!(trace.metadata(metadata), Vec::<String>::new());
    let filter = RecordFilter { records: vec![records.into()], ..RecordFilter::default() };
    let (mut peer, mut names) = (Recorded::new(&Lttng::TABLE), Definitions::new("h", "s"));
    let mut events = 0;
    for bytes in packets {
        let context = RecordContext {
            session: "s",
            filter: &filter,
            foreign: &foreign,
            now: Now::default(),
            peer: &mut peer,
            names: &mut names,
            buffers: &mut RecordBuffers::default(),
        };
        let result = trace.packet(bytes, 1, "c", &mut StreamPosition::default(), context);
        assert!(result.fault.is_none(), "{:?}", result.fault);
        events += result.events;
    }
    let lines = seen.0.lock().unwrap().clone();
    (lines, events)
}

#[test]
fn collections_of_a_recorded_trace_are_packed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("qa/corpus/lttng/dotnet31-gc/trace/ust/uid/0/64-bit");
    let file = |name: &str| fs::read(root.join(name)).unwrap();
    // With and without records.
    for records in ["*", "none"] {
        let (lines, events) = read(&file("metadata"), &[file("ch1_0"), file("ch1_1")], records);
        assert_eq!((lines.len(), events), (10, 8), "{lines:?}");
        assert_eq!(lines[..2], ["host vm", "class GCStart_V2"]);
        // Processor 0 first: Count 8, Depth 2, Reason 1, Type 0, ClrInstanceID 0, number 0.
        let rest = "0100000000000000000000000000000000000000";
        assert_eq!(
            lines[2],
            format!("7 Some(22533) 22533 1795227225 0800000002000000{}", &rest[..36])
        );
        assert_eq!(
            lines[3],
            format!("7 Some(22533) 22533 1795227225 0100000000000000{}", &rest[..36])
        );
    }
}

#[test]
fn texts_blobs_and_processes_of_per_process_traces() {
    let metadata = r#"/* CTF 1.8 */
        typealias integer { size = 8; align = 8; signed = true; } := int8_t;
        typealias integer { size = 16; align = 8; signed = false; } := uint16_t;
        typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
        typealias integer { size = 64; align = 8; signed = false; } := uint64_t;
        trace { major = 1; minor = 8; byte_order = le;
            packet.header := struct { uint32_t magic; uint32_t stream_id; }; };
        env { domain = "ust"; hostname = "far"; vpid = 77; };
        clock { name = "m"; freq = 1000000000; offset = 5000000000; };
        typealias integer { size = 64; align = 8; signed = false; map = clock.m.value; } := t;
        stream { id = 0;
            event.header := struct { uint32_t id; t timestamp; };
            packet.context := struct { uint64_t content_size; uint64_t packet_size; }; };
        event { name = "DotNETRuntime:Blob_V1"; id = 0; stream_id = 0;
            fields := struct { uint32_t _length; uint32_t ____data___length;
                int8_t ___data__[ ____data___length ]; }; };
        event { name = "DotNETRuntime:Text_V1"; id = 1; stream_id = 0;
            fields := struct { string _Type; uint16_t _Flags; }; };
        event { name = "DotNETRuntime:NotThis"; id = 2; stream_id = 0;
            fields := struct { uint16_t _Flags; }; };
        event { name = "other:thing"; id = 3; stream_id = 0;
            fields := struct { uint16_t _Flags; }; };
    "#;
    let mut packet = 0xC1FC_1FC1_u32.to_le_bytes().to_vec();
    packet.extend([0; 4 + 16]);
    let mut event = |id: u32, fields: &[u8]| {
        packet.extend(id.to_le_bytes());
        packet.extend(1_u64.to_le_bytes());
        packet.extend_from_slice(fields);
    };
    event(0, &[3, 0, 0, 0, 3, 0, 0, 0, 0xff, 1, 2]);
    event(3, &[9, 9]);
    event(1, "é\0\x05\0".as_bytes());
    event(2, &[9, 9]);
    let bits = packet.len() as u64 * 8;
    packet[8..16].copy_from_slice(&bits.to_le_bytes());
    packet[16..24].copy_from_slice(&bits.to_le_bytes());
    let (lines, events) = read(metadata.as_bytes(), &[packet], "*");
    assert_eq!(events, 4);
    assert_eq!(lines[0], "host far");
    assert_eq!(lines[4..], ["7 Some(77) 0 5 ff0102", "7 Some(77) 0 5 e90000000500"]);
}
