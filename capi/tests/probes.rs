//! The C probes of libpcp_pmda's behaviour (evprobe, evprobe2, evprobe3, missed, qprobe), through
//! the C ABI and with the correct results: errors where that library corrupts memory, events where
//! it loses them.
#![allow(
    unsafe_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    missing_docs,
    reason = "a test of a C boundary"
)]

mod common;

use std::ffi::{CString, c_int, c_void};
use std::ptr::null_mut;

use common::bytes;
use common::queue::{Queue, decode, failing};
use libc::{timespec, timeval};
use pcp_event::{HighRes, LowRes, Record, check};
use pmdaevent::*;

const EINVAL: c_int = -22;
const PM_ERR_CONV: c_int = -12362;
const PM_ERR_NOCONTEXT: c_int = -12376;
const PM_ERR_TYPE: c_int = -12397;
const PM_ERR_TOOBIG: c_int = -12444;
const NANO: timespec = timespec { tv_sec: 1_700_000_000, tv_nsec: 123_456_789 };
const MICRO: timeval = timeval { tv_sec: 1_700_000_000, tv_usec: 654_321 };

fn high_record(array: c_int) -> c_int {
    let mut time = NANO;
    // SAFETY: a time that outlives the call.
    unsafe { pmdaEventAddHighResRecord(array, &raw mut time, 1) }
}

fn low_record(array: c_int) -> c_int {
    let mut time = MICRO;
    // SAFETY: a time that outlives the call.
    unsafe { pmdaEventAddRecord(array, &raw mut time, 1) }
}

fn missed(array: c_int, sec: i64, count: c_int) -> c_int {
    let mut time = timespec { tv_sec: sec, ..NANO };
    // SAFETY: a time that outlives the call.
    unsafe { pmdaEventAddHighResMissedRecord(array, &raw mut time, count) }
}

fn param(array: c_int, ty: c_int, mut atom: AtomValue) -> c_int {
    // SAFETY: callers set the member for the type.
    unsafe { pmdaEventAddHighResParam(array, 7, ty, &raw mut atom) }
}

fn text(array: c_int, text: &str) -> c_int {
    let text = CString::new(text).unwrap();
    param(array, 6, AtomValue { cp: text.as_ptr().cast_mut() })
}

fn checked(array: c_int) -> Vec<u8> {
    let all = bytes(pmdaEventGetHighResAddr(array));
    check::<HighRes>(&all).expect("a sound array");
    all
}

#[test]
fn a_parameter_needs_a_record() {
    let a = pmdaEventNewHighResArray();
    let number = AtomValue { l: 1 };
    assert_eq!(param(a, 0, number), EINVAL, "before any record");
    assert_eq!(high_record(a), 0);
    assert_eq!(param(a, 0, number), 0);
    assert_eq!(pmdaEventResetHighResArray(a), 0);
    assert_eq!(param(a, 3, number), EINVAL, "after a reset");
    assert_eq!(checked(a).len(), 8, "nothing was added");
    assert_eq!(missed(a, 1000, 5), 0);
    assert_eq!(param(a, 0, number), EINVAL, "after a MISSED record");
    assert_eq!(high_record(a), 0);
    let all = checked(a);
    let records: Vec<Record<'_>> = check::<HighRes>(&all).unwrap();
    assert_eq!(records.iter().map(|r| r.missed).collect::<Vec<_>>(), [Some(5), None]);
    // A reused slot, as in evprobe2.
    assert_eq!(pmdaEventReleaseHighResArray(a), 0);
    let b = pmdaEventNewHighResArray();
    assert_eq!(param(b, 0, number), EINVAL);
    pmdaEventReleaseHighResArray(b);
}

#[test]
fn handles_that_are_not_in_use() {
    for handle in [-1, c_int::MIN, 99_999, c_int::MAX] {
        assert_eq!(high_record(handle), PM_ERR_NOCONTEXT);
        assert_eq!(low_record(handle), PM_ERR_NOCONTEXT);
        assert_eq!(missed(handle, 1, 1), PM_ERR_NOCONTEXT);
        assert_eq!(param(handle, 0, AtomValue { l: 1 }), PM_ERR_NOCONTEXT);
        assert_eq!(pmdaEventResetArray(handle), PM_ERR_NOCONTEXT);
        assert_eq!(pmdaEventResetHighResArray(handle), PM_ERR_NOCONTEXT);
        assert_eq!(pmdaEventReleaseArray(handle), PM_ERR_NOCONTEXT);
        assert!(pmdaEventGetAddr(handle).is_null() && pmdaEventGetHighResAddr(handle).is_null());
    }
    let a = pmdaEventNewArray();
    assert_eq!((pmdaEventReleaseArray(a), pmdaEventReleaseArray(a)), (0, PM_ERR_NOCONTEXT));
}

