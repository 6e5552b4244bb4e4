//! The records that nearly all of a body consists of: start and end of the modern local tracer, with
//! a time of 8 bytes and small numbers (docs/protocols/zorka.md 5.2). They are read in one loop,
//! without the general decoder, which reads everything else, the same items in other forms too.

use super::walk::{Walk, normal};
use crate::sources::zorka::limits;
use crate::sources::zorka::wire::body::{Dialect, FLAG_CLOSED, NONE, Record, TraceBody};
use crate::sources::zorka::wire::error::{BodyError, ErrorKind};

/// First bytes of the items, the lowest first: tag, array, a number of 8 bytes.
const START: u32 = 0x1b_9f_c3;
const END: u32 = 0x1b_82_c4;
const FLAGGED_END: u32 = 0x1b_83_c4;

/// A number of at most 16 bits, the bytes behind it, and the number of its own bytes.
#[inline]
const fn small(bytes: u64) -> Option<(u32, u64, usize)> {
    let [first, a, b, ..] = bytes.to_le_bytes();
    match first {
        0..=0x17 => Some((first as u32, bytes >> 8, 1)),
        0x18 => Some((a as u32, bytes >> 16, 2)),
        0x19 => Some((u16::from_be_bytes([a, b]) as u32, bytes >> 24, 3)),
        _ => None,
    }
}

impl Walk<'_> {
    /// Reads the usual items from `at` on; returns the position of the first other one. A start is
    /// `c3 9f time method`, an end `c4 82 time calls ff` or `c4 83 time calls flags ff`.
    pub(super) fn usual(&mut self, body: &[u8], mut at: usize) -> Result<usize, BodyError> {
        let TraceBody { records, backwards, .. } = &mut *self.out;
        let (mut innermost, mut depth) = (self.record, self.depth);
        let result = loop {
            // The longest item has 18 bytes.
            let Some((item, _)) = body.get(at..).and_then(<[u8]>::split_first_chunk::<19>) else {
                break Ok(at);
            };
            let &[tag, form, size, a, b, c, d, e, f, g, h, ref numbers @ ..] = item;
            // With `a`, so that it is one word of the body.
            let head = u32::from_le_bytes([tag, form, size, a]) & 0xff_ffff;
            let time = i64::from_be_bytes([a, b, c, d, e, f, g, h]);
            let numbers = u64::from_le_bytes(*numbers);
            match head {
                START => {
                    let Some((method, _, length)) = small(numbers) else { break Ok(at) };
                    let number = records.len();
                    if number >= limits::RECORDS {
                        break Err(BodyError::new(ErrorKind::Size, at));
                    }
                    if depth as usize >= limits::OPEN_RECORDS {
                        break Err(BodyError::new(ErrorKind::Nesting, at));
                    }
                    records.push(Record {
                        parent: innermost,
                        method,
                        start: time,
                        span: NONE,
                        ..Record::default()
                    });
                    innermost = super::walk::position(number);
                    depth += 1;
                    at += 11 + length;
                }
                END | FLAGGED_END => {
                    let Some((calls, mut rest, mut length)) = small(numbers) else { break Ok(at) };
                    let mut flags = FLAG_CLOSED;
                    if head == FLAGGED_END {
                        let Some((more, behind, bytes)) = small(rest) else { break Ok(at) };
                        flags |= normal(Dialect::Modern, more.into());
                        (rest, length) = (behind, length + bytes);
                    }
                    let Some(record) = records.get_mut(innermost as usize) else { break Ok(at) };
                    let plain = record.dialect == Dialect::Modern && record.span == NONE;
                    if !plain || rest & 0xff != 0xff {
                        break Ok(at);
                    }
                    let is_backwards = time < record.start;
                    *backwards += u32::from(is_backwards);
                    let elapsed = time.wrapping_sub(record.start).cast_unsigned();
                    let duration = if is_backwards { 0 } else { elapsed };
                    record.duration = duration;
                    record.calls = calls.into();
                    record.flags = flags;
                    innermost = record.parent;
                    depth -= 1;
                    if let Some(parent) = records.get_mut(innermost as usize) {
                        parent.children = parent.children.saturating_add(duration);
                    }
                    at += 12 + length;
                }
                _ => break Ok(at),
            }
        };
        (self.record, self.depth) = (innermost, depth);
        result
    }
}
