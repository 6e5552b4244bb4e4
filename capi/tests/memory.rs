//! Calls without memory: each allocation fails once, alone and with all that follow. No call ends
//! the process; it returns -ENOMEM and has changed nothing, or it needs no memory. Only an append may
//! have dropped the oldest events.
#![allow(unsafe_code, clippy::unwrap_used, missing_docs, reason = "a test of a C boundary")]

mod common;
#[path = "memory/rust.rs"]
mod rust;
#[path = "memory/scarce.rs"]
mod scarce;

use std::cell::Cell;
use std::ffi::{CString, c_int, c_void};
use std::ptr::null_mut;
use std::sync::{Mutex, MutexGuard, PoisonError};

use common::queue::{Queue, decode};
use libc::{timespec, timeval};
use pmdaevent::*;
use scarce::{ENOMEM, each, with, without};

/// The handles of arrays and the table of clients are the process's: one test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The gauges of a queue, and the number of clients.
fn gauges(queue: c_int) -> [u64; 5] {
    type Gauge = unsafe extern "C" fn(c_int, *mut AtomValue) -> c_int;
    let get = |gauge: Gauge| {
        let mut atom = AtomValue { ull: 0 };
        // SAFETY: an atom that outlives the call.
        unsafe { gauge(queue, &raw mut atom) };
        // SAFETY: initialized above.
        unsafe { atom.ull }
    };
    let mut clients = AtomValue { ull: 0 };
    // SAFETY: an atom that outlives the call.
    unsafe { pmdaEventClients(&raw mut clients) };
    [
        get(pmdaEventQueueClients),
        get(pmdaEventQueueCounter),
        get(pmdaEventQueueBytes),
        get(pmdaEventQueueMemory),
        // SAFETY: set by the call.
        unsafe { clients.ull },
    ]
}

fn handle(name: &str) -> c_int {
    let name = CString::new(name).unwrap();
    // SAFETY: a C string.
    unsafe { pmdaEventQueueHandle(name.as_ptr()) }
}

fn record(array: c_int) -> c_int {
    let mut time = timeval { tv_sec: 1, tv_usec: 2 };
    // SAFETY: a time that outlives the call.
    unsafe { pmdaEventAddRecord(array, &raw mut time, 1) }
}

fn high_record(array: c_int) -> c_int {
    let mut time = timespec { tv_sec: 1, tv_nsec: 2 };
    // SAFETY: a time that outlives the call.
    unsafe { pmdaEventAddHighResRecord(array, &raw mut time, 1) }
}

fn text(array: c_int, text: *mut c_void) -> c_int {
    let mut atom = AtomValue { cp: text.cast() };
    // SAFETY: a C string by contract of this test's callers.
    unsafe { pmdaEventAddParam(array, 7, 6, &raw mut atom) }
}

fn contents(array: c_int) -> Vec<u8> {
    common::bytes(pmdaEventGetAddr(array))
}

#[test]
fn arrays() {
    let _alone = alone();
    let new = |create: extern "C" fn() -> c_int| {
        each(
            || (),
            |()| {
                let array = create();
                if array >= 0 { pmdaEventReleaseArray(array) } else { array }
            },
            |()| (),
            |()| (),
        )
    };
    assert!(new(pmdaEventNewArray) > 0);
    assert!(new(pmdaEventNewHighResArray) > 0);
    // Up to the second chunk of handles, which needs memory itself.
    let first = pmdaEventNewArray();
    let arrays: Vec<c_int> = (first + 1..64).map(|_| pmdaEventNewArray()).collect();
    assert_eq!(arrays.last().copied(), Some(63));
    assert_eq!(with(1, false, || pmdaEventNewArray()), (ENOMEM, true));
    assert_eq!(pmdaEventNewArray(), 64, "no number is lost");
    without(|| (first..=64).for_each(|array| assert_eq!(pmdaEventReleaseArray(array), 0)));
    assert_eq!(pmdaEventNewArray(), first, "nor without memory");
    // As long as an array has room no call needs memory, whatever its resolution.
    without(|| {
        assert_eq!((record(first), pmdaEventResetArray(first)), (0, 0));
        assert_eq!((high_record(first), pmdaEventResetHighResArray(first)), (0, 0));
        assert_eq!(record(first), 0);
        assert_eq!(pmdaEventReleaseArray(first), 0);
    });
}

