//! A decoder of the Common Trace Format: CTF 1.8 (TSDL metadata) and CTF 2 (JSON metadata).
//!
//! ```text
//!  metadata bytes ─▶ metadata (plain, packets) ─▶ tsdl │ json ─▶ schema ─▶ plan (per class) ┐
//!  packet bytes ───▶ Packet: header, context ─▶ event headers ─▶ operations of the class ◀──┘─▶ Visitor
//! ```
//!
//! # Trace directories
//!
//! `fs::Session` (feature `fs`, on by default) reads the events of a trace directory in time order,
//! see the module `fs`.
//!
//! # Feeding metadata and packets
//!
//! Without `fs` the crate does no I/O and has no clock. [`Trace::metadata`] parses metadata in
//! pieces of any size, also while packets are decoded. [`Packet::size`] returns the size of the
//! next packet, [`Packet::open`] decodes its header and context, and [`Packet::read`] or
//! [`Packet::peek`] and [`Packet::visit`] its events. A [`Visitor`] receives each field as a
//! [`NodeId`] and a value; the [`Node`] of that id has the name, the kind and the mappings of the
//! field. Nothing is allocated for an event.
//!
//! ```
//! use ctf::show::TextFormatter;
//! use ctf::{Packet, Trace};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let trace = Trace::from_metadata(include_bytes!("../examples/trace/metadata"))?;
//! let mut stream: &[u8] = include_bytes!("../examples/trace/stream_0");
//! let (mut clock, mut text, mut lines) = (0, TextFormatter::default(), Vec::new());
//! while !stream.is_empty() {
//!     // A socket would be read until there are this many bytes.
//!     let size = Packet::size(&trace, stream)?.map_or(stream.len(), |size| size as usize);
//!     let (bytes, rest) = stream.split_at(size);
//!     let mut packet = Packet::open(&trace, bytes, clock)?;
//!     while let Some(event) = packet.peek()? {
//!         text.begin(event.class.nodes(), event.class.scopes(), false);
//!         packet.visit(&mut text)?;
//!         text.end();
//!         lines.push(format!("{}: {}", event.class.name, std::mem::take(&mut text.line)));
//!     }
//!     (stream, clock) = (rest, packet.clock());
//! }
//! assert_eq!(lines[1], "shop:closed: { orders = 1 }");
//! # Ok(())
//! # }
//! ```
//!
//! # Errors
//!
//! A faulty declaration is dropped ([`MetadataError`]); after an error in a packet the rest of that
//! packet is dropped ([`PacketError`]). Sizes and counts in metadata and packets are checked
//! against [`limits`] before anything is allocated for them.
//!
//! # Specification
//!
//! CTF 1.8.3 (diamon.org/ctf/v1.8.3) and CTF2-SPEC-2.0; the code cites their section numbers. The
//! crate depends on no tracer and not on PCP.

#![warn(missing_docs)]

mod bits;
mod byte_order;
mod error;
#[cfg(feature = "fs")]
pub mod fs;
mod json;
pub mod limits;
mod metadata;
mod number_layout;
#[cfg(any(test, fuzzing))]
pub mod oracle;
mod packet;
mod plan;
#[cfg(feature = "fs")]
mod record;
pub mod schema;
pub mod show;
mod stream;
mod string;
mod trace;
mod tsdl;
mod uuid;
mod visit;

pub use byte_order::ByteOrder;
pub use error::{MetadataError, PacketError, Violation};
pub use packet::{
    Counter, DiscardTracker, Discarded, Event, EventVisitor, Mark, Packet, PacketInfo,
};
pub use plan::{Kind, Node, NodeId};
#[cfg(feature = "fs")]
pub use record::{Elements, Fields, Record, Value};
pub use stream::{Merge, MergeVisitor, Next, Stream};
pub use string::decode as decode_string;
pub use trace::{EventPlan, MetadataErrors, StreamPlan, Trace};
pub use visit::{Packed, Visitor};

/// Compiles and runs the examples of the README.
#[cfg(all(doctest, feature = "fs"))]
#[doc = include_str!("../README.md")]
pub struct Readme;
