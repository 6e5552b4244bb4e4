//! Headers of numeric parameters, prepared once and written many times, and numbers that a record
//! gets at once.

use crate::layout::{PARAM_HEADER, param_header};
use crate::types::ids::{Pmid, ValueType};

/// The header of a parameter whose value has 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param32(pub(crate) [u8; PARAM_HEADER]);

/// The header of a parameter whose value has 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param64(pub(crate) [u8; PARAM_HEADER]);

impl Param32 {
    /// Bytes of the whole parameter.
    pub const SIZE: usize = PARAM_HEADER + 4;
}

impl Param64 {
    /// Bytes of the whole parameter.
    pub const SIZE: usize = PARAM_HEADER + 8;
}

/// The header of a numeric parameter: see [`crate::Batch::number_param`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberParam {
    /// The value has 32 bits.
    Bits32(Param32),
    /// The value has 64 bits.
    Bits64(Param64),
}

impl NumberParam {
    /// Bytes of the whole parameter.
    #[must_use]
    pub const fn size(&self) -> usize {
        match self {
            Self::Bits32(_) => Param32::SIZE,
            Self::Bits64(_) => Param64::SIZE,
        }
    }

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

/// Numbers that follow one another in a record: put together here, they are written at once by
/// [`crate::Batch::numbers`].
#[derive(Clone, Debug)]
pub struct Numbers {
    words: [[u8; 4]; 4 * NUMBERS],
    used: usize,
    pub(crate) count: i32,
}

/// Most numbers of [`Numbers`].
const NUMBERS: usize = 16;

impl Default for Numbers {
    fn default() -> Self {
        Self { words: [[0; 4]; 4 * NUMBERS], used: 0, count: 0 }
    }
}

impl Numbers {
    /// Adds a number, given as by [`crate::Batch::number`]; false if there are 16 already.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "the value is in the low 32 bits")]
    pub fn push(&mut self, param: &NumberParam, bits: u64) -> bool {
        let Some(place) = self.words.get_mut(self.used..).and_then(<[_]>::first_chunk_mut) else {
            return false;
        };
        self.count += 1;
        match param {
            NumberParam::Bits32(Param32([a, b, c, d, e, f, g, h])) => {
                let value = (bits as u32).to_ne_bytes();
                *place = [[*a, *b, *c, *d], [*e, *f, *g, *h], value, [0; 4]];
                self.used += 3;
            }
            NumberParam::Bits64(Param64([a, b, c, d, e, f, g, h])) => {
                let [i, j, k, l, m, n, o, p] = bits.to_ne_bytes();
                *place = [[*a, *b, *c, *d], [*e, *f, *g, *h], [i, j, k, l], [m, n, o, p]];
                self.used += 4;
            }
        }
        true
    }

    /// Removes all numbers.
    pub const fn clear(&mut self) {
        (self.used, self.count) = (0, 0);
    }

    /// Their parameters.
    pub(crate) fn packed(&self) -> &[u8] {
        self.words.get(..self.used).unwrap_or_default().as_flattened()
    }
}
