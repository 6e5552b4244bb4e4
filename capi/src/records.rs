//! pmdaEventQueueRecords(3), and the same in high resolution.
#![allow(non_snake_case, reason = "names of C")]

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::time::{SystemTime, UNIX_EPOCH};

use pcp_event::{Array, ArrayError, Checkpoint, HighRes, LowRes, Resolution, Stamp};

use crate::ctypes::{
    AtomValue, Decode, EINVAL, HighResDecode, PMDA_FETCH_NOVALUES, PMDA_FETCH_STATIC, array_status,
    queue_status,
};
use crate::debug::{self, Beginning, Event, report};
use crate::fence::{Fence, try_box};
use crate::filters::Filter;
use crate::queues::queue;
use crate::running::{BUSY, Caller, Fetching, LEFT};
use crate::slot::Slot;
use crate::state::{self, Fetch, State, Time};
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
#[cold]
#[inline(never)]
fn traced(
    fence: &mut Fence,
    filter: &mut Option<Box<Filter>>,
    trace: &Trace,
    event: &mut [u8],
) -> bool {
    let keeps = filter.as_ref().is_none_or(|filter| fence.call(|| filter.keeps(event)));
    trace.event(if keeps { "Adding" } else { "Culling" }, event);
    keeps
}

/// A fetch that has begun, and the array for its records.
type Begun = (Fetching, c_int, &'static Slot<Any>);

/// Begins a fetch; `None` without access, or without news.
#[inline(always)]
fn begin<K: Kind>(
    state: &mut State,
    queue: usize,
    caller: Caller,
    context: c_int,
    high: bool,
) -> Result<Option<Begun>, c_int> {
    state.is_free(queue, caller)?;
    state.request.fetch();
    let begun = state.queues.begin(queue, context, || try_box(Fetch::default));
    let Some(fetch) = begun.map_err(queue_status)? else { return Ok(None) };
    let turn = if fetch.is_nothing() && !debug::on() {
        Ok(None)
    } else {
        state.turn::<K>(queue, high, context).map(Some)
    };
    let Ok(Some((array, slot))) = turn else {
        // The client gets its filter back.
        state.queues.finish(fetch);
        return turn.map(|_| None);
    };
    Ok(Some((Fetching::begin(state, queue, caller, high, fetch), array, slot)))
}

/// Begins a fetch as soon as the one that runs has ended or is given up.
#[cold]
#[inline(never)]
fn begin_later<K: Kind>(
    fence: &mut Fence,
    mut status: c_int,
    queue: usize,
    caller: Caller,
    context: c_int,
    high: bool,
) -> Result<Option<Begun>, c_int> {
    let begin = |state: &mut State| begin::<K>(state, queue, caller, context, high);
    loop {
        let begun = if status == BUSY {
            Fetching::wait(begin)
        } else {
            fence.call(|| drop(state::with(|state| state.give_up(queue))));
            state::with(begin)
        };
        match begun {
            Err(again @ (BUSY | LEFT)) => status = again,
            begun => return begun,
        }
    }
}

#[cold]
#[inline(never)]
fn add_missed<K: Kind>(array: c_int, fetch: &mut Fetch) -> u64 {
    fetch.report_missed(|count| {
        let now = now();
        match table::with::<K>(array, |a| array_status(a.add_missed(now, count))) {
            0 => Ok(()),
            _ => Err(ArrayError::TooBig),
        }
    })
}

/// `false`: a callback has reset the array or has made another one, and the records before the
/// checkpoint are gone too.
#[cold]
#[inline(never)]
fn roll_back<K: Kind>(array: c_int, before: Option<Checkpoint>) -> bool {
    let Some(before) = before else { return false };
    let mut kept = false;
    table::with::<K>(array, |a| {
        kept = a.rollback(before);
        0
    });
    kept
}

/// Decodes the events that `context` has not read into an array of resolution `K`. Returns the
/// address of the array if it contains records. As `pcp_event::Queues::records`, but for what C asks
/// for: the lock is not held during callbacks, which may do anything to queue and array; the sum of the
/// decoder's statuses, and not the array, says whether there are records, as in libpcp_pmda.
#[inline(always)]
fn records<K: Kind>(
    fence: &mut Fence,
    handle: c_int,
    context: c_int,
    high: bool,
    mut decode: impl FnMut(c_int, &mut [u8], Time) -> c_int,
) -> Result<Option<*mut c_void>, c_int> {
    let queue = queue(handle);
    let variable = 0;
    let caller = Caller::here(&variable);
    let begun = match state::with(|state| begin::<K>(state, queue, caller, context, high)) {
        Err(status @ (BUSY | LEFT)) => {
            begin_later::<K>(fence, status, queue, caller, context, high)?
        }
        begun => begun?,
    };
    let trace = if debug::on() {
        Trace::new(queue, context, begun.as_ref().map(|(f, ..)| f.get()))
    } else {
        None
    };
    let Some((mut fetching, array, slot)) = begun else { return Ok(None) };
    let (mut records, mut failed): (i64, _) = (0, None);
    loop {
        let fetch = fetching.fetch();
        let Some((event, time, filter)) = fetch.step() else {
            if fetch.is_done() {
                break;
            }
            match state::with(|state| state.queues.more(fetch)) {
                Ok(true) => continue,
                Ok(false) => {}
                // What is decoded already is delivered now.
                Err(e) => failed = (records == 0).then_some(queue_status(e)),
            }
            break;
        };
        let is_kept = match (&trace, filter.as_ref()) {
            (None, None) => true,
            (None, Some(filter)) => fence.call(|| filter.keeps(event)),
            (Some(trace), _) => traced(fence, filter, trace, event),
        };
        if !is_kept {
            fetch.cull();
            if let Some(trace) = &trace {
                trace.done(fetch.position());
            }
            continue;
        }
        let before = checkpoint::<K>(slot);
        let status = fence.call(|| decode(array, event, time));
        if status >= 0 {
            records += i64::from(status);
            if let Some(trace) = &trace {
                trace.done(fetch.position());
            }
            continue;
        }
        let kept = roll_back::<K>(array, before);
        failed = fetch.refuse(kept, records > 0, status == -libc::ENOMEM).then_some(status);
        break;
    }
    let fetch = fetching.fetch();
    if failed.is_none() && fetch.has_missed() {
        records += i64::from(add_missed::<K>(array, fetch) > 0);
    }
    let mut delivers = failed.is_none() && records > 0;
    if delivers && !slot.with(|place| place.as_mut().is_some_and(|any| K::get(any).is_some())) {
        // A callback has released the array, and perhaps made one of the other resolution.
        (delivers, failed) = (false, Some(EINVAL));
        fetch.lose_taken(0);
    }
    let (delivered, unused) = state::with(|state| {
        let mut delivered = None;
        match state.turns(queue, high) {
            Ok(turns) if turns.handle == array => {
                if let Err(status) = turns.end(delivers) {
                    failed.get_or_insert(status);
                } else if delivers {
                    delivered = slot.with(|place| place.as_mut().and_then(K::get).map(address));
                }
            }
            // A callback has ended the queue, which removed the array.
            _ => {}
        }
        (delivered, fetching.end(state))
    });
    fetching.ended();
    if let Some(filter) = unused {
        fence.call(|| drop(filter));
    }
    match failed {
        Some(status) => Err(status),
        None => Ok(delivered),
    }
}

/// Memory from malloc(3) is aligned for every C type, and an array moves only when it is changed.
#[inline]
pub(crate) fn address<R: Resolution>(array: &mut Array<R>) -> *mut c_void {
    array.bytes().as_ptr().cast_mut().cast()
}

/// The diagnostics of one fetch.
struct Trace {
    name: String,
    /// Sequence number of the first event that another client has not read.
    unread: u64,
}

impl Trace {
    /// `None` without memory.
    #[cold]
    #[inline(never)]
    fn new(queue: usize, context: c_int, fetch: Option<&Fetch>) -> Option<Box<Self>> {
        let mut name = String::new();
        let (unread, oldest) = state::with(|state| {
            let queues = &state.queues;
            if let Ok((of_queue, _)) = queues.name_and_limit(queue)
                && name.try_reserve_exact(of_queue.len()).is_ok()
            {
                name.push_str(of_queue);
            }
            (queues.first_unread(queue, context), queues.oldest(queue))
        });
        let last = fetch.map_or(oldest, |fetch| (!fetch.is_empty()).then(|| fetch.position()));
        report!("queue_fetch start, last event={}", Event(last));
        if fetch.is_none() && oldest.is_some() {
            report!("Clientq access denied");
        }
        try_box(|| Self { name, unread })
    }

    fn event(&self, what: &str, event: &[u8]) {
        let event = event.split_last().map_or(&[][..], |(_, event)| event);
        report!("{what} event (sz={}): \"{}\"", event.len(), Beginning(event));
    }

    /// The event before number `next` is decoded or culled.
    #[cold]
    #[inline(never)]
    fn done(&self, next: u64) {
        if next <= self.unread {
            report!("Removing {} event {} in fetch", self.name, Event(next.checked_sub(1)));
        }
    }
}

/// # Safety
/// `atom` is null or points to a `pmAtomValue`.
#[inline(always)]
unsafe fn deliver(
    atom: *mut AtomValue,
    records: impl FnOnce(&mut Fence) -> Result<Option<*mut c_void>, c_int>,
) -> c_int {
    Fence::around(|fence| {
        // SAFETY: by contract.
        let Some(atom) = (unsafe { atom.as_mut() }) else { return EINVAL };
        match records(fence) {
            Ok(Some(array)) => {
                atom.vbp = array;
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
pub unsafe extern "C-unwind" fn pmdaEventQueueRecords(
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
    unsafe { deliver(atom, |fence| records::<LowRes>(fence, handle, context, false, call)) }
}

/// As [`pmdaEventQueueRecords`] with a high-resolution array and nanoseconds. libpcp_pmda has no
/// such function.
///
/// # Safety
/// As [`pmdaEventQueueRecords`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pmdaEventQueueHighResRecords(
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
    unsafe { deliver(atom, |fence| records::<HighRes>(fence, handle, context, true, call)) }
}
