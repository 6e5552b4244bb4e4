//! Decoders that do to their array what they should not: the PMDA lives, every array is sound, and
//! no event is lost in silence.
#![allow(
    unsafe_code,
    clippy::unwrap_used,
    clippy::expect_used,
    missing_docs,
    reason = "a test of a C boundary"
)]

mod common;

use std::ffi::{c_int, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

use common::queue::{Queue, decode};
use libc::timeval;
use pmdaevent::*;

/// Decoders here release their array and take the lowest free handle: no other test may take it.
fn handles_are_ours() -> MutexGuard<'static, ()> {
    static HANDLES: Mutex<()> = Mutex::new(());
    HANDLES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a decoder does when it comes to the event "odd", before it fails.
type Odd = unsafe fn(array: c_int, time: *mut timeval);

/// The event with a NUL behind it, as a text.
/// # Safety
/// As `pmdaEventDecodeCallBack`.
unsafe fn is_odd(event: *mut c_void, size: usize) -> bool {
    // SAFETY: the queue passes an event of `size` bytes.
    let event = unsafe { std::slice::from_raw_parts(event.cast::<u8>(), size) };
    event == b"odd"
}

macro_rules! decoder {
    ($name:ident, $odd:expr, $status:expr) => {
        unsafe extern "C-unwind" fn $name(
            array: c_int,
            event: *mut c_void,
            size: usize,
            time: *mut timeval,
            data: *mut c_void,
        ) -> c_int {
            // SAFETY: by contract.
            if !unsafe { is_odd(event, size) } {
                // SAFETY: as this one.
                return unsafe { decode(array, event, size, time, data) };
            }
            let odd: Odd = $odd;
            // SAFETY: the array and the time of a decoder.
            unsafe { odd(array, time) };
            $status
        }
    };
}

unsafe fn reset(array: c_int, _: *mut timeval) {
    assert_eq!(pmdaEventResetArray(array), 0);
}

/// More bytes than the array had before, and more records.
unsafe fn reset_and_add(array: c_int, time: *mut timeval) {
    assert_eq!(pmdaEventResetArray(array), 0);
    let mut atom = AtomValue { ull: 7 };
    for _ in 0..100 {
        // SAFETY: a time of a decoder.
        assert_eq!(unsafe { pmdaEventAddRecord(array, time, 1) }, 0);
        // SAFETY: an atom that outlives the call.
        assert_eq!(unsafe { pmdaEventAddParam(array, 7, 3, &raw mut atom) }, 0);
    }
}

unsafe fn another(array: c_int, time: *mut timeval) {
    assert_eq!(pmdaEventReleaseArray(array), 0);
    // The lowest free handle is the queue's.
    assert_eq!(pmdaEventNewArray(), array);
    // SAFETY: as this one.
    unsafe { reset_and_add(array, time) };
}

unsafe fn none(array: c_int, _: *mut timeval) {
    assert_eq!(pmdaEventReleaseArray(array), 0);
}

decoder!(resets, reset, -61);
decoder!(resets_and_adds, reset_and_add, -61);
decoder!(makes_another, another, -61);
decoder!(has_none, none, -61);

/// A record of the other resolution, as decoders do that forget which queue function they serve.
unsafe fn other_resolution(array: c_int, _: *mut timeval) {
    let mut time = libc::timespec { tv_sec: 1, tv_nsec: 1 };
    let mut atom = AtomValue { ull: 7 };
    for reset in [false, true] {
        if reset {
            assert_eq!(pmdaEventResetHighResArray(array), 0);
        }
        // SAFETY: a time that outlives the call.
        assert_eq!(unsafe { pmdaEventAddHighResRecord(array, &raw mut time, 1) }, -22);
        // SAFETY: an atom that outlives the call.
        let status = unsafe { pmdaEventAddHighResParam(array, 7, 3, &raw mut atom) };
        assert_eq!(status, -22);
        assert!(pmdaEventGetHighResAddr(array).is_null());
    }
}

unsafe fn another_of_nanoseconds(array: c_int, _: *mut timeval) {
    assert_eq!(pmdaEventReleaseArray(array), 0);
    assert_eq!(pmdaEventNewHighResArray(), array);
    let mut time = libc::timespec { tv_sec: 1, tv_nsec: 1 };
    // SAFETY: a time that outlives the call.
    assert_eq!(unsafe { pmdaEventAddHighResRecord(array, &raw mut time, 1) }, 0);
}

decoder!(adds_nanoseconds, other_resolution, -22);
decoder!(has_nanoseconds, another_of_nanoseconds, 1);

/// They were taken, and the array with all its events was not delivered: nobody was told.
#[test]
fn records_of_the_other_resolution_are_refused() {
    let _handles = handles_are_ours();
    let q = Queue::new("resolution", 10_000, 6100);
    let c = q.client(0, 1);
    q.fetch(c, decode);
    ["odd", "two"].iter().for_each(|e| assert_eq!(q.append(e), 0));
    assert_eq!(q.fetch(c, adds_nanoseconds), (-22, vec![], 0));
    assert_eq!(q.fetch(c, adds_nanoseconds), (1, vec!["two".into()], 0));
    ["one", "odd"].iter().for_each(|e| assert_eq!(q.append(e), 0));
    assert_eq!(q.fetch(c, has_nanoseconds), (-22, vec![], 0), "the array is not the queue's");
    q.append("three");
    assert_eq!(q.fetch(c, decode), (1, vec!["three".into()], 2), "and both events are missed");
    pmdaEventEndClient(c);
    pmdaEventQueueShutdown(q.handle);
}

/// libpcp's encoder of results was killed by an array of 8 bytes with three records.
#[test]
fn a_decoder_that_resets_its_array_and_fails_delivers_nothing() {
    let _handles = handles_are_ours();
    for (n, decoder) in (0..).zip([resets as Decode, resets_and_adds, makes_another, has_none]) {
        let q = Queue::new("decoder", 10_000, 6000 + n);
        let c = q.client(0, 1);
        q.fetch(c, decode);
        ["one", "two", "three", "odd", "after"].iter().for_each(|e| assert_eq!(q.append(e), 0));
        assert_eq!(q.fetch(c, decoder), (-61, vec![], 0), "{n}: its own status, as in C");
        let after = q.fetch(c, decoder);
        if n == 3 {
            assert_eq!(after.0, -12376, "the queue has no array any more");
        } else {
            assert_eq!(after, (1, vec!["after".into()], 3), "{n}: the rest, and what is gone");
        }
        // At the first event nothing is lost but this one.
        ["odd", "then"].iter().for_each(|e| assert_eq!(q.append(e), 0));
        if n < 2 {
            assert_eq!(q.fetch(c, decoder), (-61, vec![], 0), "{n}");
            assert_eq!(q.fetch(c, decoder), (1, vec!["then".into()], 0), "{n}");
        }
        pmdaEventEndClient(c);
        pmdaEventQueueShutdown(q.handle);
    }
}
