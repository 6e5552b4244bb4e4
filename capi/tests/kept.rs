//! The arrays of a queue that stay after their delivery are few, whenever a PMDA calls
//! `pmdaEventNewClient`.
#![allow(unsafe_code, clippy::unwrap_used, missing_docs, reason = "a test of a C boundary")]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use common::bytes;
use common::queue::{Queue, decode, shown};
use pmdaevent::*;

/// Runs tests one at a time: requests and memory belong to the whole process.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The system's memory, counted: resident memory of a process has what a heap or a sanitizer keeps.
struct Counted;

/// Bytes in use.
static IN_USE: AtomicUsize = AtomicUsize::new(0);

// SAFETY: the system's.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        IN_USE.fetch_add(layout.size(), Ordering::SeqCst);
        // SAFETY: as this one.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Ordering::SeqCst);
        // SAFETY: as this one.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static MEMORY: Counted = Counted;

/// A request of ten events of 10,000 bytes. `asked`: the client is named first.
fn request(q: &Queue, context: c_int, asked: bool) {
    if asked {
        assert!(pmdaEventNewClient(context) >= 0);
    }
    (0..10).for_each(|_| assert_eq!(q.append(&"x".repeat(10_000)), 0));
    assert_eq!(q.array(context, decode).0, 1);
}

/// pmcd calls the attribute callback several times when a client connects; pmdaEventClient(3)
/// tells authors to call `pmdaEventNewClient` there.
#[test]
fn memory_does_not_grow_with_the_number_of_fetches() {
    let _alone = alone();
    let q = Queue::new("kept", 1 << 20, 5000);
    let connects = |n, times| {
        let context = (0..times).fold(0, |_, _| q.client(n, 1));
        q.fetch(context, decode);
        context
    };
    let c = connects(0, 3);
    request(&q, c, false);
    let before = IN_USE.load(Ordering::SeqCst);
    let grown = |what: &str, most: usize| {
        let more = IN_USE.load(Ordering::SeqCst).saturating_sub(before);
        assert!(more < most, "{what}: {more} bytes more");
    };
    (0..300).for_each(|_| request(&q, c, false));
    grown("one client", 1 << 20);
    // The context's number is used again, and the PMDA has not ended it.
    for times in [3, 1, 1, 3] {
        let c = connects(0, times);
        (0..300).for_each(|_| request(&q, c, false));
        // With one call it looks like a long request, of which 64 arrays stay: 6.4 MB of records, so
        // that few have room for more than that.
        grown("connected again", if times == 3 { 1 << 20 } else { 7 << 20 });
    }
    pmdaEventEndClient(c);
    let (c, d) = (connects(0, 3), connects(1, 3));
    (0..300).for_each(|n| {
        request(&q, c, n % 7 == 0);
        request(&q, d, n % 5 == 0);
    });
    (0..300).for_each(|_| request(&q, c, false));
    grown("two clients", 11 << 20);
    (0..300).for_each(|_| request(&q, c, true));
    grown("each request", 4 << 20);
    pmdaEventEndClient(c);
    pmdaEventEndClient(d);
    pmdaEventQueueShutdown(q.handle);
}

/// Delivers `count` arrays in one request.
fn arrays(q: &Queue, context: c_int, count: usize) -> Vec<*mut c_void> {
    let one = |n: usize| {
        assert_eq!(q.append(&format!("event {n}")), 0);
        q.array(context, decode).1
    };
    (0..count).map(one).collect()
}

#[test]
fn a_request_has_more_arrays_than_stay_without() {
    let _alone = alone();
    let q = Queue::new("many metrics", 1 << 20, 5100);
    let c = q.client(0, 1);
    q.fetch(c, decode);
    let stay = |arrays: &[*mut c_void]| {
        arrays
            .iter()
            .enumerate()
            .all(|(n, array)| shown(&bytes(*array)).0 == [format!("event {n}")])
    };
    assert!(stay(&arrays(&q, c, 8)), "no request was told of yet");
    for _ in 0..3 {
        assert!(pmdaEventNewClient(c) >= 0);
        assert!(stay(&arrays(&q, c, 64)));
    }
    pmdaEventEndClient(c);
    pmdaEventQueueShutdown(q.handle);
}
