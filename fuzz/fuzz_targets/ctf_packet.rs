//! Untrusted packets. First with any schema (both made from the same bytes): the compiled plan and
//! the interpreter of field classes must report the same. Then of an LTTng trace: events lie one
//! behind the other within the content, and reading all at once, one by one and over a stream gives
//! the same.
#![no_main]

use std::sync::LazyLock;

use ctf::oracle::{by_plan, by_types, check};
use ctf::{Next, Packet, Stream, Trace};
use libfuzzer_sys::fuzz_target;

const METADATA: [&[u8]; 3] = [
    include_bytes!("../../qa/corpus/lttng/ust-c-lossy/trace/ust/uid/0/64-bit/metadata"),
    include_bytes!("../../qa/corpus/lttng/ust216-ctf-2/trace/ust/uid/0/64-bit/metadata"),
    include_bytes!("../../qa/corpus/lttng/article/trace/metadata"),
];

static TRACES: LazyLock<Vec<Trace>> = LazyLock::new(|| {
    let read = |bytes: &[u8]| {
        let mut trace = Trace::new();
        trace.metadata(bytes).unwrap();
        trace
    };
    METADATA.into_iter().map(read).collect()
});

/// A packet of LTTng with these bytes as its events.
fn packet(trace: &Trace, events: &[u8]) -> Vec<u8> {
    let bits = (8 * (84 + events.len()) as u64).to_le_bytes();
    let mut packet = 0xc1fc_1fc1_u32.to_le_bytes().to_vec();
    packet.extend(trace.schema().uuid.unwrap().as_bytes());
    packet.extend([0; 12]);
    packet.extend([1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
    packet.extend(bits);
    packet.extend(bits);
    packet.extend([0; 20]);
    packet.extend(events);
    packet
}

fuzz_target!(|data: &[u8]| {
    check(data);
    // One of them: each costs as much as the schema above.
    if let Some(trace) = TRACES.get(data.len() % METADATA.len()) {
        let bytes = packet(trace, data);
        let opened = Packet::open(trace, &bytes, 0).unwrap();
        assert_eq!(opened.info().content_bits, 8 * bytes.len() as u64);
        let all = by_plan(trace, &bytes, true);
        assert_eq!(all, by_plan(trace, &bytes, false));
        if trace.schema().version == ctf::schema::Version::V1 && data.len() < 200 {
            // The interpreter of field classes does not support the UUID of CTF 2, which is a blob.
            let mut slow = by_types(trace.schema(), &bytes);
            slow.context.clear();
            assert_eq!((&all.events, all.sound), (&slow.events, slow.sound));
        }
        let (mut stream, mut count, mut last) = (Stream::new(trace, &bytes), 0, 0);
        loop {
            match stream.advance() {
                Ok(Next::Event(event)) => {
                    assert!(event.bit >= last && event.bit < 8 * bytes.len() as u64);
                    last = event.bit + 1;
                    if stream.visit(&mut ctf::oracle::Calls::default()).is_ok() {
                        count += 1;
                    }
                }
                Ok(Next::Packet(_)) => {}
                Ok(Next::End) => break,
                Err(e) => assert!(e.bit <= 8 * bytes.len() as u64),
            }
        }
        assert_eq!(count, all.events.len());
    }
});
