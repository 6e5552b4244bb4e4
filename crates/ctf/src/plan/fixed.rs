//! Fields at constant offsets of a block: most fields of most events.

use super::node::NodeId;
use crate::number_layout::{NumberLayout, number_layouts};
use crate::schema::Encoding;
use crate::string;
use crate::visit::{Packed, Visitor};

/// A field at a constant offset of its block, decoded in a separate loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fixed {
    pub(super) kind: FixedKind,
    /// Layout of one element of a [`FixedKind::Packed`].
    pub(super) element: NumberLayout,
    /// Bytes from the start of the block.
    pub(super) at: u32,
    /// Size in bytes.
    pub(super) bytes: u32,
    pub(super) node: NodeId,
}

/// The bits of a number as stored for lengths and selectors. (Lengths and selectors are never
/// floating-point numbers.)
trait Bits {
    fn bits(self) -> u64;
}

impl Bits for u64 {
    #[inline(always)]
    fn bits(self) -> u64 {
        self
    }
}

impl Bits for i64 {
    #[inline(always)]
    fn bits(self) -> u64 {
        self.cast_unsigned()
    }
}

impl Bits for f64 {
    #[inline(always)]
    fn bits(self) -> u64 {
        0
    }
}

macro_rules! define {
    ($($name:ident $ty:ident $from:ident $report:ident $wide:ident $size:literal),*) => {
        /// The kind of a field at a constant offset.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum FixedKind {
            $($name,)*
            /// A static-length string in UTF-8.
            String,
            /// A static-length BLOB.
            Blob,
            /// A static-length array of numbers without padding.
            Packed,
        }

        impl From<NumberLayout> for FixedKind {
            fn from(layout: NumberLayout) -> Self {
                match layout { $(NumberLayout::$name => Self::$name,)* }
            }
        }

        /// Reports one field of a block. Returns the bits of an integer, 0 for any other field.
        /// Never `None`: the whole block is available.
        ///
        /// A single jump for all kinds: this is the inner loop of the decoder.
        #[inline(always)]
        pub(super) fn field<'a, V: Visitor<'a> + ?Sized>(
            field: &Fixed,
            bytes: &'a [u8],
            visitor: &mut V,
        ) -> Option<u64> {
            let (at, node) = (field.at as usize, field.node);
            Some(match field.kind {
                $(FixedKind::$name => {
                    let raw: [u8; $size] = bytes.get(at..at + $size)?.try_into().ok()?;
                    let value = $wide::from($ty::$from(raw));
                    visitor.$report(node, value);
                    value.bits()
                })*
                FixedKind::String => {
                    let bytes = bytes.get(at..at + field.bytes as usize)?;
                    visitor.string(node, string::until_nul(bytes, Encoding::Utf8));
                    0
                }
                FixedKind::Blob => {
                    visitor.blob(node, bytes.get(at..at + field.bytes as usize)?);
                    0
                }
                FixedKind::Packed => {
                    let bytes = bytes.get(at..at + field.bytes as usize)?;
                    visitor.packed(node, Packed::new(bytes, field.element));
                    0
                }
            })
        }
    };
}
number_layouts!(define);
