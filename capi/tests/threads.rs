//! Many threads at once, which no C PMDA could use: each array and each event is intact.
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
use std::sync::atomic::{AtomicBool, Ordering};

use common::bytes;
use libc::timeval;
use pcp_event::{LowRes, Scalar, check};
use pmdaevent::*;

fn add(array: c_int, value: u64) {
    let mut time = timeval { tv_sec: 1, tv_usec: 2 };
    // SAFETY: a time that outlives the call.
    assert_eq!(unsafe { pmdaEventAddRecord(array, &raw mut time, 1) }, 0);
    let mut atom = AtomValue { ull: value };
    // SAFETY: the member for PM_TYPE_U64 is set.
    assert_eq!(unsafe { pmdaEventAddParam(array, 1, 3, &raw mut atom) }, 0);
}

fn values(all: &[u8]) -> (Vec<u64>, u64) {
    let records = check::<LowRes>(all).expect("sound");
    let missed = records.iter().filter_map(|r| r.missed).map(u64::from).sum();
    let value = |r: &pcp_event::Record<'_>| match r.params.first()?.value {
        Scalar::U64(v) => Some(v),
        _ => None,
    };
    (records.iter().filter_map(value).collect(), missed)
}

#[test]
fn arrays_of_many_threads() {
    std::thread::scope(|scope| {
        for thread in 0..8_u64 {
            scope.spawn(move || {
                for round in 0..60 {
                    let arrays: Vec<c_int> = (0..20).map(|_| pmdaEventNewArray()).collect();
                    for n in 0..30 {
                        arrays
                            .iter()
                            .zip(0..)
                            .for_each(|(a, i)| add(*a, thread << 32 | round << 16 | i << 8 | n));
                    }
                    for (a, i) in arrays.iter().zip(0..) {
                        let (values, _) = values(&bytes(pmdaEventGetAddr(*a)));
                        assert_eq!(
                            values,
                            (0..30)
                                .map(|n| thread << 32 | round << 16 | i << 8 | n)
                                .collect::<Vec<_>>()
                        );
                        assert_eq!(pmdaEventReleaseArray(*a), 0);
                    }
                }
            });
        }
    });
}

/// One array to which all threads add whole parameters: none is torn.
#[test]
fn one_array_of_many_threads() {
    let array = pmdaEventNewArray();
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            scope.spawn(move || (0..500).for_each(|n| add(array, thread << 32 | n)));
        }
    });
    let all = bytes(pmdaEventGetAddr(array));
    let records = check::<LowRes>(&all).expect("sound");
    assert_eq!(records.len(), 2000);
    assert_eq!(records.iter().map(|r| r.params.len()).sum::<usize>(), 2000);
    pmdaEventReleaseArray(array);
}

unsafe extern "C-unwind" fn decode(
    array: c_int,
    event: *mut c_void,
    size: usize,
    _: *mut timeval,
    _: *mut c_void,
) -> c_int {
    assert_eq!(size, 8);
    // SAFETY: the queue passes an event of 8 bytes.
    add(array, unsafe { event.cast::<u64>().read_unaligned() });
    1
}

#[test]
fn producers_and_a_consumer_for_each_queue() {
    const EVENTS: u64 = 20_000;
    const PRODUCERS: u64 = 3;
    let names = [c"threads one", c"threads two"];
    std::thread::scope(|scope| {
        for (name, context) in names.iter().zip(1000..) {
            // SAFETY: a C string; the queue copies it.
            let queue = unsafe { pmdaEventNewQueue(name.as_ptr(), 8 * 1000) };
            pmdaEventNewClient(context);
            assert_eq!(pmdaEventSetAccess(context, queue, 1), 0);
            let fetch = move || {
                let mut atom = AtomValue { ull: 0 };
                // SAFETY: an atom that outlives the call.
                let status = unsafe {
                    pmdaEventQueueRecords(queue, &raw mut atom, context, Some(decode), null_mut())
                };
                // SAFETY: set by the call, and nobody else fetches from this queue.
                if status == 1 { values(&bytes(unsafe { atom.vbp })) } else { (Vec::new(), 0) }
            };
            fetch();
            scope.spawn(move || {
                let done = AtomicBool::new(false);
                let (mut seen, mut missed) = (Vec::new(), 0);
                std::thread::scope(|scope| {
                    let producers: Vec<_> = (0..PRODUCERS)
                        .map(|producer| {
                            scope.spawn(move || {
                                for n in 0..EVENTS {
                                    let event = (producer << 32 | n).to_ne_bytes();
                                    let mut time = timeval { tv_sec: 1, tv_usec: 1 };
                                    let data = event.as_ptr().cast_mut().cast();
                                    // SAFETY: an event and a time that outlive the call.
                                    let status = unsafe {
                                        pmdaEventQueueAppend(queue, data, 8, &raw mut time)
                                    };
                                    assert_eq!(status, 0);
                                }
                            })
                        })
                        .collect();
                    let (done, seen, missed) = (&done, &mut seen, &mut missed);
                    scope.spawn(move || {
                        loop {
                            let last = done.load(Ordering::Acquire);
                            let (more, lost) = fetch();
                            *missed += lost;
                            seen.extend(more);
                            if last {
                                break;
                            }
                        }
                    });
                    producers.into_iter().for_each(|p| p.join().expect("no panic"));
                    done.store(true, Ordering::Release);
                });
                assert_eq!(seen.len() as u64 + missed, PRODUCERS * EVENTS);
                for producer in 0..PRODUCERS {
                    let own: Vec<u64> =
                        seen.iter().copied().filter(|v| v >> 32 == producer).collect();
                    assert!(own.windows(2).all(|w| w[0] < w[1]), "in order, nothing twice");
                }
                pmdaEventEndClient(context);
                assert_eq!(pmdaEventQueueShutdown(queue), 0);
            });
        }
    });
}
