//! The receiver of decoded values.

use crate::number_layout::{NumberLayout, number_layouts};
use crate::plan::NodeId;

/// Receives the values of fields in the order of decoding, without an intermediate tree.
///
/// Each value comes with the [`NodeId`] of its field. [`Node`](crate::Node) has the name, the kind
/// and the mappings of the field; the nodes of an event record class never change.
///
/// If a packet turns out to be malformed in the middle of an event, the fields before the error
/// have been reported. A visitor that collects values must drop those of the event when the decoder
/// returns an error.
///
/// ```
/// use ctf::{NodeId, Visitor};
///
/// /// Adds up all unsigned integers of an event.
/// struct Sum(u64);
///
/// impl<'a> Visitor<'a> for Sum {
///     fn unsigned(&mut self, _: NodeId, value: u64) {
///         self.0 += value;
///     }
///     fn signed(&mut self, _: NodeId, _: i64) {}
///     fn float(&mut self, _: NodeId, _: f64) {}
///     fn string(&mut self, _: NodeId, _: &'a [u8]) {}
///     fn blob(&mut self, _: NodeId, _: &'a [u8]) {}
/// }
/// ```
pub trait Visitor<'a> {
    /// An unsigned integer, a boolean (0 or not) or a bit map.
    fn unsigned(&mut self, node: NodeId, value: u64);

    /// A signed integer.
    fn signed(&mut self, node: NodeId, value: i64);

    /// A floating-point number; 16 and 32 bits are widened without loss.
    fn float(&mut self, node: NodeId, value: f64);

    /// A string without its NUL, in the encoding of the node's [`Kind`](crate::Kind). The bytes are
    /// not validated; [`decode_string`](crate::decode_string) converts them.
    fn string(&mut self, node: NodeId, value: &'a [u8]);

    /// A BLOB.
    fn blob(&mut self, node: NodeId, value: &'a [u8]);

    /// A whole array of numbers of 8, 16, 32 or 64 bits. The elements belong to the node after
    /// `node`. The default calls [`Self::open`], reports each element and calls [`Self::close`].
    #[inline]
    fn packed(&mut self, node: NodeId, items: Packed<'a>) {
        self.open(node, items.len() as u64);
        items.each(node.next(), self);
        self.close(node);
    }

    /// The start of a compound field. `count` is the number of members of a structure or of
    /// elements of an array, the index of the selected option of a variant, or 0 or 1 for an
    /// optional. The root structure of a scope has no `open`.
    #[inline]
    fn open(&mut self, node: NodeId, count: u64) {
        let _ = (node, count);
    }

    /// The end of a compound field.
    #[inline]
    fn close(&mut self, node: NodeId) {
        let _ = node;
    }
}

/// Ignores all values.
pub(crate) struct Nobody;

impl<'a> Visitor<'a> for Nobody {
    fn unsigned(&mut self, _: NodeId, _: u64) {}
    fn signed(&mut self, _: NodeId, _: i64) {}
    fn float(&mut self, _: NodeId, _: f64) {}
    fn string(&mut self, _: NodeId, _: &'a [u8]) {}
    fn blob(&mut self, _: NodeId, _: &'a [u8]) {}
    fn packed(&mut self, _: NodeId, _: Packed<'a>) {}
}

/// An array of numbers as stored in the packet, without padding.
#[derive(Clone, Copy, Debug)]
pub struct Packed<'a> {
    bytes: &'a [u8],
    layout: NumberLayout,
}

impl<'a> Packed<'a> {
    #[inline]
    pub(crate) const fn new(bytes: &'a [u8], layout: NumberLayout) -> Self {
        Self { bytes, layout }
    }

    /// The number of elements.
    #[must_use]
    #[inline]
    pub const fn len(&self) -> usize {
        self.bytes.len() / self.layout.size()
    }

    /// Whether the array has no elements.
    #[must_use]
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The bytes of all elements, in the byte order of the packet.
    #[must_use]
    #[inline]
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

macro_rules! define {
    ($($name:ident $ty:ident $from:ident $report:ident $wide:ident $size:literal),*) => {
        impl<'a> Packed<'a> {
            /// Reports each element as a value of `node`.
            #[inline]
            pub fn each<V: Visitor<'a> + ?Sized>(&self, node: NodeId, visitor: &mut V) {
                match self.layout {
                    $(NumberLayout::$name => {
                        for raw in self.bytes.chunks_exact($size) {
                            if let Ok(raw) = raw.try_into() {
                                visitor.$report(node, $wide::from($ty::$from(raw)));
                            }
                        }
                    })*
                }
            }
        }
    };
}
number_layouts!(define);
