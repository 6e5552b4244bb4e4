//! Records that came between two runs. The PMDA's memory of a stream has no gaps: either its oldest record was delivered by
//! the run before, or those before it have gone.

use std::collections::HashSet;
use std::sync::Arc;

use crate::meaning::{Ids, SpanId};
use crate::model::{Origin, Record};
use crate::say;

/// Streams that are told by name.
const MOST_TOLD: usize = 10;

/// The streams that this run has met.
#[derive(Debug, Default)]
pub(super) struct Streams {
    met: HashSet<SpanId>,
    /// The newest one; many records of one come one after another.
    last: Option<(Arc<Origin>, SpanId)>,
    /// Those with a gap.
    pub(super) gaps: usize,
}

impl Streams {
    /// The mark of a record's stream, and whether this is its first record. Marks are noted among the ids of spans.
    pub(super) fn meet(&mut self, origin: &Arc<Origin>) -> (SpanId, bool) {
        if let Some((last, mark)) = &self.last
            && Arc::ptr_eq(last, origin)
        {
            return (*mark, false);
        }
        let mark = mark(origin);
        self.last = Some((origin.clone(), mark));
        (mark, self.met.insert(mark))
    }

    /// Of this stream something was delivered before, but not this record, the oldest one of now.
    pub(super) fn gap(&mut self, oldest: &Record) {
        self.gaps += 1;
        let of = &oldest.origin;
        match self.gaps {
            ..=MOST_TOLD => say(&format!(
                "{} of {}: some may be missing that came while nothing was exported: those before are no longer in the PMDA's memory",
                of.full, of.instance.name
            )),
            _ if self.gaps == MOST_TOLD + 1 => say("other records may be missing as well"),
            _ => {}
        }
    }
}

/// The mark of a stream.
pub(super) fn mark(origin: &Origin) -> SpanId {
    let instance = &*origin.instance.name;
    let host = origin.instance.host.as_ref();
    SpanId(Ids::number(&["stream", host, &origin.full, instance]).to_be_bytes())
}
