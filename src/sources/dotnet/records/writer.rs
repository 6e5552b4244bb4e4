//! Records of the runtime's events: their kinds and static parameters.

use super::Settings;
use super::text::{push_guid, push_utf16};
use super::threads::Origin;
use crate::contract::{Peer, Record};
use crate::events::Batch;
use crate::events::flags::{ID, PARENT};
use crate::model::{EventKindId, ParamItem, Stamp};
use crate::sources::dotnet::limits::{RECORD_MESSAGE, TEXT};
use crate::sources::dotnet::meter::{Gc, Occurrence};
use crate::sources::dotnet::metrics as m;
use crate::sources::dotnet::metrics::{P_ID, P_PARENT};
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
pub(super) fn write(occurrence: &Occurrence<'_>, method: Option<&str>, to: &mut Record<'_>) {
    match occurrence {
        Occurrence::Gc(collection) => gc(collection, to),
        Occurrence::Exception { kind, message, hresult, flags } => {
            utf16(to, m::P_TYPE, kind.bytes(), TEXT);
            if !message.is_empty() {
                utf16(to, m::P_MESSAGE, message.bytes(), RECORD_MESSAGE);
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
            to.float(m::P_THROUGHPUT, *throughput);
        }
        Occurrence::Assembly { name } => utf16(to, m::P_NAME, name.bytes(), TEXT),
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
            utf16(to, m::P_TYPE, kind.bytes(), TEXT);
            to.number(m::P_BYTES, *bytes);
        }
    }
}

fn gc(gc: &Gc, to: &mut Record<'_>) {
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

/// Begins a record with the ids of its activity, which come first.
pub(super) fn begin<'r>(
    batch: &'r mut Batch,
    peer: &'r Peer,
    stamp: Stamp,
    flags: u32,
    origin: &Origin<'_>,
) -> Record<'r> {
    let (id, parent) = (*origin.activity != [0; 16], *origin.related != [0; 16]);
    let ids = if id { ID } else { 0 } | if parent { PARENT } else { 0 };
    batch.record(stamp, flags | ids);
    let mut record = peer.newest(batch);
    for (item, id) in [(P_ID, origin.activity), (P_PARENT, origin.related)] {
        if *id != [0; 16] {
            record.write(item, |out| push_guid(id, out));
        }
    }
    record
}

/// Adds a text of at most `limit` bytes.
fn utf16(to: &mut Record<'_>, item: ParamItem, units: &[u8], limit: usize) {
    let mut whole = true;
    to.write(item, |out| whole = push_utf16(units, limit, out));
    if !whole {
        to.count_truncated();
    }
}
