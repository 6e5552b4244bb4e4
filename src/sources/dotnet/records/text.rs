//! Texts of records: UTF-16, GUIDs, and values as `{name=value,...}`, `[1,2]`, times, decimals.

use std::fmt::Write as _;

use crate::events::TextWriter;
use crate::model::Stamp;
use crate::sources::dotnet::limits::RECORD_TEXT;
use crate::sources::dotnet::wire::nettrace::{Elements, Value, Values};

/// Each of the eight units is 1 to 0x7f if this bit is set in its sum with 0x7f and no other above.
const BIT: u128 = 0x0080_0080_0080_0080_0080_0080_0080_0080;
const ADD: u128 = 0x007f_007f_007f_007f_007f_007f_007f_007f;
const ABOVE: u128 = 0xff80_ff80_ff80_ff80_ff80_ff80_ff80_ff80;

/// Appends UTF-16 (little endian) up to a NUL, at most `limit` bytes of UTF-8 of it; then `…`
/// follows. Lone surrogates become U+FFFD. `false`: the text was cut.
#[inline]
pub(super) fn push_utf16(units: &[u8], limit: usize, out: &mut TextWriter<'_>) -> bool {
    let (blocks, _) = units.as_chunks::<16>();
    let mut done = 0;
    for block in blocks {
        let word = u128::from_le_bytes(*block);
        let ascii = word & ABOVE == 0 && word.wrapping_add(ADD) & BIT == BIT;
        if !ascii || done + 8 > limit {
            break;
        }
        let [a, _, b, _, c, _, d, _, e, _, f, _, g, _, h, _] = *block;
        out.push_ascii([a, b, c, d, e, f, g, h], 8);
        done += 8;
    }
    let rest = units.get(2 * done..).unwrap_or_default();
    short_ascii(rest, limit - done, out) || push_chars(rest, limit - done, out)
}

/// Appends less than eight units if they are ASCII.
#[inline]
fn short_ascii(units: &[u8], room: usize, out: &mut TextWriter<'_>) -> bool {
    let (units, _) = units.as_chunks::<2>();
    if units.len() >= 8 || units.len() > room {
        return false;
    }
    let mut ascii = [0; 8];
    let mut all = true;
    for (to, [low, high]) in ascii.iter_mut().zip(units) {
        *to = *low;
        all &= *high == 0 && matches!(low, 1..=0x7f);
    }
    if all {
        out.push_ascii(ascii, units.len());
    }
    all
}

#[inline(never)]
fn push_chars(units: &[u8], room: usize, out: &mut TextWriter<'_>) -> bool {
    let (units, _) = units.as_chunks::<2>();
    let units = units.iter().map(|unit| u16::from_le_bytes(*unit)).take_while(|unit| *unit != 0);
    let mut left = room;
    for c in char::decode_utf16(units) {
        let c = c.unwrap_or(char::REPLACEMENT_CHARACTER);
        let Some(rest) = left.checked_sub(c.len_utf8()) else {
            out.push("…");
            return false;
        };
        left = rest;
        out.push(c.encode_utf8(&mut [0; 4]));
    }
    true
}

/// Appends a GUID: u32, u16, u16 (little endian) and 8 bytes.
pub(super) fn push_guid(guid: &[u8; 16], out: &mut TextWriter<'_>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    const ORDER: [usize; 16] = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    let digit = |nibble: u8| DIGITS.get(usize::from(nibble)).copied().unwrap_or(b'0');
    let mut ascii = [0; 8];
    for (n, at) in ORDER.into_iter().enumerate() {
        if matches!(n, 4 | 6 | 8 | 10) {
            out.push("-");
        }
        let byte = guid.get(at).copied().unwrap_or_default();
        (ascii[0], ascii[1]) = (digit(byte >> 4), digit(byte & 15));
        out.push_ascii(ascii, 2);
    }
}

/// 100 ns from 1601 to 1970.
const EPOCH: i128 = 116_444_736_000_000_000;
/// Most decimal places of a .NET decimal.
const PLACES: usize = 28;

/// Appends a value as a text of about [`RECORD_TEXT`] bytes at most; texts within objects are
/// quoted. `false`: the text was cut.
pub(super) fn push(value: Value<'_>, part: &mut String, out: &mut TextWriter<'_>) -> bool {
    match value {
        Value::Text(text) => push_utf16(text.bytes(), room(out), out),
        Value::Utf8(bytes) => {
            let end = memchr::memchr(0, bytes).unwrap_or(bytes.len());
            let kept = bytes.get(..end.min(room(out))).unwrap_or_default();
            out.push(&String::from_utf8_lossy(kept));
            kept.len() == end
        }
        Value::Char(unit) => push_utf16(&unit.to_le_bytes(), room(out), out),
        Value::Guid(guid) => {
            push_guid(guid, out);
            true
        }
        Value::Object(values) => object(values, part, out),
        Value::Array(elements) => array(elements, part, out),
        number => {
            part.clear();
            let _ = match number {
                Value::Bool(value) => write!(part, "{value}"),
                Value::I64(value) => write!(part, "{value}"),
                Value::U64(value) => write!(part, "{value}"),
                Value::F64(value) => write!(part, "{value}"),
                Value::Time(ticks) => write!(part, "{}", time(ticks)),
                Value::Decimal(bytes) => decimal(bytes, part),
                _ => Ok(()),
            };
            out.push(part);
            true
        }
    }
}

