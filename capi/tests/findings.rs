//! Findings of an independent test of the queues (D1 to D6 of its report): short C programs, as
//! tests.
#![allow(
    unsafe_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    missing_docs,
    reason = "a test of a C boundary"
)]

mod common;

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::{Mutex, MutexGuard, PoisonError};

use common::bytes;
use common::queue::{Queue, decode, failing, shown};
use pmdaevent::*;

const EINVAL: c_int = -22;

/// Runs tests one at a time: clients and memory belong to the whole process.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn gauge(gauge: unsafe extern "C" fn(c_int, *mut AtomValue) -> c_int, handle: c_int) -> u64 {
    let mut atom = AtomValue { ull: 0 };
    // SAFETY: an atom that outlives the call.
    assert_eq!(unsafe { gauge(handle, &raw mut atom) }, 1);
    // SAFETY: all bits are set: it was 0 before.
    unsafe { atom.ull }
}

/// D1: pmdabash creates a queue for each shell with as many clients as there are, and drops an
/// ended shell when its queue is empty.
#[test]
fn the_memory_of_an_announced_queue_becomes_0() {
    let _alone = alone();
    let contexts = [1000, 1001, 1002];
    contexts.iter().for_each(|c| assert!(pmdaEventNewClient(*c) >= 0));
    let q = Queue::active("a shell", 1000, 1000, 3);
    contexts.iter().for_each(|c| assert_eq!(pmdaEventSetAccess(*c, q.handle, 1), 0));
    assert_eq!((q.append("line 1"), q.append("line 2"), q.append("")), (0, 0, 0));
    let all = (1, vec!["line 1".to_owned(), "line 2".to_owned(), String::new()], 0);
    assert_eq!(q.fetch(1000, decode), all);
    assert_eq!(q.fetch(1000, decode).0, 0);
    assert_eq!(q.fetch(1001, decode), all, "one client sees it as the other");
    assert_eq!((q.memory(), gauge(pmdaEventQueueClients, q.handle)), (12, 3));
    pmdaEventEndClient(1002);
    assert_eq!((q.memory(), gauge(pmdaEventQueueClients, q.handle)), (0, 2));
    // A connected client that never fetches.
    pmdaEventNewClient(1003);
    let q2 = Queue::active("another shell", 1000, 1000, 3);
    pmdaEventSetAccess(1000, q2.handle, 1);
    pmdaEventSetAccess(1001, q2.handle, 1);
    q2.append("line 1");
    assert_eq!((q2.fetch(1000, decode).0, q2.fetch(1001, decode).0), (1, 1));
    let fetches = (0..).take_while(|_| q2.memory() > 0 && q2.fetch(1000, decode).0 == 0).count();
    assert_eq!(fetches, 3 * 16);
    // A client without access.
    assert_eq!(pmdaEventSetAccess(1003, q2.handle, 0), 0);
    q2.append("line 2");
    contexts.iter().for_each(|c| assert_eq!(pmdaEventEndClient(*c), 0));
    assert_eq!(q2.memory(), 0, "nobody with access was left");
    for q in [q, q2] {
        assert_eq!(pmdaEventQueueShutdown(q.handle), 0);
    }
    pmdaEventEndClient(1003);
}

/// D2: pmdasystemd has two metrics over one queue, and its decoder fails for a removed entry.
#[test]
fn arrays_that_were_delivered_stay_while_other_metrics_are_fetched() {
    let _alone = alone();
    let q = Queue::new("two metrics", 1000, 1100);
    let c = q.client(0, 1);
    q.fetch(c, decode);
    for round in 0..5 {
        assert!(pmdaEventNewClient(c) >= 0, "as PMDAs do at the beginning of a request");
        ["first event of three", "second event", "bad", "after", "bad", "more and more", "bad"]
            .iter()
            .for_each(|e| assert_eq!(q.append(e), 0));
        // Three metrics, each named twice in one request; then libpcp encodes the arrays.
        let fetched = [(); 6].map(|()| q.array(c, failing));
        let statuses = fetched.map(|(status, _)| status);
        assert_eq!(statuses, [1, -5, 1, -5, 1, -5], "round {round}");
        let seen = [0, 2, 4].map(|n: usize| shown(&bytes(fetched[n].1)).0);
        assert_eq!(
            seen,
            [vec!["first event of three", "second event"], vec!["after"], vec!["more and more"]]
        );
    }
    // A call that delivers nothing keeps the last array too.
    q.append("last");
    let (_, array) = q.array(c, failing);
    assert_eq!((q.array(c, failing).0, q.array(c, failing).0), (0, 0));
    assert_eq!(shown(&bytes(array)).0, ["last"]);
    assert_eq!(gauge(pmdaEventQueueMemory, q.handle), 0);
    pmdaEventEndClient(c);
    pmdaEventQueueShutdown(q.handle);
}

