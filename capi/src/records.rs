//! pmdaEventQueueRecords(3), and the same in high resolution.
#![allow(non_snake_case, reason = "names of C")]

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::time::{SystemTime, UNIX_EPOCH};

use pcp_event::{ArrayError, Checkpoint, Fetch, HighRes, LowRes, QueueFilter, Stamp};

use crate::ctypes::{
    AtomValue, Decode, EINVAL, HighResDecode, PMDA_FETCH_NOVALUES, PMDA_FETCH_STATIC, array_status,
    guard, queue_status,
};
use crate::debug;
use crate::queues::queue;
use crate::slot::Slot;
use crate::state::{self, Fetching, Time};
use crate::table::{self, Any, Kind};

fn now() -> Stamp {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Stamp { sec: i64::try_from(now.as_secs()).unwrap_or(i64::MAX), nsec: now.subsec_nanos() }
}

#[inline(always)]
fn checkpoint<K: Kind>(array: &Slot<Any>) -> Option<Checkpoint> {
    array.with(|place| place.as_mut().and_then(K::get).map(|a| a.checkpoint()))
}

/// Whether an event is to be decoded, with its diagnostics.
#[inline(never)]
fn keeps(filter: &mut Option<QueueFilter>, trace: Option<&Trace>, event: &mut [u8]) -> bool {
    let keeps = filter.as_mut().is_none_or(|keeps| keeps(event));
    if let Some(trace) = trace {
        trace.event(if keeps { "Adding" } else { "Culling" }, event);
    }
    keeps
}

/// The event before number `next` is decoded or culled.
#[inline(never)]
fn done(trace: Option<&Trace>, next: u64) {
    if let Some(trace) = trace {
        trace.done(next);
    }
}

/// Decodes the events that `context` has not read into an array of resolution `K`. Returns the
/// handle of the array if it contains records.
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
    let slot = turn.and_then(|array| Ok((array, table::slot(array).ok_or(EINVAL)?)));
    let (array, slot) = match slot {
        Ok(found) => found,
        Err(status) => {
            // No event was taken: the client's position stays. Filters are released after the lock.
            let unused = state::with(|state| state.queues.finish(fetch));
            drop(fetching);
            drop(unused);
            return Err(status);
        }
    };
    let mut filter = fetch.filter.take();
    let plain = filter.is_none() && trace.is_none();
    let (mut records, mut failed, mut going): (i64, _, _) = (0, None, true);
    while going {
        let Some((event, time)) = fetch.next() else {
            going = !fetch.is_done() && state::with(|state| state.queues.more(&mut fetch));
            continue;
        };
        if !plain && !keeps(&mut filter, trace.as_ref(), event) {
            done(trace.as_ref(), fetch.position());
            continue;
        }
        let before = checkpoint::<K>(slot);
        let status = decode(array, event, time);
        if status >= 0 {
            records += i64::from(status);
            if !plain {
                done(trace.as_ref(), fetch.position());
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
            // The events before it are delivered now; this one fails again in the next call.
            fetch.put_back();
        } else {
            failed = Some(status);
        }
        break;
    }
    if failed.is_none() {
        let reported = fetch.report_missed(|count| {
            let now = now();
            match table::with::<K>(array, |a| array_status(a.add_missed(now, count))) {
                0 => Ok(()),
                _ => Err(ArrayError::TooBig),
            }
        });
        records += i64::from(reported > 0);
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
            // A callback has ended the queue, which removed the array.
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
    /// Sequence number of the first event that another client has not read.
    unread: u64,
}

impl Trace {
    #[cold]
    fn new(queue: usize, context: c_int, fetch: Option<&Fetch<Time>>) -> Self {
        let (name, unread, oldest) = state::with(|state| {
            let name = state
                .queues
                .name_and_limit(queue)
                .map(|(name, _)| name.to_owned())
                .unwrap_or_default();
            (name, state.queues.first_unread(queue, context), state.queues.oldest(queue))
        });
        let last = fetch.map_or(oldest, |fetch| (!fetch.is_empty()).then(|| fetch.position()));
        debug::report(|| format!("queue_fetch start, last event={}", debug::event(last)));
        if fetch.is_none() && oldest.is_some() {
            debug::report(|| "Clientq access denied".into());
        }
        Self { name, unread }
    }

    fn event(&self, what: &str, event: &[u8]) {
        let event = event.split_last().map_or(&[][..], |(_, event)| event);
        debug::report(|| format!("{what} event (sz={}): \"{}\"", event.len(), debug::print(event)));
    }

    fn done(&self, next: u64) {
        if next <= self.unread {
            debug::report(|| {
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

/// Delivers the events of a queue that a client has not read. `atom->vbp` is an array, valid until
/// the client's next request: fetches of other metrics in the same request, and calls that fail or
/// deliver nothing, do not change it. Returns 1; 0 without new events or without access; -EINVAL
/// for an unknown client or queue; -EDEADLK from within `decode`; or the status of `decode` for the
/// first event.
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
