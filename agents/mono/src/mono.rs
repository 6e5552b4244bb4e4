//! The runtime's C functions: the only place that calls Mono.
//!
//! The module is not linked against a Mono library: the executable or libmonosgen that loaded it
//! has the functions (docs/protocols/mono-counters.md section 7), so they are looked up by name.
//! Three layers: raw signatures → [`Api`], a table that exists only if all of them were found →
//! [`Gate`], the only access to counters, which is shut for good when the runtime begins to end.

#![allow(unsafe_code)] // a C boundary: the functions of mono-counters.h and profiler.h

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem;
use std::ptr::{self, NonNull};
use std::sync::{Mutex, MutexGuard, PoisonError};

use mono_counters::message::LONGEST_NAME;

use crate::catalogue::Counter;
use crate::session::LONGEST_VALUE;

/// Libraries of a runtime that was loaded with `RTLD_LOCAL`, which hides them from `RTLD_DEFAULT`.
const LIBRARIES: [&CStr; 3] =
    [c"libmonosgen-2.0.so.1", c"libmonosgen-2.0.so", c"libmonoboehm-2.0.so.1"];

/// `MonoCounter`, an opaque type.
#[repr(C)]
pub(crate) struct MonoCounter {
    opaque: [u8; 0],
}

/// A counter of the runtime; to be used only inside an open [`Gate`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct CounterPtr(NonNull<MonoCounter>);

// SAFETY: counters belong to the process, not to a thread (the runtime samples them from its log
// profiler's helper thread), and a pointer is only followed inside an open gate.
unsafe impl Send for CounterPtr {}

impl CounterPtr {
    /// A counter from a callback of the runtime; `None` for null.
    pub(crate) fn new(raw: *mut MonoCounter) -> Option<Self> {
        NonNull::new(raw).map(Self)
    }
}

/// `CountersEnumCallback`: nonzero to continue.
pub(crate) type OnCounter = extern "C" fn(*mut MonoCounter, *mut c_void) -> c_int;
/// `MonoCounterRegisterCallback`.
pub(crate) type OnRegister = extern "C" fn(*mut MonoCounter);
/// The callbacks of profiler.h whose only argument is the profiler.
pub(crate) type OnEvent = extern "C" fn(*mut c_void);

/// Declares the table and its look-up in one place.
macro_rules! api {
    ($($field:ident: $symbol:literal $signature:ty,)+) => {
        /// The functions this module needs, all present.
        #[derive(Debug, Clone, Copy)]
        pub(crate) struct Api {
            $($field: $signature,)+
        }

        impl Api {
            /// Looks up every function; the error lists the ones missing in this runtime.
            pub(crate) fn find() -> Result<Self, Vec<&'static str>> {
                let mut missing = Vec::new();
                $(let $field = find($symbol);
                if $field.is_null() {
                    missing.extend($symbol.to_str());
                })+
                if !missing.is_empty() {
                    return Err(missing);
                }
                Ok(Self {
                    $($field: {
                        // SAFETY: non-null, and Mono exports the symbol with this C signature.
                        unsafe { mem::transmute::<*mut c_void, $signature>($field) }
                    },)+
                })
            }
        }
    };
}

api! {
    foreach: c"mono_counters_foreach" unsafe extern "C" fn(OnCounter, *mut c_void),
    on_register: c"mono_counters_on_register" unsafe extern "C" fn(OnRegister),
    sample: c"mono_counters_sample"
        unsafe extern "C" fn(*mut MonoCounter, *mut c_void, c_int) -> c_int,
    get_name: c"mono_counter_get_name" unsafe extern "C" fn(*mut MonoCounter) -> *const c_char,
    get_section: c"mono_counter_get_section" unsafe extern "C" fn(*mut MonoCounter) -> c_int,
    get_type: c"mono_counter_get_type" unsafe extern "C" fn(*mut MonoCounter) -> c_int,
    get_unit: c"mono_counter_get_unit" unsafe extern "C" fn(*mut MonoCounter) -> c_int,
    get_variance: c"mono_counter_get_variance" unsafe extern "C" fn(*mut MonoCounter) -> c_int,
    profiler_create: c"mono_profiler_create" unsafe extern "C" fn(*mut c_void) -> *mut c_void,
    set_initialized: c"mono_profiler_set_runtime_initialized_callback"
        unsafe extern "C" fn(*mut c_void, OnEvent),
    set_shutdown_begin: c"mono_profiler_set_runtime_shutdown_begin_callback"
        unsafe extern "C" fn(*mut c_void, OnEvent),
}

