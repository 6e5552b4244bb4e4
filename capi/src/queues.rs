//! pmdaEventNewQueue(3), and what that lacks: fetching in high resolution.
#![allow(non_snake_case, reason = "names of C")]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr::null_mut;
use std::time::{SystemTime, UNIX_EPOCH};

use pcp_event::Stamp;
use pcp_event::{ArrayError, Checkpoint, Fetch, HighRes, LowRes, QueueError};

use crate::ctypes::{
    AtomValue, Decode, EINVAL, HighResDecode, PMDA_FETCH_NOVALUES, PMDA_FETCH_STATIC, array_status,
    guard, queue_status,
};
use crate::debug;
use crate::slot::Slot;
use crate::state::{self, Fetching, Time};
use crate::table::{self, Any, Kind};

/// # Safety
/// `name` is null or a C string.
unsafe fn name_of(name: *const c_char) -> Option<String> {
    if name.is_null() {
        return None;
    }
    // SAFETY: a C string by contract.
    let name = unsafe { CStr::from_ptr(name) };
    // Names are compared and printed, never given back: other bytes than UTF-8 keep apart as they
    // are.
    Some(name.to_bytes().iter().map(|b| char::from(*b)).collect())
}

fn queue(handle: c_int) -> usize {
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

/// A queue that keeps events from the start, since `clients` clients are there; else as
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
        debug::find();
        state::with(|state| match state.queues.new_active_queue(&name, max_memory, clients) {
            Ok(new) => match state.open(new) {
                0 => c_int::try_from(new).unwrap_or(-libc::ENOMEM),
                status => status,
            },
            Err(e) => queue_status(e),
        })
    })
}

/// Removes a queue, at once or when its last client ends; 0 or -EINVAL.
#[unsafe(no_mangle)]
pub extern "C" fn pmdaEventQueueShutdown(handle: c_int) -> c_int {
    guard(|| {
        let queue = queue(handle);
        debug::say(|| {
            state::with(|state| {
                match (state.queues.name_and_limit(queue), state.queues.queue_clients(queue)) {
                    (Ok((name, _)), Ok(clients)) => {
                        format!("queue_shutdown: {name} numclients={clients}")
                    }
                    _ => format!("queue_shutdown: no queue#{handle}"),
                }
            })
        });
        let done = state::with(|state| {
            let gone = state.queues.shutdown(queue)?;
            if gone.is_some() {
                state.close(&[queue]);
            }
            Ok(gone)
        });
        // Filters are released here, without the lock.
        done.map_or_else(queue_status, |_| 0)
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
        let found = unsafe { name_of(name) }
            .ok_or(QueueError::NotFound)
            .and_then(|name| state::with(|state| state.queues.handle(&name)));
        found.map_or_else(queue_status, |handle| c_int::try_from(handle).unwrap_or(-libc::ENOMEM))
    })
}

/// # Safety
/// `data` points to `bytes` bytes, or is null.
#[inline(always)]
unsafe fn append(handle: c_int, data: *const c_void, bytes: usize, time: Option<Time>) -> c_int {
    let Some(time) = time.filter(|_| !data.is_null() && !debug::on()) else {
        // SAFETY: by contract.
        return unsafe { append_otherwise(handle, data, bytes, time) };
    };
    // SAFETY: not null, and as long as the caller says.
    let event = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), bytes) };
    match state::with(|state| state.queues.append(queue(handle), event, time)) {
        Ok(true) => 0,
        Ok(false) => say_appended(queue(handle), bytes, false),
        Err(e) => queue_status(e),
    }
}

/// An event with diagnostics, one without bytes that is at null, or one that is only counted.
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
        say_append(queue, handle, bytes);
    }
    let appended = match time {
        Some(time) if !data.is_null() || bytes == 0 => {
            let event = match bytes {
                0 => &[],
                // SAFETY: not null, and as long as the caller says.
                _ => unsafe { std::slice::from_raw_parts(data.cast::<u8>(), bytes) },
            };
            state::with(|state| state.queues.append(queue, event, time))
        }
        _ => state::with(|state| state.queues.count_event(queue, bytes)),
    };
    appended.map_or_else(queue_status, |fits| say_appended(queue, bytes, fits))
}

