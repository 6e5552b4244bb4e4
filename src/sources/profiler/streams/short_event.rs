//! The usual events of a trace, decoded from 8 bytes at once: numbers are small, and the event
//! before is near. [`super::trace`] has the format, and decodes all others.

use crate::sources::profiler::dictionary::Dictionary;

/// Receives the events of [`ShortEvents`].
pub trait StepVisitor {
    /// The thread entered a method.
    fn enter(&mut self, method: u32, time_ms: i64);
    /// The thread left the innermost method.
    fn exit(&mut self, time_ms: i64);
    /// A parameter of the innermost method, without its value.
    fn tag(&mut self, param: u32, time_ms: i64);
}

/// How many events of each kind there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepCounts {
    /// ENTER.
    pub enters: u32,
    /// EXIT.
    pub exits: u32,
    /// TAG.
    pub tags: u32,
}

impl StepCounts {
    /// Number of all events.
    #[must_use]
    pub const fn all(self) -> u32 {
        self.enters.wrapping_add(self.exits).wrapping_add(self.tags)
    }
}

/// The events of a block up to one that is not usual: a tag whose value has a meaning, an event
/// with large numbers, or the last 7 bytes.
#[derive(Debug)]
pub struct ShortEvents<'a> {
    pub(super) rest: &'a [u8],
    pub(super) time_ms: i64,
    pub(super) counts: StepCounts,
    words: &'a Dictionary,
}

impl<'a> ShortEvents<'a> {
    /// `time_ms`: the time of the event before `rest`.
    pub(super) const fn new(rest: &'a [u8], time_ms: i64, words: &'a Dictionary) -> Self {
        let counts = StepCounts { enters: 0, exits: 0, tags: 0 };
        Self { rest, time_ms, counts, words }
    }

    /// How many have been read.
    #[must_use]
    pub const fn counts(&self) -> StepCounts {
        self.counts
    }

    /// Reads them.
    #[inline(always)]
    pub fn read(&mut self, visitor: &mut impl StepVisitor) {
        let (mut rest, mut now_ms) = (self.rest, self.time_ms);
        let StepCounts { mut enters, mut exits, mut tags } = self.counts;
        while let Some(first) = rest.first_chunk() {
            let word = u64::from_le_bytes(*first);
            let time_ms = now_ms.wrapping_add((word >> 2 & 0x1f).cast_signed());
            if word & 0x83 == 1 {
                (_, rest) = rest.split_at(1);
                (now_ms, exits) = (time_ms, exits.wrapping_add(1));
                visitor.exit(time_ms);
                continue;
            }
            // The end of a block, a long distance, or an id of more than two bytes.
            if word & 0x81 != 0 || word & 0x80_8000 == 0x80_8000 {
                break;
            }
            let two = word >> 15 & 1;
            let id = (word >> 8 & 0x7f) as u32 | ((word >> 9 & 0x3f80) as u32 * two as u32);
            if word & 2 == 0 {
                (_, rest) = rest.split_at(2 + two as usize);
                (now_ms, enters) = (time_ms, enters.wrapping_add(1));
                visitor.enter(id, time_ms);
                continue;
            }
            let Some(behind) = tag_length(word >> (16 + 8 * two))
                .and_then(|length| rest.get(2 + two as usize + length..))
            else {
                break;
            };
            if !self.words.is_plain(id) {
                break;
            }
            rest = behind;
            (now_ms, tags) = (time_ms, tags.wrapping_add(1));
            visitor.tag(id, time_ms);
        }
        (self.rest, self.time_ms) = (rest, now_ms);
        self.counts = StepCounts { enters, exits, tags };
    }
}

/// Bytes of a tag from its type on, which is in the low byte; `None` for an unknown type, or a long
/// string or number of a file.
#[inline(always)]
const fn tag_length(tag: u64) -> Option<usize> {
    if tag & 0x80fc != 0 {
        return None;
    }
    if tag & 1 == 0 {
        return Some(2 + 2 * (tag >> 8 & 0x7f) as usize);
    }
    // The last byte of the offset is the first without its high bit.
    let last = !(tag >> 16) & 0x80_8080;
    if last == 0 { None } else { Some(3 + last.trailing_zeros() as usize / 8) }
}
