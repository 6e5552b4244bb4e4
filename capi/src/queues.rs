//! pmdaEventNewQueue(3), and what that lacks: fetching in high resolution.
#![allow(non_snake_case, reason = "names of C")]

use crate::ctypes::{
    AtomValue, Decode, EINVAL, HighResDecode, PMDA_FETCH_NOVALUES, PMDA_FETCH_STATIC, array_status, guard, queue_status,
};
use crate::state::{Fetching, Time, lock};
use crate::table::{self, Kind};
use pmdaapm::events::{HighRes, LowRes, Mark, QueueError};
use pmdaapm::model::Stamp;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr::null_mut;
use std::time::{SystemTime, UNIX_EPOCH};

/// # Safety
/// `name` is null or a C string.
unsafe fn name_of(name: *const c_char) -> Option<String> {
    if name.is_null() {
        return None;
    }
    // SAFETY: a C string by contract.
    let name = unsafe { CStr::from_ptr(name) };
    // Names are compared and printed, never given back: other bytes than UTF-8 keep apart as they are.
    Some(name.to_bytes().iter().map(|b| char::from(*b)).collect())
}

fn queue(handle: c_int) -> usize {
    usize::try_from(handle).unwrap_or(usize::MAX)
}

/// A queue of at most `max_memory` bytes; its handle, -EINVAL without a name or memory, -EEXIST, -ENOMEM.
///
/// # Safety
/// `name` is null or a C string; it is copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventNewQueue(name: *const c_char, max_memory: usize) -> c_int {
    // SAFETY: by contract.
    unsafe { pmdaEventNewActiveQueue(name, max_memory, 0) }
}

/// A queue that keeps events from the start, since `clients` clients are there; else as [`pmdaEventNewQueue`].
///
/// # Safety
/// `name` is null or a C string; it is copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventNewActiveQueue(name: *const c_char, max_memory: usize, clients: c_uint) -> c_int {
    guard(|| {
        // SAFETY: by contract.
        let Some(name) = (unsafe { name_of(name) }) else { return EINVAL };
        let mut state = lock();
        match state.queues.new_active_queue(&name, max_memory, clients) {
            Ok(new) => match state.open(new) {
                0 => c_int::try_from(new).unwrap_or(-libc::ENOMEM),
                status => status,
            },
            Err(e) => queue_status(e),
        }
    })
}

/// Removes a queue, at once or when its last client ends; 0 or -EINVAL.
#[unsafe(no_mangle)]
pub extern "C" fn pmdaEventQueueShutdown(handle: c_int) -> c_int {
    guard(|| {
        let mut state = lock();
        match state.queues.shutdown(queue(handle)) {
            Ok(true) => {
                state.close(&[queue(handle)]);
                0
            }
            Ok(false) => 0,
            Err(e) => queue_status(e),
        }
    })
}

/// The handle of a queue, or -ESRCH.
///
/// # Safety
/// `name` is null or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventQueueHandle(name: *const c_char) -> c_int {
    guard(|| {
        // SAFETY: by contract.
        let found = unsafe { name_of(name) }.ok_or(QueueError::NotFound).and_then(|name| lock().queues.handle(&name));
        found.map_or_else(queue_status, |handle| c_int::try_from(handle).unwrap_or(-libc::ENOMEM))
    })
}

/// # Safety
/// `data` points to `bytes` bytes, or is null.
unsafe fn append(handle: c_int, data: *const c_void, bytes: usize, time: Option<Time>) -> c_int {
    guard(|| {
        let Some(time) = time.filter(|_| !data.is_null() || bytes == 0) else { return EINVAL };
        let event = match bytes {
            0 => &[],
            // SAFETY: not null, and as long as the caller says.
            _ => unsafe { std::slice::from_raw_parts(data.cast::<u8>(), bytes) },
        };
        lock().queues.append(queue(handle), event, time).map_or_else(queue_status, |()| 0)
    })
}

/// Appends a copy of an event; 0 (also when it is larger than the queue may be: it is missed then), -EINVAL.
///
/// # Safety
/// `data` points to `bytes` bytes and `time` to a `struct timeval`; null gives -EINVAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventQueueAppend(handle: c_int, data: *mut c_void, bytes: usize, time: *mut libc::timeval) -> c_int {
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

/// # Safety
/// `atom` is null or points to a `pmAtomValue`.
unsafe fn gauge(atom: *mut AtomValue, value: impl FnOnce() -> Result<AtomValue, QueueError>) -> c_int {
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
    unsafe { gauge(atom, || Ok(AtomValue { ull: lock().queues.queue_clients(queue(handle))?.into() })) }
}

/// Events ever appended in `atom->ul`, which wraps; 1 or -EINVAL.
///
/// # Safety
/// `atom` is null or points to a `pmAtomValue`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventQueueCounter(handle: c_int, atom: *mut AtomValue) -> c_int {
    // SAFETY: by contract.
    unsafe { gauge(atom, || Ok(AtomValue { ull: lock().queues.counter(queue(handle))? & u64::from(u32::MAX) })) }
}

/// Bytes ever appended in `atom->ull`; 1 or -EINVAL.
///
/// # Safety
/// `atom` is null or points to a `pmAtomValue`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventQueueBytes(handle: c_int, atom: *mut AtomValue) -> c_int {
    // SAFETY: by contract.
    unsafe { gauge(atom, || Ok(AtomValue { ull: lock().queues.bytes(queue(handle))? })) }
}