fn room(out: &TextWriter<'_>) -> usize {
    RECORD_TEXT.saturating_sub(out.len())
}

/// A value within an object or array.
fn inner(value: Value<'_>, part: &mut String, out: &mut TextWriter<'_>) -> bool {
    let (quoted, from) =
        (matches!(value, Value::Text(_) | Value::Utf8(_) | Value::Char(_)), out.len());
    let whole = push(value, part, out);
    if quoted {
        out.enclose(from);
    }
    whole
}

fn object(values: Values<'_>, part: &mut String, out: &mut TextWriter<'_>) -> bool {
    out.push("{");
    let mut whole = true;
    for (n, (field, value)) in values.enumerate() {
        whole &= room(out) > 0;
        if !whole {
            out.push("…");
            break;
        }
        if n > 0 {
            out.push(",");
        }
        out.push(&field.name);
        out.push("=");
        whole &= inner(value, part, out);
    }
    out.push("}");
    whole
}

fn array(elements: Elements<'_>, part: &mut String, out: &mut TextWriter<'_>) -> bool {
    out.push("[");
    let mut whole = true;
    for (n, value) in elements.enumerate() {
        whole &= room(out) > 0;
        if !whole {
            out.push("…");
            break;
        }
        if n > 0 {
            out.push(",");
        }
        whole &= inner(value, part, out);
    }
    out.push("]");
    whole
}

/// A time of 100 ns since 1601.
fn time(ticks: u64) -> Stamp {
    Stamp::from_nanos((i128::from(ticks) - EPOCH) * 100)
}

/// A .NET decimal: flags (sign in bit 31, decimal places in bits 16 to 23), high, low, middle 32
/// bits.
fn decimal(bytes: &[u8; 16], out: &mut String) -> std::fmt::Result {
    let mut words = [0_u32; 4];
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<4>().0) {
        *word = u32::from_le_bytes(*bytes);
    }
    let [flags, high, low, middle] = words;
    let number = u128::from(high) << 64 | u128::from(middle) << 32 | u128::from(low);
    let places = ((flags >> 16 & 0xff) as usize).min(PLACES);
    if flags >> 31 == 1 {
        out.push('-');
    }
    let digits = format!("{number:0width$}", width = places + 1);
    let (whole, fraction) = digits.split_at(digits.len() - places);
    if fraction.is_empty() { write!(out, "{whole}") } else { write!(out, "{whole}.{fraction}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::Batch;

    fn shown(write: impl FnOnce(&mut TextWriter<'_>)) -> String {
        let mut batch = Batch::default();
        batch.record(Default::default(), 1);
        batch.begin_text();
        write(&mut batch.text_writer());
        batch.text_writer().text().into_owned()
    }

    fn units(text: &str) -> Vec<u8> {
        text.encode_utf16().flat_map(u16::to_le_bytes).collect()
    }

    #[test]
    fn texts_of_all_lengths_and_characters() {
        for length in 0..40 {
            let ascii: String = "abcdefghijklm \n~".chars().cycle().take(length).collect();
            for insert in ["", "é", "中", "😀", "\u{80}", "\0"] {
                for at in 0..=length {
                    let text = format!("{}{insert}{}", &ascii[..at], &ascii[at..]);
                    let wanted = text.split('\0').next().unwrap();
                    for limit in [0, 3, 8, 9, wanted.len(), 1000] {
                        let mut whole = true;
                        let out = shown(|out| whole = push_utf16(&units(&text), limit, out));
                        let kept = out.strip_suffix('…').unwrap_or(&out);
                        assert_eq!(whole, kept == wanted, "{text:?} {limit} {out:?}");
                        assert!(wanted.starts_with(kept) && kept.len() <= limit);
                        assert!(whole || kept.len() + 4 > limit);
                    }
                }
            }
        }
        let lone = shown(|out| assert!(push_utf16(&[0x3d, 0xd8, b'a', 0, 9], 99, out)));
        assert_eq!(lone, "\u{fffd}a");
    }

    #[test]
    fn guids_have_their_usual_form() {
        let guid = [
            0x33, 0x22, 0x11, 0, 0x55, 0x44, 0x77, 0x66, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee,
            0xff,
        ];
        assert_eq!(shown(|out| push_guid(&guid, out)), "00112233-4455-6677-8899-aabbccddeeff");
    }

    #[test]
    fn times_and_decimals() {
        assert_eq!(time(134_117_966_456_780_000).to_string(), "2026-01-02T03:04:05.678Z");
        assert_eq!(time(0).sec, -11_644_473_600);
        let shown = |flags: u32, high: u32, low: u32, middle: u32| {
            let mut out = String::new();
            let words = [flags, high, low, middle].map(u32::to_le_bytes);
            decimal(words.as_flattened().try_into().unwrap(), &mut out).unwrap();
            out
        };
        assert_eq!(shown(0, 0, 7, 0), "7");
        assert_eq!(shown(0x8002_0000, 0, 5, 0), "-0.05");
        assert_eq!(shown(0x0003_0000, 0, 0, 1), "4294967.296");
        assert_eq!(shown(u32::MAX, u32::MAX, u32::MAX, u32::MAX).len(), 31);
    }
}
