//! No panic of ours crosses into C. What a callback of the PMDA raises passes through: an exception
//! of C++, the unwinding of pthread_exit(3). Nor does an allocation of ours end the process.

use std::alloc::{Layout, alloc};
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::ctypes::PM_ERR_GENERIC;

/// A panic becomes a status. `f` calls no callback of the PMDA.
pub(crate) fn guard(f: impl FnOnce() -> c_int) -> c_int {
    fenced(f).unwrap_or(PM_ERR_GENERIC)
}

/// As [`guard`] with other results; `None` after a panic.
pub(crate) fn fenced<R>(f: impl FnOnce() -> R) -> Option<R> {
    catch_unwind(AssertUnwindSafe(f)).ok()
}

/// `value` in memory of its own, where `Box::new` ends the process without memory: `None` then, and
/// `value` is not made.
pub(crate) fn try_box<V>(value: impl FnOnce() -> V) -> Option<Box<V>> {
    const { assert!(size_of::<V>() > 0) };
    // SAFETY: malloc(3) of a size that is not 0.
    let place = unsafe { alloc(Layout::new::<V>()) }.cast::<V>();
    if place.is_null() {
        return None;
    }
    // SAFETY: malloc(3) returned memory of this size and alignment, which nothing else uses.
    unsafe { place.write(value()) };
    // SAFETY: as above, from the allocator of a Box, and initialized.
    Some(unsafe { Box::from_raw(place) })
}

/// A call that calls back: only what a callback raises leaves it. A panic ends the process, since
/// catching would also catch what is not ours.
pub(crate) struct Fence {
    calling: bool,
}

impl Fence {
    /// Runs a whole call.
    #[inline(always)]
    pub(crate) fn around<R>(f: impl FnOnce(&mut Self) -> R) -> R {
        let mut fence = Self { calling: false };
        let done = f(&mut fence);
        std::mem::forget(fence);
        done
    }

    /// Calls the PMDA.
    #[inline(always)]
    pub(crate) fn call<R>(&mut self, callback: impl FnOnce() -> R) -> R {
        self.calling = true;
        let done = callback();
        self.calling = false;
        done
    }
}

impl Drop for Fence {
    #[cold]
    fn drop(&mut self) {
        if !self.calling {
            std::process::abort();
        }
    }
}
