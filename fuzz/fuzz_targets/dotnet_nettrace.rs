//! A process sends any bytes in any pieces. Whole and in pieces give the same events, losses and
//! error; payloads are walked; memory and types stay within the limits.
#![no_main]

use bytes::{BufMut, BytesMut};
use libfuzzer_sys::fuzz_target;
use pmdaapm::sources::dotnet::clr::{self, RUNTIME};
use pmdaapm::sources::dotnet::limits;
use pmdaapm::sources::dotnet::nettrace::{Event, EventType, Header, Ips, Reader, Values, Visitor};

/// A sum of all that came, in its order.
#[derive(Default, PartialEq, Eq, Debug)]
struct Digest {
    sum: u64,
    events: u64,
    lost: u64,
    pointer_size: u32,
}

impl Digest {
    fn add(&mut self, value: u64) {
        self.sum = self.sum.rotate_left(5) ^ value;
    }
}

/// Walks values, nested ones too; their number.
fn walk(values: Values<'_>, depth: usize) -> u64 {
    assert!(depth <= limits::DEPTH + 1);
    values.map(|(field, value)| field.name.len() as u64 ^ format!("{value:?}").len() as u64).sum()
}

impl Visitor for Digest {
    fn header(&mut self, header: &Header) {
        self.pointer_size = u32::from(header.pointer_size);
    }
    fn event_type(&mut self, event_type: &EventType) {
        self.add(u64::from(event_type.index) << 32 | u64::from(event_type.id));
        assert!(event_type.fields.len() <= limits::FIELDS);
    }
    fn event(&mut self, event: &Event<'_>) {
        self.events += 1;
        self.add(event.time);
        self.add(u64::from(event.sequence) ^ event.capture_thread);
        self.add(event.payload.len() as u64);
        let known = &event.event_type;
        if known.fields.is_empty() && *known.provider == *RUNTIME {
            let _ = clr::decode(known.id, known.version, self.pointer_size, event.payload);
        } else if self.events < 200 {
            let walked = walk(Values::new(&known.fields, event.payload), 0);
            self.add(walked);
        }
    }
    fn stack(&mut self, id: u32, ips: Ips<'_>) {
        self.add(u64::from(id));
        ips.iter().for_each(|ip| self.add(ip));
    }
    fn point(&mut self) {
        self.add(1);
    }
    fn lost(&mut self, events: u64) {
        self.lost = self.lost.wrapping_add(events);
    }
}

fn read(data: &[u8], pieces: impl Iterator<Item = usize>) -> (Digest, bool, Option<String>) {
    let (mut digest, mut reader, mut input) =
        (Digest::default(), Reader::new(), BytesMut::new());
    let (mut rest, mut error) = (data, None);
    for size in pieces {
        let (piece, after) = rest.split_at(size.min(rest.len()));
        rest = after;
        input.put_slice(piece);
        if let Err(e) = reader.feed(&mut input, &mut digest) {
            error = Some(e.to_string());
            break;
        }
        assert!(input.len() <= limits::BLOCK + 4096);
        if rest.is_empty() {
            break;
        }
    }
    assert!(reader.held() <= 128 << 20);
    assert!(reader.event_types() <= limits::EVENT_TYPES);
    assert_eq!(reader.events(), digest.events);
    (digest, reader.ended(), error)
}

fuzz_target!(|data: &[u8]| {
    let Some((&seed, data)) = data.split_first() else { return };
    // A capture begins with the answer to the request for a session.
    let data = data.strip_prefix(b"OTNET_IPC_V1\0").map_or(data, |d| d.get(14..).unwrap_or(&[]));
    let whole = read(data, std::iter::repeat(usize::MAX));
    let size = usize::from(seed) + 1;
    let pieces = read(data, std::iter::repeat(size));
    assert_eq!(whole, pieces);
});
