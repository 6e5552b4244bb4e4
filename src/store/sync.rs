//! The locks and atomics that order how peers come and go: those of the standard library, or of
//! shuttle, which explores thread interleavings (`tests/interleavings.rs`).

#[cfg(not(feature = "shuttle"))]
pub(super) use std::sync::{Mutex, MutexGuard, atomic};

#[cfg(feature = "shuttle")]
pub(super) use shuttle::sync::{Mutex, MutexGuard, atomic};
