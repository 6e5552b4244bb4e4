//! Integers of 1 to 64 bits at any bit offset (CTF 1.8, 4.1.5).
//!
//! Little endian: bit 0 is the least significant bit of byte 0. A field takes successively more
//! significant bits; its first bit is its least significant one. Big endian: bit 0 is the most
//! significant bit of byte 0; the first bit of a field is its most significant one.

use crate::ByteOrder;

/// Reads `count` bits (at most 64) from bit offset `at`. `None`: some of them are missing.
#[inline]
pub(super) fn read(data: &[u8], at: u64, count: u32, order: ByteOrder) -> Option<u64> {
    let first = usize::try_from(at / 8).ok()?;
    let shift = u32::try_from(at % 8).ok()?;
    let bytes = usize::try_from((shift + count).div_ceil(8)).ok()?;
    let bytes = data.get(first..first.checked_add(bytes)?)?;
    // At most nine bytes.
    let word = match order {
        ByteOrder::Little => {
            bytes.iter().rev().fold(0_u128, |word, b| word << 8 | u128::from(*b)) >> shift
        }
        ByteOrder::Big => {
            let word = bytes.iter().fold(0_u128, |word, b| word << 8 | u128::from(*b));
            word >> (u32::try_from(bytes.len()).ok()? * 8 - shift - count)
        }
    };
    u64::try_from(word & ((1 << count) - 1)).ok()
}

/// The value of `count` bits in two's complement.
#[inline]
#[allow(clippy::cast_possible_wrap, reason = "the bits are meant")]
pub(super) const fn sign(value: u64, count: u32) -> i64 {
    let shift = 64_u32.saturating_sub(count) & 63;
    ((value << shift) as i64) >> shift
}

/// The bits of a field in reversed order.
#[inline]
pub(super) const fn reverse(value: u64, count: u32) -> u64 {
    value.reverse_bits() >> (64_u32.saturating_sub(count) & 63)
}

/// An IEEE 754 number of 16, 32 or 64 bits.
#[inline]
pub(super) fn float(value: u64, count: u32) -> f64 {
    match count {
        16 => half(value),
        32 => f64::from(f32::from_bits(u32::try_from(value).unwrap_or_default())),
        _ => f64::from_bits(value),
    }
}

fn half(value: u64) -> f64 {
    let value = u16::try_from(value & 0xffff).unwrap_or_default();
    let sign = if value & 0x8000 == 0 { 1.0 } else { -1.0 };
    let fraction = f64::from(value & 0x3ff);
    sign * match i32::from(value >> 10 & 0x1f) {
        0 => fraction * 2_f64.powi(-24),
        31 if value & 0x3ff == 0 => f64::INFINITY,
        31 => f64::NAN,
        exponent => (1024.0 + fraction) * 2_f64.powi(exponent - 25),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Bit by bit, as the specification defines it.
    fn slowly(data: &[u8], at: u64, count: u32, order: ByteOrder) -> Option<u64> {
        let mut value = 0_u64;
        for n in 0..count {
            let bit = at + u64::from(n);
            let byte = *data.get(usize::try_from(bit / 8).unwrap())?;
            match order {
                ByteOrder::Little => value |= u64::from(byte >> (bit % 8) & 1) << n,
                ByteOrder::Big => value = value << 1 | u64::from(byte >> (7 - bit % 8) & 1),
            }
        }
        Some(value)
    }

    proptest! {
        #[test]
        fn as_bit_by_bit(data in proptest::collection::vec(any::<u8>(), 0..20), at in 0_u64..170, count in 1_u32..=64) {
            for order in [ByteOrder::Little, ByteOrder::Big] {
                prop_assert_eq!(read(&data, at, count, order), slowly(&data, at, count, order));
            }
        }
    }

    #[test]
    fn signs_and_floats() {
        assert_eq!(
            (sign(0b111, 3), sign(0b011, 3), sign(u64::MAX, 64), sign(1, 1)),
            (-1, 3, -1, -1)
        );
        assert_eq!((reverse(0b001, 3), reverse(1, 64)), (0b100, 1 << 63));
        let halves = [
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
            (1, 5.960_464_477_539_063e-8),
            (0x7c00, f64::INFINITY),
        ];
        for (bits, value) in halves {
            assert_eq!(float(bits, 16).to_bits(), f64::to_bits(value));
        }
        assert!(float(0x7e00, 16).is_nan());
        assert_eq!(float(u64::from(1.5_f32.to_bits()), 32).to_bits(), 1.5_f64.to_bits());
    }
}
