//! The usual events of a trace, decoded from 8 bytes at once: numbers are small, and the event
//! before is near. [`super::trace`] has the format, and decodes all others.

use super::record::StepKind;

/// An event, without the value of its tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ShortEvent {
    /// Bytes of the whole event. They may be more than there are, because a string is not read.
    pub(super) length: usize,
    /// Id of the method or parameter.
    pub(super) id: u32,
    /// Time since the event before, in ms.
    pub(super) distance: u8,
    pub(super) kind: StepKind,
}

impl ShortEvent {
    /// The event at the start of `bytes`; `None` if it is another one, or the end of a block, or if
    /// there are fewer than 8 bytes.
    #[inline(always)]
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let word = u64::from_le_bytes(*bytes.first_chunk()?);
        let distance = (word >> 2 & 0x1f) as u8;
        if word & 0x83 == 1 {
            return Some(Self { length: 1, id: 0, distance, kind: StepKind::Exit });
        }
        // The end of a block, a long distance, or an id of more than two bytes.
        if word & 0x81 != 0 || (word & 0x80_8000) == 0x80_8000 {
            return None;
        }
        let two = word >> 15 & 1;
        let id = (word >> 8 & 0x7f) as u32 | ((word >> 9 & 0x3f80) as u32 * two as u32);
        if word & 2 == 0 {
            return Some(Self { length: 2 + two as usize, id, distance, kind: StepKind::Enter });
        }
        let tag = word >> (16 + 8 * two);
        // An unknown type, or a long string or number of a file.
        if tag & 0x80fc != 0 {
            return None;
        }
        let length = if tag & 1 == 0 {
            4 + two as usize + 2 * (tag >> 8 & 0x7f) as usize
        } else {
            // The last byte of the offset is the first without its high bit.
            let last = !(tag >> 16) & 0x80_8080;
            if last == 0 {
                return None;
            }
            5 + two as usize + last.trailing_zeros() as usize / 8
        };
        Some(Self { length, id, distance, kind: StepKind::Tag })
    }
}
