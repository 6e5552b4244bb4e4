//! Random valid sequences of calls give the same handles, statuses and bytes from our library as
//! from libpcp_pmda.
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
use std::sync::{Mutex, OnceLock};

use common::{Api, bytes, clear_padding};
use libc::{timespec, timeval};
use pmdaevent::AtomValue;
use proptest::prelude::*;

/// libpcp_pmda's tables are global and have no lock.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn theirs() -> &'static Api {
    static API: OnceLock<Api> = OnceLock::new();
    API.get_or_init(Api::theirs)
}

fn ours() -> &'static Api {
    static API: OnceLock<Api> = OnceLock::new();
    API.get_or_init(Api::ours)
}

#[derive(Clone, Debug)]
enum Value {
    Bits(c_int, u64),
    Text(Vec<u8>),
    Aggregate(Vec<u8>),
}

#[derive(Clone, Debug)]
enum Step {
    New(bool),
    Reset(usize),
    Release(usize),
    Record(usize, i64, i64, u32),
    Missed(usize, i32, i32, i32),
    Param(usize, u32, Value, bool),
    Get(usize, bool),
    /// Calls with an invalid handle.
    Wrong(c_int),
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        6 => (0..6, any::<u64>()).prop_map(|(ty, bits)| Value::Bits(ty, bits)),
        1 => (8..14, any::<u64>()).prop_map(|(ty, bits)| Value::Bits(ty, bits)),
        4 => prop::collection::vec(1..=255u8, 0..70).prop_map(Value::Text),
        1 => prop::collection::vec(1..=255u8, 500..9000).prop_map(Value::Text),
        2 => prop::collection::vec(any::<u8>(), 0..40).prop_map(Value::Aggregate),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let slot = 0..6usize;
    prop_oneof![
        2 => any::<bool>().prop_map(Step::New),
        1 => slot.clone().prop_map(Step::Reset),
        1 => slot.clone().prop_map(Step::Release),
        8 => (slot.clone(), any::<i64>(), any::<i64>(), any::<u32>()).prop_map(|(s, a, b, f)| Step::Record(s, a, b, f & 0x8000_001f)),
        2 => (slot.clone(), any::<i32>(), 0..1_000_000_000, 0..i32::MAX).prop_map(|(s, a, b, n)| Step::Missed(s, a, b, n)),
        24 => (slot.clone(), any::<u32>(), value(), any::<bool>()).prop_map(|(s, p, v, old)| Step::Param(s, p, v, old)),
        3 => (slot, any::<bool>()).prop_map(|(s, old)| Step::Get(s, old)),
        1 => (-3..2000).prop_map(Step::Wrong),
    ]
}

