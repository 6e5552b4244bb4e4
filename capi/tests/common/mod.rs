//! The functions of both libraries behind one table, so that a test can run the same calls through
//! either.
#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    non_snake_case,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    reason = "tests use what they need"
)]

pub mod model;
pub mod queue;

use std::ffi::{c_char, c_int, c_uint, c_void};

use libc::{timespec, timeval};
use pmdaevent::{ApplyFilter, AtomValue, Decode, ReleaseFilter};

type Array = extern "C" fn(c_int) -> c_int;
type Address = extern "C" fn(c_int) -> *mut c_void;
type AddParam = unsafe extern "C" fn(c_int, c_uint, c_int, *mut AtomValue) -> c_int;
type SetFilter = unsafe extern "C-unwind" fn(
    c_int,
    c_int,
    *mut c_void,
    Option<ApplyFilter>,
    Option<ReleaseFilter>,
) -> c_int;
type Gauge = unsafe extern "C" fn(c_int, *mut AtomValue) -> c_int;

macro_rules! api {
    ($($name:ident: $ty:ty;)*) => {
        /// One library's functions.
        pub struct Api {
            $(pub $name: $ty,)*
            /// Keeps the library, and so its functions, loaded.
            _library: Option<libloading::Library>,
        }

        impl Api {
            /// Ours.
            pub fn ours() -> Self {
                Self { $($name: pmdaevent::$name,)* _library: None }
            }

            /// libpcp_pmda's; stays loaded.
            pub fn theirs() -> Self {
                Self::load("libpcp_pmda.so.3")
            }

            /// Those of a library; it stays loaded.
            pub fn load(path: &str) -> Self {
                // SAFETY: the libraries' initialisers do nothing but set up their own data.
                let library = unsafe { libloading::Library::new(path) }.expect(path);
                Self {
                    $($name: {
                        // SAFETY: the types are those of pcp/pmda.h.
                        let symbol = unsafe { library.get::<$ty>(concat!(stringify!($name), "\0").as_bytes()) };
                        *symbol.expect(stringify!($name))
                    },)*
                    _library: Some(library),
                }
            }
        }
    };
}

api! {
    pmdaEventNewArray: extern "C" fn() -> c_int;
    pmdaEventNewHighResArray: extern "C" fn() -> c_int;
    pmdaEventResetArray: Array;
    pmdaEventResetHighResArray: Array;
    pmdaEventReleaseArray: Array;
    pmdaEventReleaseHighResArray: Array;
    pmdaEventAddRecord: unsafe extern "C" fn(c_int, *mut timeval, c_int) -> c_int;
    pmdaEventAddHighResRecord: unsafe extern "C" fn(c_int, *mut timespec, c_int) -> c_int;
    pmdaEventAddMissedRecord: unsafe extern "C" fn(c_int, *mut timeval, c_int) -> c_int;
    pmdaEventAddHighResMissedRecord: unsafe extern "C" fn(c_int, *mut timespec, c_int) -> c_int;
    pmdaEventAddParam: AddParam;
    pmdaEventAddHighResParam: AddParam;
    pmdaEventHighResAddParam: AddParam;
    pmdaEventGetAddr: Address;
    pmdaEventGetHighResAddr: Address;
    pmdaEventHighResGetAddr: Address;
    pmdaEventNewQueue: unsafe extern "C" fn(*const c_char, usize) -> c_int;
    pmdaEventNewActiveQueue: unsafe extern "C" fn(*const c_char, usize, c_uint) -> c_int;
    pmdaEventQueueHandle: unsafe extern "C" fn(*const c_char) -> c_int;
    pmdaEventQueueAppend: unsafe extern "C" fn(c_int, *mut c_void, usize, *mut timeval) -> c_int;
    pmdaEventQueueClients: Gauge;
    pmdaEventQueueCounter: Gauge;
    pmdaEventQueueBytes: Gauge;
    pmdaEventQueueMemory: Gauge;
    pmdaEventQueueRecords: unsafe extern "C-unwind" fn(c_int, *mut AtomValue, c_int, Option<Decode>, *mut c_void) -> c_int;
    pmdaEventQueueShutdown: extern "C-unwind" fn(c_int) -> c_int;
    pmdaEventNewClient: extern "C" fn(c_int) -> c_int;
    pmdaEventEndClient: extern "C-unwind" fn(c_int) -> c_int;
    pmdaEventClients: unsafe extern "C" fn(*mut AtomValue) -> c_int;
    pmdaEventSetAccess: extern "C" fn(c_int, c_int, c_int) -> c_int;
    pmdaEventSetFilter: SetFilter;
}

/// The bytes of a finished array.
pub fn bytes(array: *const c_void) -> Vec<u8> {
    assert!(!array.is_null());
    // SAFETY: a finished array begins with its length and type.
    let word = unsafe { array.cast::<u32>().read_unaligned() };
    // SAFETY: `ea_len` bytes belong to the array, which nobody changes meanwhile.
    unsafe { std::slice::from_raw_parts(array.cast::<u8>(), (word & 0x00ff_ffff) as usize) }
        .to_vec()
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("4 bytes"))
}

/// Sets the bytes between values, which C leaves as they were, to 0.
pub fn clear_padding(bytes: &mut [u8]) {
    let header = if word(bytes, 0) >> 24 == 9 { 16 } else { 24 };
    let mut at = 8;
    for _ in 0..word(bytes, 4) {
        let (flags, parameters) = (word(bytes, at + header - 8), word(bytes, at + header - 4));
        at += header;
        if flags & 1 << 31 != 0 {
            continue;
        }
        for _ in 0..parameters {
            let length = (word(bytes, at + 4) & 0x00ff_ffff) as usize;
            let end = at + 4 + length.next_multiple_of(4);
            bytes[at + 4 + length..end].fill(0);
            at = end;
        }
    }
    assert_eq!(at, bytes.len(), "the walk ends where the array ends");
}