#[test]
fn records_and_parameters() {
    let _alone = alone();
    let full = |add: fn(c_int) -> c_int| {
        move || {
            let array = pmdaEventNewArray();
            while without(|| add(array)) == 0 {}
            array
        }
    };
    let release = |array| assert_eq!(pmdaEventReleaseArray(array), 0);
    assert!(each(full(record), |array| record(*array), |array| contents(*array), release) > 0);
    let missed = |array: &c_int| {
        let mut time = timeval { tv_sec: 1, tv_usec: 2 };
        // SAFETY: a time that outlives the call.
        unsafe { pmdaEventAddMissedRecord(*array, &raw mut time, 5) }
    };
    assert!(each(full(record), missed, |array| contents(*array), release) > 0);
    let mut long = vec![b'x'; 40_000];
    long.push(0);
    let long = |array: &c_int| text(*array, long.as_ptr().cast_mut().cast());
    assert!(each(full(record), long, |array| contents(*array), release) > 0);
    let number = |array: &c_int| {
        let mut atom = AtomValue { ull: 77 };
        // SAFETY: an atom that outlives the call.
        unsafe { pmdaEventAddParam(*array, 7, 3, &raw mut atom) }
    };
    let numbers = || {
        let array = pmdaEventNewArray();
        record(array);
        while without(|| number(&array)) == 0 {}
        array
    };
    assert!(each(numbers, number, |array| contents(*array), release) > 0);
    let high = || {
        let array = pmdaEventNewHighResArray();
        while without(|| high_record(array)) == 0 {}
        array
    };
    let address = |array: &c_int| common::bytes(pmdaEventGetHighResAddr(*array));
    assert!(each(high, |array| high_record(*array), address, release) > 0);
}

#[test]
fn queues() {
    let _alone = alone();
    let name = CString::new("scarce queue").unwrap();
    let clients = || (9000..9003).for_each(|c| assert!(pmdaEventNewClient(c) >= 0));
    let new = |announced| {
        each(
            clients,
            // SAFETY: a C string.
            |()| unsafe { pmdaEventNewActiveQueue(name.as_ptr(), 1000, announced) },
            |()| (handle("scarce queue"), gauges(0)[4]),
            |()| {
                let queue = handle("scarce queue");
                assert!(queue >= 0);
                // Neither ends nor looking for a name need memory.
                without(|| {
                    // SAFETY: a C string.
                    assert_eq!(unsafe { pmdaEventQueueHandle(name.as_ptr()) }, queue);
                    assert_eq!(pmdaEventQueueShutdown(queue), 0);
                    (9000..9003).for_each(|c| assert_eq!(pmdaEventEndClient(c), 0));
                });
            },
        )
    };
    assert!(new(0) > 3);
    assert!(new(3) > 3, "and the contexts that are waited for");
}

unsafe extern "C-unwind" fn keeps(_: *mut c_void, _: *mut c_void, _: usize) -> c_int {
    0
}

unsafe extern "C-unwind" fn released(filter: *mut c_void) {
    // SAFETY: the counter that the test passed.
    let count = unsafe { filter.cast::<u32>().as_mut() };
    *count.unwrap() += 1;
}

