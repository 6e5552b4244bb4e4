//! One library in a sequence: its queue calls, with filters and decoders that count.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

use libc::timeval;
use pcp_event::{LowRes, Scalar, check};
use pmdaevent::AtomValue;

use super::common::Api;
use super::{ENODATA, QUEUES};

pub(super) struct Rng(pub(super) u64);

impl Rng {
    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub(super) fn below(&mut self, n: u64) -> u64 {
        (self.next() >> 33) % n
    }

    pub(super) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// A filter: drops events by their first byte; counts its releases.
pub(super) struct Filter {
    pub(super) number: usize,
    pub(super) released: u32,
}

pub(super) fn drops(number: usize, event: &[u8]) -> bool {
    event.first().is_some_and(|b| usize::from(*b) % 3 == number % 3)
}

pub(super) unsafe extern "C-unwind" fn apply(
    filter: *mut c_void,
    event: *mut c_void,
    size: usize,
) -> c_int {
    // SAFETY: a filter that was set, and not yet released.
    let filter = unsafe { &*filter.cast::<Filter>() };
    assert_eq!(filter.released, 0, "a filter is not used after its release");
    // SAFETY: an event of `size` bytes.
    let event = unsafe { std::slice::from_raw_parts(event.cast::<u8>(), size) };
    c_int::from(drops(filter.number, event))
}

pub(super) unsafe extern "C-unwind" fn release(filter: *mut c_void) {
    // SAFETY: a filter that was set; they live as long as the sequence.
    unsafe { (*filter.cast::<Filter>()).released += 1 };
}

/// Data of the decoders: the library to call, and the events to fail for.
pub(super) struct Decoder<'a> {
    pub(super) api: &'a Api,
    pub(super) fails: u8,
}

pub(super) fn fails(fails: u8, event: &[u8]) -> Option<c_int> {
    event.first().is_some_and(|b| fails != 0 && b % 8 == fails).then_some(ENODATA)
}

pub(super) fn add(api: &Api, array: c_int, event: &[u8], time: *mut timeval) {
    // SAFETY: the queue passes a time.
    assert_eq!(unsafe { (api.pmdaEventAddRecord)(array, time, 1) }, 0);
    let mut block = vec![(event.len() as u32 + 4) | 7 << 24];
    block.extend(event.chunks(4).map(|c| {
        let mut word = [0; 4];
        word[..c.len()].copy_from_slice(c);
        u32::from_ne_bytes(word)
    }));
    let mut atom = AtomValue { vbp: block.as_mut_ptr().cast() };
    // SAFETY: a pmValueBlock that outlives the call.
    assert_eq!(unsafe { (api.pmdaEventAddParam)(array, 7, 7, &raw mut atom) }, 0);
}

pub(super) unsafe extern "C-unwind" fn decode(
    array: c_int,
    event: *mut c_void,
    size: usize,
    time: *mut timeval,
    data: *mut c_void,
) -> c_int {
    // SAFETY: the fetches here pass this.
    let decoder = unsafe { &*data.cast::<Decoder<'_>>() };
    // SAFETY: an event of `size` bytes.
    let event = unsafe { std::slice::from_raw_parts(event.cast::<u8>(), size) };
    add(decoder.api, array, event, time);
    fails(decoder.fails, event).unwrap_or(1)
}

/// The events of an array, and its number of missed events.
pub(super) fn shown(array: &[u8]) -> (Vec<Vec<u8>>, u64) {
    let (mut events, mut missed) = (Vec::new(), 0);
    for record in check::<LowRes>(array).expect("sound") {
        match record.params.first().map(|p| p.value) {
            Some(Scalar::Aggregate(data)) => events.push(data.to_vec()),
            _ => missed += u64::from(record.missed.expect("a MISSED record")),
        }
    }
    (events, missed)
}

/// One library in a sequence.
pub(super) struct Side<'a> {
    pub(super) api: &'a Api,
    pub(super) handles: [c_int; QUEUES],
    pub(super) filters: Vec<Box<Filter>>,
}

impl<'a> Side<'a> {
    pub(super) fn new(api: &'a Api) -> Self {
        Self { api, handles: [-1; QUEUES], filters: Vec::new() }
    }

    pub(super) fn append(&self, queue: usize, event: &[u8]) -> c_int {
        let mut time = timeval { tv_sec: 1000, tv_usec: event.len() as i64 };
        let mut event = event.to_vec();
        // SAFETY: an event and a time that outlive the call.
        unsafe {
            (self.api.pmdaEventQueueAppend)(
                self.handles[queue],
                event.as_mut_ptr().cast(),
                event.len(),
                &raw mut time,
            )
        }
    }

    pub(super) fn fetch(&self, queue: usize, context: i32, fails: u8) -> (c_int, *mut c_void) {
        let mut atom = AtomValue { vbp: null_mut() };
        let mut decoder = Decoder { api: self.api, fails };
        let data = (&raw mut decoder).cast();
        // SAFETY: an atom and a decoder's data that outlive the call.
        let status = unsafe {
            (self.api.pmdaEventQueueRecords)(
                self.handles[queue],
                &raw mut atom,
                context,
                Some(decode),
                data,
            )
        };
        // SAFETY: set above or by the call.
        (status, unsafe { atom.vbp })
    }

    pub(super) fn gauges(&self, queue: usize) -> [(c_int, u64); 4] {
        let api = self.api;
        [
            api.pmdaEventQueueCounter,
            api.pmdaEventQueueBytes,
            api.pmdaEventQueueMemory,
            api.pmdaEventQueueClients,
        ]
        .map(|gauge| {
            let mut atom = AtomValue { ull: 0 };
            // SAFETY: an atom that outlives the call.
            let status = unsafe { gauge(self.handles[queue], &raw mut atom) };
            // SAFETY: all bits are set: it was 0 before.
            (status, unsafe { atom.ull })
        })
    }

    /// Sets a new filter, or none.
    pub(super) fn set_filter(&mut self, queue: usize, context: i32, some: bool) -> c_int {
        let (mut filter, mut calls) = (null_mut(), (None, None));
        if some {
            self.filters.push(Box::new(Filter { number: self.filters.len(), released: 0 }));
            filter = std::ptr::from_mut(self.filters.last_mut().unwrap().as_mut()).cast();
            calls = (Some(apply as _), Some(release as _));
        }
        // SAFETY: filters live as long as the sequence.
        unsafe {
            (self.api.pmdaEventSetFilter)(context, self.handles[queue], filter, calls.0, calls.1)
        }
    }
}
