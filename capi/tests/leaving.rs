//! Callbacks that do not return: a panic, which unwinds as an exception of C++ does. longjmp(3) and
//! pthread_exit(3) are in qa/057.
#![allow(unsafe_code, clippy::unwrap_used, missing_docs, reason = "a test of a C boundary")]

mod common;

use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};

use common::bytes;
use common::queue::{Queue, decode, shown};
use libc::timeval;
use pmdaevent::*;

/// Leaves the decoder at the event "odd", without a message of a panic.
unsafe extern "C-unwind" fn leaves(
    array: c_int,
    event: *mut c_void,
    size: usize,
    time: *mut timeval,
    data: *mut c_void,
) -> c_int {
    // SAFETY: the queue passes an event of `size` bytes.
    if unsafe { std::slice::from_raw_parts(event.cast::<u8>(), size) } == b"odd" {
        resume_unwind(Box::new("odd"));
    }
    // SAFETY: as this one.
    unsafe { decode(array, event, size, time, data) }
}

/// Whether a callback leaves the call.
fn is_left(call: impl FnOnce()) -> bool {
    let left = catch_unwind(AssertUnwindSafe(call));
    left.is_err_and(|what| what.downcast_ref::<&str>() == Some(&"odd"))
}

#[test]
fn a_queue_goes_on_after_a_decoder_that_does_not_return() {
    let q = Queue::new("left", 10_000, 7000);
    let (c, d) = (q.client(0, 1), q.client(1, 1));
    q.fetch(c, decode);
    q.fetch(d, decode);
    q.append("delivered");
    let (status, delivered) = q.array(c, decode);
    assert_eq!(status, 1);
    ["one", "two", "odd", "after"].iter().for_each(|e| assert_eq!(q.append(e), 0));
    assert!(is_left(|| _ = q.fetch(c, leaves)));
    // What was delivered before stays, as after a call that fails.
    assert_eq!(shown(&bytes(delivered)).0, ["delivered"]);
    q.append("later");
    let rest = vec!["after".to_owned(), "later".to_owned()];
    assert_eq!(q.fetch(c, decode), (1, rest, 3), "what the decoder saw is missed");
    assert_eq!(q.fetch(c, decode).0, 0);
    let all = ["delivered", "one", "two", "odd", "after", "later"];
    assert_eq!(q.fetch(d, decode), (1, all.map(String::from).to_vec(), 0), "others see it all");
    assert_eq!(q.memory(), 0);
    // A decoder that ends its client and its queue first.
    q.append("odd");
    assert!(is_left(|| _ = q.fetch(c, ends_and_leaves)));
    assert_eq!((q.append("one"), pmdaEventQueueShutdown(q.handle)), (-22, -22));
}

unsafe extern "C-unwind" fn ends_and_leaves(
    _: c_int,
    _: *mut c_void,
    _: usize,
    _: *mut timeval,
    data: *mut c_void,
) -> c_int {
    // SAFETY: `fetch` passes its queue.
    let q = unsafe { &*data.cast::<Queue>() };
    (0..2).for_each(|n| assert_eq!(pmdaEventEndClient(q.first_context + n), 0));
    assert_eq!(pmdaEventQueueShutdown(q.handle), 0);
    resume_unwind(Box::new("odd"));
}

/// Events that a filter was asked about, and its releases.
static ASKED: AtomicU32 = AtomicU32::new(0);
static RELEASED: AtomicU32 = AtomicU32::new(0);

/// Leaves at the third event; culls each that begins with `g`.
unsafe extern "C-unwind" fn apply(_: *mut c_void, event: *mut c_void, _: usize) -> c_int {
    if ASKED.fetch_add(1, Ordering::SeqCst) == 2 {
        resume_unwind(Box::new("odd"));
    }
    // SAFETY: events here have at least one byte.
    c_int::from(unsafe { event.cast::<u8>().read() } == b'g')
}

unsafe extern "C-unwind" fn release(_: *mut c_void) {
    RELEASED.fetch_add(1, Ordering::SeqCst);
    resume_unwind(Box::new("odd"));
}

/// Without its filter a client would see what it must not.
#[test]
fn a_client_keeps_the_filter_that_did_not_return() {
    let q = Queue::new("filter left", 10_000, 7100);
    let c = q.client(0, 0);
    let mut any = 0_u8;
    let filter = (&raw mut any).cast::<c_void>();
    // SAFETY: the filter does not look at its data.
    let set = |filter: *mut c_void| unsafe {
        pmdaEventSetFilter(c, q.handle, filter, Some(apply), Some(release))
    };
    assert_eq!(set(filter), 0);
    q.fetch(c, decode);
    ["good", "h1", "h2", "gone", "h3"].iter().for_each(|e| assert_eq!(q.append(e), 0));
    assert!(is_left(|| _ = q.fetch(c, decode)));
    assert_eq!(RELEASED.load(Ordering::SeqCst), 0);
    assert_eq!(q.fetch(c, decode), (1, vec!["h3".into()], 2), "culled events are not missed");
    assert!(is_left(|| _ = set(null_mut())), "and it is released once");
    assert_eq!((set(filter), RELEASED.load(Ordering::SeqCst)), (0, 1));
    assert!(is_left(|| _ = pmdaEventEndClient(c)));
    assert_eq!(RELEASED.load(Ordering::SeqCst), 2);
    assert_eq!((q.fetch(c, decode).0, pmdaEventQueueShutdown(q.handle)), (-22, 0));
}