#[test]
fn clients_access_and_filters() {
    let _alone = alone();
    // Other tests' clients have left free places in the table: until it is full.
    let clients: Cell<c_int> = Cell::new(9100);
    let client = |()| {
        let status = pmdaEventNewClient(clients.get());
        if status >= 0 {
            clients.set(clients.get() + 1);
        }
        status
    };
    let mut refused = 0;
    for _ in 0..40 {
        refused += each(|| (), |()| client(()), |()| gauges(0)[4], |()| ());
    }
    assert!(refused > 2, "{refused}");
    without(|| (9100..clients.get()).for_each(|c| assert_eq!(pmdaEventEndClient(c), 0)));

    let mut releases = 0_u32;
    let filter = (&raw mut releases).cast::<c_void>();
    let count = |filter: *mut c_void| {
        // SAFETY: the counter above.
        unsafe { filter.cast::<u32>().read() }
    };
    let make = || {
        assert!(pmdaEventNewClient(9200) >= 0);
        Queue::new("filtered", 1000, 9200)
    };
    let end = |q: Queue| {
        without(|| {
            assert_eq!((pmdaEventQueueShutdown(q.handle), pmdaEventEndClient(9200)), (0, 0));
        });
    };
    let access = |q: &Queue| pmdaEventSetAccess(9200, q.handle, 1);
    assert!(each(make, access, |q| gauges(q.handle), end) > 0);
    let set = |q: &Queue| {
        // SAFETY: callbacks that take this filter.
        unsafe { pmdaEventSetFilter(9200, q.handle, filter, Some(keeps), Some(released)) }
    };
    let sets = Cell::new(0);
    let refused = each(
        make,
        set,
        |q| (gauges(q.handle), count(filter) - sets.get()),
        |q| {
            end(q);
            sets.set(sets.get() + 1);
        },
    );
    assert!(refused > 2, "{refused}");
    assert_eq!(count(filter), sets.get(), "those that were set are released, each once");
}

#[test]
fn many_filters_are_released_without_memory() {
    let _alone = alone();
    let mut releases = 0_u32;
    let filter = (&raw mut releases).cast::<c_void>();
    assert!(pmdaEventNewClient(9300) >= 0);
    let queues: Vec<Queue> =
        (0..300).map(|n| Queue::new(&format!("many {n}"), 1000, 9300)).collect();
    for q in &queues {
        // SAFETY: callbacks that take this filter.
        let set =
            unsafe { pmdaEventSetFilter(9300, q.handle, filter, Some(keeps), Some(released)) };
        assert_eq!((set, q.array(9300, decode).0), (0, 0));
    }
    without(|| {
        queues.iter().for_each(|q| assert_eq!(pmdaEventQueueShutdown(q.handle), 0));
        assert_eq!(pmdaEventEndClient(9300), 0);
    });
    assert_eq!((releases, handle("many 7")), (300, -libc::ESRCH));
}

#[test]
fn events() {
    let _alone = alone();
    let make = || {
        let q = Queue::new("events", 1 << 20, 9400);
        let c = q.client(0, 1);
        q.fetch(c, decode);
        q
    };
    let end = |q: Queue| {
        without(|| {
            pmdaEventEndClient(9400);
            pmdaEventQueueShutdown(q.handle);
        });
    };
    let large = "x".repeat(100_000);
    for event in ["small", &large] {
        assert!(each(make, |q| q.append(event), |q| gauges(q.handle), end) > 1);
    }
    // Each event that would need memory is refused once, and appended then.
    let q = make();
    let events: Vec<String> = (0..2000).map(|n| format!("event {n}")).collect();
    let mut refused = 0;
    for event in &events {
        let status = without(|| q.append(event));
        if status != 0 {
            assert_eq!((status, q.append(event)), (ENOMEM, 0));
            refused += 1;
        }
    }
    assert!(refused > 3, "{refused}");
    assert_eq!(gauges(q.handle)[1], 2000, "as in C, what is refused is not counted");
    assert_eq!(q.fetch(9400, decode), (1, events, 0));
    end(q);
}

#[test]
fn an_append_without_memory_may_drop_the_oldest_events_which_are_missed() {
    let _alone = alone();
    let q = Queue::new("full", 40_000, 9450);
    let c = q.client(0, 1);
    q.fetch(c, decode);
    let events: Vec<String> = (0..2000).map(|n| format!("{n:020}")).collect();
    events.iter().for_each(|event| assert_eq!(q.append(event), 0));
    // Half of the others are dropped for it, and then there is no memory.
    let large = "x".repeat(20_000);
    let stored = || gauges(q.handle)[1..4].to_vec();
    assert_eq!(stored(), [2000, 40_000, 40_000]);
    assert_eq!(without(|| q.append(&large)), ENOMEM);
    assert_eq!(stored(), [2000, 40_000, 20_000], "it is not counted");
    assert_eq!(q.append(&large), 0);
    assert_eq!(q.fetch(c, decode), (1, [&events[1000..], &[large]].concat(), 1000));
    pmdaEventEndClient(c);
    pmdaEventQueueShutdown(q.handle);
}

