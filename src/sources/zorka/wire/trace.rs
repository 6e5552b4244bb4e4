//! Bodies of traces: a flat walk with the open records as an explicit chain
//! (docs/protocols/zorka.md 5.2, 6.2 and 10.4).

mod item;
mod layouts;
mod usual;
mod walk;

use self::walk::Walk;
use super::body::TraceBody;
use super::error::{BodyError, ErrorKind};
use super::items::{BREAK, Items};
use crate::sources::zorka::limits;

/// Bytes of a record of the local tracer, about.
const RECORD_BYTES: usize = 24;

/// Decodes a body of traces into `out`.
///
/// # Errors
///
/// The first item that is wrong; `out` has everything before it.
pub fn trace(body: &[u8], out: &mut TraceBody) -> Result<(), BodyError> {
    out.clear();
    if u32::try_from(body.len()).is_err() {
        return Err(BodyError::new(ErrorKind::Size, 0));
    }
    out.records.reserve((body.len() / RECORD_BYTES).min(limits::RECORDS));
    let mut result = walk(body, 0, out);
    if result.is_err() && out.records.is_empty() {
        // A body that begins in the middle of an item.
        if let Some(start) = resume(body) {
            out.clear();
            out.skipped = u32::try_from(start).unwrap_or(u32::MAX);
            result = walk(body, start, out);
        }
    }
    result
}

/// Where the first legacy record begins: 1.90.6 sends only the last piece of a long trace.
pub(super) fn resume(body: &[u8]) -> Option<usize> {
    memchr::memmem::find_iter(body, b"\xc8\x9f")
        .find(|at| matches!(body.get(at + 2..at + 4), Some([0xca | 0xcb, 0x48])))
}

fn walk(body: &[u8], start: usize, out: &mut TraceBody) -> Result<(), BodyError> {
    let mut walk = Walk::new(out);
    let result = items(body, start, &mut walk);
    walk.end();
    result
}

fn items(body: &[u8], mut at: usize, walk: &mut Walk<'_>) -> Result<(), BodyError> {
    loop {
        at = walk.usual(body, at)?;
        let Some(first) = body.get(at) else { return Ok(()) };
        if *first == BREAK {
            walk.close_array();
            at += 1;
        } else {
            let mut items = Items::new(body, at);
            walk.item(&mut items)?;
            at = items.position();
        }
    }
}