/// What libpcp_pmda says before an event is kept.
#[cold]
fn say_append(queue: usize, handle: c_int, bytes: usize) {
    let mut say = Vec::new();
    state::with(|state| {
        let queues = &mut state.queues;
        let Ok((name, max)) =
            queues.name_and_limit(queue).map(|(name, max)| (name.to_owned(), max))
        else {
            return;
        };
        say.push(format!("Appending event: queue#{handle} \"{name}\" ({bytes} bytes)"));
        while let Some((seq, size)) = queues.must_evict(queue, bytes) {
            let (event, held) = (debug::event(Some(seq)), queues.memory(queue).unwrap_or_default());
            say.push(format!("Dropping {name}: e={event} sz={size} max={max} qsz={held}"));
            say.push(format!("Removing {name} event {event} ({size} bytes)"));
            queues.drop_oldest(queue);
        }
    });
    say.iter().for_each(|line| debug::notify(libc::LOG_DEBUG, line));
}

/// What libpcp_pmda says of an event that was kept, or was larger than the queue may be.
#[cold]
#[inline(never)]
fn say_appended(queue: usize, bytes: usize, fits: bool) -> c_int {
    let about = state::with(|state| {
        let (name, max) = state.queues.name_and_limit(queue).ok()?;
        Some((
            name.to_owned(),
            max,
            state.queues.queue_clients(queue).ok()?,
            state.queues.newest(queue),
        ))
    });
    match about {
        Some((name, max, ..)) if !fits => {
            debug::notify(
                libc::LOG_WARNING,
                &format!("Event too large for queue {name} ({bytes} > {max})"),
            );
        }
        Some((name, _, clients, newest)) if clients > 0 => {
            let event = debug::event(newest);
            debug::say(|| {
                format!("Inserted {name} event {event} ({bytes} bytes) clients = {clients}")
            });
        }
        _ => {}
    }
    0
}

/// Appends a copy of an event; 0 (also when it is larger than the queue may be: it is missed then,
/// and a warning says so), or -EINVAL.
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

/// Bytes held in `atom->ull`; 1 or -EINVAL.
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

fn now() -> Stamp {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Stamp { sec: i64::try_from(now.as_secs()).unwrap_or(i64::MAX), nsec: now.subsec_nanos() }
}

#[inline(always)]
fn checkpoint<K: Kind>(array: Option<&Slot<Any>>) -> Option<Checkpoint> {
    array
        .and_then(|slot| slot.with(|place| place.as_mut().and_then(K::get).map(|a| a.checkpoint())))
}

/// What `context` has not seen, decoded into an array of resolution `K`, whose handle comes back if
/// it has records.
fn records<K: Kind>(
    handle: c_int,
    context: c_int,
    high: bool,
    mut decode: impl FnMut(c_int, &mut [u8], Time) -> c_int,
) -> Result<Option<c_int>, c_int> {
    let queue = queue(handle);
    let fetching = Fetching::begin(queue)?;
    let (begun, turn) = state::with(|state| {
        let begun = state.queues.begin(queue, context);
        let turn = if matches!(begun, Ok(Some(_))) {
            state.turn::<K>(queue, high, context)
        } else {
            Err(EINVAL)
        };
        (begun, turn)
    });
    let begun = begun.map_err(queue_status)?;
    let trace = debug::on().then(|| Trace::new(queue, context, begun.as_ref()));
    let Some(mut fetch) = begun else { return Ok(None) };
    let array = match turn {
        Ok(array) => array,
        Err(status) => {
            // Nothing was taken: the client's place stays. A filter is released without the lock.
            let unused = state::with(|state| state.queues.finish(fetch));
            drop(fetching);
            drop(unused);
            return Err(status);
        }
    };
    let slot = table::slot(array);
    let mut filter = fetch.filter.take();
    let (mut records, mut failed, mut going): (c_int, _, _) = (0, None, true);
    while going {
        let Some((event, time)) = fetch.next() else {
            going = !fetch.is_done() && state::with(|state| state.queues.more(&mut fetch));
            continue;
        };
        if let Some(keeps) = &mut filter
            && !keeps(event)
        {
            if let Some(trace) = &trace {
                trace.event("Culling", event);
                trace.done(fetch.position());
            }
            continue;
        }
        if let Some(trace) = &trace {
            trace.event("Adding", event);
        }
        let before = checkpoint::<K>(slot);
        let status = decode(array, event, time);
        if status >= 0 {
            records = records.saturating_add(status);
            if let Some(trace) = &trace {
                trace.done(fetch.position());
            }
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
            fetch.put_back();
        } else {
            failed = Some(status);
        }
        break;
    }
    if failed.is_none() {
        let told = fetch.report_missed(|count| {
            let now = now();
            match table::with::<K>(array, |a| array_status(a.add_missed(now, count))) {
                0 => Ok(()),
                _ => Err(ArrayError::TooBig),
            }
        });
        records = records.saturating_add(c_int::from(told > 0));
    }
    fetch.filter = filter;
    let mut delivered = failed.is_none() && records > 0;
    let unused = state::with(|state| {
        match state.turns(queue, high) {
            Ok(turns) if turns.handle == array => {
                if let Err(status) = turns.end(delivered) {
                    failed.get_or_insert(status);
                }
            }
            // A callback has ended the queue, and the array with it.
            _ => delivered = false,
        }
        state.queues.finish(fetch)
    });
    drop(fetching);
    drop(unused);
    match failed {
        Some(status) => Err(status),
        None => Ok(delivered.then_some(array)),
    }
}

