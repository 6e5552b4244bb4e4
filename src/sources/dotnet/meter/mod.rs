//! The sums of one process, from its events and counters (docs/protocols/dotnet.md 6).
//!
//! ```text
//!  Decoded, At ─▶ process ─▶ sums ─▶ gc ─▶ pauses, heap     collections and pauses matched
//!                     │        ├───▶ types, locks, jit, waits
//!  Counter ───────────┴──────▶ system                       System.Runtime
//! ```

mod agreed;
mod counter;
mod gc;
mod heap;
mod jit;
mod locks;
mod occurrence;
mod pauses;
mod process;
mod sums;
mod system;
mod types;
mod waits;

pub use counter::Counter;
pub use occurrence::{At, Gc, HeapChange, Occurrence};
pub use process::{Meter, Settings};

#[cfg(test)]
mod tests;
