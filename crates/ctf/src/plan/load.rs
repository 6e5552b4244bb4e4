//! Numbers at whole bytes.

use super::NodeId;
use super::op::Fixed;
use crate::Order;
use crate::schema::{Encoding, Float, Integer};
use crate::text;
use crate::visit::{Packed, Visitor};

/// The bits of a number as lengths and selectors are kept. (No such field is a floating-point
/// number.)
trait Bits {
    fn bits(self) -> u64;
}

impl Bits for u64 {
    fn bits(self) -> u64 {
        self
    }
}

impl Bits for i64 {
    fn bits(self) -> u64 {
        self.cast_unsigned()
    }
}

impl Bits for f64 {
    fn bits(self) -> u64 {
        0
    }
}

macro_rules! loads {
    ($($name:ident $ty:ident $from:ident $tell:ident $wide:ident $size:literal),*) => {
        /// How a number of whole bytes is laid out.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Load {
            $(#[doc = concat!("`", stringify!($ty), "`, ", stringify!($from))] $name,)*
        }

        /// What is at a constant place of a block.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum What {
            $($name,)*
            /// Text in UTF-8.
            Chars,
            /// Bytes of anything.
            Blob,
            /// Numbers one behind the other.
            Packed,
        }

        impl From<Load> for What {
            fn from(load: Load) -> Self {
                match load { $(Load::$name => Self::$name,)* }
            }
        }

        /// Tells one field of a block; gives an integer's bits. `None` cannot come: all of the block is there.
        ///
        /// One jump for all kinds: this is the inner loop of everything.
        #[inline(always)]
        pub(super) fn field<'a, V: Visitor<'a> + ?Sized>(field: &Fixed, bytes: &'a [u8], visitor: &mut V) -> Option<u64> {
            let (at, node) = (field.at as usize, field.node);
            Some(match field.what {
                $(What::$name => {
                    let raw: [u8; $size] = bytes.get(at..at + $size)?.try_into().ok()?;
                    let value = $wide::from($ty::$from(raw));
                    visitor.$tell(node, value);
                    value.bits()
                })*
                What::Chars => {
                    visitor.text(node, text::until_nul(bytes.get(at..at + field.bytes as usize)?, Encoding::Utf8));
                    0
                }
                What::Blob => {
                    visitor.blob(node, bytes.get(at..at + field.bytes as usize)?);
                    0
                }
                What::Packed => {
                    let bytes = bytes.get(at..at + field.bytes as usize)?;
                    visitor.packed(node, Packed { bytes, load: field.element });
                    0
                }
            })
        }

        impl Load {
            /// Bytes of one.
            #[must_use]
            pub const fn size(self) -> usize {
                match self { $(Self::$name => $size,)* }
            }

            /// Tells each number of `bytes`.
            #[inline]
            pub(crate) fn each<'a, V: Visitor<'a> + ?Sized>(self, bytes: &[u8], node: NodeId, visitor: &mut V) {
                match self {
                    $(Self::$name => {
                        for raw in bytes.chunks_exact($size) {
                            if let Ok(raw) = raw.try_into() {
                                visitor.$tell(node, $wide::from($ty::$from(raw)));
                            }
                        }
                    })*
                }
            }
        }
    };
}

loads! {
    U8 u8 from_le_bytes unsigned u64 1,
    I8 i8 from_le_bytes signed i64 1,
    U16Le u16 from_le_bytes unsigned u64 2,
    U16Be u16 from_be_bytes unsigned u64 2,
    I16Le i16 from_le_bytes signed i64 2,
    I16Be i16 from_be_bytes signed i64 2,
    U32Le u32 from_le_bytes unsigned u64 4,
    U32Be u32 from_be_bytes unsigned u64 4,
    I32Le i32 from_le_bytes signed i64 4,
    I32Be i32 from_be_bytes signed i64 4,
    U64Le u64 from_le_bytes unsigned u64 8,
    U64Be u64 from_be_bytes unsigned u64 8,
    I64Le i64 from_le_bytes signed i64 8,
    I64Be i64 from_be_bytes signed i64 8,
    F32Le f32 from_le_bytes float f64 4,
    F32Be f32 from_be_bytes float f64 4,
    F64Le f64 from_le_bytes float f64 8,
    F64Be f64 from_be_bytes float f64 8
}

impl Load {
    /// For an integer that starts at a byte; `None`: it is no whole number of bytes, or of another
    /// form.
    pub(super) fn integer(integer: &Integer, order: Order) -> Option<Self> {
        use Order::{Big, Little};
        if integer.reversed {
            return None;
        }
        Some(match (integer.bits, integer.signed(), order) {
            (8, false, _) => Self::U8,
            (8, true, _) => Self::I8,
            (16, false, Little) => Self::U16Le,
            (16, false, Big) => Self::U16Be,
            (16, true, Little) => Self::I16Le,
            (16, true, Big) => Self::I16Be,
            (32, false, Little) => Self::U32Le,
            (32, false, Big) => Self::U32Be,
            (32, true, Little) => Self::I32Le,
            (32, true, Big) => Self::I32Be,
            (64, false, Little) => Self::U64Le,
            (64, false, Big) => Self::U64Be,
            (64, true, Little) => Self::I64Le,
            (64, true, Big) => Self::I64Be,
            _ => return None,
        })
    }

    /// For a floating-point number that starts at a byte.
    pub(super) fn float(float: &Float, order: Order) -> Option<Self> {
        match (float.bits, order) {
            _ if float.reversed => None,
            (32, Order::Little) => Some(Self::F32Le),
            (32, Order::Big) => Some(Self::F32Be),
            (64, Order::Little) => Some(Self::F64Le),
            (64, Order::Big) => Some(Self::F64Be),
            _ => None,
        }
    }
}
