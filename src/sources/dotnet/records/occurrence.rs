//! Records of the runtime's events.

use super::settings::Settings;
use super::text::push_utf16;
use super::writer::Writer;
use crate::model::EventKindId;
use crate::sources::dotnet::clr::{gc_reason, gc_type, pool_reason, tier};
use crate::sources::dotnet::limits::{RECORD_MESSAGE, TEXT};
use crate::sources::dotnet::meter::{Gc, Occurrence};
use crate::sources::dotnet::metrics as m;

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
