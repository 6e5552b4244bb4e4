//! Decodes the values of counters into values of metrics (docs/protocols/mono-counters.md section
//! 1, 4 and 8).

use std::collections::BTreeMap;

use super::mapping::Mapping;
use crate::contract::SampleValue;
use crate::model::{Semantics, Value, ValueType};
use crate::read::{Cursor, Order};
use mono_counters::numbers::Kind;

/// The metric's value; `None` for a size without meaning: a text that was never sampled, an unknown
/// type of odd width. `widen` makes 64 bits of a 32-bit counter with a scale, because the store
/// widens without a scale.
pub(super) fn read(
    mapping: Mapping,
    order: Order,
    bytes: &[u8],
    widen: impl FnOnce(u32) -> u64,
) -> Option<SampleValue> {
    let mut c = Cursor::new(bytes, order);
    let Mapping { kind, ty, sem, scale, .. } = mapping;
    let wide: i128 = match (kind, bytes.len()) {
        (_, 0) => return None,
        (Kind::Text, _) => {
            let text = bytes.split(|b| *b == 0).next().unwrap_or_default();
            return Some(Value::text(&String::from_utf8_lossy(text)).into());
        }
        (Kind::Double, _) => {
            return c.u64().map(|bits| Value::F64(f64::from_bits(bits)).into());
        }
        (Kind::Int | Kind::Uint | Kind::Unknown, 4) if sem == Semantics::Counter => {
            let bits = c.u32()?;
            if scale == 1 {
                return Some(SampleValue::Wrapping32(bits));
            }
            widen(bits).into()
        }
        (Kind::Uint, 4) => c.u32()?.into(),
        (_, 4) => c.i32()?.into(),
        (Kind::Ulong, _) => c.u64()?.into(),
        (_, 8) => c.i64()?.into(),
        _ => return None,
    };
    let wide = wide.saturating_mul(scale.into());
    let value = match ty {
        ValueType::U64 => Value::U64(u64::try_from(wide.max(0)).unwrap_or(u64::MAX)),
        _ => Value::I64(i64::try_from(wide).unwrap_or(if wide < 0 { i64::MIN } else { i64::MAX })),
    };
    Some(value.into())
}

/// Widens a counter by its differences modulo 2^32, added up.
pub(super) fn widen(all: &mut BTreeMap<u16, (u32, u64)>, index: u16, bits: u32) -> u64 {
    let (before, total) = all.entry(index).or_insert((bits, bits.into()));
    *total += u64::from(bits.wrapping_sub(*before));
    *before = bits;
    *total
}

#[cfg(test)]
mod tests {
    use super::*;
    use mono_counters::numbers::{Numbers, Space};

    struct Reader(Mapping, Order, BTreeMap<u16, (u32, u64)>);

    impl Reader {
        const fn new(mapping: Mapping, order: Order) -> Self {
            Self(mapping, order, BTreeMap::new())
        }

        fn read(&mut self, bytes: &[u8]) -> Option<SampleValue> {
            read(self.0, self.1, bytes, |bits| widen(&mut self.2, 0, bits))
        }
    }

    const MONOTONIC: u32 = 1 << 28;
    const VARIABLE: u32 = 1 << 30;
    const TIME: u32 = 2 << 24;

    fn reader(kind: u32, unit: u32, variance: u32, name: &str) -> Reader {
        Reader::new(
            Mapping::of(Space::E3, Numbers { category: 0x200, kind, unit, variance }, name),
            Order::Little,
        )
    }

