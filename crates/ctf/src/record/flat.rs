//! The values of events one after the other, as a visitor gets them.

use std::ops::Range;
use std::str::from_utf8;

use super::value::View;
use crate::plan::{Kind, Node, NodeId};
use crate::schema::Encoding;
use crate::string;
use crate::visit::{Packed, Visitor};

/// Copied bytes beyond which the memory is not kept for later events.
const KEPT: usize = 256 << 10;

/// A value, or the start of a compound field.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) node: NodeId,
    /// Number of bytes of a text or BLOB; of a compound field, the number of items in it. A packet's
    /// limits are far below 4 GiB of either.
    pub(super) size: u32,
    /// The bits of a number, or where the bytes of a text or BLOB begin.
    pub(super) data: u64,
}

/// The values of some events, those of hidden fields too. Names, kinds and mappings are those of the
/// nodes. Used again, it allocates nothing for most events.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flat<'t> {
    /// Those of the event whose values come.
    nodes: &'t [Node],
    items: Vec<Item>,
    /// Texts, which are UTF-8, and BLOBs.
    bytes: Vec<u8>,
    /// The items of open compound fields.
    open: Vec<usize>,
    /// Numbers of items and of bytes of complete events.
    complete: (usize, usize),
}

impl<'t> Flat<'t> {
    /// Begins an event with these nodes. Returns where its items begin.
    #[inline]
    pub(crate) fn begin(&mut self, nodes: &'t [Node]) -> usize {
        self.nodes = nodes;
        self.items.len()
    }

    /// Ends an event. Returns where its items end.
    #[inline]
    pub(crate) fn end(&mut self) -> usize {
        self.complete = (self.items.len(), self.bytes.len());
        self.items.len()
    }

    /// Drops what came of an event that has no end.
    pub(crate) fn drop_incomplete(&mut self) {
        self.items.truncate(self.complete.0);
        self.bytes.truncate(self.complete.1);
        self.open.clear();
    }

    /// Begins anew, with the same memory if it is not too much.
    pub(crate) fn clear(&mut self) {
        if self.items.capacity() * size_of::<Item>() > KEPT {
            self.items = Vec::new();
        }
        if self.bytes.capacity() > KEPT {
            self.bytes = Vec::new();
        }
        self.complete = (0, 0);
        self.drop_incomplete();
    }

    /// Bytes of all copies.
    #[inline]
    pub(crate) const fn size(&self) -> usize {
        self.items.len() * size_of::<Item>() + self.bytes.len()
    }

    /// The items of all events.
    pub(super) const fn items(&self) -> Range<usize> {
        0..self.items.len()
    }

    /// The values of an event's nodes from one up to another; `items`: where those of the event are.
    pub(super) fn view<'r>(
        &'r self,
        nodes: &'r [Node],
        items: Range<usize>,
        (from, to): (Option<NodeId>, Option<NodeId>),
    ) -> View<'r> {
        let items = self.items.get(items).unwrap_or_default();
        let place = |node: Option<NodeId>| {
            node.map_or(items.len(), |node| items.partition_point(|item| item.node < node))
        };
        let items = items.get(place(from)..place(to)).unwrap_or_default();
        View { nodes, items, bytes: &self.bytes }
    }

    #[inline]
    fn put(&mut self, node: NodeId, data: u64, size: usize) {
        self.items.push(Item { node, size: short(size), data });
    }

    /// Copies a text that is not UTF-8.
    #[cold]
    #[inline(never)]
    fn decoded(&mut self, node: NodeId, value: &[u8], encoding: Encoding) {
        self.copy(node, string::decode(value, encoding).as_bytes());
    }

    #[inline]
    fn copy(&mut self, node: NodeId, bytes: &[u8]) {
        self.put(node, self.bytes.len() as u64, bytes.len());
        self.bytes.extend_from_slice(bytes);
    }
}

#[inline]
fn short(size: usize) -> u32 {
    u32::try_from(size).unwrap_or(u32::MAX)
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
        let encoding = match self.nodes.get(node.index()).map(|node| node.kind) {
            Some(Kind::String(encoding)) => encoding,
            _ => Encoding::default(),
        };
        // Most are, and need no other look until somebody wants the text.
        if encoding == Encoding::Utf8 && (string::is_ascii(value) || from_utf8(value).is_ok()) {
            return self.copy(node, value);
        }
        self.decoded(node, value, encoding);
    }

    fn blob(&mut self, node: NodeId, value: &'a [u8]) {
        self.copy(node, value);
    }

    fn packed(&mut self, node: NodeId, items: Packed<'a>) {
        self.open(node, items.len() as u64);
        self.items.reserve(items.len());
        items.each(node.next(), &mut Numbers(&mut self.items));
        self.close(node);
    }

    #[inline]
    fn open(&mut self, node: NodeId, _: u64) {
        self.open.push(self.items.len());
        self.items.push(Item { node, size: 0, data: 0 });
    }

    #[inline]
    fn close(&mut self, _: NodeId) {
        let Some(start) = self.open.pop() else { return };
        let size = self.items.len() - start - 1;
        if let Some(item) = self.items.get_mut(start) {
            item.size = short(size);
        }
    }
}

/// Collects the elements of an array.
struct Numbers<'v>(&'v mut Vec<Item>);

impl<'a> Visitor<'a> for Numbers<'_> {
    #[inline]
    fn unsigned(&mut self, node: NodeId, data: u64) {
        self.0.push(Item { node, size: 0, data });
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
