//! Parameters of numbers whose beginning is made once and written many times.

use super::layout::{PARAM_HEADER, param_header};
use crate::{Pmid, ValueType};

/// What is before the value of a parameter of 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Narrow(pub(super) [u8; PARAM_HEADER]);

/// What is before the value of a parameter of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wide(pub(super) [u8; PARAM_HEADER]);

/// What is before the value of a parameter that is a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// 32 bits.
    Narrow(Narrow),
    /// 64 bits.
    Wide(Wide),
}

impl Number {
    /// Of a metric of this type; `None` if it is not numeric.
    #[must_use]
    #[inline(always)]
    pub fn new(pmid: Pmid, ty: ValueType) -> Option<Self> {
        match ty {
            ValueType::I32 | ValueType::U32 | ValueType::F32 => {
                Some(Self::Narrow(Narrow(param_header(pmid.0, ty, 4))))
            }
            ValueType::I64 | ValueType::U64 | ValueType::F64 => {
                Some(Self::Wide(Wide(param_header(pmid.0, ty, 8))))
            }
            _ => None,
        }
    }
}