    #[test]
    fn integers_take_the_sign_and_width_of_their_metric() {
        for (kind, unit, variance, bytes, expected) in [
            (0, 0, MONOTONIC, &(-1i32).to_le_bytes() as &[u8], SampleValue::Wrapping32(u32::MAX)),
            (
                1,
                0,
                MONOTONIC,
                &4_000_000_000u32.to_le_bytes(),
                SampleValue::Wrapping32(4_000_000_000),
            ),
            (0, 0, VARIABLE, &(-1i32).to_le_bytes(), Value::I64(-1).into()),
            (1, 0, VARIABLE, &4_000_000_000u32.to_le_bytes(), Value::I64(4_000_000_000).into()),
            (2, 0, VARIABLE, &(-2i32).to_le_bytes(), Value::I64(-2).into()),
            (2, 0, VARIABLE, &(-2i64).to_le_bytes(), Value::I64(-2).into()),
            (2, 0, MONOTONIC, &7i32.to_le_bytes(), Value::U64(7).into()),
            (3, 0, MONOTONIC, &(-5i64).to_le_bytes(), Value::U64(0).into()),
            (3, TIME, MONOTONIC, &50_000_000i64.to_le_bytes(), Value::U64(5_000_000_000).into()),
            (4, TIME, MONOTONIC, &((1u64 << 63) + 5).to_le_bytes(), Value::U64(u64::MAX).into()),
            (3, TIME, VARIABLE, &i64::MIN.to_le_bytes(), Value::I64(i64::MIN).into()),
            (4, 0, VARIABLE, &u64::MAX.to_le_bytes(), Value::I64(i64::MAX).into()),
            (7, 0, MONOTONIC, &1500i64.to_le_bytes(), Value::U64(1_500_000).into()),
            (5, 0, VARIABLE, &0.25f64.to_le_bytes(), Value::F64(0.25).into()),
            (9, 0, VARIABLE, &[1, 2, 3, 4], Value::I64(0x0403_0201).into()),
            (9, 0, VARIABLE, &7u64.to_le_bytes(), Value::I64(7).into()),
            (9, 0, MONOTONIC, &7u32.to_le_bytes(), SampleValue::Wrapping32(7)),
        ] {
            assert_eq!(
                reader(kind, unit, variance, "x").read(bytes),
                Some(expected),
                "{kind} {unit:x} {variance:x} {bytes:?}"
            );
        }
    }

    #[test]
    fn a_high_water_mark_does_not_wrap() {
        assert_eq!(
            reader(0, 0, MONOTONIC, "Max x").read(&(-1i32).to_le_bytes()),
            Some(Value::U64(0).into())
        );
        assert_eq!(
            reader(1, 0, MONOTONIC, "Max x").read(&u32::MAX.to_le_bytes()),
            Some(Value::U64(u32::MAX.into()).into())
        );
    }

    #[test]
    fn a_time_of_32_bits_is_widened_before_it_is_scaled() {
        let mut time = reader(1, TIME, MONOTONIC, "x");
        let read = |time: &mut Reader, v: u32| time.read(&v.to_le_bytes());
        assert_eq!(read(&mut time, u32::MAX), Some(Value::U64(429_496_729_500).into()));
        assert_eq!(read(&mut time, 4), Some(Value::U64(429_496_730_000).into()));
    }

    #[test]
    fn texts_end_at_a_nul_and_odd_sizes_say_nothing() {
        assert_eq!(reader(6, 0, VARIABLE, "x").read(b"6.8\0junk"), Some(Value::text("6.8").into()));
        assert_eq!(
            reader(6, 0, VARIABLE, "x").read(b"a\xffb"),
            Some(Value::text("a\u{fffd}b").into())
        );
        assert_eq!(reader(6, 0, VARIABLE, "x").read(b"\0"), Some(Value::text("").into()));
        assert_eq!(reader(6, 0, VARIABLE, "x").read(b""), None);
        assert_eq!(reader(9, 0, VARIABLE, "x").read(&[1, 2, 3]), None);
    }

    #[test]
    fn big_endian_values_are_read_as_such() {
        let mapping =
            Mapping::of(Space::E2, Numbers { category: 1, kind: 3, unit: 0, variance: 3 }, "x");
        assert_eq!(
            Reader::new(mapping, Order::Big).read(&1.5f64.to_be_bytes()),
            Some(Value::F64(1.5).into())
        );
    }
}