#[test]
fn arguments_that_kill_c() {
    let a = pmdaEventNewHighResArray();
    // SAFETY: null is allowed.
    assert_eq!(unsafe { pmdaEventAddHighResRecord(a, null_mut(), 1) }, EINVAL);
    // SAFETY: null is allowed.
    assert_eq!(unsafe { pmdaEventAddHighResMissedRecord(a, null_mut(), 1) }, EINVAL);
    assert_eq!(high_record(a), 0);
    let before = checked(a);
    assert_eq!(param(a, 6, AtomValue { cp: null_mut() }), EINVAL);
    assert_eq!(param(a, 7, AtomValue { vbp: null_mut() }), EINVAL);
    // SAFETY: null is allowed.
    assert_eq!(unsafe { pmdaEventAddHighResParam(a, 7, 0, null_mut()) }, EINVAL);
    for length in 0..4_u32 {
        let mut block = [length | 7 << 24];
        assert_eq!(
            param(a, 7, AtomValue { vbp: block.as_mut_ptr().cast() }),
            EINVAL,
            "vlen {length}"
        );
    }
    for ty in [-1, 8, 9, 10, 11, 255, c_int::MAX] {
        assert_eq!(param(a, ty, AtomValue { ull: 1 }), PM_ERR_TYPE);
    }
    assert_eq!(missed(a, 1, -5), EINVAL);
    let mut time = NANO;
    // SAFETY: a time that outlives the call.
    assert_eq!(unsafe { pmdaEventAddHighResRecord(a, &raw mut time, c_int::MIN | 1) }, PM_ERR_CONV);
    assert_eq!(checked(a), before, "nothing has changed");
    pmdaEventReleaseArray(a);
}

#[test]
fn resolutions_do_not_mix_but_an_empty_array_has_none() {
    let a = pmdaEventNewArray();
    assert_eq!(high_record(a), 0, "as in C, where both New calls do the same");
    assert_eq!(low_record(a), EINVAL);
    let mut time = MICRO;
    // SAFETY: a time that outlives the call.
    assert_eq!(unsafe { pmdaEventAddMissedRecord(a, &raw mut time, 1) }, EINVAL);
    let mut atom = AtomValue { l: 1 };
    // SAFETY: the member for PM_TYPE_32 is set.
    assert_eq!(unsafe { pmdaEventAddParam(a, 1, 0, &raw mut atom) }, EINVAL);
    assert!(pmdaEventGetAddr(a).is_null());
    checked(a);
    assert_eq!(pmdaEventResetArray(a), 0);
    assert_eq!(low_record(a), 0, "a reset decides anew");
    assert!(pmdaEventGetHighResAddr(a).is_null());
    check::<LowRes>(&bytes(pmdaEventGetAddr(a))).expect("sound");
    pmdaEventReleaseArray(a);
}

#[test]
fn seconds_of_missed_records_have_64_bits() {
    let a = pmdaEventNewHighResArray();
    assert_eq!((missed(a, 5_000_000_000, 1), missed(a, 5_000_000_000, 7)), (0, 0));
    let all = checked(a);
    let records = check::<HighRes>(&all).unwrap();
    assert!(records.iter().all(|r| r.stamp.sec == 5_000_000_000));
    pmdaEventReleaseArray(a);
}

#[test]
fn lengths_have_24_bits() {
    let a = pmdaEventNewHighResArray();
    let big = "x".repeat((1 << 20) - 1);
    for _ in 0..15 {
        assert_eq!((high_record(a), text(a, &big)), (0, 0));
    }
    assert_eq!((high_record(a), text(a, &big)), (0, PM_ERR_TOOBIG));
    assert!(checked(a).len() < 1 << 24);
    pmdaEventResetHighResArray(a);
    high_record(a);
    assert_eq!(text(a, &"x".repeat((1 << 24) + 99)), PM_ERR_TOOBIG);
    assert_eq!(text(a, "small"), 0, "the record goes on");
    let mut records = 0;
    pmdaEventResetHighResArray(a);
    while high_record(a) == 0 {
        records += 1;
    }
    assert_eq!((high_record(a), missed(a, 1, 1)), (PM_ERR_TOOBIG, PM_ERR_TOOBIG));
    assert_eq!(records, (0x00ff_ffff - 8) / 24);
    checked(a);
    pmdaEventReleaseArray(a);
}

