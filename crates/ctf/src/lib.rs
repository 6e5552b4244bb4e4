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
//! comes, and [`Node`] says name, type and labels. Nothing is allocated for an event. A bad
//! declaration costs itself, a bad packet the rest of itself.
//!
//! Specification: CTF 1.8.3 (diamon.org/ctf/v1.8.3), CTF2-SPEC-2.0; section numbers in the code are
//! of these.

#![allow(unexpected_cfgs, reason = "cargo fuzz sets `fuzzing`")]

mod bits;
mod cursor;
mod error;
mod header;
mod json;
pub mod limits;
mod loss;
pub mod merge;
mod metadata;
#[cfg(any(test, fuzzing))]
pub mod oracle;
mod order;
mod packet;
mod plan;
pub mod schema;
pub mod show;
mod stream;
mod text;
mod trace;
mod tsdl;
pub mod uuid;
mod visit;

pub use error::{MetadataError, PacketError, Wrong};
pub use loss::{Counter, Losses, Lost};
pub use order::Order;
pub use packet::{Event, Events, Packet, PacketInfo};
pub use plan::{Kind, Load, Node, NodeId};
pub use stream::{Next, Stream};
pub use text::decode as decode_text;
pub use trace::{EventPlan, StreamPlan, Trace};
pub use visit::{Packed, Visitor};