/// Bytes held in `atom->ull`; 1 or -EINVAL.
///
/// # Safety
/// `atom` is null or points to a `pmAtomValue`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventQueueMemory(handle: c_int, atom: *mut AtomValue) -> c_int {
    // SAFETY: by contract.
    unsafe { gauge(atom, || Ok(AtomValue { ull: lock().queues.memory(queue(handle))? as u64 })) }
}

fn now() -> Stamp {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Stamp { sec: i64::try_from(now.as_secs()).unwrap_or(i64::MAX), nsec: now.subsec_nanos() }
}

fn mark<K: Kind>(array: c_int) -> Option<Mark> {
    table::with_any(array, |any| table::as_kind::<K>(any).map(|a| a.mark())).ok().flatten()
}

/// What `context` has not seen, decoded into the queue's array of resolution `K`, whose address comes back if it has records.
fn records<K: Kind>(
    handle: c_int,
    context: c_int,
    high: bool,
    mut decode: impl FnMut(c_int, *mut c_void, usize, Time) -> c_int,
) -> Result<Option<c_int>, c_int> {
    let queue = queue(handle);
    let (fetching, mut state) = Fetching::begin(queue)?;
    let array = state.array(queue, high);
    let begun = if array < 0 { Err(array) } else { state.queues.begin(queue, context).map_err(queue_status) };
    drop(state);
    let Some(mut fetch) = begun? else { return Ok(None) };
    let reset = table::with_any(array, table::reset::<K>);
    let (mut records, mut failed, mut scratch) = (0, reset.err(), Vec::new());
    while failed.is_none()
        && let Some(event) = fetch.next()
    {
        let before = mark::<K>(array);
        // A copy with room for a NUL: decoders may write into the event, as in C.
        scratch.clear();
        scratch.extend_from_slice(event.data.as_deref().unwrap_or_default());
        scratch.push(0);
        let status = decode(array, scratch.as_mut_ptr().cast(), scratch.len() - 1, event.time);
        if status >= 0 {
            records += status;
            continue;
        }
        if let Some(before) = before {
            table::with::<K>(array, |a| {
                a.rollback(before);
                0
            });
        }
        if records > 0 {
            // Those before it are delivered now; it fails again with the next call.
            fetch.again();
            break;
        }
        failed = Some(status);
    }
    let missed = if failed.is_none() { fetch.take_missed() } else { 0 };
    if missed > 0 {
        let count = i32::try_from(missed).unwrap_or(i32::MAX);
        table::with::<K>(array, |a| array_status(a.add_missed(now(), count)));
        records += 1;
    }
    let unused = lock().queues.finish(fetch);
    drop(fetching);
    drop(unused);
    match failed {
        Some(status) => Err(status),
        None => Ok((records > 0).then_some(array)),
    }
}

/// # Safety
/// `atom` is null or points to a `pmAtomValue`.
unsafe fn deliver(
    atom: *mut AtomValue,
    address: extern "C" fn(c_int) -> *mut c_void,
    records: impl FnOnce() -> Result<Option<c_int>, c_int>,
) -> c_int {
    guard(|| {
        // SAFETY: by contract.
        let Some(atom) = (unsafe { atom.as_mut() }) else { return EINVAL };
        match records() {
            Ok(Some(array)) => {
                atom.vbp = address(array);
                PMDA_FETCH_STATIC
            }
            Ok(None) => {
                atom.vbp = null_mut();
                PMDA_FETCH_NOVALUES
            }
            Err(status) => status,
        }
    })
}

/// Gives a client what it has not seen of a queue: `atom->vbp` is an array, valid until the next call for this queue. 1, or 0
/// when there is nothing new or no access, -EINVAL for an unknown client or queue, -EDEADLK from within `decode`, or what
/// `decode` returned for the first event.
///
/// # Safety
/// `atom` is null or points to a `pmAtomValue`; `decode` can be called with `data`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventQueueRecords(
    handle: c_int,
    atom: *mut AtomValue,
    context: c_int,
    decode: Option<Decode>,
    data: *mut c_void,
) -> c_int {
    let Some(decode) = decode else { return EINVAL };
    let call = |array, event, size, time: Time| {
        let mut time = time.timeval();
        // SAFETY: pmdaEventDecodeCallBack: an array, an event and its size, a time, the caller's data.
        unsafe { decode(array, event, size, &raw mut time, data) }
    };
    // SAFETY: by contract.
    unsafe { deliver(atom, crate::pmdaEventGetAddr, || records::<LowRes>(handle, context, false, call)) }
}

/// As [`pmdaEventQueueRecords`] with a high-resolution array and nanoseconds. libpcp_pmda has no such function.
///
/// # Safety
/// As [`pmdaEventQueueRecords`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventQueueHighResRecords(
    handle: c_int,
    atom: *mut AtomValue,
    context: c_int,
    decode: Option<HighResDecode>,
    data: *mut c_void,
) -> c_int {
    let Some(decode) = decode else { return EINVAL };
    let call = |array, event, size, time: Time| {
        let mut time = time.timespec();
        // SAFETY: pmdaEventDecodeCallBack with a timespec: an array, an event and its size, a time, the caller's data.
        unsafe { decode(array, event, size, &raw mut time, data) }
    };
    // SAFETY: by contract.
    unsafe { deliver(atom, crate::pmdaEventGetHighResAddr, || records::<HighRes>(handle, context, true, call)) }
}
