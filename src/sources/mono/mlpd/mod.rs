//! Streams of Mono's log profiler, data versions 13 to 17 (docs/protocols/mono-mlpd.md).
//!
//! ```text
//!  bytes ─▶ decoder (header, buffers) ─▶ decode (one event), list (items of long events) ─▶ Visitor
//! ```
//!
//! The decoder knows neither names nor threads: it makes values absolute and hands them over in the
//! order of the stream. It retains nothing but the header; the incomplete item at the end of the
//! input stays there.

mod bytes;
mod decode;
mod decoder;
mod error;
mod event;
mod file;
mod header;
mod list;
#[cfg(test)]
mod tests;

pub use decoder::Decoder;
pub use error::{BadBuffer, MlpdError};
pub use event::{Act, Buffer, Counter, Event, Value, Visitor, clause, gc, monitor, sync};
pub use file::FileDecoder;
pub use header::{Header, MAGIC};