/// An array that both libraries have: its handle, its resolution, whether a parameter may follow.
#[derive(Clone, Copy, Debug)]
struct Known {
    handle: c_int,
    high: bool,
    open: bool,
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, call: impl Fn(&'static Api) -> T) -> T {
    // Loads the libraries first, so that a missing one does not look like a difference.
    let (ours, theirs) = (ours(), theirs());
    let (us, them) = (call(ours), call(theirs));
    assert_eq!(us, them, "{what}: ours, theirs");
    us
}

fn add_param(api: &Api, known: Known, pmid: u32, value: &Value, old_name: bool) -> c_int {
    let call = match (known.high, old_name) {
        (false, _) => api.pmdaEventAddParam,
        (true, false) => api.pmdaEventAddHighResParam,
        (true, true) => api.pmdaEventHighResAddParam,
    };
    match value {
        Value::Bits(ty, bits) => {
            let mut atom = AtomValue { ull: *bits };
            // SAFETY: every type here is a number, or one that is refused.
            unsafe { call(known.handle, pmid, *ty, &raw mut atom) }
        }
        Value::Text(text) => {
            let text = CString::new(text.clone()).expect("no NUL");
            let mut atom = AtomValue { cp: text.as_ptr().cast_mut() };
            // SAFETY: a C string that outlives the call.
            unsafe { call(known.handle, pmid, 6, &raw mut atom) }
        }
        Value::Aggregate(data) => {
            let length = u32::try_from(data.len() + 4).expect("small");
            // As words: a pmValueBlock is aligned to 4.
            let mut block = vec![length | 7 << 24];
            block.extend(data.chunks(4).map(|c| {
                let mut word = [0; 4];
                word[..c.len()].copy_from_slice(c);
                u32::from_ne_bytes(word)
            }));
            let mut atom = AtomValue { vbp: block.as_mut_ptr().cast() };
            // SAFETY: a pmValueBlock that outlives the call.
            unsafe { call(known.handle, pmid, 7, &raw mut atom) }
        }
    }
}

fn get(api: &Api, known: Known, old_name: bool) -> Vec<u8> {
    let address = match (known.high, old_name) {
        (false, _) => (api.pmdaEventGetAddr)(known.handle),
        (true, false) => (api.pmdaEventGetHighResAddr)(known.handle),
        (true, true) => (api.pmdaEventHighResGetAddr)(known.handle),
    };
    bytes(address)
}

fn compare(known: Known, old_name: bool) {
    let us = get(ours(), known, old_name);
    let (mut cleared, mut them) = (us.clone(), get(theirs(), known, old_name));
    clear_padding(&mut cleared);
    assert_eq!(us, cleared, "our padding is 0");
    clear_padding(&mut them);
    assert_eq!(us, them);
}

/// Runs one step; steps that would be invalid calls do nothing.
fn take(step: &Step, known: &mut [Option<Known>; 6]) {
    match step {
        Step::New(high) => {
            let Some(place) = known.iter_mut().find(|k| k.is_none()) else { return };
            let new = |api: &Api| {
                if *high { (api.pmdaEventNewHighResArray)() } else { (api.pmdaEventNewArray)() }
            };
            *place = Some(Known { handle: same("new", new), high: *high, open: false });
        }
        Step::Reset(slot) => {
            if let Some(k) = &mut known[*slot] {
                let reset = |api: &Api| {
                    if k.high { api.pmdaEventResetHighResArray } else { api.pmdaEventResetArray }
                };
                assert_eq!(same("reset", |api| reset(api)(k.handle)), 0);
                k.open = false;
            }
        }
        Step::Release(slot) => {
            if let Some(k) = known[*slot].take() {
                let release = |api: &Api| {
                    if k.high {
                        api.pmdaEventReleaseHighResArray
                    } else {
                        api.pmdaEventReleaseArray
                    }
                };
                assert_eq!(same("release", |api| release(api)(k.handle)), 0);
                same("second release", |api| release(api)(k.handle));
            }
        }
        Step::Record(slot, sec, fraction, flags) => {
            if let Some(k) = &mut known[*slot] {
                let (mut low, mut high) = (
                    timeval { tv_sec: *sec, tv_usec: *fraction },
                    timespec { tv_sec: *sec, tv_nsec: *fraction },
                );
                let (low, high) = (&raw mut low, &raw mut high);
                let status = same("record", |api| match k.high {
                    // SAFETY: a timespec that outlives the call.
                    true => unsafe {
                        (api.pmdaEventAddHighResRecord)(k.handle, high, flags.cast_signed())
                    },
                    // SAFETY: a timeval that outlives the call.
                    false => unsafe {
                        (api.pmdaEventAddRecord)(k.handle, low, flags.cast_signed())
                    },
                });
                k.open |= status == 0;
            }
        }
        Step::Missed(slot, sec, fraction, count) => {
            if let Some(k) = &mut known[*slot] {
                let (sec, fraction) = (i64::from(*sec), i64::from(*fraction));
                let (mut low, mut high) = (
                    timeval { tv_sec: sec, tv_usec: fraction },
                    timespec { tv_sec: sec, tv_nsec: fraction },
                );
                let (low, high) = (&raw mut low, &raw mut high);
                same("missed", |api| match k.high {
                    // SAFETY: a timespec that outlives the call.
                    true => unsafe {
                        (api.pmdaEventAddHighResMissedRecord)(k.handle, high, *count)
                    },
                    // SAFETY: a timeval that outlives the call.
                    false => unsafe { (api.pmdaEventAddMissedRecord)(k.handle, low, *count) },
                });
                k.open = false;
            }
        }
        Step::Param(slot, pmid, value, old_name) => {
            if let Some(k) = known[*slot].filter(|k| k.open) {
                same("parameter", |api| add_param(api, k, *pmid, value, *old_name));
            }
        }
        Step::Get(slot, old_name) => {
            if let Some(k) = known[*slot] {
                compare(k, *old_name);
            }
        }
        Step::Wrong(handle) => {
            if known.iter().flatten().any(|k| k.handle == *handle) {
                return;
            }
            same("reset of nothing", |api| (api.pmdaEventResetArray)(*handle));
            same("release of nothing", |api| (api.pmdaEventReleaseHighResArray)(*handle));
            same("address of nothing", |api| (api.pmdaEventGetAddr)(*handle).is_null());
            let k = Known { handle: *handle, high: true, open: true };
            same("parameter of nothing", |api| add_param(api, k, 1, &Value::Bits(0, 5), false));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn arrays_are_the_same(steps in prop::collection::vec(step(), 1..150)) {
        let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut known = [None; 6];
        steps.iter().for_each(|step| take(step, &mut known));
        for k in known.into_iter().flatten() {
            compare(k, false);
            same("release", |api| (api.pmdaEventReleaseArray)(k.handle));
        }
    }

    /// The cases that C's queues handle right: clients that each fetch once between appends, with
    /// enough room.
    #[test]
    fn queues_are_the_same(rounds in prop::collection::vec(prop::collection::vec("[a-z]{0,30}", 0..8), 1..12), clients in 1..4) {
        let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let queue = same("queue", |api| {
            // SAFETY: a C string that lives for ever.
            unsafe { (api.pmdaEventNewQueue)(c"differential".as_ptr(), 1 << 20) }
        });
        same("handle", |api| {
            // SAFETY: as above.
            unsafe { (api.pmdaEventQueueHandle)(c"differential".as_ptr()) }
        });
        for client in 0..clients {
            same("client", |api| (api.pmdaEventNewClient)(client));
            same("access", |api| (api.pmdaEventSetAccess)(client, queue, 1));
            fetch_both(queue, client);
        }
        for (n, events) in rounds.iter().enumerate() {
            for event in events {
                let mut time = timeval { tv_sec: n as i64, tv_usec: 7 };
                let time = &raw mut time;
                same("append", |api| {
                    let data = event.as_ptr().cast_mut().cast::<c_void>();
                    // SAFETY: neither library writes into the event; the time outlives the call.
                    unsafe { (api.pmdaEventQueueAppend)(queue, data, event.len(), time) }
                });
            }
            gauges(queue);
            (0..clients).for_each(|client| fetch_both(queue, client));
            gauges(queue);
        }
        same("shutdown", |api| (api.pmdaEventQueueShutdown)(queue));
        for client in 0..clients {
            same("end", |api| (api.pmdaEventEndClient)(client));
            same("gone", |api| {
                // SAFETY: a C string that lives for ever.
                unsafe { (api.pmdaEventQueueHandle)(c"differential".as_ptr()) }
            });
        }
    }
}

fn gauges(queue: c_int) {
    same("gauges", |api| {
        let gauges = [
            api.pmdaEventQueueClients,
            api.pmdaEventQueueCounter,
            api.pmdaEventQueueBytes,
            api.pmdaEventQueueMemory,
        ];
        gauges.map(|gauge| {
            let mut atom = AtomValue { ull: 0 };
            // SAFETY: an atom that outlives the call.
            let status = unsafe { gauge(queue, &raw mut atom) };
            // SAFETY: all bits are set: it was 0 before.
            (status, unsafe { atom.ull })
        })
    });
    same("clients", |api| {
        let mut atom = AtomValue { ull: 0 };
        // SAFETY: an atom that outlives the call.
        let status = unsafe { (api.pmdaEventClients)(&raw mut atom) };
        // SAFETY: as above.
        (status, unsafe { atom.ul })
    });
}

fn fetch_both(queue: c_int, client: c_int) {
    same("records", |api| {
        let mut atom = AtomValue { ull: 0 };
        let data = std::ptr::from_ref(api).cast_mut().cast();
        // SAFETY: the decoder gets the table of functions that lives for ever.
        let status = unsafe {
            (api.pmdaEventQueueRecords)(queue, &raw mut atom, client, Some(decode), data)
        };
        // SAFETY: set by the call.
        let array = unsafe { atom.vbp };
        let mut bytes = if array.is_null() { Vec::new() } else { bytes(array) };
        if !bytes.is_empty() {
            clear_padding(&mut bytes);
        }
        (status, bytes)
    });
}

/// Adds the event as a text, and its length.
unsafe extern "C-unwind" fn decode(
    array: c_int,
    event: *mut c_void,
    size: usize,
    time: *mut timeval,
    data: *mut c_void,
) -> c_int {
    // SAFETY: `fetch_both` passes this.
    let api = unsafe { &*data.cast::<Api>() };
    // SAFETY: the queue passes an event and its size.
    let event = unsafe { std::slice::from_raw_parts(event.cast::<u8>(), size) };
    // SAFETY: the queue passes a time.
    let status = unsafe { (api.pmdaEventAddRecord)(array, time, 1) };
    assert_eq!(status, 0);
    let k = Known { handle: array, high: false, open: true };
    assert_eq!(add_param(api, k, 1, &Value::Text(event.to_vec()), false), 0);
    assert_eq!(add_param(api, k, 2, &Value::Bits(1, size as u64), false), 0);
    1
}