#[test]
fn padding_tells_nothing_of_earlier_values() {
    let a = pmdaEventNewHighResArray();
    assert_eq!((high_record(a), text(a, "SECRETpassword")), (0, 0));
    pmdaEventResetHighResArray(a);
    assert_eq!((high_record(a), text(a, "x")), (0, 0));
    assert_eq!(checked(a)[8 + 24 + 8..], [b'x', 0, 0, 0]);
    pmdaEventReleaseArray(a);
}

/// Makes all calls allowed in a decoder, and the one that is not.
unsafe extern "C-unwind" fn busy(
    array: c_int,
    event: *mut c_void,
    size: usize,
    time: *mut timeval,
    data: *mut c_void,
) -> c_int {
    // SAFETY: `Queue::fetch` passes this.
    let queue = unsafe { &*data.cast::<Queue>() };
    queue.memory();
    let context = queue.first_context;
    let mut atom = AtomValue { ull: 0 };
    // SAFETY: an atom that outlives the call.
    let status =
        unsafe { pmdaEventQueueRecords(queue.handle, &raw mut atom, context, Some(decode), data) };
    assert_eq!(status, -libc::EDEADLK);
    assert_eq!(queue.append("from within"), 0);
    let other = pmdaEventNewArray();
    assert_eq!(pmdaEventReleaseArray(other), 0);
    // SAFETY: as this one.
    unsafe { decode(array, event, size, time, data) }
}

#[test]
fn arguments_of_queues() {
    // SAFETY: null is allowed.
    unsafe {
        assert_eq!(pmdaEventNewQueue(std::ptr::null(), 10), EINVAL);
    }
    // SAFETY: a C string.
    unsafe {
        assert_eq!(pmdaEventNewQueue(c"x".as_ptr(), 0), EINVAL);
    }
    // SAFETY: a C string.
    unsafe {
        assert_eq!(pmdaEventQueueHandle(c"nosuch".as_ptr()), -libc::ESRCH);
    }
    let q = Queue::new("arguments", 1000, 100);
    // SAFETY: C strings.
    unsafe {
        assert_eq!(pmdaEventNewQueue(c"arguments".as_ptr(), 10), -libc::EEXIST);
    }
    assert_eq!(q.fetch(77_777, decode).0, EINVAL, "unknown context");
    assert_eq!(pmdaEventSetAccess(77_777, q.handle, 1), EINVAL);
    assert_eq!(pmdaEventEndClient(77_777), 0);
    assert_eq!((pmdaEventQueueShutdown(q.handle), pmdaEventQueueShutdown(q.handle)), (0, EINVAL));
    assert_eq!(q.append("x"), EINVAL);
    assert_eq!(pmdaEventQueueShutdown(-1), EINVAL);
}

#[test]
fn every_client_sees_every_event_once_or_is_told() {
    let q = Queue::new("clients", 1000, 200);
    let (a, b) = (q.client(1, 1), q.client(2, 1));
    q.append("e0");
    assert_eq!(
        (q.fetch(a, decode).0, q.fetch(b, decode).0),
        (0, 0),
        "before any client had fetched"
    );
    q.append("e1");
    q.append("e2");
    let all = (1, vec!["e1".to_owned(), "e2".to_owned()], 0);
    assert_eq!(q.fetch(a, decode), all);
    assert_eq!(q.fetch(a, decode).0, 0);
    assert_eq!(q.fetch(b, decode), all, "and the first client's decoder wrote into its own copy");
    let big = "z".repeat(399);
    (0..6).for_each(|_| assert_eq!(q.append(&big), 0));
    assert_eq!(q.append(&"y".repeat(2000)), 0, "larger than the queue");
    let (status, seen, missed) = q.fetch(b, decode);
    assert_eq!((status, seen.len(), missed), (1, 2, 5));
    assert_eq!(q.memory(), 798);
    pmdaEventEndClient(a);
    assert_eq!(q.memory(), 0, "a has given up its claim");
    let other = Queue::new("another one", 10, 0);
    q.append("kept");
    let more: Vec<_> = (0..70).map(|n| Queue::new(&format!("more {n}"), 10, 0)).collect();
    assert_eq!(q.fetch(b, decode).1, ["kept"], "new queues leave the others alone");
    more.iter().chain([&other]).for_each(|q| assert_eq!(pmdaEventQueueShutdown(q.handle), 0));
    assert_eq!(pmdaEventQueueShutdown(q.handle), 0);
    assert_eq!(q.append("after"), 0, "deferred while a client is there");
    pmdaEventEndClient(b);
    assert_eq!(q.append("after"), EINVAL);
}

