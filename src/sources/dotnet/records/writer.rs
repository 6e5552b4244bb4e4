//! Records of the runtime's events: their kinds and static parameters.

use super::Settings;
use super::text::{push_guid, push_utf16};
use super::threads::Origin;
use crate::contract::{ParamId, Peer};
use crate::events::flags::{ID, PARENT};
use crate::events::{Batch, TextWriter};
use crate::model::{EventKindId, ParamItem, Stamp};
use crate::sources::dotnet::limits::{RECORD_MESSAGE, TEXT};
use crate::sources::dotnet::meter::{Gc, Occurrence};
use crate::sources::dotnet::metrics as m;
use crate::sources::dotnet::metrics::{P_ID, P_PARENT, P_THREAD, P_THREAD_NAME};
use crate::sources::dotnet::wire::clr::{gc_reason, gc_type, pool_reason, tier};

/// Adjustments of the thread pool that have records: starvation and cooperative blocking.
const ALARMS: [u32; 2] = [6, 8];

/// The kind of its record; `None`: it has none.
pub(super) fn kind(occurrence: &Occurrence<'_>, settings: &Settings) -> Option<EventKindId> {
    let kind = match occurrence {
        Occurrence::Gc(_) => m::GC,
        Occurrence::Exception { .. } => m::EXCEPTION,
        Occurrence::Contention { duration, .. } if *duration < settings.contention => return None,
        Occurrence::Contention { .. } => m::CONTENTION,
        Occurrence::Adjustment { reason, .. } if !ALARMS.contains(reason) => return None,
        Occurrence::Adjustment { .. } => m::POOL,
        Occurrence::Assembly { .. } => m::ASSEMBLY,
        Occurrence::Method { .. } => m::METHOD,
        Occurrence::Allocation { .. } => m::ALLOCATION,
    };
    settings.has(kind).then_some(kind)
}

/// Its stack tells where it happened.
pub(super) const fn has_stack(occurrence: &Occurrence<'_>) -> bool {
    matches!(
        occurrence,
        Occurrence::Exception { .. }
            | Occurrence::Contention { .. }
            | Occurrence::Allocation { .. }
    )
}

/// Adds its parameters. `method`: the method that waits for a lock, which names it.
pub(super) fn write(occurrence: &Occurrence<'_>, method: Option<&str>, to: &mut Writer<'_>) {
    match occurrence {
        Occurrence::Gc(collection) => gc(collection, to),
        Occurrence::Exception { kind, message, hresult, flags } => {
            to.utf16(m::P_TYPE, kind.bytes(), TEXT);
            if !message.is_empty() {
                to.utf16(m::P_MESSAGE, message.bytes(), RECORD_MESSAGE);
            }
            to.number(m::P_HRESULT, (*hresult).into());
            to.number(m::P_FLAGS, (*flags).into());
        }
        Occurrence::Contention { duration, lock, owner } => {
            to.number(m::P_DURATION, *duration);
            match (method, *lock) {
                (Some(method), _) => to.text(m::P_LOCK, method),
                (None, 0) => {}
                (None, lock) => to.text(m::P_LOCK, &format!("lock@{lock:x}")),
            }
            to.known(m::P_LOCK_OWNER, Some(*owner).filter(|owner| *owner != 0));
        }
        Occurrence::Adjustment { target, throughput, reason } => {
            to.text(m::P_REASON, pool_reason(*reason));
            to.number(m::P_TARGET, (*target).into());
            to.number(m::P_THROUGHPUT, throughput.to_bits());
        }
        Occurrence::Assembly { name } => to.utf16(m::P_NAME, name.bytes(), TEXT),
        Occurrence::Method { namespace, name, il_bytes, duration, flags, .. } => {
            to.write(m::P_NAME, |out| {
                if !namespace.is_empty() && push_utf16(namespace.bytes(), TEXT, out) {
                    out.push(".");
                }
                push_utf16(name.bytes(), TEXT, out);
            });
            to.text(m::P_TIER, tier(*flags));
            to.known(m::P_IL_BYTES, il_bytes.map(u64::from));
            to.known(m::P_DURATION, *duration);
        }
        Occurrence::Allocation { kind, bytes } => {
            to.utf16(m::P_TYPE, kind.bytes(), TEXT);
            to.number(m::P_BYTES, *bytes);
        }
    }
}

fn gc(gc: &Gc, to: &mut Writer<'_>) {
    to.number(m::P_NUMBER, gc.number.into());
    to.number(m::P_GENERATION, gc.generation.into());
    to.text(m::P_REASON, gc_reason(gc.reason));
    to.text(m::P_TYPE, gc_type(gc.kind));
    to.known(m::P_PAUSE, gc.pause);
    to.number(m::P_DURATION, gc.duration);
    to.known(m::P_BEFORE, gc.heap.and_then(|heap| heap.before));
    to.known(m::P_AFTER, gc.heap.map(|heap| heap.after));
    to.known(m::P_PROMOTED, gc.heap.map(|heap| heap.promoted));
}

/// The newest record of a batch.
pub(super) struct Writer<'w> {
    pub(super) batch: &'w mut Batch,
    pub(super) peer: &'w Peer,
}

impl Writer<'_> {
    /// Begins a record with the ids of its activity, which come first.
    pub(super) fn begin(&mut self, stamp: Stamp, flags: u32, origin: &Origin<'_>) {
        let (id, parent) = (*origin.activity != [0; 16], *origin.related != [0; 16]);
        let ids = if id { ID } else { 0 } | if parent { PARENT } else { 0 };
        self.batch.record(stamp, flags | ids);
        self.guid(P_ID, origin.activity);
        self.guid(P_PARENT, origin.related);
    }

    /// Adds the thread.
    pub(super) fn thread(&mut self, thread: u64, name: &str) {
        self.number(P_THREAD, thread);
        self.text(P_THREAD_NAME, name);
    }

    /// Adds a number, given as its bits in the type of its parameter.
    pub(super) fn number(&mut self, item: ParamItem, bits: u64) {
        if let Some((pmid, ty)) = self.peer.param(ParamId::Item(item)) {
            self.batch.number(pmid, ty, bits);
        }
    }

    /// Adds a number that is known.
    pub(super) fn known(&mut self, item: ParamItem, bits: Option<u64>) {
        if let Some(bits) = bits {
            self.number(item, bits);
        }
    }

    /// Adds a text that is not empty.
    pub(super) fn text(&mut self, item: ParamItem, text: &str) {
        if let (false, Some((pmid, _))) = (text.is_empty(), self.peer.param(ParamId::Item(item))) {
            self.batch.text(pmid, text);
        }
    }

    /// Adds a text of at most `limit` bytes.
    pub(super) fn utf16(&mut self, item: ParamItem, units: &[u8], limit: usize) {
        let mut whole = true;
        self.write(item, |out| whole = push_utf16(units, limit, out));
        if !whole {
            self.batch.count_truncated();
        }
    }

    /// Adds an id that is not all zeros.
    pub(super) fn guid(&mut self, item: ParamItem, id: &[u8; 16]) {
        if *id != [0; 16] {
            self.write(item, |out| push_guid(id, out));
        }
    }

    /// Adds the text that `write` writes.
    pub(super) fn write(&mut self, item: ParamItem, write: impl FnOnce(&mut TextWriter<'_>)) {
        if let Some((pmid, _)) = self.peer.param(ParamId::Item(item)) {
            self.batch.begin_text();
            write(&mut self.batch.text_writer());
            self.batch.end_text(pmid);
        }
    }
}
