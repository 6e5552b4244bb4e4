//! Streams that lie.

use bytes::BytesMut;

use super::{read, stream};
use crate::model::HeapSize;
use crate::sources::dotnet::limits;
use crate::sources::dotnet::wire::nettrace::{ErrorKind, Event, Reader, Visitor};

#[derive(Default)]
struct Count(u64);

impl Visitor for Count {
    fn event(&mut self, _: &Event<'_>) {
        self.0 += 1;
    }
}

fn error(bytes: &[u8]) -> (ErrorKind, u64) {
    let (_, done) = read(bytes, &mut Count::default());
    let error = done.unwrap_err();
    (error.kind(), error.at())
}

#[test]
fn other_protocols_are_refused_at_once() {
    assert_eq!(error(b"HTTP"), (ErrorKind::Signature, 0));
    assert_eq!(error(b"Nettrace\x14\0\0\0?"), (ErrorKind::Signature, 0));
    assert_eq!(error(b"Nettrace\0\0\0\0\x07\0\0\0\0\0\0\0"), (ErrorKind::Signature, 0));
    // Version 3 has no magic.
    assert_eq!(error(b"\x14\0\0\0!FastSerialization.1"), (ErrorKind::Signature, 0));
}

#[test]
fn an_error_stays_and_names_its_byte() {
    let mut bytes = stream("types-9");
    // The tag of the first block's object.
    let at = bytes.windows(13).position(|w| w == b"MetadataBlock").unwrap() - 15;
    bytes[at] = 7;
    let (mut reader, mut input) = (Reader::new(), BytesMut::from(&bytes[..]));
    let first = reader.feed(&mut input, &mut Count::default()).unwrap_err();
    assert_eq!((first.kind(), first.at()), (ErrorKind::Object, at as u64));
    assert_eq!(first.to_string(), format!("no object at byte {at} of the stream"));
    assert_eq!(reader.feed(&mut input, &mut Count::default()), Err(first));
}

#[test]
fn a_block_is_bounded_before_it_is_awaited() {
    let mut bytes = stream("types-9");
    let at = bytes.windows(13).position(|w| w == b"MetadataBlock").unwrap() + 14;
    let size = u32::try_from(limits::BLOCK).unwrap() + 1;
    bytes[at..at + 4].copy_from_slice(&size.to_le_bytes());
    assert_eq!(error(&bytes), (ErrorKind::Size, at as u64));
}

#[test]
fn a_name_is_bounded() {
    let mut bytes = stream("types-9")[..32].to_vec();
    bytes.extend_from_slice(&[5, 5, 1, 4, 0, 0, 0, 4, 0, 0, 0, 255, 255, 255, 255]);
    assert_eq!(error(&bytes), (ErrorKind::Size, 32 + 11));
}

#[test]
fn events_before_an_unknown_type_are_kept() {
    let mut bytes = stream("handmade-odd");
    let at = bytes.windows(4).position(|w| w == b"H\0a\0").unwrap() - 4;
    bytes[at] = 2;
    let (kind, at) = error(&bytes);
    assert_eq!(kind, ErrorKind::Type);
    let (reader, _) = read(&bytes[..usize::try_from(at).unwrap()], &mut Count::default());
    assert_eq!(reader.event_types(), 1);
}

/// One event type of a metadata block of version 4.
fn metadata(id: u32, provider: &str, fields: &[u8]) -> Vec<u8> {
    let text = |t: &str| t.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect::<Vec<_>>();
    let mut payload = id.to_le_bytes().to_vec();
    payload.extend(text(provider));
    payload.extend(1_u32.to_le_bytes());
    payload.extend(text("E"));
    payload.extend([0; 16]);
    payload.extend_from_slice(fields);
    let mut row = vec![128, 0];
    let mut size = payload.len();
    while size >= 128 {
        row.push(u8::try_from(size & 127).unwrap() | 128);
        size >>= 7;
    }
    row.push(u8::try_from(size).unwrap());
    row.extend(payload);
    row
}

/// A stream with the start of a real one, and one block of rows.
fn with_block(name: &str, rows: &[u8]) -> Vec<u8> {
    with_body(name, &[&[20, 0, 1, 0][..], &[0; 16], rows].concat())
}

