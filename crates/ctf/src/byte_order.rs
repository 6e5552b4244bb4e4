//! Byte orders.

/// Byte order of the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// least significant byte first
    Little,
    /// most significant byte first
    Big,
}
