//! Nodes: the fields of a class, in the order of decoding.

use std::collections::HashMap;
use std::sync::Arc;

use crate::schema::{DisplayBase, Encoding, Mappings, Roles, Scope};

/// Index of a [`Node`] among those of its event record class (or packet context), in the order of
/// decoding. The root structure of a scope is a node too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(u32);

impl NodeId {
    /// The node at this index of [`EventPlan::nodes`](crate::EventPlan::nodes) or
    /// [`StreamPlan::context_nodes`](crate::StreamPlan::context_nodes).
    #[must_use]
    #[inline]
    pub const fn new(index: u32) -> Self {
        Self(index)
    }

    /// The index in a slice.
    #[must_use]
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The node after this one: the element of an array, the field of an optional, the first option
    /// of a variant, the first member of a structure.
    #[must_use]
    #[inline]
    pub const fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }
}

/// The field that a length or a selector refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A node of the same code.
    Here(NodeId),
    /// A node of the packet header, the packet context or the event record header: the index of the
    /// scope among the earlier ones, and the node.
    Outer(usize, NodeId),
    /// A number from the environment.
    Constant(u64),
}

/// The kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An unsigned integer, with its length in bits; 0: variable length.
    Unsigned(u32),
    /// A signed integer, with its length in bits; 0: variable length.
    Signed(u32),
    /// A boolean, with its length in bits; reported as 0 or another number.
    Boolean(u32),
    /// A bit array or bit map, with its length in bits; reported as an unsigned number. Mappings
    /// name its bits.
    BitMap(u32),
    /// A floating-point number of 16, 32 or 64 bits.
    Float(u32),
    /// A string.
    String(Encoding),
    /// A BLOB.
    Blob,
    /// A structure.
    Structure,
    /// An array, with its number of elements if static; the element is the next node.
    Array(Option<u64>),
    /// A variant; the options are nodes after it.
    Variant,
    /// An optional; the field is the next node.
    Optional,
}

impl Kind {
    /// Whether the node has a value and no nodes within.
    #[must_use]
    pub const fn is_value(self) -> bool {
        !matches!(self, Self::Structure | Self::Array(_) | Self::Variant | Self::Optional)
    }
}

/// A field of a class: a member of a structure, the element of an array, an option of a variant, or
/// the root structure of a scope.
#[derive(Clone, Debug)]
pub struct Node {
    /// The scope of the field.
    pub scope: Scope,
    /// The enclosing node; `None` for the root structure of a scope.
    pub parent: Option<NodeId>,
    /// Name for display; empty for an element and for the root structure of a scope.
    pub name: Arc<str>,
    /// Names from the scope on: `a.b`, for elements `a[]`, for members of elements `a[].b`.
    pub path: Arc<str>,
    /// The kind of the field.
    pub kind: Kind,
    /// Preferred display base of an integer.
    pub base: DisplayBase,
    /// Mappings of an integer: names of its values.
    pub mappings: Option<Arc<Mappings>>,
    /// The decoder has used the field, and it has no further information for a reader: sizes, time
    /// stamps, ids. Visitors receive it nevertheless; babeltrace2 does not print it.
    pub hidden: bool,
    pub(crate) roles: Roles,
    /// Minimum number of bits of a value.
    pub(crate) least: u64,
}

/// The nodes of one or more scopes, and their references.
#[derive(Clone, Debug, Default)]
pub(crate) struct Nodes {
    pub(crate) list: Vec<Node>,
    /// Members of structures and (CTF 1.8) options of variants, by their names in the metadata.
    pub(super) members: HashMap<(NodeId, Arc<str>), NodeId>,
    /// Root structures of the scopes.
    pub(crate) roots: Vec<(Scope, NodeId)>,
    /// The field with the length or the selector of a node.
    pub(crate) targets: HashMap<NodeId, Target>,
    /// Total bytes of all paths.
    pub(crate) names: u64,
    /// Up to two clocks that integers update; `None`: the stream's only one.
    pub(crate) clocks: Vec<Option<Arc<str>>>,
}

impl Nodes {
    /// The targets in earlier scopes.
    pub(crate) fn outer_targets(&self) -> Vec<Target> {
        self.targets
            .values()
            .copied()
            .filter(|target| matches!(target, Target::Outer(..)))
            .collect()
    }

    pub(crate) fn get(&self, id: NodeId) -> Option<&Node> {
        self.list.get(id.index())
    }

    pub(super) fn parent(&self, id: NodeId) -> Option<NodeId> {
        self.get(id)?.parent
    }

    pub(super) fn is_structure(&self, id: NodeId) -> bool {
        self.get(id).is_some_and(|n| n.kind == Kind::Structure)
    }

    /// Scope and path of a node, for error messages.
    pub(crate) fn full_name(&self, id: NodeId) -> Arc<str> {
        match self.get(id) {
            Some(node) if node.path.is_empty() => node.scope.name().into(),
            Some(node) => format!("{}.{}", node.scope.name(), node.path).into(),
            None => "".into(),
        }
    }
}