/// The same with a block of these bytes.
fn with_body(name: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = stream("types-9")[..32 + 15 + 5 + 1 + 48 + 1].to_vec();
    bytes.extend_from_slice(&[5, 5, 1, 2, 0, 0, 0, 2, 0, 0, 0]);
    bytes.extend(u32::try_from(name.len()).unwrap().to_le_bytes());
    bytes.extend(name.as_bytes());
    bytes.push(6);
    bytes.extend(u32::try_from(body.len()).unwrap().to_le_bytes());
    bytes.extend(vec![0; (4 - bytes.len() % 4) % 4]);
    bytes.extend_from_slice(body);
    bytes.push(6);
    bytes
}

#[derive(Default)]
struct Types(Vec<(bool, usize)>);

impl Visitor for Types {
    fn event_type(&mut self, t: &super::super::EventType) {
        self.0.push((t.complete, t.fields.len()));
    }

    fn event(&mut self, _: &Event<'_>) {}
}

fn types(fields: &[u8]) -> (bool, usize) {
    let mut types = Types::default();
    let (_, done) = read(&with_block("MetadataBlock", &metadata(1, "P", fields)), &mut types);
    assert_eq!(done, Ok(()));
    types.0[0]
}

#[test]
fn fields_are_bounded_and_end_at_unknown_types() {
    let words = |words: &[u32]| words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
    let name = [b'f', 0, 0, 0];
    let field = |code: u32| [&words(&[code])[..], &name].concat();
    let list = |codes: &[u32]| {
        let count = u32::try_from(codes.len()).unwrap();
        [words(&[count]), codes.iter().flat_map(|c| field(*c)).collect()].concat()
    };
    assert_eq!(types(&list(&[9, 18, 14])), (true, 3));
    assert_eq!(types(&list(&[9, 99, 14])), (false, 1));
    assert_eq!(types(&list(&[9, 19, 14])), (false, 1));
    assert_eq!(types(&list(&vec![9; limits::FIELDS])), (true, limits::FIELDS));
    assert_eq!(types(&list(&vec![9; limits::FIELDS + 1])), (false, limits::FIELDS));
    // More fields than bytes; objects within objects.
    assert_eq!(types(&words(&[u32::MAX])), (false, 0));
    assert!(!types(&words(&[1, 1].repeat(100))).0);
}

#[test]
fn event_types_are_bounded_in_memory() {
    let provider = "p".repeat(limits::NAMES - 1);
    let rows: Vec<_> =
        (1..60).flat_map(|id| metadata(id, &provider, &0_u32.to_le_bytes())).collect();
    let block = with_block("MetadataBlock", &rows[..limits::BLOCK.min(rows.len()) / 2]);
    let (reader, _) = read(&block, &mut Count::default());
    assert!(reader.heap_size() < 2 * limits::TYPES);
    let over = metadata(1, &"p".repeat(limits::NAMES), &0_u32.to_le_bytes());
    assert_eq!(error(&with_block("MetadataBlock", &over)).0, ErrorKind::Size);
}

#[test]
fn corrupt_bytes_end_a_stream_and_nothing_else() {
    for name in ["types-9", "handmade-odd", "handmade-v6", "handmade-v2params", "meters-limit-9"] {
        let bytes = stream(name);
        for at in 0..bytes.len() {
            for mask in [0x80, 0x01, 0xff] {
                let mut bytes = bytes.clone();
                bytes[at] ^= mask;
                let mut count = Count::default();
                let (reader, _) = read(&bytes, &mut count);
                assert!(count.0 == reader.events() && reader.heap_size() < limits::TYPES);
            }
        }
    }
}

#[derive(Default)]
struct Lost(u64);

impl Visitor for Lost {
    fn event(&mut self, _: &Event<'_>) {}

    fn lost(&mut self, events: u64) {
        self.0 += events;
    }
}

/// A sequence point of two threads, of which the second is cut.
#[test]
fn what_a_cut_sequence_point_counts_it_tells() {
    let thread = |id: u64, number: u32| [&id.to_le_bytes()[..], &number.to_le_bytes()].concat();
    let whole = [vec![0; 8], vec![2, 0, 0, 0], thread(1, 30), thread(2, 4)].concat();
    for (body, expected) in [(&whole[..], 34), (&whole[..whole.len() - 1], 30)] {
        let mut lost = Lost::default();
        let (reader, done) = read(&with_body("SPBlock", body), &mut lost);
        assert_eq!((lost.0, reader.losses().lost()), (expected, expected));
        assert_eq!(done.is_ok(), body.len() == whole.len());
    }
}
