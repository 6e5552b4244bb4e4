//! One typed value of a metric.

use super::ids::ValueType;

/// A value of a metric, in PCP's types. Strings contain no NUL (see [`Value::text`]).
///
/// ```
/// use pcp_event::{Value, ValueType};
///
/// let bits = Value::I64(-5).to_bits(ValueType::U64);
/// assert_eq!(bits, Some(0), "conversions saturate");
/// assert_eq!(Value::from_bits(7, ValueType::U32), Some(Value::U32(7)));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// `PM_TYPE_32`
    I32(i32),
    /// `PM_TYPE_U32`
    U32(u32),
    /// `PM_TYPE_64`
    I64(i64),
    /// `PM_TYPE_U64`
    U64(u64),
    /// `PM_TYPE_FLOAT`
    F32(f32),
    /// `PM_TYPE_DOUBLE`
    F64(f64),
    /// `PM_TYPE_STRING`
    Text(Box<str>),
}

impl Value {
    /// A string, cut at the first NUL: PCP's strings end there.
    #[must_use]
    pub fn text(s: &str) -> Self {
        Self::Text(s.split('\0').next().unwrap_or_default().into())
    }

    /// The value converted to type `ty`, as 64 bits; `None` for strings and if `ty` is not `I32`,
    /// `U32`, `I64`, `U64` or `F64`. Conversions saturate.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "float casts saturate by definition"
    )]
    pub fn to_bits(&self, ty: ValueType) -> Option<u64> {
        let wide: i128 = match *self {
            Self::I32(v) => v.into(),
            Self::U32(v) => v.into(),
            Self::I64(v) => v.into(),
            Self::U64(v) => v.into(),
            Self::F32(v) => return float_bits(v.into(), ty),
            Self::F64(v) => return float_bits(v, ty),
            Self::Text(_) => return None,
        };
        Some(match ty {
            ValueType::I32 => clamp(wide, i32::MIN.into(), i32::MAX.into()) as u64,
            ValueType::U32 => clamp(wide, 0, u32::MAX.into()) as u64,
            ValueType::I64 => clamp(wide, i64::MIN.into(), i64::MAX.into()) as u64,
            ValueType::U64 => clamp(wide, 0, u64::MAX.into()) as u64,
            ValueType::F64 => (wide as f64).to_bits(),
            _ => return None,
        })
    }

    /// The value of type `ty` with these bits: the inverse of [`Self::to_bits`].
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        reason = "inverse of to_bits"
    )]
    pub const fn from_bits(bits: u64, ty: ValueType) -> Option<Self> {
        Some(match ty {
            ValueType::I32 => Self::I32(bits as i32),
            ValueType::U32 => Self::U32(bits as u32),
            ValueType::I64 => Self::I64(bits as i64),
            ValueType::U64 => Self::U64(bits),
            ValueType::F64 => Self::F64(f64::from_bits(bits)),
            _ => return None,
        })
    }
}

macro_rules! from {
    ($($ty:ty => $variant:ident),*) => {$(
        impl From<$ty> for Value {
            fn from(value: $ty) -> Self {
                Self::$variant(value)
            }
        }
    )*};
}

from!(i32 => I32, u32 => U32, i64 => I64, u64 => U64, f32 => F32, f64 => F64);

/// As [`Value::text`].
impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

fn clamp(v: i128, lo: i128, hi: i128) -> i128 {
    v.clamp(lo, hi)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "float casts saturate by definition"
)]
fn float_bits(v: f64, ty: ValueType) -> Option<u64> {
    Some(match ty {
        ValueType::I32 => (v as i32) as u64,
        ValueType::U32 => (v as u32).into(),
        ValueType::I64 => (v as i64) as u64,
        ValueType::U64 => v as u64,
        ValueType::F64 => v.to_bits(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_saturate_into_the_type_of_the_metric() {
        assert_eq!(Value::I64(-5).to_bits(ValueType::U64), Some(0));
        assert_eq!(Value::U64(u64::MAX).to_bits(ValueType::I64), Some(i64::MAX as u64));
        assert_eq!(Value::F64(-1.5).to_bits(ValueType::U64), Some(0));
        assert_eq!(Value::I32(-1).to_bits(ValueType::I64), Some(u64::MAX));
        assert_eq!(Value::text("a\0b"), Value::Text("a".into()));
        assert_eq!(Value::text("x").to_bits(ValueType::U64), None);
    }

    #[test]
    fn bits_round_trip() {
        for (v, ty) in [
            (Value::I32(-7), ValueType::I32),
            (Value::U32(7), ValueType::U32),
            (Value::I64(i64::MIN), ValueType::I64),
            (Value::U64(u64::MAX), ValueType::U64),
            (Value::F64(0.25), ValueType::F64),
        ] {
            assert_eq!(Value::from_bits(v.to_bits(ty).unwrap_or_default(), ty), Some(v));
        }
    }
}
