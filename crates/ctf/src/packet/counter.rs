//! Counters of a packet, which wrap at the width of their field.

/// A counter of a packet and its width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// Value in the packet.
    pub value: u64,
    /// Bits that it has; it wraps there.
    pub bits: u32,
}

impl Counter {
    /// How much it has advanced; 0 if it went back, as it does when a stream starts anew.
    pub(super) fn since(self, before: Self) -> u64 {
        let mask = if self.bits == 0 || self.bits >= 64 { u64::MAX } else { (1 << self.bits) - 1 };
        let advanced = self.value.wrapping_sub(before.value) & mask;
        if advanced > mask / 2 { 0 } else { advanced }
    }
}
