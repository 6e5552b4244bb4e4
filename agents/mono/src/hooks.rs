//! The functions that Mono calls. Each catches panics of the safe function that it calls.

#![allow(unsafe_code)] // C calls these, and one of them is found by its unmangled name

use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::agent;
use crate::mono::{CounterPtr, Hooks, MonoCounter};
use crate::registry;

const HOOKS: Hooks = Hooks { initialized, shutdown_begin, existing, later };

/// Runs `body`; a panic in it ends here instead of in C.
fn fence(body: impl FnOnce()) {
    // Unwind-safe: the module's state is behind mutexes whose users ignore poison.
    let _ = catch_unwind(AssertUnwindSafe(body));
}

/// Entry point of `libmono-profiler-apm.so`: Mono calls it once for `--profile=apm…`, before the
/// runtime is initialized, with the whole text after `--profile=` (docs/protocols/mono-counters.md
/// section 7).
///
/// # Safety
///
/// `desc` is null or a NUL-terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mono_profiler_init_apm(desc: *const c_char) {
    fence(|| {
        if desc.is_null() {
            return agent::install("", &HOOKS);
        }
        // SAFETY: the caller's contract.
        let desc = unsafe { CStr::from_ptr(desc) };
        agent::install(&desc.to_string_lossy(), &HOOKS);
    });
}

/// `runtime_initialized`: counters exist from now on.
extern "C" fn initialized(_profiler: *mut c_void) {
    fence(agent::start);
}

/// `runtime_shutdown_begin`: counters are about to be freed.
extern "C" fn shutdown_begin(_profiler: *mut c_void) {
    fence(agent::stop);
}

/// One counter of `mono_counters_foreach`; the result requests the next.
extern "C" fn existing(counter: *mut MonoCounter, _data: *mut c_void) -> c_int {
    fence(|| report(counter));
    1
}

/// A counter registered later. In a forked child the list may be locked by a thread that does not
/// exist there.
extern "C" fn later(counter: *mut MonoCounter) {
    fence(|| {
        if !agent::is_forked() {
            report(counter);
        }
    });
}

fn report(counter: *mut MonoCounter) {
    if let Some(counter) = CounterPtr::new(counter) {
        registry::report(counter);
    }
}
