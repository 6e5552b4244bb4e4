//! Buffers of one thread, used again from body to body.

use std::cell::Cell;

use crate::sources::zorka::limits::SCRATCH;
use crate::sources::zorka::meter::copies::Copies;
use crate::sources::zorka::records::SpanRecords;
use crate::sources::zorka::wire::body::TraceBody;

/// A decoded body, which of its records are copies, and what makes event records of it.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub(super) body: TraceBody,
    pub(super) copies: Copies,
    pub(super) records: SpanRecords,
}

thread_local! {
    static FREE: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

/// Calls `work` with the thread's buffers. Large ones are freed afterwards.
pub(super) fn with<R>(work: impl FnOnce(&mut Scratch) -> R) -> R {
    let mut scratch = FREE.take().unwrap_or_default();
    let result = work(&mut scratch);
    let Scratch { body, copies, records } = &*scratch;
    if body.memory() + copies.memory() + records.memory() <= SCRATCH {
        FREE.set(Some(scratch));
    }
    result
}
