//! Counters of a packet, which wrap at the width of their field.

/// A counter of a packet and its width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// The value in the packet.
    pub value: u64,
    /// Width of the field in bits, at which the counter wraps.
    pub bits: u32,
}

impl Counter {
    /// The increase since `before`; 0 if the counter went back, as when a stream is restarted.
    pub(super) fn since(self, before: Self) -> u64 {
        let mask = if self.bits == 0 || self.bits >= 64 { u64::MAX } else { (1 << self.bits) - 1 };
        let advanced = self.value.wrapping_sub(before.value) & mask;
        if advanced > mask / 2 { 0 } else { advanced }
    }

    /// Whether the counter went back since `before`.
    pub(super) fn is_back(self, before: Self) -> bool {
        self.value != before.value && self.since(before) == 0
    }
}
