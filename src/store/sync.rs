//! The primitives that decide in which order peers come and go: the standard library's, or those of
//! shuttle, which tries the orders in which threads may run (`tests/interleavings.rs`).

#[cfg(not(feature = "shuttle"))]
pub(super) use std::sync::{Mutex, MutexGuard, atomic};

#[cfg(feature = "shuttle")]
pub(super) use shuttle::sync::{Mutex, MutexGuard, atomic};
