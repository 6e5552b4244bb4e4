//! A place for one array. Its lock costs nothing while the process has one thread, as most PMDAs
//! do.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A value with its own lock.
#[derive(Debug)]
pub(crate) struct Slot<V> {
    lock: Mutex<()>,
    fixed: AtomicBool,
    value: UnsafeCell<Option<V>>,
}

// SAFETY: the value is only reached through `with`, which lets one thread in at a time.
unsafe impl<V: Send> Sync for Slot<V> {}

#[cfg(target_env = "gnu")]
fn single_threaded() -> bool {
    unsafe extern "C" {
        /// glibc ≥ 2.32, sys/single_threaded.h: non-zero only while the process has one thread.
        static __libc_single_threaded: std::ffi::c_char;
    }
    // SAFETY: glibc defines it; while other threads exist it is 0 and stays 0, so a plain read is
    // enough. The read is volatile since the value changes without the compiler's knowledge.
    unsafe { (&raw const __libc_single_threaded).read_volatile() != 0 }
}

#[cfg(not(target_env = "gnu"))]
fn single_threaded() -> bool {
    false
}

impl<V> Slot<V> {
    pub(crate) const fn empty() -> Self {
        Self { lock: Mutex::new(()), fixed: AtomicBool::new(false), value: UnsafeCell::new(None) }
    }

    /// Sets whether the value keeps its kind.
    pub(crate) fn fix(&self, fixed: bool) {
        self.fixed.store(fixed, Ordering::Relaxed);
    }

    /// Whether the value keeps its kind.
    pub(crate) fn is_fixed(&self) -> bool {
        self.fixed.load(Ordering::Relaxed)
    }

    /// Runs `f` on the value. `f` is our code: it neither calls back into C nor starts a thread.
    #[inline(always)]
    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut Option<V>) -> R) -> R {
        self.with_slot(|_, value| f(value))
    }

    /// As [`Self::with`], and tells `f` which slot it is: it need not keep that in a register.
    #[inline(always)]
    pub(crate) fn with_slot<R>(&self, f: impl FnOnce(&Self, &mut Option<V>) -> R) -> R {
        if single_threaded() {
            // SAFETY: no other thread exists and none can begin before `f` returns; `f` does not
            // come back here for this slot.
            return f(self, unsafe { &mut *self.value.get() });
        }
        self.locked(f)
    }

    /// As [`Self::with`], for work that is long: it is compiled once, not for either path.
    #[inline(always)]
    pub(crate) fn with_long<R>(&self, f: impl FnOnce(&mut Option<V>) -> R) -> R {
        let held = if single_threaded() { None } else { Some(self.lock()) };
        // SAFETY: no other thread exists and none can begin before `f` returns, or the lock is
        // held; `f` does not come back here for this slot.
        let done = f(unsafe { &mut *self.value.get() });
        drop(held);
        done
    }

    #[cold]
    #[inline(never)]
    fn lock(&self) -> MutexGuard<'_, ()> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A separate function, so that the path without a lock does not save the lock's registers.
    #[inline(never)]
    fn locked<R>(&self, f: impl FnOnce(&Self, &mut Option<V>) -> R) -> R {
        let _held = self.lock();
        // SAFETY: the lock is held; `f` does not come back here for this slot.
        f(self, unsafe { &mut *self.value.get() })
    }
}