/// A symbol of the process, or of a Mono library hidden in it; null if not found.
fn find(symbol: &CStr) -> *mut c_void {
    // SAFETY: dlsym takes any NUL-terminated name.
    let mut found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, symbol.as_ptr()) };
    for library in LIBRARIES {
        if !found.is_null() {
            break;
        }
        // SAFETY: with RTLD_NOLOAD dlopen runs no code, it only finds what is loaded already.
        let handle = unsafe { libc::dlopen(library.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY) };
        if !handle.is_null() {
            // SAFETY: a handle just returned by dlopen; never closed, the runtime outlives us.
            found = unsafe { libc::dlsym(handle, symbol.as_ptr()) };
        }
    }
    found
}

/// The functions that the runtime calls.
pub(crate) struct Hooks {
    /// The runtime is initialized.
    pub(crate) initialized: OnEvent,
    /// The runtime begins to end.
    pub(crate) shutdown_begin: OnEvent,
    /// A counter that exists. Runs under the runtime's counters mutex and must not call Mono.
    pub(crate) existing: OnCounter,
    /// A counter that is registered later. Runs under the same mutex.
    pub(crate) later: OnRegister,
}

impl Api {
    /// Registers this module as a profiler of the runtime, with its two callbacks.
    pub(crate) fn install(&self, hooks: &Hooks) {
        /// `MonoProfiler` is opaque to Mono; our state is in statics, so an address is enough.
        static PROFILER: u8 = 0;
        let profiler = (&raw const PROFILER).cast_mut().cast();
        // SAFETY: called from mono_profiler_init_apm as profiler.h asks; Mono hands the pointer
        // back and never follows it.
        let handle = unsafe { (self.profiler_create)(profiler) };
        // SAFETY: the handle just made; the callback has the signature of runtime_initialized.
        unsafe { (self.set_initialized)(handle, hooks.initialized) };
        // SAFETY: the same handle; the callback has the signature of runtime_shutdown_begin.
        unsafe { (self.set_shutdown_begin)(handle, hooks.shutdown_begin) };
    }

    /// Makes the runtime report every existing and future counter. A counter registered meanwhile
    /// is reported by both hooks.
    pub(crate) fn report_counters(&self, hooks: &Hooks) {
        // SAFETY: the runtime is initialized; the callback is a static function.
        unsafe { (self.on_register)(hooks.later) };
        // SAFETY: as above; the user data is handed through and not used.
        unsafe { (self.foreach)(hooks.existing, ptr::null_mut()) };
    }
}

/// Open from the start, and shut for good when the runtime begins to end, since it then frees its
/// counters (docs/protocols/mono-counters.md section 7).
#[derive(Debug)]
pub(crate) struct Gate {
    api: Api,
    open: Mutex<bool>,
}

impl Gate {
    /// An open gate.
    pub(crate) fn new(api: Api) -> Self {
        Self { api, open: Mutex::new(true) }
    }

    /// A passage, which delays shutting the gate until it is dropped; `None` if the gate is shut.
    pub(crate) fn enter(&self) -> Option<Passage<'_>> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.then_some(Passage { api: &self.api, _open: open })
    }

    /// Shuts the gate. Waits for a passage in use (microseconds: one counter).
    pub(crate) fn shut(&self) {
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = false;
    }
}

/// Proof that the counters are alive.
pub(crate) struct Passage<'gate> {
    api: &'gate Api,
    _open: MutexGuard<'gate, bool>,
}

impl Passage<'_> {
    /// Name and numbers of a counter; `None` if its name is missing or too long for the protocol.
    pub(crate) fn describe(&self, counter: CounterPtr) -> Option<Counter> {
        let raw = counter.0.as_ptr();
        let number = |get: unsafe extern "C" fn(*mut MonoCounter) -> c_int| {
            // SAFETY: one of the mono_counter_get_… functions on a counter that the open gate
            // keeps alive.
            unsafe { get(raw) }.cast_unsigned()
        };
        // SAFETY: as above.
        let name = unsafe { (self.api.get_name)(raw) };
        if name.is_null() {
            return None;
        }
        // SAFETY: the name is a NUL-terminated string that lives as long as the counter.
        let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
        (1..=LONGEST_NAME).contains(&name.len()).then(|| Counter {
            section: number(self.api.get_section),
            name: name.into_owned(),
            kind: number(self.api.get_type),
            unit: number(self.api.get_unit),
            variance: number(self.api.get_variance),
        })
    }

    /// Copies the counter's value. Returns its bytes, 0 without a value or if it is too long.
    pub(crate) fn sample(&self, counter: CounterPtr, into: &mut [u8; LONGEST_VALUE]) -> usize {
        let room = c_int::try_from(into.len()).unwrap_or(0);
        // SAFETY: the gate keeps the counter alive, and `into` has `room` bytes, of which
        // mono_counters_sample writes no more.
        let size = unsafe { (self.api.sample)(counter.0.as_ptr(), into.as_mut_ptr().cast(), room) };
        usize::try_from(size).unwrap_or(0)
    }
}
