//! Compiled classes.

use std::collections::HashMap;
use std::sync::Arc;

use crate::plan::Layout;
use crate::plan::{Code, Node, NodeId, Nodes, Outer};
use crate::schema::{FieldClass, Scope};

/// Event record classes with ids below this are found in a table.
const DENSE: usize = 1 << 12;

/// A compiled scope shared by many events.
#[derive(Clone, Debug, Default)]
pub(crate) struct ScopePlan {
    pub(super) class: Option<(Scope, Arc<FieldClass>)>,
    /// Alignment of the start of the scope, in bits.
    pub(super) aligned: u64,
    pub(crate) nodes: Nodes,
    pub(crate) code: Code,
    /// Slots of the fields that later scopes refer to.
    pub(super) saved: HashMap<NodeId, u32>,
}

impl ScopePlan {
    pub(super) const fn outer(&self) -> Outer<'_> {
        Outer { nodes: &self.nodes, saved: &self.saved }
    }
}

/// An event record class, compiled.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EventPlan {
    /// Index among [`StreamPlan::events`]; never changes.
    pub index: usize,
    /// The id in event record headers.
    pub id: u64,
    /// Name, as `provider:event`.
    pub name: Arc<str>,
    /// The tracer's log level, 0 (emergency) to 14 (debug).
    pub log_level: Option<i64>,
    /// URI of the tracer's event model (EMF).
    pub emf_uri: Option<Arc<str>>,
    pub(crate) nodes: Nodes,
    pub(crate) code: Code,
}

impl EventPlan {
    /// The nodes of the common context, the specific context and the payload, by [`NodeId::index`].
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes.list
    }

    /// The nodes that are not compound fields, including elements of arrays.
    pub fn leaves(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        (0..).map(NodeId::new).zip(&self.nodes.list).filter(|(_, node)| node.kind.is_value())
    }

    /// The scopes and their root structures, in the order of decoding.
    #[must_use]
    pub fn scopes(&self) -> &[(Scope, NodeId)] {
        &self.nodes.roots
    }
}

/// A data stream class, compiled.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct StreamPlan {
    /// The id in packet headers.
    pub id: u64,
    /// Index of the default clock among [`Schema::clocks`](crate::schema::Schema::clocks).
    pub clock: Option<usize>,
    pub(crate) context: ScopePlan,
    pub(crate) header: ScopePlan,
    pub(crate) layout: Layout,
    pub(super) events: Vec<EventPlan>,
    /// As [`DataStreamClass::implicit`](crate::schema::DataStreamClass::implicit).
    pub(super) implicit: bool,
    pub(super) dense: Vec<Option<u32>>,
    pub(super) sparse: HashMap<u64, u32>,
}

impl StreamPlan {
    /// The event record classes, in the order of the metadata.
    #[must_use]
    pub fn events(&self) -> &[EventPlan] {
        &self.events
    }

    /// The nodes of the packet context, by [`NodeId::index`].
    #[must_use]
    pub fn context_nodes(&self) -> &[Node] {
        &self.context.nodes.list
    }

    /// The scope of the packet context and its root structure; empty without a packet context.
    #[must_use]
    pub fn context_scopes(&self) -> &[(Scope, NodeId)] {
        &self.context.nodes.roots
    }

    /// The event record class with an id.
    #[must_use]
    #[inline]
    pub fn event(&self, id: u64) -> Option<&EventPlan> {
        let index = match usize::try_from(id).ok().and_then(|id| self.dense.get(id)) {
            Some(index) => (*index)?,
            None => self.sparse(id)?,
        };
        self.events.get(index as usize)
    }

    #[cold]
    fn sparse(&self, id: u64) -> Option<u32> {
        self.sparse.get(&id).copied()
    }

    /// The only class, for headers without a class id.
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
