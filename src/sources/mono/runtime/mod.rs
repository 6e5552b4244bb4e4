//! What the events of a log profiler mean: garbage collections, exceptions, locks, threads,
//! allocations and the heap of one process (docs/protocols/mono-mlpd.md 6).
//!
//! ```text
//!  mlpd::Event ─▶ reader ─┬▶ gc, exceptions, locks, alloc, heap, threads, handles ─┐
//!                         └▶ records (gc, exception, contention) ──────────────────┴▶ peer
//! ```
//!
//! A profiler writes the buffers of all threads once a second, not in the order of time, and a
//! mark behind them. Sums count at once; whatever needs a name or the order of time waits for the
//! mark. [`Runtime::report`] hands both over.

mod alloc;
mod exceptions;
mod gc;
mod handles;
mod heap;
mod locks;
mod names;
mod objects;
mod options;
mod program;
mod reader;
mod records;
mod rows;
mod threads;
mod totals;

pub(crate) use names::Names;
pub(crate) use reader::Runtime;
pub(crate) use totals::jit_item;

#[cfg(test)]
mod tests;
