//! The values of an event one after the other, as a visitor gets them.

use super::value::View;
use crate::plan::{Kind, Node, NodeId};
use crate::schema::{Encoding, Scope};
use crate::string;
use crate::visit::{Packed, Visitor};

/// Copied bytes beyond which the memory of an event is not kept for the next one.
const KEPT: usize = 8 << 10;

/// A value, or the start of a compound field.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) node: NodeId,
    /// The bits of a number, or where the bytes of a text or BLOB begin.
    pub(super) data: u64,
    /// Number of these bytes; of a compound field, the number of items in it.
    pub(super) size: usize,
}

/// The values of one event, or of one packet context. Names, kinds and mappings are those of the
/// nodes; hidden fields are left out. Used again, it allocates nothing for most events.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flat<'t> {
    nodes: &'t [Node],
    scopes: &'t [(Scope, NodeId)],
    items: Vec<Item>,
    text: String,
    blobs: Vec<u8>,
    /// The items of open compound fields.
    open: Vec<usize>,
}

impl<'t> Flat<'t> {
    /// Begins anew with values of these nodes.
    pub(crate) fn begin(&mut self, nodes: &'t [Node], scopes: &'t [(Scope, NodeId)]) {
        (self.nodes, self.scopes) = (nodes, scopes);
        if self.items.capacity() * size_of::<Item>() > KEPT {
            self.items = Vec::new();
        }
        if self.text.capacity() > KEPT {
            self.text = String::new();
        }
        if self.blobs.capacity() > KEPT {
            self.blobs = Vec::new();
        }
        self.items.clear();
        self.text.clear();
        self.blobs.clear();
        self.open.clear();
    }

    /// Bytes of all copies.
    pub(crate) const fn bytes(&self) -> usize {
        self.items.len() * size_of::<Item>() + self.text.len() + self.blobs.len()
    }

    /// The values of a scope.
    pub(super) fn scope(&self, scope: Scope) -> View<'_> {
        let at = self.scopes.iter().position(|(s, _)| *s == scope);
        // Scopes are in the order of their nodes.
        let from = |at: Option<usize>| {
            let root = at.and_then(|at| self.scopes.get(at));
            root.map_or(self.items.len(), |(_, root)| {
                self.items.partition_point(|item| item.node < *root)
            })
        };
        let range = from(at)..from(at.map(|at| at + 1));
        let items = self.items.get(range).unwrap_or_default();
        View { nodes: self.nodes, items, text: &self.text, blobs: &self.blobs }
    }

    #[inline]
    fn shown(&self, node: NodeId) -> bool {
        self.nodes.get(node.index()).is_some_and(|node| !node.hidden)
    }

    #[inline]
    fn put(&mut self, node: NodeId, data: u64, size: usize) {
        if self.shown(node) {
            self.items.push(Item { node, data, size });
        }
    }
}

impl<'a> Visitor<'a> for Flat<'_> {
    #[inline]
    fn unsigned(&mut self, node: NodeId, value: u64) {
        self.put(node, value, 0);
    }

    #[inline]
    fn signed(&mut self, node: NodeId, value: i64) {
        self.put(node, value.cast_unsigned(), 0);
    }

    #[inline]
    fn float(&mut self, node: NodeId, value: f64) {
        self.put(node, value.to_bits(), 0);
    }

    fn string(&mut self, node: NodeId, value: &'a [u8]) {
        if !self.shown(node) {
            return;
        }
        let encoding = match self.nodes.get(node.index()).map(|node| node.kind) {
            Some(Kind::String(encoding)) => encoding,
            _ => Encoding::default(),
        };
        let start = self.text.len();
        self.text.push_str(&string::decode(value, encoding));
        self.put(node, start as u64, self.text.len() - start);
    }

    fn blob(&mut self, node: NodeId, value: &'a [u8]) {
        if !self.shown(node) {
            return;
        }
        self.put(node, self.blobs.len() as u64, value.len());
        self.blobs.extend_from_slice(value);
    }

    fn packed(&mut self, node: NodeId, items: Packed<'a>) {
        self.open(node, items.len() as u64);
        if self.shown(node.next()) {
            self.items.reserve(items.len());
            items.each(node.next(), &mut Numbers(&mut self.items));
        }
        self.close(node);
    }

    #[inline]
    fn open(&mut self, node: NodeId, _: u64) {
        self.open.push(self.items.len());
        self.items.push(Item { node, data: 0, size: 0 });
    }

    #[inline]
    fn close(&mut self, node: NodeId) {
        let Some(start) = self.open.pop() else { return };
        if !self.shown(node) {
            return self.items.truncate(start);
        }
        let size = self.items.len() - start - 1;
        if let Some(item) = self.items.get_mut(start) {
            item.size = size;
        }
    }
}

/// Collects the elements of an array.
struct Numbers<'v>(&'v mut Vec<Item>);

impl<'a> Visitor<'a> for Numbers<'_> {
    #[inline]
    fn unsigned(&mut self, node: NodeId, data: u64) {
        self.0.push(Item { node, data, size: 0 });
    }

    #[inline]
    fn signed(&mut self, node: NodeId, value: i64) {
        self.unsigned(node, value.cast_unsigned());
    }

    #[inline]
    fn float(&mut self, node: NodeId, value: f64) {
        self.unsigned(node, value.to_bits());
    }

    fn string(&mut self, _: NodeId, _: &'a [u8]) {}
    fn blob(&mut self, _: NodeId, _: &'a [u8]) {}
}
