//! Plain data of both sides of the store: ids, values, descriptions for PCP (`MetricDef`), the state of
//! a peer. No I/O, no clock and no protocol here.

mod access;
mod condition;
mod event_table;
mod heap_size;
mod ids;
mod leaf;
mod memory;
mod metric;
mod name;
mod network;
mod now;
pub mod redact;
mod text;
mod trees;

pub use access::{Allow, Grants, Rights};
pub use condition::{Condition, Departure, Manner};
pub use event_table::{EventTable, TableCell};
pub use heap_size::HeapSize;
pub use ids::{
    ControlId, EventKindId, MetricItem, ParamItem, ROW_ITEMS, RowItem, STATIC_ITEMS, SourceId,
    StreamKind, TableId,
};
pub use leaf::{LEAVES, Leaf, LeafDef};
pub use memory::{Charge, Memory, Purpose};
pub use metric::{EventKind, EventLeaf, InDom, MetricDef, MetricSpec, Place, ValueSource};
pub use name::{STACK_NAME, component, is_invisible, is_path, visible};
pub use network::{Listening, Network, another_host};
pub use now::Now;
pub use pcp_event::{Pmid, Semantics, Stamp, Units, Value, ValueType};
pub use text::cut;
pub use trees::TreeRules;