unsafe extern "C-unwind" fn apply(_: *mut c_void, _: *mut c_void, _: usize) -> c_int {
    0
}

unsafe extern "C-unwind" fn release(filter: *mut c_void) {
    // SAFETY: the filters here are counters that outlive their queue.
    unsafe { *filter.cast::<u32>() += 1 };
}

/// D3: as in C, a rejected filter still belongs to the caller, who frees it.
#[test]
fn a_filter_that_is_refused_is_not_released() {
    let _alone = alone();
    let q = Queue::new("refused", 1000, 1200);
    let mut released = 0_u32;
    let filter = (&raw mut released).cast::<c_void>();
    // SAFETY: the counter outlives the queue.
    let set = |context, handle| unsafe {
        pmdaEventSetFilter(context, handle, filter, Some(apply), Some(release))
    };
    assert_eq!(
        (set(1200, q.handle), set(1200, -1), set(1200, 77_777)),
        (EINVAL, EINVAL, EINVAL),
        "no such client"
    );
    let c = q.client(0, 1);
    assert_eq!(set(c, 77_777), EINVAL);
    // SAFETY: as above.
    let status = unsafe { pmdaEventSetFilter(c, q.handle, filter, None, Some(release)) };
    assert_eq!(status, EINVAL, "without apply");
    assert_eq!(released, 0);
    assert_eq!((set(c, q.handle), set(c, q.handle)), (0, 0));
    // SAFETY: there is no other access to the counter now.
    assert_eq!(unsafe { filter.cast::<u32>().read() }, 1, "the one before");
    // A null filter's release function is never called.
    // SAFETY: it would write to null.
    let status = unsafe { pmdaEventSetFilter(c, q.handle, null_mut(), Some(apply), Some(release)) };
    assert_eq!(status, 0);
    pmdaEventEndClient(c);
    assert_eq!(released, 2);
    pmdaEventQueueShutdown(q.handle);
}

fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).unwrap() * 4096
}

/// D4: events larger than the queue, and empty ones, while a client does not fetch.
#[test]
fn a_queue_does_not_grow_without_bound() {
    let _alone = alone();
    let q = Queue::new("growth", 1000, 1300);
    let c = q.client(0, 1);
    q.fetch(c, decode);
    let large = "x".repeat(1001);
    let before = resident();
    // libpcp's warnings would be 300,000 lines.
    for _ in 0..2000 {
        assert_eq!(q.append(&large), 0);
    }
    for _ in 0..1_000_000 {
        assert_eq!(q.append(""), 0);
    }
    assert!(resident() - before < 8 << 20, "{} bytes more", resident() - before);
    assert_eq!((q.memory(), gauge(pmdaEventQueueCounter, q.handle)), (0, 1_002_000));
    let (status, seen, missed) = q.fetch(c, decode);
    assert_eq!(
        (status, seen.len(), missed),
        (1, 1000, 1_001_000),
        "an empty event counts as one byte"
    );
    pmdaEventEndClient(c);
    pmdaEventQueueShutdown(q.handle);
}

unsafe extern "C-unwind" fn fill(
    array: c_int,
    _: *mut c_void,
    size: usize,
    time: *mut libc::timeval,
    _: *mut c_void,
) -> c_int {
    let mut records = 0;
    // SAFETY: the queue passes a time.
    while records == 0 || (size > 3 && unsafe { pmdaEventAddRecord(array, time, 1) } == 0) {
        records += 1;
    }
    records
}