#[test]
fn decoders_that_fail_and_decoders_that_call() {
    let q = Queue::new("decoders", 1000, 300);
    let c = q.client(0, 1);
    q.fetch(c, decode);
    ["g4", "bad", "g6"].iter().for_each(|e| assert_eq!(q.append(e), 0));
    assert_eq!(q.fetch(c, failing), (1, vec!["g4".into()], 0));
    assert_eq!(q.fetch(c, failing).0, -5, "at the first event now");
    assert_eq!(q.fetch(c, failing), (1, vec!["g6".into()], 0));
    q.append("busy");
    assert_eq!(q.fetch(c, busy), (1, vec!["busy".into()], 0));
    assert_eq!(q.fetch(c, decode), (1, vec!["from within".into()], 0));
    pmdaEventEndClient(c);
    pmdaEventQueueShutdown(q.handle);
}

/// A filter: keeps events that begin with this byte; counts its releases.
struct First(u8, u32);

unsafe extern "C-unwind" fn apply(filter: *mut c_void, event: *mut c_void, _: usize) -> c_int {
    // SAFETY: the filter that was set.
    let first = unsafe { (*filter.cast::<First>()).0 };
    // SAFETY: events here have at least one byte.
    c_int::from(unsafe { event.cast::<u8>().read() } != first)
}

unsafe extern "C-unwind" fn release(filter: *mut c_void) {
    // SAFETY: the filter that was set, which outlives the queue.
    unsafe { (*filter.cast::<First>()).1 += 1 };
}

#[test]
fn filters_and_access() {
    let q = Queue::new("filters", 1000, 400);
    let c = q.client(0, 0);
    assert_eq!(q.fetch(c, decode).0, 0);
    q.append("g1");
    assert_eq!(q.fetch(c, decode).0, 0, "no access");
    let (mut g, mut h) = (First(b'g', 0), First(b'h', 0));
    let set = |filter: *mut First| {
        // SAFETY: the filters outlive the queue.
        unsafe { pmdaEventSetFilter(c, q.handle, filter.cast(), Some(apply), Some(release)) }
    };
    assert_eq!(set(&raw mut g), 0);
    q.append("h2");
    assert_eq!(
        q.fetch(c, decode),
        (1, vec!["g1".into()], 0),
        "nothing was consumed without access"
    );
    assert_eq!(set(&raw mut h), 0);
    assert_eq!((g.1, h.1), (1, 0));
    q.append("g3");
    q.append("h3");
    assert_eq!(q.fetch(c, decode), (1, vec!["h3".into()], 0));
    // SAFETY: null removes a filter; one without `apply` is refused.
    assert_eq!(unsafe { pmdaEventSetFilter(c, q.handle, (&raw mut g).cast(), None, None) }, EINVAL);
    assert_eq!((g.1, h.1), (1, 0));
    pmdaEventEndClient(c);
    assert_eq!((g.1, h.1), (1, 1));
    pmdaEventQueueShutdown(q.handle);
}

unsafe extern "C-unwind" fn nano(
    array: c_int,
    _: *mut c_void,
    size: usize,
    time: *mut timespec,
    _: *mut c_void,
) -> c_int {
    // SAFETY: the queue passes a time.
    assert_eq!(unsafe { pmdaEventAddHighResRecord(array, time, 1) }, 0);
    let mut atom = AtomValue { ull: size as u64 };
    // SAFETY: the member for PM_TYPE_U64 is set.
    assert_eq!(unsafe { pmdaEventAddHighResParam(array, 7, 3, &raw mut atom) }, 0);
    1
}

#[test]
fn queues_with_nanoseconds() {
    let q = Queue::new("nano", 1000, 500);
    let c = q.client(0, 1);
    let mut atom = AtomValue { ull: 1 };
    let fetch = |atom: *mut AtomValue| {
        // SAFETY: an atom that outlives the call.
        unsafe { pmdaEventQueueHighResRecords(q.handle, atom, c, Some(nano), null_mut()) }
    };
    assert_eq!(fetch(&raw mut atom), 0);
    let mut time = NANO;
    // SAFETY: an event and a time that outlive the call.
    let status = unsafe {
        pmdaEventQueueHighResAppend(q.handle, c"abc".as_ptr().cast_mut().cast(), 3, &raw mut time)
    };
    assert_eq!(status, 0);
    q.append("micro");
    assert_eq!(fetch(&raw mut atom), 1);
    // SAFETY: set by the call.
    let all = bytes(unsafe { atom.vbp });
    let records = check::<HighRes>(&all).expect("sound");
    assert_eq!((records[0].stamp.nsec, records[1].stamp.sec), (123_456_789, 1000));
    assert_eq!(q.fetch(c, decode).0, 0, "one place in the queue for both resolutions");
    pmdaEventEndClient(c);
    pmdaEventQueueShutdown(q.handle);
}
