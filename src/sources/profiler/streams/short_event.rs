//! The usual events of a trace, decoded from 8 bytes at once: numbers are small, and the event
//! before is near. [`super::trace`] has the format, and decodes all others.

use crate::sources::profiler::dictionary::Dictionary;

/// Receives the events of [`ShortEvents`].
pub trait StepVisitor {
    /// The events that follow are at this time.
    fn time(&mut self, time_ms: i64);
    /// The thread entered a method.
    fn enter(&mut self, method: u32);
    /// The thread left the innermost method.
    fn exit(&mut self);
    /// A parameter of the innermost method, without its value.
    fn tag(&mut self, param: u32);
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
        visitor.time(now_ms);
        while let Some(first) = rest.first_chunk() {
            let word = u64::from_le_bytes(*first);
            let kind = word & 0x83;
            if kind == 1 {
                (_, rest) = rest.split_at(1);
                pass(word, &mut now_ms, visitor);
                exits = exits.wrapping_add(1);
                visitor.exit();
                continue;
            }
            // The end of a block, or a long distance.
            if kind & 0x81 != 0 {
                break;
            }
            let Some((id, behind)) = short_id(word >> 8) else { break };
            if kind == 0 {
                (_, rest) = rest.split_at(1 + behind);
                pass(word, &mut now_ms, visitor);
                enters = enters.wrapping_add(1);
                visitor.enter(id);
                continue;
            }
            let Some(after) = tag_length(word >> (8 + 8 * behind))
                .and_then(|length| rest.get(1 + behind + length..))
            else {
                break;
            };
            if !self.words.is_plain(id) {
                break;
            }
            rest = after;
            pass(word, &mut now_ms, visitor);
            tags = tags.wrapping_add(1);
            visitor.tag(id);
        }
        (self.rest, self.time_ms) = (rest, now_ms);
        self.counts = StepCounts { enters, exits, tags };
    }
}

/// Adds the distance of an event, which is in its first byte. Most are 0.
#[inline(always)]
fn pass(word: u64, now_ms: &mut i64, visitor: &mut impl StepVisitor) {
    if word & 0x7c != 0 {
        *now_ms = now_ms.wrapping_add((word >> 2 & 0x1f).cast_signed());
        visitor.time(*now_ms);
    }
}

/// The id at the low byte, and its length; `None` if that is more than two bytes.
#[inline(always)]
const fn short_id(word: u64) -> Option<(u32, usize)> {
    let low = (word & 0x7f) as u32;
    if word & 0x80 == 0 {
        Some((low, 1))
    } else if word & 0x8000 == 0 {
        Some((low | (word >> 1 & 0x3f80) as u32, 2))
    } else {
        None
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
