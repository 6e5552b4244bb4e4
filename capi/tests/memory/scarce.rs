//! Memory whose allocations fail when a test wants it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ffi::c_int;
use std::ptr::null_mut;

pub(crate) const ENOMEM: c_int = -12;

/// The system's memory, without that of this thread's failing allocations.
struct Scarce;

thread_local! {
    /// Allocations of this thread until one fails; none fails while negative.
    static LEFT: Cell<isize> = const { Cell::new(-1) };
    /// Whether those behind it fail too.
    static ALL: Cell<bool> = const { Cell::new(false) };
    static FAILED: Cell<bool> = const { Cell::new(false) };
}

fn fails() -> bool {
    let left = LEFT.get();
    if left != 0 || !ALL.get() {
        LEFT.set((left - 1).max(-1));
    }
    if left == 0 {
        FAILED.set(true);
    }
    left == 0
}

// SAFETY: the system's, or null.
unsafe impl GlobalAlloc for Scarce {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if fails() {
            return null_mut();
        }
        // SAFETY: as this one.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as this one.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static MEMORY: Scarce = Scarce;

/// Runs a call whose allocation `nth` fails, and the following ones if `all`. Returns its result,
/// and whether one has failed.
pub(crate) fn with<R>(nth: isize, all: bool, call: impl FnOnce() -> R) -> (R, bool) {
    ALL.set(all);
    FAILED.set(false);
    LEFT.set(nth);
    let done = call();
    LEFT.set(-1);
    (done, FAILED.get())
}

/// Runs a call without any memory.
pub(crate) fn without<R>(call: impl FnOnce() -> R) -> R {
    with(0, true, call).0
}

/// In a state that `make` makes, each allocation of `call` fails. It is refused then, `seen` sees
/// no difference, and the same call succeeds with memory. Returns the number of allocations that
/// were refused.
pub(crate) fn each<S, V: PartialEq + std::fmt::Debug>(
    make: impl Fn() -> S,
    call: impl Fn(&S) -> c_int,
    seen: impl Fn(&S) -> V,
    end: impl Fn(S),
) -> usize {
    let mut refused = 0;
    for all in [false, true] {
        for nth in 0.. {
            let state = make();
            let before = seen(&state);
            let (status, came) = with(nth, all, || call(&state));
            if !came {
                assert!(status >= 0, "with memory: {status}");
                end(state);
                break;
            }
            assert_eq!((nth, all, status), (nth, all, ENOMEM));
            assert_eq!(seen(&state), before, "allocation {nth}, all: {all}");
            let again = call(&state);
            assert!(again >= 0, "allocation {nth}, again: {again}");
            end(state);
            refused += 1;
        }
    }
    refused
}
