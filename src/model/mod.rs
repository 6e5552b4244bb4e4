//! Plain data that both sides of the store speak: what a source says (`Update`) and what PCP is
//! told (`MetricDef`). Nothing here does I/O, reads a clock or knows a protocol.

mod access;
mod memory;
mod metric;
mod name;
mod network;
mod now;
mod update;

pub use access::{Allow, Rights};
pub use memory::{Charge, Memory, Purpose};
pub use metric::{Area, EventKind, EventLeaf, MetricDef, MetricSpec, Origin};
pub use name::component;
pub use network::Network;
pub use now::Now;
pub use pcp_event::{Pmid, Semantics, Stamp, Units, Value, ValueType};
pub use update::{
    Control, ControlVerb, EventParam, EventValue, Identity, ParamId, SampleValue, Update,
};
