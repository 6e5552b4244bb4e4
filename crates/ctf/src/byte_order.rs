//! Byte orders.

/// A byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// Little-endian: least significant byte first.
    Little,
    /// Big-endian: most significant byte first.
    Big,
}
