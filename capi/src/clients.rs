//! pmdaEventNewClient(3) with filters and access.
#![allow(non_snake_case, reason = "names of C")]

use std::ffi::{c_int, c_uint, c_void};

use crate::ctypes::{
    ApplyFilter, AtomValue, EINVAL, PM_ERR_GENERIC, PMDA_FETCH_STATIC, ReleaseFilter, queue_status,
};
use crate::debug::{self, Lines, report};
use crate::fence::{fenced, guard};
use crate::filters::Filter;
use crate::state;

/// Adds a client; its number (≥ 0), the existing one for a known context; -ENOMEM.
#[unsafe(no_mangle)]
pub extern "C" fn pmdaEventNewClient(context: c_int) -> c_int {
    guard(|| {
        debug::find();
        let (known, slot, total) = state::with(|state| {
            let known = state.queues.client(context);
            let slot = known.map_or_else(|| state.queues.new_client(context), Ok);
            if slot.is_ok() {
                state.request.new_client(known.is_some());
            }
            (known.is_some(), slot, state.queues.client_slots())
        });
        match slot {
            Ok(slot) => {
                if !known {
                    report!("pmdaEventNewClient: slot={slot} (total={total}) context={context}");
                }
                c_int::try_from(slot).unwrap_or(-libc::ENOMEM)
            }
            Err(e) => queue_status(e),
        }
    })
}

/// Ends a client: drops its filters and its claim on events; always 0.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn pmdaEventEndClient(context: c_int) -> c_int {
    let ended = fenced(|| {
        if debug::on() {
            say_end(context);
        }
        state::with(|state| state.end_client(context))
    });
    let status = if ended.is_some() { 0 } else { PM_ERR_GENERIC };
    // Callbacks that release filters may call this library, and raise exceptions.
    drop(ended);
    status
}

#[cold]
fn say_end(context: c_int) {
    let mut lines = Lines::default();
    state::with(|state| {
        let queues = &state.queues;
        let slot = queues.client(context).unwrap_or_default();
        lines.add(format_args!("pmdaEventEndClient ctx={context} slot={slot}"));
        for handle in (0..queues.queue_slots()).filter(|handle| queues.is_active(*handle, context))
        {
            let (Ok((name, _)), Ok(clients)) =
                (queues.name_and_limit(handle), queues.queue_clients(handle))
            else {
                continue;
            };
            lines.add(format_args!("queue_cleanup: {name} numclients={clients}"));
            if clients == 1 {
                let shutdown = c_int::from(queues.is_shut_down(handle));
                lines.add(format_args!("queue_cleanup: {name} final shutdown={shutdown}"));
            }
        }
    });
    lines.notify(libc::LOG_DEBUG);
}

/// The number of clients in `atom->ul`; 1, or -EINVAL for a null pointer.
///
/// # Safety
/// `atom` is null or points to a `pmAtomValue`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventClients(atom: *mut AtomValue) -> c_int {
    guard(|| {
        // SAFETY: by contract.
        let Some(atom) = (unsafe { atom.as_mut() }) else { return EINVAL };
        atom.ul =
            c_uint::try_from(state::with(|state| state.queues.clients())).unwrap_or(c_uint::MAX);
        PMDA_FETCH_STATIC
    })
}

/// Sets a client's filter of a queue and grants it access; a null `filter` removes it. 0, or
/// -EINVAL for an unknown client or queue, or a filter without `apply`, -ENOMEM: the caller then
/// keeps the filter, as in C.
///
/// # Safety
/// The callbacks can be called with `filter` until it is released.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pmdaEventSetFilter(
    context: c_int,
    handle: c_int,
    filter: *mut c_void,
    apply: Option<ApplyFilter>,
    release: Option<ReleaseFilter>,
) -> c_int {
    let Ok(queue) = usize::try_from(handle) else { return EINVAL };
    let apply = match (filter.is_null(), apply) {
        (false, None) => return EINVAL,
        (true, _) => None,
        (false, Some(apply)) => Some(apply),
    };
    let make = || apply.map(|apply| Filter::new(filter, apply, release)).transpose();
    let set = fenced(|| state::with(|state| state.queues.set_filter(context, queue, make)));
    let status = match &set {
        Some(Ok(_)) => 0,
        Some(Err(e)) => queue_status(*e),
        None => PM_ERR_GENERIC,
    };
    // The old filter is released here, without the lock.
    drop(set);
    status
}

/// Grants (non-zero) or revokes a client's access to a queue; 0, -EINVAL for an unknown client or
/// queue, -ENOMEM.
#[unsafe(no_mangle)]
pub extern "C" fn pmdaEventSetAccess(context: c_int, handle: c_int, allow: c_int) -> c_int {
    guard(|| {
        let Ok(queue) = usize::try_from(handle) else { return EINVAL };
        state::with(|state| state.queues.set_access(context, queue, allow != 0))
            .map_or_else(queue_status, |()| 0)
    })
}
