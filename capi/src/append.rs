//! pmdaEventQueueAppend(3), and the same in nanoseconds.
#![allow(non_snake_case, reason = "names of C")]

use std::ffi::{c_int, c_void};

use crate::ctypes::queue_status;
use crate::debug::{self, Event, Lines};
use crate::queues::queue;
use crate::state::{self, Time};

/// # Safety
/// `data` points to `bytes` bytes, or is null.
#[inline(always)]
unsafe fn append(handle: c_int, data: *const c_void, bytes: usize, time: Option<Time>) -> c_int {
    let Some(time) = time.filter(|_| !data.is_null() && !debug::on()) else {
        // SAFETY: by contract.
        return unsafe { append_otherwise(handle, data, bytes, time) };
    };
    // SAFETY: not null, and `bytes` long by contract.
    let event = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), bytes) };
    match state::with_short(|state| state.queues.append(queue(handle), event, time)) {
        Ok(true) => 0,
        Ok(false) => report_appended(queue(handle), bytes, false),
        Err(e) => queue_status(e),
    }
}

/// The rare cases: diagnostics are on, an event of 0 bytes at null, an event that is only counted.
///
/// # Safety
/// As [`append`].
#[cold]
#[inline(never)]
unsafe fn append_otherwise(
    handle: c_int,
    data: *const c_void,
    bytes: usize,
    time: Option<Time>,
) -> c_int {
    let queue = queue(handle);
    if debug::on() {
        report_append(queue, handle, bytes);
    }
    let appended = match time {
        Some(time) if !data.is_null() || bytes == 0 => {
            let event = match bytes {
                0 => &[],
                // SAFETY: not null, and `bytes` long by contract.
                _ => unsafe { std::slice::from_raw_parts(data.cast::<u8>(), bytes) },
            };
            state::with(|state| state.queues.append(queue, event, time))
        }
        _ => state::with(|state| state.queues.count_event(queue, bytes)),
    };
    appended.map_or_else(queue_status, |fits| report_appended(queue, bytes, fits))
}

/// The diagnostics of libpcp_pmda before an event is stored.
#[cold]
fn report_append(queue: usize, handle: c_int, bytes: usize) {
    let mut lines = Lines::default();
    state::with(|state| {
        let queues = &mut state.queues;
        let Ok((name, _)) = queues.name_and_limit(queue) else { return };
        lines.add(format_args!("Appending event: queue#{handle} \"{name}\" ({bytes} bytes)"));
        while let Some((seq, size)) = queues.must_evict(queue, bytes) {
            let (event, held) = (Event(Some(seq)), queues.memory(queue).unwrap_or_default());
            let Ok((name, max)) = queues.name_and_limit(queue) else { return };
            lines.add(format_args!("Dropping {name}: e={event} sz={size} max={max} qsz={held}"));
            lines.add(format_args!("Removing {name} event {event} ({size} bytes)"));
            queues.drop_oldest(queue);
        }
    });
    lines.notify(libc::LOG_DEBUG);
}

/// The diagnostics of libpcp_pmda after an event is stored, or is too large for the queue.
#[cold]
#[inline(never)]
fn report_appended(queue: usize, bytes: usize, fits: bool) -> c_int {
    let (mut lines, mut priority) = (Lines::default(), libc::LOG_DEBUG);
    state::with(|state| {
        let queues = &state.queues;
        let Ok((name, max)) = queues.name_and_limit(queue) else { return };
        let clients = queues.queue_clients(queue).unwrap_or_default();
        if !fits {
            priority = libc::LOG_WARNING;
            lines.add(format_args!("Event too large for queue {name} ({bytes} > {max})"));
        } else if clients > 0 && debug::on() {
            let event = Event(queues.newest(queue));
            lines.add(format_args!(
                "Inserted {name} event {event} ({bytes} bytes) clients = {clients}"
            ));
        }
    });
    lines.notify(priority);
    0
}

/// Appends a copy of an event; 0, -EINVAL, -ENOMEM. An event that is larger than the queue's memory is
/// missed by all clients, and logged as a warning. After -ENOMEM the event is not counted; the oldest
/// ones may have been dropped to make room, as in C, and clients that had not read them miss them.
///
/// # Safety
/// `data` points to `bytes` bytes and `time` to a `struct timeval`; null gives -EINVAL, unless the
/// event is only counted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventQueueAppend(
    handle: c_int,
    data: *mut c_void,
    bytes: usize,
    time: *mut libc::timeval,
) -> c_int {
    // SAFETY: by contract.
    let time = unsafe { time.as_ref() }.map(|t| Time::Micro(*t));
    // SAFETY: by contract.
    unsafe { append(handle, data, bytes, time) }
}

/// As [`pmdaEventQueueAppend`] with nanoseconds. libpcp_pmda has no such function.
///
/// # Safety
/// As [`pmdaEventQueueAppend`], `time` being a `struct timespec`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventQueueHighResAppend(
    handle: c_int,
    data: *mut c_void,
    bytes: usize,
    time: *mut libc::timespec,
) -> c_int {
    // SAFETY: by contract.
    let time = unsafe { time.as_ref() }.map(|t| Time::Nano(*t));
    // SAFETY: by contract.
    unsafe { append(handle, data, bytes, time) }
}
