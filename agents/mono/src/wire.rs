//! Agent to inspector: the bytes of the public note's dialect (docs/protocols/mono-counters.md
//! sections 1 and 2).
//!
//! Integers are copied raw, in the byte order of this machine, without padding. A String is an int
//! length and that many bytes; length -1 is null. Every function appends to `out`; a message is
//! complete when its function (for a sample: [`end_sample`]) returns.

use mono_counters::message::{self, Status};

use crate::catalogue::Counter;

/// Hello: version, then the Headers of the counters selected from the start.
pub(crate) fn hello<'a>(
    out: &mut Vec<u8>,
    headers: impl ExactSizeIterator<Item = (i16, &'a Counter)>,
) {
    out.push(message::HELLO);
    short(out, message::VERSION);
    // The session never selects more counters than there are indexes.
    short(out, i16::try_from(headers.len()).unwrap_or(i16::MAX));
    for (index, counter) in headers {
        header(out, index, counter);
    }
}

/// List response: name and category of every counter, then a null string.
pub(crate) fn list(out: &mut Vec<u8>, counters: &[Counter]) {
    out.push(message::LIST);
    for counter in counters {
        string(out, &counter.name);
        string(out, &counter.category());
    }
    out.extend(message::NULL_STRING.to_ne_bytes());
}

/// Add response that carries the Header of the new counter.
pub(crate) fn added(out: &mut Vec<u8>, index: i16, counter: &Counter) {
    out.extend([message::ADD, Status::Ok as u8]);
    header(out, index, counter);
}

/// Add response without success; no Header follows (docs/protocols/mono-counters.md section 2,
/// against the note's letter).
pub(crate) fn not_added(out: &mut Vec<u8>, status: Status) {
    out.extend([message::ADD, status as u8]);
}

/// Remove response.
pub(crate) fn removed(out: &mut Vec<u8>, status: Status) {
    out.extend([message::REMOVE, status as u8]);
}

/// Begins a sample taken at `timestamp` (100 ns ticks since 1601, see [`crate::clock`]).
pub(crate) fn begin_sample(out: &mut Vec<u8>, timestamp: i64) {
    out.push(message::SAMPLING);
    out.extend(timestamp.to_ne_bytes());
}

/// One Value of the sample: index, size, bytes.
pub(crate) fn value(out: &mut Vec<u8>, index: i16, bytes: &[u8]) {
    // A true short, unlike the 2014 agents' first half of an int (docs/protocols/mono-counters.md
    // section 1, big-endian trap).
    let Ok(size) = i16::try_from(bytes.len()) else {
        return;
    };
    short(out, index);
    short(out, size);
    out.extend_from_slice(bytes);
}

/// Ends the sample.
pub(crate) fn end_sample(out: &mut Vec<u8>) {
    short(out, message::END_OF_VALUES);
}

fn header(out: &mut Vec<u8>, index: i16, counter: &Counter) {
    out.extend(counter.section.to_ne_bytes());
    string(out, &counter.name);
    out.extend(counter.kind.to_ne_bytes());
    out.extend(counter.unit.to_ne_bytes());
    out.extend(counter.variance.to_ne_bytes());
    short(out, index);
}

fn short(out: &mut Vec<u8>, value: i16) {
    out.extend(value.to_ne_bytes());
}

fn string(out: &mut Vec<u8>, text: &str) {
    // The catalogue rejects names longer than LONGEST_NAME.
    out.extend(i32::try_from(text.len()).unwrap_or(0).to_ne_bytes());
    out.extend_from_slice(text.as_bytes());
}

#[cfg(all(test, target_endian = "little"))]
mod tests {
    use super::*;

    fn counter(section: u32, name: &str, kind: u32, unit: u32, variance: u32) -> Counter {
        Counter { section, name: name.to_owned(), kind, unit, variance }
    }

    /// The first Header and the first sample of a hand-made stream of the note's dialect, written
    /// by an independent encoder (kept with the protocol's test vectors as `v-note-alltypes-le`).
    #[test]
    fn hello_is_the_vectors_hello() {
        let minor = counter(0x200, "Minor GC collections", 0, 0, 1 << 28);
        let load = counter(0x4000, "CPU Load Average - 1min", 5, 4 << 24, 1 << 30);
        let mut out = Vec::new();
        hello(&mut out, [(0, &minor), (2, &load)].into_iter());
        let mut expected = b"\x00\x01\x00\x02\x00".to_vec();
        expected.extend(b"\x00\x02\x00\x00\x14\x00\x00\x00Minor GC collections");
        expected.extend(b"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x10\x00\x00");
        expected.extend(b"\x00\x40\x00\x00\x17\x00\x00\x00CPU Load Average - 1min");
        expected.extend(b"\x05\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00\x40\x02\x00");
        assert_eq!(out, expected);
    }

    #[test]
    fn sample_is_the_vectors_sample() {
        let mut out = Vec::new();
        begin_sample(&mut out, 130_400_000_020_000_000);
        value(&mut out, 0, &9_i32.to_ne_bytes());
        value(&mut out, 4, b"6.8.0.105\0");
        value(&mut out, 2, &1.5_f64.to_ne_bytes());
        end_sample(&mut out);
        let mut expected = b"\x04\x00\x2d\xe7\xef\x1b\x46\xcf\x01".to_vec();
        expected.extend(b"\x00\x00\x04\x00\x09\x00\x00\x00");
        expected.extend(b"\x04\x00\x0a\x006.8.0.105\0");
        expected.extend(b"\x02\x00\x08\x00\x00\x00\x00\x00\x00\x00\xf8\x3f");
        expected.extend(b"\xff\xff");
        assert_eq!(out, expected);
    }

    #[test]
    fn no_counters_make_a_hello_of_five_bytes_and_samples_of_eleven() {
        let mut out = Vec::new();
        hello(&mut out, std::iter::empty());
        assert_eq!(out, [0, 1, 0, 0, 0]);
        out.clear();
        begin_sample(&mut out, 0);
        end_sample(&mut out);
        assert_eq!(out.len(), 11);
        assert_eq!(out, [4, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]);
    }

    #[test]
    fn list_gives_the_name_before_the_category() {
        let mut out = Vec::new();
        list(&mut out, &[counter(0x200, "Major GC collections", 0, 0, 0)]);
        let mut expected = b"\x01\x14\x00\x00\x00Major GC collections".to_vec();
        expected.extend(b"\x02\x00\x00\x00GC\xff\xff\xff\xff");
        assert_eq!(out, expected);
    }

    #[test]
    fn responses() {
        let mut out = Vec::new();
        for status in [Status::Nok, Status::NotFound, Status::Existing] {
            not_added(&mut out, status);
        }
        removed(&mut out, Status::Ok);
        removed(&mut out, Status::NotFound);
        assert_eq!(out, [2, 1, 2, 2, 2, 3, 3, 0, 3, 2]);
        out.clear();
        added(&mut out, 7, &counter(0x100, "m", 1, 2, 3));
        assert_eq!(out[..2], [2, 0]);
        assert_eq!(out.len(), 2 + 22 + 1);
        assert_eq!(out[out.len() - 2..], [7, 0]);
    }

    #[test]
    fn a_value_too_long_for_its_size_field_is_left_out() {
        let mut out = Vec::new();
        value(&mut out, 0, &vec![1; 40_000]);
        assert!(out.is_empty());
    }
}
