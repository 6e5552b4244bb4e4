//! A queue of ours through the C ABI, and decoders.

use std::ffi::{CString, c_int, c_uint, c_void};

use libc::timeval;
use pcp_event::{LowRes, check};
use pmdaevent::*;

use super::bytes;

/// Each test uses queues and contexts with different names, so that tests can run at once.
pub struct Queue {
    pub handle: c_int,
    pub first_context: c_int,
}

impl Queue {
    pub fn new(name: &str, memory: usize, first_context: c_int) -> Self {
        let name = CString::new(name).unwrap();
        // SAFETY: a C string; the queue copies it.
        let handle = unsafe { pmdaEventNewQueue(name.as_ptr(), memory) };
        assert!(handle >= 0);
        Self { handle, first_context }
    }

    /// As `new`, announced to `clients` clients.
    pub fn active(name: &str, memory: usize, first_context: c_int, clients: c_uint) -> Self {
        let name = CString::new(name).unwrap();
        // SAFETY: a C string; the queue copies it.
        let handle = unsafe { pmdaEventNewActiveQueue(name.as_ptr(), memory, clients) };
        assert!(handle >= 0);
        Self { handle, first_context }
    }

    pub fn client(&self, n: c_int, access: c_int) -> c_int {
        let context = self.first_context + n;
        assert!(pmdaEventNewClient(context) >= 0);
        assert_eq!(pmdaEventSetAccess(context, self.handle, access), 0);
        context
    }

    pub fn append(&self, event: &str) -> c_int {
        let mut time = timeval { tv_sec: 1000, tv_usec: 0 };
        // SAFETY: an event and a time that outlive the call.
        unsafe {
            pmdaEventQueueAppend(
                self.handle,
                event.as_ptr().cast_mut().cast(),
                event.len(),
                &raw mut time,
            )
        }
    }

    pub fn memory(&self) -> u64 {
        let mut atom = AtomValue { ull: 0 };
        // SAFETY: an atom that outlives the call.
        assert_eq!(unsafe { pmdaEventQueueMemory(self.handle, &raw mut atom) }, 1);
        // SAFETY: just set.
        unsafe { atom.ull }
    }

    /// Returns the status, and the array in the atom.
    pub fn array(&self, context: c_int, decoder: Decode) -> (c_int, *mut c_void) {
        let mut atom = AtomValue { vbp: std::ptr::null_mut() };
        // SAFETY: an atom that outlives the call; the decoders that are called so do not look at
        // the pointer.
        let status = unsafe {
            pmdaEventQueueRecords(
                self.handle,
                &raw mut atom,
                context,
                Some(decoder),
                std::ptr::null_mut(),
            )
        };
        // SAFETY: set above or by the call.
        (status, unsafe { atom.vbp })
    }

    /// Returns the status, the texts of the events, and the number of missed events.
    pub fn fetch(&self, context: c_int, decoder: Decode) -> (c_int, Vec<String>, u32) {
        let mut atom = AtomValue { ull: 1 };
        let data = std::ptr::from_ref(self).cast_mut().cast();
        // SAFETY: an atom that outlives the call; the decoders here take a Queue.
        let status = unsafe {
            pmdaEventQueueRecords(self.handle, &raw mut atom, context, Some(decoder), data)
        };
        if status != 1 {
            return (status, vec![], 0);
        }
        // SAFETY: set by the call.
        let (seen, missed) = shown(&bytes(unsafe { atom.vbp }));
        (status, seen, missed)
    }
}

/// The texts in an array, and its number of missed events.
pub fn shown(array: &[u8]) -> (Vec<String>, u32) {
    let records = check::<LowRes>(array).expect("sound");
    let missed = records.iter().filter_map(|r| r.missed).sum();
    (
        records
            .iter()
            .filter(|r| r.missed.is_none())
            .map(|r| r.params[0].value.to_string())
            .collect(),
        missed,
    )
}

/// Adds the event as a text and writes into the event, as C decoders do.
/// # Safety
/// As `pmdaEventDecodeCallBack`.
pub unsafe extern "C-unwind" fn decode(
    array: c_int,
    event: *mut c_void,
    size: usize,
    time: *mut timeval,
    _: *mut c_void,
) -> c_int {
    // SAFETY: the queue passes a time.
    let status = unsafe { pmdaEventAddRecord(array, time, 1) };
    assert_eq!(status, 0);
    // SAFETY: the queue passes an event of `size` bytes and leaves room for a NUL.
    let end = unsafe { event.cast::<u8>().add(size) };
    // SAFETY: as above.
    unsafe { end.write(0) };
    let mut atom = AtomValue { cp: event.cast() };
    // SAFETY: a C string now.
    assert_eq!(unsafe { pmdaEventAddParam(array, 7, 6, &raw mut atom) }, 0);
    // SAFETY: as above.
    unsafe { event.cast::<u8>().write_bytes(b'#', size) };
    1
}

/// Adds a record, then fails for the event `bad`.
/// # Safety
/// As `pmdaEventDecodeCallBack`.
pub unsafe extern "C-unwind" fn failing(
    array: c_int,
    event: *mut c_void,
    size: usize,
    time: *mut timeval,
    data: *mut c_void,
) -> c_int {
    // SAFETY: the queue passes an event of `size` bytes.
    let bad = unsafe { std::slice::from_raw_parts(event.cast::<u8>(), size) } == b"bad";
    // SAFETY: as this one.
    let status = unsafe { decode(array, event, size, time, data) };
    if bad { -5 } else { status }
}
