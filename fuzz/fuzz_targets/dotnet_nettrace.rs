//! A .NET runtime sends any bytes in any pieces, or blocks with sound frames and anything in them.
//! What is handed over, the losses and the error do not depend on the pieces; values stay within
//! their payload, memory within its limits; after an error nothing comes.
#![no_main]

use std::hash::{DefaultHasher, Hash, Hasher};

use bytes::BytesMut;
use libfuzzer_sys::fuzz_target;
use pmdaapm::sources::dotnet::wire::clr;
use pmdaapm::model::HeapSize;
use pmdaapm::sources::dotnet::limits;
use pmdaapm::sources::dotnet::wire::nettrace::{
    Event, EventType, Header, Ips, Losses, NettraceError, Reader, Value, Values, Visitor,
};

/// A sum of all that is handed over.
#[derive(Default)]
struct Sum {
    hasher: DefaultHasher,
    headers: u32,
    events: u64,
    lost: u64,
    types: Vec<EventType>,
    /// Values are not read: this is what the other half does not cost.
    blind: bool,
}

impl Visitor for Sum {
    fn header(&mut self, header: &Header) {
        assert!(matches!(header.pointer_size, 4 | 8) && header.frequency > 0);
        self.headers += 1;
        (1, header.ticks, header.utc.sec, header.utc.nsec).hash(&mut self.hasher);
    }

    fn event_type(&mut self, t: &EventType) {
        assert!(self.headers == 1);
        assert!((t.index as usize) < limits::EVENT_TYPES && t.fields.len() <= limits::FIELDS);
        let index = t.index as usize;
        // An id that is defined again keeps its index.
        assert!(index <= self.types.len(), "indexes have no gaps");
        if index < self.types.len() {
            self.types[index] = t.clone();
        } else {
            self.types.push(t.clone());
        }
        (2, t.index, &t.provider, t.id, t.version, &t.name).hash(&mut self.hasher);
    }

    fn event(&mut self, e: &Event<'_>) {
        self.events += 1;
        (3, e.event_type.index, e.time, e.thread, e.capture_thread).hash(&mut self.hasher);
        (e.sequence, e.stack, e.activity, e.related, e.payload).hash(&mut self.hasher);
        if self.blind {
            return;
        }
        let _ = clr::decode(e.event_type.id, e.event_type.version, 8, e.payload);
        let mut values = Values::new(&e.event_type.fields, e.payload);
        let mut count = 0;
        for (_, value) in values.by_ref() {
            walk(value, e.payload.len(), &mut count, 0);
        }
        assert!(values.rest().len() <= e.payload.len());
        // A field may point to the whole payload, and each element may be an object of fields.
        let most = (limits::FIELDS + 1) * (e.payload.len() + limits::FIELDS + 1);
        assert!(count <= most, "{count} values of {} bytes", e.payload.len());
    }

    fn stack(&mut self, id: u32, ips: Ips<'_>) {
        (4, id, ips.iter().count()).hash(&mut self.hasher);
    }

    fn point(&mut self) {
        5.hash(&mut self.hasher);
    }

    fn lost(&mut self, events: u64) {
        assert!(events > 0);
        self.lost += events;
        (6, events).hash(&mut self.hasher);
    }
}

fn walk(value: Value<'_>, payload: usize, count: &mut usize, depth: usize) {
    assert!(depth <= limits::DEPTH);
    *count += 1;
    match value {
        Value::Text(text) => assert!(text.bytes().len() <= payload),
        Value::Utf8(text) => assert!(text.len() <= payload),
        Value::Object(values) => {
            values.for_each(|(_, value)| walk(value, payload, count, depth + 1));
        }
        Value::Array(elements) => {
            let told = elements.len();
            let found = elements.inspect(|value| {
                walk(value.clone(), payload, count, depth + 1);
            });
            assert_eq!(found.count(), told, "an array is whole");
        }
        _ => {}
    }
}

type Outcome = (u64, u64, Losses, Result<(), NettraceError>, bool);

