//! Common Trace Format: CTF 1.8 (TSDL metadata) and CTF 2 (JSON metadata), decoded without a tree.
//!
//! ```text
//!  metadata bytes ─▶ metadata (plain, packets) ─▶ tsdl │ json ─▶ schema ─▶ plan (per class) ┐
//!  packet bytes ───▶ Packet: header, context ─▶ event headers ─▶ operations of the class ◀──┘─▶ Visitor
//! ```
//!
//! Knows neither LTTng nor PCP, does no I/O and has no clock. [`Trace`] takes metadata in any
//! pieces, also while packets are read. A [`Packet`] borrows its bytes and the trace and tells each
//! field to a [`Visitor`] as (node, value); nodes are numbered for each class when its metadata
//! comes, and [`Node`] says name, type and mappings. Nothing is allocated for an event. A bad
//! declaration costs itself, a bad packet the rest of itself.
//!
//! Specification: CTF 1.8.3 (diamon.org/ctf/v1.8.3), CTF2-SPEC-2.0; section numbers in the code are
//! of these.

#![allow(unexpected_cfgs, reason = "cargo fuzz sets `fuzzing`")]

mod bits;
mod byte_order;
mod error;
mod json;
pub mod limits;
mod metadata;
mod number_layout;
#[cfg(any(test, fuzzing))]
pub mod oracle;
mod packet;
mod plan;
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
pub use packet::{Counter, DiscardTracker, Discarded, Event, EventVisitor, Packet, PacketInfo};
pub use plan::{Kind, Node, NodeId};
pub use stream::{Merge, MergeVisitor, Next, Stream};
pub use string::decode as decode_string;
pub use trace::{EventPlan, MetadataErrors, StreamPlan, Trace};
pub use visit::{Packed, Visitor};
