//! Compiled plans: the nodes of a class, and the flat list of operations that decodes them.
//!
//! ```text
//!  FieldClass ──survey──▶ Nodes: every place with its name, kind, mappings; references resolved to nodes
//!       ──emit────▶ Code: Block (align, one bounds check) … Text … Switch … Repeat …
//!       ──run─────▶ Visitor: (node, value)
//! ```
//!
//! The survey numbers nodes in the order of decoding and finds the fields that lengths and
//! selectors refer to; emit walks in the same order. While positions are known relative to one
//! another, fields share a block: one check that its bits are there, then loads at constant
//! offsets. Strings, sequences, variants and unknown alignments end a block. The operations of a class
//! whose places follow from its start at a byte, as of most, are kept a second time as lists of steps:
//! integers at bytes and bits, structures and short arrays one after the other; elements of other
//! arrays and options of variants in lists of their own.

mod choice;
mod class;
mod cursor;
mod emit;
mod header;
mod node;
mod op;
mod place;
mod resolve;
mod run;
mod step;
mod survey;

pub(crate) use cursor::{Checkpoint, Cursor, DecodeError, advance};
pub(crate) use emit::{Code, Outer, Start, compile};
pub(crate) use header::{IdVisitor, Layout};
pub use node::{Kind, Node, NodeId};
pub(crate) use node::{Nodes, Target};
pub(crate) use resolve::Context;
pub(crate) use run::run;
pub(crate) use survey::survey;