fn decode(data: &[u8], piece: usize, blind: bool) -> Outcome {
    let (mut reader, mut input) = (Reader::new(), BytesMut::new());
    let mut sum = Sum { blind, ..Sum::default() };
    let mut done = Ok(());
    for bytes in data.chunks(piece) {
        input.extend_from_slice(bytes);
        done = reader.feed(&mut input, &mut sum);
        assert!(
            reader.heap_size() <= 2 * limits::TYPES + 8 * limits::EVENT_TYPES * 4 + 100 * data.len()
        );
        assert!(reader.needs() <= limits::BLOCK + 4);
        if done.is_err() {
            break;
        }
        assert!(reader.ended() || input.len() < reader.needs().max(128));
    }
    assert_eq!(reader.events(), sum.events);
    assert_eq!(reader.losses().lost(), sum.lost);
    if let Err(error) = done {
        let before = sum.hasher.finish();
        assert!(error.at() <= data.len() as u64);
        assert_eq!(reader.feed(&mut input, &mut sum), Err(error));
        assert_eq!(sum.hasher.finish(), before);
    }
    (sum.hasher.finish(), reader.offset(), reader.losses(), done, reader.ended())
}

/// A header of each version: 2026, a clock of 1 GHz, pointers of 8 bytes.
fn header(six: bool) -> Vec<u8> {
    let mut body = Vec::new();
    for word in [2026_u16, 1, 4, 1, 2, 3, 4, 5] {
        body.extend(word.to_le_bytes());
    }
    body.extend(1_000_000_u64.to_le_bytes());
    body.extend(1_000_000_000_u64.to_le_bytes());
    body.extend(8_u32.to_le_bytes());
    let mut out = b"Nettrace".to_vec();
    if six {
        body.extend([0; 4]);
        out.extend([0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, body.len() as u8, 0, 0, 1]);
        out.extend(body);
    } else {
        body.extend([1, 0, 0, 0, 4, 0, 0, 0, 64, 66, 15, 0]);
        out.extend(b"\x14\0\0\0!FastSerialization.1");
        object("Trace", [4, 4], &mut out);
        out.extend(body);
        out.push(6);
    }
    out
}

/// Begins an object of versions 4 and 5.
fn object(name: &str, versions: [u32; 2], out: &mut Vec<u8>) {
    out.extend([5, 5, 1]);
    for word in [versions[0], versions[1], name.len() as u32] {
        out.extend(word.to_le_bytes());
    }
    out.extend(name.as_bytes());
    out.push(6);
}

/// Blocks with sound frames: each is a kind with the high bits of its length, the low bits, and its
/// content; those of events and types lack their headers.
fn framed(mut data: &[u8], six: bool) -> Vec<u8> {
    let mut out = header(six);
    while let [kind, length, rest @ ..] = data {
        let (kind, length) = (kind & 15, usize::from(kind >> 4) << 8 | usize::from(*length));
        let (body, rest) = rest.split_at(length.min(rest.len()));
        data = rest;
        let flags = kind >> 3;
        let kind = if six { 2 + kind % 8 } else { 2 + kind % 5 };
        let mut block = Vec::new();
        if matches!(kind, 2 | 3) {
            block.extend([20, 0, flags ^ 1, 0]);
            block.extend([0; 16]);
        }
        block.extend(body);
        if six {
            out.extend((block.len() as u32 | u32::from(kind) << 24).to_le_bytes());
            out.extend(block);
            continue;
        }
        let names = ["EventBlock", "MetadataBlock", "SPBlock", "StackBlock", "FutureBlock"];
        object(names[usize::from(kind - 2)], [2, 2], &mut out);
        out.extend((block.len() as u32).to_le_bytes());
        out.resize(out.len().next_multiple_of(4), 0);
        out.extend(block);
        out.push(6);
    }
    out
}

fuzz_target!(|data: &[u8]| {
    let Some((how, data)) = data.split_first() else { return };
    let built;
    let (piece, data) = match how {
        0x80.. => {
            built = framed(data, how & 0x40 != 0);
            (how & 0x3f, &built[..])
        }
        piece => (*piece, data),
    };
    let whole = decode(data, data.len().max(1), false);
    assert_eq!(decode(data, usize::from(piece).max(1), true), whole);
});
