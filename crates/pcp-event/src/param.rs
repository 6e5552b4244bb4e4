//! Parameters of numbers whose beginning is made once and written many times.

use super::layout::{PARAM_HEADER, param_header};
use crate::{Pmid, ValueType};

/// What is before the value of a parameter of 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param32(pub(super) [u8; PARAM_HEADER]);

/// What is before the value of a parameter of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param64(pub(super) [u8; PARAM_HEADER]);

/// What is before the value of a parameter that is a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberParam {
    /// 32 bits.
    Bits32(Param32),
    /// 64 bits.
    Bits64(Param64),
}

impl NumberParam {
    /// Of a metric of this type; `None` if it is not numeric.
    #[must_use]
    #[inline(always)]
    pub fn new(pmid: Pmid, ty: ValueType) -> Option<Self> {
        match ty {
            ValueType::I32 | ValueType::U32 | ValueType::F32 => {
                Some(Self::Bits32(Param32(param_header(pmid.0, ty, 4))))
            }
            ValueType::I64 | ValueType::U64 | ValueType::F64 => {
                Some(Self::Bits64(Param64(param_header(pmid.0, ty, 8))))
            }
            _ => None,
        }
    }
}