/// Adds the event as a text of as many bytes.
/// # Safety
/// As `pmdaEventDecodeCallBack`.
unsafe extern "C-unwind" fn copy(
    array: c_int,
    event: *mut c_void,
    _: usize,
    time: *mut timeval,
    _: *mut c_void,
) -> c_int {
    // SAFETY: the queue passes a time.
    match unsafe { pmdaEventAddRecord(array, time, 1) } {
        0 => match text(array, event) {
            0 => 1,
            status => status,
        },
        status => status,
    }
}

/// A fetch into an array of high resolution.
fn high(q: &Queue, context: c_int) -> c_int {
    unsafe extern "C-unwind" fn record(
        array: c_int,
        _: *mut c_void,
        _: usize,
        time: *mut timespec,
        _: *mut c_void,
    ) -> c_int {
        // SAFETY: the queue passes a time.
        let status = unsafe { pmdaEventAddHighResRecord(array, time, 1) };
        if status == 0 { 1 } else { status }
    }
    let mut atom = AtomValue { ull: 0 };
    // SAFETY: an atom that outlives the call.
    unsafe {
        pmdaEventQueueHighResRecords(q.handle, &raw mut atom, context, Some(record), null_mut())
    }
}

#[test]
fn fetches() {
    let _alone = alone();
    let (short, long) = (["a".to_owned(), "b".to_owned()], "y".repeat(30_000));
    let long = [long.clone(), "c".into(), long.clone(), long];
    let end = |q: Queue| {
        pmdaEventEndClient(9500);
        pmdaEventEndClient(9501);
        pmdaEventQueueShutdown(q.handle);
    };
    let mut refused = 0;
    // The first fetch of a client, and one behind an array that stays; of short and long events.
    for (events, deliveries) in [(&short[..], 0), (&short, 1), (&long, 0), (&long, 3)] {
        let make = || {
            let q = Queue::new("fetched", 1 << 20, 9500);
            let c = [q.client(0, 1), q.client(1, 1)];
            q.fetch(c[0], copy);
            for n in 0..deliveries {
                q.append(&n.to_string());
                assert_eq!(q.fetch(c[1], copy).0, 1);
            }
            q
        };
        for all in [false, true] {
            for nth in 0.. {
                let q = make();
                events.iter().for_each(|event| assert_eq!(q.append(event), 0));
                let memory = gauges(q.handle)[3];
                let (mut seen, mut missed) = (Vec::new(), 0);
                let ((status, array), came) = with(nth, all, || q.array(9501, copy));
                if status == 1 {
                    // What was decoded before is delivered.
                    (seen, missed) = common::queue::shown(&common::bytes(array));
                } else {
                    assert_eq!((status, gauges(q.handle)[3]), (ENOMEM, memory));
                }
                if seen.len() < events.len() {
                    assert!(came);
                    let (status, rest, more) = q.fetch(9501, copy);
                    assert_eq!(status, 1);
                    (seen, missed) = ([seen, rest].concat(), missed + more);
                }
                assert_eq!((&seen[..], missed), (events, 0), "nothing is lost: {nth}, {all}");
                end(q);
                if !came {
                    refused += nth;
                    break;
                }
            }
        }
    }
    assert!(refused > 10, "{refused}");
    // A client without access, which is seen the first time.
    let make = || {
        assert!(pmdaEventNewClient(9501) >= 0);
        Queue::new("fetched", 1 << 20, 9501)
    };
    assert!(each(make, |q| q.array(9501, copy).0, |q| gauges(q.handle), end) > 0);
}

#[test]
fn fetches_of_high_resolution() {
    let _alone = alone();
    let make = || {
        let q = Queue::new("high", 1 << 20, 9600);
        let c = q.client(0, 1);
        assert_eq!((high(&q, c), q.append("a"), high(&q, c), q.append("b")), (0, 0, 1, 0));
        q
    };
    let end = |q: Queue| {
        pmdaEventEndClient(9600);
        pmdaEventQueueShutdown(q.handle);
    };
    assert!(each(make, |q| high(q, 9600), |q| gauges(q.handle), end) > 0);
}
