//! Values as texts: `{name=value,...}`, `[1,2]`, times, decimals.

use std::fmt::Write as _;

use super::super::text::{push_guid, push_utf16};
use crate::events::TextWriter;
use crate::model::Stamp;
use crate::sources::dotnet::limits::RECORD_TEXT;
use crate::sources::dotnet::nettrace::{Elements, Value, Values};

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
    let quoted = matches!(value, Value::Text(_) | Value::Utf8(_) | Value::Char(_));
    if quoted {
        out.push("\"");
    }
    let whole = push(value, part, out);
    if quoted {
        out.push("\"");
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
