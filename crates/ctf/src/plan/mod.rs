//! Compiled plans: what a class's fields are, and the flat list of operations that reads them.
//!
//! ```text
//!  Type ──survey──▶ Nodes: every place with its name, kind, labels; references resolved to nodes
//!       ──emit────▶ Code: Block (align, one bounds check) Load Load Load … String … Switch … Repeat …
//!       ──run─────▶ Visitor: (node, value)
//! ```
//!
//! The survey gives numbers to places in the order of decoding and finds what lengths and selectors
//! look at; emit walks in the same order. While positions are known relative to one another, fields
//! share a block: one check that its bits are there, then loads at constant offsets. Strings,
//! sequences, variants and unknown alignments end a block.

mod choice;
mod cursor;
mod emit;
mod load;
mod node;
mod op;
mod place;
mod resolve;
mod run;
mod survey;

pub(super) use cursor::{Cursor, Fault, Mark, advance};
pub(super) use emit::{Code, Outer, Start, compile};
pub use load::Load;
pub(super) use node::Nodes;
pub use node::{Kind, Node, NodeId};
pub(super) use run::run;
pub(super) use survey::{Context, Target, survey};
