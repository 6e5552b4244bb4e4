//! No panic of ours crosses into C. What a callback of the PMDA raises passes through: an exception
//! of C++, the unwinding of pthread_exit(3).

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
