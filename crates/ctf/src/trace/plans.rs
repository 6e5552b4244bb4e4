//! Classes, ready to decode.

use std::collections::HashMap;
use std::sync::Arc;

use crate::plan::Layout;
use crate::plan::{Code, Node, NodeId, Nodes, Outer};
use crate::schema::{FieldClass, Scope};

/// Event ids up to here are found by a table.
const DENSE: usize = 1 << 12;

/// A scope that many events share.
#[derive(Clone, Debug, Default)]
pub(crate) struct ScopePlan {
    pub(super) class: Option<(Scope, Arc<FieldClass>)>,
    /// Alignment of where it starts, bits.
    pub(super) aligned: u64,
    pub(crate) nodes: Nodes,
    pub(crate) code: Code,
    /// Slots of what other scopes look at.
    pub(super) saved: HashMap<NodeId, u32>,
}

impl ScopePlan {
    pub(super) const fn outer(&self) -> Outer<'_> {
        Outer { nodes: &self.nodes, saved: &self.saved }
    }
}

/// A class of events, ready to decode.
#[derive(Clone, Debug)]
pub struct EventPlan {
    /// Position among the stream class's events; never changes.
    pub index: usize,
    /// Number in event headers.
    pub id: u64,
    /// Name: `provider:event`.
    pub name: Arc<str>,
    /// 0 (emergency) to 14 (debug), as lttng counts.
    pub log_level: Option<i64>,
    /// URI of its model.
    pub emf_uri: Option<Arc<str>>,
    pub(crate) nodes: Nodes,
    pub(crate) code: Code,
}

impl EventPlan {
    /// All places of its contexts and fields; their positions are what a visitor is told.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes.list
    }

    /// Those with values, with their numbers. Elements of arrays are among them.
    pub fn leaves(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        (0..).map(NodeId::new).zip(&self.nodes.list).filter(|(_, node)| node.kind.is_value())
    }

    /// Its scopes and their structures, in the order of decoding.
    #[must_use]
    pub fn scopes(&self) -> &[(Scope, NodeId)] {
        &self.nodes.roots
    }
}

/// A class of streams, ready to decode.
#[derive(Clone, Debug, Default)]
pub struct StreamPlan {
    /// Number in packet headers.
    pub id: u64,
    /// Its clock among [`Schema::clocks`](crate::schema::Schema::clocks), if it has one.
    pub clock: Option<usize>,
    pub(crate) context: ScopePlan,
    pub(crate) header: ScopePlan,
    pub(crate) layout: Layout,
    pub(super) events: Vec<EventPlan>,
    /// As of the class.
    pub(super) implicit: bool,
    pub(super) dense: Vec<Option<u32>>,
    pub(super) sparse: HashMap<u64, u32>,
}

impl StreamPlan {
    /// Its classes of events, in the order of the metadata.
    #[must_use]
    pub fn events(&self) -> &[EventPlan] {
        &self.events
    }

    /// Places of the packet context; their positions are what a visitor of it is told.
    #[must_use]
    pub fn context_nodes(&self) -> &[Node] {
        &self.context.nodes.list
    }

    /// The scope of the packet context, if there is one.
    #[must_use]
    pub fn context_scopes(&self) -> &[(Scope, NodeId)] {
        &self.context.nodes.roots
    }

    /// The class of an id.
    #[must_use]
    #[inline]
    pub fn event(&self, id: u64) -> Option<&EventPlan> {
        let index = match usize::try_from(id).ok().and_then(|id| self.dense.get(id)) {
            Some(index) => (*index)?,
            None => *self.sparse.get(&id)?,
        };
        self.events.get(index as usize)
    }

    /// The only class, when headers do not say which.
    pub(crate) fn only_event(&self) -> Option<&EventPlan> {
        if let [only] = self.events.as_slice() { Some(only) } else { None }
    }

    pub(super) fn add(&mut self, plan: EventPlan) {
        let index = u32::try_from(plan.index).unwrap_or(u32::MAX);
        match usize::try_from(plan.id) {
            Ok(id) if id < DENSE => {
                if self.dense.len() <= id {
                    self.dense.resize(id + 1, None);
                }
                if let Some(slot) = self.dense.get_mut(id) {
                    *slot = Some(index);
                }
            }
            _ => {
                self.sparse.insert(plan.id, index);
            }
        }
        self.events.push(plan);
    }
}
