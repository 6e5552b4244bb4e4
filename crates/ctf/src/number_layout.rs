//! Layouts of numbers that start at a byte and have 8, 16, 32 or 64 bits.

use crate::ByteOrder;
use crate::schema::{Float, Integer};

/// Calls a macro with the table of all layouts: name, byte array type, its constructor, method of
/// [`crate::Visitor`], type of the reported value, size in bytes.
macro_rules! number_layouts {
    ($then:ident) => {
        $then! {
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
    };
}
pub(crate) use number_layouts;

macro_rules! define {
    ($($name:ident $ty:ident $from:ident $report:ident $wide:ident $size:literal),*) => {
        /// Type and byte order of a number of 1, 2, 4 or 8 bytes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum NumberLayout {
            $(#[doc = concat!("`", stringify!($ty), "::", stringify!($from), "`")] $name,)*
        }

        impl NumberLayout {
            /// Bytes of one number.
            #[inline]
            pub(crate) const fn size(self) -> usize {
                match self { $(Self::$name => $size,)* }
            }
        }
    };
}
number_layouts!(define);

impl NumberLayout {
    /// The layout of an integer that starts at a byte; `None` if it is reversed or has another
    /// number of bits.
    pub(crate) fn integer(integer: &Integer, order: ByteOrder) -> Option<Self> {
        use ByteOrder::{Big, Little};
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

    /// The layout of a floating-point number that starts at a byte.
    pub(crate) fn float(float: &Float, order: ByteOrder) -> Option<Self> {
        match (float.bits, order) {
            _ if float.reversed => None,
            (32, ByteOrder::Little) => Some(Self::F32Le),
            (32, ByteOrder::Big) => Some(Self::F32Be),
            (64, ByteOrder::Little) => Some(Self::F64Le),
            (64, ByteOrder::Big) => Some(Self::F64Be),
            _ => None,
        }
    }
}
