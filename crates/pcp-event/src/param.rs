//! Headers of numeric parameters, prepared once and written many times.

use crate::layout::{PARAM_HEADER, param_header};
use crate::types::ids::{Pmid, ValueType};

/// The header of a parameter whose value has 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param32(pub(crate) [u8; PARAM_HEADER]);

/// The header of a parameter whose value has 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param64(pub(crate) [u8; PARAM_HEADER]);

/// The header of a numeric parameter: see [`crate::Batch::number_param`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberParam {
    /// The value has 32 bits.
    Bits32(Param32),
    /// The value has 64 bits.
    Bits64(Param64),
}

impl NumberParam {
    /// The header for a metric of type `ty`; `None` if that is not numeric.
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
