//! pmdaEventNewClient(3) with filters and access.
#![allow(non_snake_case, reason = "names of C")]

use crate::ctypes::{ApplyFilter, AtomValue, EINVAL, PMDA_FETCH_STATIC, ReleaseFilter, guard, queue_status};
use crate::state::lock;
use pmdaapm::events::QueueFilter;
use std::ffi::{c_int, c_uint, c_void};

/// A client begins; its number (≥ 0), the same for a context that is known.
#[unsafe(no_mangle)]
pub extern "C" fn pmdaEventNewClient(context: c_int) -> c_int {
    guard(|| c_int::try_from(lock().queues.new_client(context)).unwrap_or(-libc::ENOMEM))
}

/// A client ends, with its filters and its claim on events; always 0.
#[unsafe(no_mangle)]
pub extern "C" fn pmdaEventEndClient(context: c_int) -> c_int {
    guard(|| {
        let mut state = lock();
        let ended = state.queues.end_client(context);
        state.close(&ended.queues);
        // The callbacks that release filters may call us.
        drop(state);
        drop(ended);
        0
    })
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
        atom.ul = c_uint::try_from(lock().queues.clients()).unwrap_or(c_uint::MAX);
        PMDA_FETCH_STATIC
    })
}

/// A filter of the PMDA: released once, when it is dropped.
struct Filter {
    filter: *mut c_void,
    apply: ApplyFilter,
    release: Option<ReleaseFilter>,
    scratch: Vec<u8>,
}

// SAFETY: the PMDA gave the pointer for its callbacks; one thread at a time uses it, as the filter is owned by one fetch.
unsafe impl Send for Filter {}

impl Filter {
    fn keeps(&mut self, event: &[u8]) -> bool {
        // A copy: the callback may write into what it gets, as in C.
        self.scratch.clear();
        self.scratch.extend_from_slice(event);
        self.scratch.push(0);
        let data = self.scratch.as_mut_ptr().cast();
        // SAFETY: pmdaEventApplyFilterCallBack: the PMDA's filter, an event and its size.
        unsafe { (self.apply)(self.filter, data, event.len()) == 0 }
    }
}

impl Drop for Filter {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: pmdaEventReleaseFilterCallBack: the PMDA's filter, which nobody uses any more.
            unsafe { release(self.filter) }
        }
    }
}

/// Sets a client's filter of a queue and grants it access; a null `filter` removes it. 0, or -EINVAL for an unknown client or
/// queue, or a filter without `apply`.
///
/// # Safety
/// The callbacks can be called with `filter` until it is released.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventSetFilter(
    context: c_int,
    handle: c_int,
    filter: *mut c_void,
    apply: Option<ApplyFilter>,
    release: Option<ReleaseFilter>,
) -> c_int {
    guard(|| {
        let Ok(queue) = usize::try_from(handle) else { return EINVAL };
        let filter: Option<QueueFilter> = match (filter.is_null(), apply) {
            (true, _) => None,
            (false, None) => return EINVAL,
            (false, Some(apply)) => {
                let mut filter = Filter { filter, apply, release, scratch: Vec::new() };
                Some(Box::new(move |event| filter.keeps(event)))
            }
        };
        let set = lock().queues.set_filter(context, queue, filter);
        // The old filter is released here, without the lock.
        set.map_or_else(queue_status, |_| 0)
    })
}

/// Grants (non-zero) or takes a client's access to a queue; 0, or -EINVAL for an unknown client or queue.
#[unsafe(no_mangle)]
pub extern "C" fn pmdaEventSetAccess(context: c_int, handle: c_int, allow: c_int) -> c_int {
    guard(|| {
        let Ok(queue) = usize::try_from(handle) else { return EINVAL };
        lock().queues.set_access(context, queue, allow != 0).map_or_else(queue_status, |()| 0)
    })
}
