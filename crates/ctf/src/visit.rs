//! Who takes the values of decoded fields, without a tree in between.

use super::plan::Load;
use super::plan::NodeId;

/// Takes values in the order of decoding. A node is a place in the class's fields:
/// [`super::plan::Node`] says its name, type and labels beforehand, and its number never changes
/// for a class.
///
/// A packet that turns out to be bad in the middle of an event has told the fields before that:
/// whoever keeps them drops them when the decoder returns an error.
pub trait Visitor<'a> {
    /// Unsigned integer, truth value or set of bits.
    fn unsigned(&mut self, node: NodeId, value: u64);

    /// Signed integer.
    fn signed(&mut self, node: NodeId, value: i64);

    /// Floating-point number; smaller ones are exact in it.
    fn float(&mut self, node: NodeId, value: f64);

    /// Text without its NUL, in the node's encoding, not checked.
    fn text(&mut self, node: NodeId, value: &'a [u8]);

    /// Bytes of anything.
    fn blob(&mut self, node: NodeId, value: &'a [u8]);

    /// A whole array of numbers of 8, 16, 32 or 64 bits, elements are of the node after it. Who
    /// does not override it gets `open`, each element, `close`.
    fn packed(&mut self, node: NodeId, items: Packed<'a>) {
        self.open(node, items.len() as u64);
        items.each(node + 1, self);
        self.close(node);
    }

    /// A structure, an array of so many elements, the option of a variant (its number) or an
    /// optional (0 or 1) begins. The structure of a scope is not told.
    fn open(&mut self, node: NodeId, count: u64) {
        let _ = (node, count);
    }

    /// It ends.
    fn close(&mut self, node: NodeId) {
        let _ = node;
    }
}

/// Numbers one after the other in the packet.
#[derive(Clone, Copy, Debug)]
pub struct Packed<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) load: Load,
}

impl<'a> Packed<'a> {
    /// How many.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len() / self.load.size()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The bytes as they are in the packet.
    #[must_use]
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Tells each number as a value of `node`.
    pub fn each<V: Visitor<'a> + ?Sized>(&self, node: NodeId, visitor: &mut V) {
        self.load.each(self.bytes, node, visitor);
    }
}