/// The diagnostics of one fetch.
struct Trace {
    name: String,
    /// Sequence number of the first event that others still have to see.
    wanted: u64,
}

impl Trace {
    #[cold]
    fn new(queue: usize, context: c_int, fetch: Option<&Fetch<Time>>) -> Self {
        let (name, wanted, oldest) = state::with(|state| {
            let name = state
                .queues
                .name_and_limit(queue)
                .map(|(name, _)| name.to_owned())
                .unwrap_or_default();
            (name, state.queues.first_unread(queue, context), state.queues.oldest(queue))
        });
        let last = fetch.map_or(oldest, |fetch| (!fetch.is_empty()).then(|| fetch.position()));
        debug::say(|| format!("queue_fetch start, last event={}", debug::event(last)));
        if fetch.is_none() && oldest.is_some() {
            debug::say(|| "Clientq access denied".into());
        }
        Self { name, wanted }
    }

    fn event(&self, what: &str, event: &[u8]) {
        let event = event.split_last().map_or(&[][..], |(_, event)| event);
        debug::say(|| format!("{what} event (sz={}): \"{}\"", event.len(), debug::print(event)));
    }

    /// The event before number `next` is done with.
    fn done(&self, next: u64) {
        if next <= self.wanted {
            debug::say(|| {
                format!(
                    "Removing {} event {} in fetch",
                    self.name,
                    debug::event(next.checked_sub(1))
                )
            });
        }
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

/// Gives a client what it has not seen of a queue: `atom->vbp` is an array, valid until the
/// client's next request: other metrics of one request, and calls that fail or bring nothing, leave
/// it alone. 1, or 0 when there is nothing new or no access, -EINVAL for an unknown client or
/// queue, -EDEADLK from within `decode`, or what `decode` returned for the first event.
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
    let call = |array, event: &mut [u8], time: Time| {
        let mut time = time.timeval();
        // SAFETY: pmdaEventDecodeCallBack: an array, an event with a NUL behind it and its size, a
        // time, the caller's data.
        unsafe { decode(array, event.as_mut_ptr().cast(), event.len() - 1, &raw mut time, data) }
    };
    // SAFETY: by contract.
    unsafe {
        deliver(atom, crate::pmdaEventGetAddr, || records::<LowRes>(handle, context, false, call))
    }
}

/// As [`pmdaEventQueueRecords`] with a high-resolution array and nanoseconds. libpcp_pmda has no
/// such function.
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
    let call = |array, event: &mut [u8], time: Time| {
        let mut time = time.timespec();
        // SAFETY: as above with a timespec: an array, an event with a NUL behind it and its size, a
        // time, the caller's data.
        unsafe { decode(array, event.as_mut_ptr().cast(), event.len() - 1, &raw mut time, data) }
    };
    // SAFETY: by contract.
    unsafe {
        deliver(atom, crate::pmdaEventGetHighResAddr, || {
            records::<HighRes>(handle, context, true, call)
        })
    }
}
