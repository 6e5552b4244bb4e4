//! The sums of one process, from its events and counters (docs/protocols/dotnet.md 6).

mod counter;
mod occurrence;
mod process;

pub use counter::Counter;
pub use occurrence::{At, Gc, HeapChange, Occurrence};
pub use process::{Meter, Settings};
