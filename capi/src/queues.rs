//! pmdaEventNewQueue(3): the queues themselves, and their gauges.
#![allow(non_snake_case, reason = "names of C")]

use std::ffi::{CStr, c_char, c_int, c_uint};

use pcp_event::QueueError;

use crate::ctypes::{AtomValue, EINVAL, PM_ERR_GENERIC, PMDA_FETCH_STATIC, queue_status};
use crate::debug::{self, Lines};
use crate::fence::{fenced, guard};
use crate::state;

/// The characters of a name. Names are compared and printed, never returned: bytes that are not
/// UTF-8 stay distinct.
///
/// # Safety
/// `name` is null or a C string that does not change.
unsafe fn name_of<'n>(name: *const c_char) -> Option<impl Iterator<Item = char> + Clone + 'n> {
    if name.is_null() {
        return None;
    }
    // SAFETY: a C string by contract.
    let name = unsafe { CStr::from_ptr::<'n>(name) };
    Some(name.to_bytes().iter().map(|b| char::from(*b)))
}

/// A name as a text; `None` without memory.
fn text(name: impl Iterator<Item = char> + Clone) -> Option<String> {
    let mut text = String::new();
    text.try_reserve_exact(name.clone().map(char::len_utf8).sum()).ok()?;
    text.extend(name);
    Some(text)
}

/// The handle as an index of [`pcp_event::Queues`]; a negative one becomes an index without a
/// queue.
pub(crate) fn queue(handle: c_int) -> usize {
    usize::try_from(handle).unwrap_or(usize::MAX)
}

/// A queue of at most `max_memory` bytes; its handle, -EINVAL without a name or memory, -EEXIST,
/// -ENOMEM.
///
/// # Safety
/// `name` is null or a C string; it is copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventNewQueue(name: *const c_char, max_memory: usize) -> c_int {
    // SAFETY: by contract.
    unsafe { pmdaEventNewActiveQueue(name, max_memory, 0) }
}

/// A queue that keeps events from the start, since `clients` clients are announced; otherwise as
/// [`pmdaEventNewQueue`].
///
/// # Safety
/// `name` is null or a C string; it is copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventNewActiveQueue(
    name: *const c_char,
    max_memory: usize,
    clients: c_uint,
) -> c_int {
    guard(|| {
        // SAFETY: by contract.
        let Some(name) = (unsafe { name_of(name) }) else { return EINVAL };
        let Some(name) = text(name) else { return -libc::ENOMEM };
        debug::find();
        state::with(|state| {
            let new = state.new_queue(&name, max_memory, clients);
            new.map_or_else(|e| e, |new| c_int::try_from(new).unwrap_or(-libc::ENOMEM))
        })
    })
}

/// Removes a queue: at once, or when its last client ends; 0 or -EINVAL.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn pmdaEventQueueShutdown(handle: c_int) -> c_int {
    let done = fenced(|| {
        let queue = queue(handle);
        if debug::on() {
            say_shutdown(queue, handle);
        }
        state::with(|state| state.shutdown(queue))
    });
    let status = match &done {
        Some(Ok(_)) => 0,
        Some(Err(e)) => queue_status(*e),
        None => PM_ERR_GENERIC,
    };
    // Filters are released here, after the lock.
    drop(done);
    status
}

#[cold]
fn say_shutdown(queue: usize, handle: c_int) {
    let mut lines = Lines::default();
    state::with(|state| {
        match (state.queues.name_and_limit(queue), state.queues.queue_clients(queue)) {
            (Ok((name, _)), Ok(clients)) => {
                lines.add(format_args!("queue_shutdown: {name} numclients={clients}"));
            }
            _ => lines.add(format_args!("queue_shutdown: no queue#{handle}")),
        }
    });
    lines.notify(libc::LOG_DEBUG);
}

/// The handle of a queue, or -ESRCH.
///
/// # Safety
/// `name` is null or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventQueueHandle(name: *const c_char) -> c_int {
    guard(|| {
        // SAFETY: by contract.
        let found = unsafe { name_of(name) }.ok_or(QueueError::NotFound).and_then(|name| {
            state::with(|state| state.queues.find(|q| q.chars().eq(name.clone())))
        });
        found.map_or_else(queue_status, |handle| c_int::try_from(handle).unwrap_or(-libc::ENOMEM))
    })
}

/// # Safety
/// `atom` is null or points to a `pmAtomValue`.
unsafe fn gauge(
    atom: *mut AtomValue,
    value: impl FnOnce() -> Result<AtomValue, QueueError>,
) -> c_int {
    guard(|| {
        // SAFETY: by contract.
        let Some(atom) = (unsafe { atom.as_mut() }) else { return EINVAL };
        match value() {
            Ok(value) => {
                *atom = value;
                PMDA_FETCH_STATIC
            }
            Err(e) => queue_status(e),
        }
    })
}

/// Clients of a queue in `atom->ul`; 1 or -EINVAL.
///
/// # Safety
/// `atom` is null or points to a `pmAtomValue`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventQueueClients(handle: c_int, atom: *mut AtomValue) -> c_int {
    // SAFETY: by contract.
    unsafe {
        gauge(atom, || {
            Ok(AtomValue {
                ull: state::with(|state| state.queues.queue_clients(queue(handle)))?.into(),
            })
        })
    }
}

/// Events ever appended in `atom->ul`, which wraps; 1 or -EINVAL.
///
/// # Safety
/// `atom` is null or points to a `pmAtomValue`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventQueueCounter(handle: c_int, atom: *mut AtomValue) -> c_int {
    // SAFETY: by contract.
    unsafe {
        gauge(atom, || {
            Ok(AtomValue {
                ull: state::with(|state| state.queues.counter(queue(handle)))?
                    & u64::from(u32::MAX),
            })
        })
    }
}

/// Bytes ever appended in `atom->ull`; 1 or -EINVAL.
///
/// # Safety
/// `atom` is null or points to a `pmAtomValue`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventQueueBytes(handle: c_int, atom: *mut AtomValue) -> c_int {
    // SAFETY: by contract.
    unsafe {
        gauge(atom, || {
            Ok(AtomValue { ull: state::with(|state| state.queues.bytes(queue(handle)))? })
        })
    }
}

/// Bytes of the stored events in `atom->ull`; 1 or -EINVAL.
///
/// # Safety
/// `atom` is null or points to a `pmAtomValue`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventQueueMemory(handle: c_int, atom: *mut AtomValue) -> c_int {
    // SAFETY: by contract.
    unsafe {
        gauge(atom, || {
            Ok(AtomValue { ull: state::with(|state| state.queues.memory(queue(handle)))? as u64 })
        })
    }
}