/// D5: an array that is full to the last bytes has no room for the count.
#[test]
fn a_missed_count_that_does_not_fit_is_told_with_the_next_fetch() {
    let _alone = alone();
    let q = Queue::new("full", 100, 1400);
    let c = q.client(0, 1);
    q.fetch(c, decode);
    (0..5).for_each(|_| assert_eq!(q.append(&"x".repeat(50)), 0));
    let (status, array) = q.array(c, fill);
    assert_eq!(status, 1);
    assert!(bytes(array).len() > (1 << 24) - 16);
    assert_eq!(q.fetch(c, decode), (1, vec![], 3));
    assert_eq!(q.fetch(c, decode).0, 0);
    pmdaEventEndClient(c);
    pmdaEventQueueShutdown(q.handle);
}

/// D6: calls whose results differed from C's, and calls for which docs/design.md requires a difference.
#[test]
fn small_differences() {
    let _alone = alone();
    // SAFETY: a C string.
    let empty = unsafe { pmdaEventNewQueue(c"".as_ptr(), 10) };
    assert!(empty >= 0, "as in C");
    // SAFETY: a C string.
    assert_eq!(unsafe { pmdaEventQueueHandle(c"".as_ptr()) }, empty);
    pmdaEventQueueShutdown(empty);

    let q = Queue::new("small", 100, 1500);
    let mut time = libc::timeval { tv_sec: 1, tv_usec: 1 };
    // SAFETY: null is allowed.
    let append = |bytes, time| unsafe { pmdaEventQueueAppend(q.handle, null_mut(), bytes, time) };
    assert_eq!(
        (append(1000, &raw mut time), append(50, null_mut())),
        (0, 0),
        "counted, as in C, where nothing is read"
    );
    let c = q.client(0, 1);
    q.fetch(c, decode);
    assert_eq!(
        (append(1000, null_mut()), append(50, &raw mut time), append(0, null_mut())),
        (0, EINVAL, EINVAL)
    );
    assert_eq!(append(0, &raw mut time), 0);
    assert_eq!(
        (gauge(pmdaEventQueueCounter, q.handle), gauge(pmdaEventQueueBytes, q.handle)),
        (4, 2050)
    );
    assert_eq!(q.fetch(c, decode), (1, vec![String::new()], 1));

    // A name is copied: a later queue of the same name is rejected even after the caller frees the
    // name.
    let mut name = *b"1234\0";
    // SAFETY: a C string.
    let first = unsafe { pmdaEventNewQueue(name.as_ptr().cast(), 10) };
    name[0] = b'9';
    // SAFETY: a C string.
    assert_eq!(unsafe { pmdaEventQueueHandle(name.as_ptr().cast()) }, -libc::ESRCH);
    // SAFETY: a C string.
    assert_eq!(unsafe { pmdaEventNewQueue(c"1234".as_ptr(), 10) }, -libc::EEXIST);

    // A reused handle has no state of its former queue.
    assert_eq!(pmdaEventSetAccess(c, first, 1), 0);
    assert_eq!(pmdaEventQueueShutdown(first), 0);
    let again = Queue::new("used again", 100, 1500);
    assert_eq!(again.fetch(c, decode).0, 0);
    again.append("secret");
    assert_eq!(again.fetch(c, decode).0, 0, "no access");

    // Types are checked before values, as in C.
    let array = pmdaEventNewArray();
    // SAFETY: null is allowed.
    let param = |ty| unsafe { pmdaEventAddParam(array, 1, ty, null_mut()) };
    // SAFETY: a time that outlives the call.
    assert_eq!(unsafe { pmdaEventAddRecord(array, &raw mut time, 1) }, 0);
    assert_eq!((param(99), param(-1), param(3), param(6)), (-12397, -12397, EINVAL, EINVAL));
    pmdaEventReleaseArray(array);
    pmdaEventEndClient(c);
    for q in [q, again] {
        pmdaEventQueueShutdown(q.handle);
    }
}
