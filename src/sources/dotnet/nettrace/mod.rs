//! Streams of runtime events: nettrace 4, 5 and 6 (docs/protocols/dotnet.md 3, 4).
//!
//! ```text
//!  bytes ─▶ reader (objects, blocks) ─┬─▶ metadata ─▶ EventType ─┐
//!                                     ├─▶ rows ─▶ losses ─▶ Event┼─▶ Visitor
//!                                     └─▶ stacks, points ────────┘
//!  Event.payload + EventType.fields ─▶ values
//! ```

mod blocks;
mod bytes;
mod error;
mod event;
mod fields;
mod header;
mod losses;
mod metadata;
mod reader;
mod rows;
mod six;
#[cfg(test)]
mod tests;
mod types;
mod values;

pub use error::{ErrorKind, NettraceError};
pub use event::{Event, Ips, Visitor};
pub use fields::{EventType, Field, FieldType};
pub use header::Header;
pub use losses::Losses;
pub use reader::Reader;
pub use values::{Elements, Value, Values};
