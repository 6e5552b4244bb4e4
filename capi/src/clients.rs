//! pmdaEventNewClient(3) with filters and access.
#![allow(non_snake_case, reason = "names of C")]

use std::ffi::{c_int, c_uint, c_void};

use pcp_event::QueueFilter;

use crate::ctypes::{
    ApplyFilter, AtomValue, EINVAL, PM_ERR_GENERIC, PMDA_FETCH_STATIC, ReleaseFilter, queue_status,
};
use crate::debug;
use crate::fence::{fenced, guard};
use crate::state;

/// Adds a client; its number (≥ 0), the existing one for a known context.
#[unsafe(no_mangle)]
pub extern "C" fn pmdaEventNewClient(context: c_int) -> c_int {
    guard(|| {
        debug::find();
        let (known, slot, total) = state::with(|state| {
            let known = state.queues.client(context);
            state.request.new_client(known.is_some());
            let slot = known.unwrap_or_else(|| state.queues.new_client(context));
            (known.is_some(), slot, state.queues.client_slots())
        });
        if !known {
            debug::report(|| {
                format!("pmdaEventNewClient: slot={slot} (total={total}) context={context}")
            });
        }
        c_int::try_from(slot).unwrap_or(-libc::ENOMEM)
    })
}

/// Ends a client: drops its filters and its claim on events; always 0.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn pmdaEventEndClient(context: c_int) -> c_int {
    let ended = fenced(|| {
        if debug::on() {
            say_end(context);
        }
        state::with(|state| {
            let ended = state.queues.end_client(context);
            state.close(&ended.queues);
            ended
        })
    });
    let status = if ended.is_some() { 0 } else { PM_ERR_GENERIC };
    // Callbacks that release filters may call this library, and raise exceptions.
    drop(ended);
    status
}

#[cold]
fn say_end(context: c_int) {
    let lines = state::with(|state| {
        let queues = &state.queues;
        let slot = queues.client(context).unwrap_or_default();
        let mut lines = vec![format!("pmdaEventEndClient ctx={context} slot={slot}")];
        for handle in (0..queues.queue_slots()).filter(|handle| queues.is_active(*handle, context))
        {
            let (Ok((name, _)), Ok(clients)) =
                (queues.name_and_limit(handle), queues.queue_clients(handle))
            else {
                continue;
            };
            lines.push(format!("queue_cleanup: {name} numclients={clients}"));
            if clients == 1 {
                let shutdown = c_int::from(queues.is_shut_down(handle));
                lines.push(format!("queue_cleanup: {name} final shutdown={shutdown}"));
            }
        }
        lines
    });
    lines.iter().for_each(|line| debug::notify(libc::LOG_DEBUG, line));
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

/// A filter of the PMDA: released once, when dropped.
struct Filter {
    filter: *mut c_void,
    apply: ApplyFilter,
    release: Option<ReleaseFilter>,
}

// SAFETY: the PMDA passed the pointer for its callbacks. One thread at a time uses it, as the
// filter is owned by one fetch.
unsafe impl Send for Filter {}

impl Filter {
    /// Whether the filter keeps the event. The event has a trailing NUL and belongs to this fetch:
    /// the callback may write into it, as in C.
    fn keeps(&self, event: &mut [u8]) -> bool {
        let len = event.len().saturating_sub(1);
        // SAFETY: pmdaEventApplyFilterCallBack: the PMDA's filter, an event and its size.
        let status = unsafe { (self.apply)(self.filter, event.as_mut_ptr().cast(), len) };
        debug::report(|| format!("Clientq filter applied ({status})"));
        status == 0
    }
}

impl Drop for Filter {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: pmdaEventReleaseFilterCallBack: the PMDA's filter, which is not used any
            // more.
            unsafe { release(self.filter) }
        }
    }
}

/// Sets a client's filter of a queue and grants it access; a null `filter` removes it. 0, or
/// -EINVAL for an unknown client or queue, or a filter without `apply`: the caller then keeps the
/// filter, as in C.
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
    let make = || {
        let filter = Filter { filter, apply: apply?, release };
        Some(Box::new(move |event: &mut [u8]| filter.keeps(event)) as QueueFilter)
    };
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

/// Grants (non-zero) or revokes a client's access to a queue; 0, or -EINVAL for an unknown client
/// or queue.
#[unsafe(no_mangle)]
pub extern "C" fn pmdaEventSetAccess(context: c_int, handle: c_int, allow: c_int) -> c_int {
    guard(|| {
        let Ok(queue) = usize::try_from(handle) else { return EINVAL };
        state::with(|state| state.queues.set_access(context, queue, allow != 0))
            .map_or_else(queue_status, |()| 0)
    })
}
