//! Calls without memory: those that return -ENOMEM in libpcp_pmda do so here, and nothing is lost.
#![allow(unsafe_code, clippy::unwrap_used, missing_docs, reason = "a test of a C boundary")]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::c_int;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicIsize, Ordering};

use common::queue::{Queue, decode};
use pmdaevent::*;

const ENOMEM: c_int = -12;

/// The system's memory, without that for large requests while `LEFT` is 0. Test programs allocate
/// beside us, in small pieces.
struct Scarce;

/// Number of large requests that succeed; negative: all.
static LEFT: AtomicIsize = AtomicIsize::new(-1);
const LARGE: usize = 200;

// SAFETY: the system's, or null.
unsafe impl GlobalAlloc for Scarce {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() >= LARGE
            && LEFT.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| (n > 0).then(|| n - 1))
                == Err(0)
        {
            return null_mut();
        }
        // SAFETY: as this one.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as this one.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static MEMORY: Scarce = Scarce;

/// Runs a call with memory for `left` large requests.
fn with<R>(left: isize, call: impl FnOnce() -> R) -> R {
    LEFT.store(left, Ordering::SeqCst);
    let done = call();
    LEFT.store(-1, Ordering::SeqCst);
    done
}

#[test]
fn arrays_and_events_without_memory_are_refused() {
    let first = pmdaEventNewArray();
    assert_eq!(
        (with(0, || pmdaEventNewArray()), with(0, || pmdaEventNewHighResArray())),
        (ENOMEM, ENOMEM)
    );
    // Up to the second chunk of handles, which needs memory itself.
    let arrays: Vec<c_int> = (1..64 - first).map(|_| pmdaEventNewArray()).collect();
    assert_eq!((arrays.last().copied(), with(1, || pmdaEventNewArray())), (Some(63), ENOMEM));
    assert_eq!(pmdaEventNewArray(), 64, "no number is lost");
    arrays
        .iter()
        .chain(&[first, 64])
        .for_each(|array| assert_eq!(pmdaEventReleaseArray(*array), 0));

    let q = Queue::new("scarce", 1 << 20, 8000);
    let c = q.client(0, 1);
    q.fetch(c, decode);
    let events: Vec<String> = (0..2000).map(|n| format!("event {n}")).collect();
    let mut refused = 0;
    for event in &events {
        // Each event that would need memory is refused once, and appended then.
        let status = with(0, || q.append(event));
        if status != 0 {
            assert_eq!(status, ENOMEM);
            refused += 1;
            assert_eq!(q.append(event), 0);
        }
    }
    assert!(refused > 3, "{refused}");
    let large = "x".repeat(100_000);
    assert_eq!((with(0, || q.append(&large)), with(1, || q.append(&large))), (ENOMEM, ENOMEM));
    let mut count = AtomValue { ull: 0 };
    // SAFETY: an atom that outlives the call.
    assert_eq!(unsafe { pmdaEventQueueCounter(q.handle, &raw mut count) }, 1);
    // SAFETY: just set.
    assert_eq!(unsafe { count.ull }, 2000, "as in C, what is refused is not counted");
    assert_eq!(q.fetch(c, decode), (1, events, 0));
    // The array that was delivered stays, so another is needed.
    q.append("one");
    assert_eq!(with(0, || q.array(c, decode).0), ENOMEM);
    assert_eq!(q.fetch(c, decode), (1, vec!["one".into()], 0));
    pmdaEventEndClient(c);
    pmdaEventQueueShutdown(q.handle);
}
