//! What did not arrive: events that the tracer discarded, packets that are missing.

use super::packet::PacketInfo;

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
    fn since(self, before: Self) -> u64 {
        let mask = if self.bits == 0 || self.bits >= 64 { u64::MAX } else { (1 << self.bits) - 1 };
        let advanced = self.value.wrapping_sub(before.value) & mask;
        if advanced > mask / 2 { 0 } else { advanced }
    }
}

/// What was lost between the previous packet and this one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Events that the tracer discarded until the end of this packet.
    pub events: u64,
    /// Packets that the tracer wrote and that are not here.
    pub packets: u64,
}

/// Watches the counters of one stream.
#[derive(Clone, Copy, Debug, Default)]
pub struct Losses {
    sequence: Option<Counter>,
    discarded: Option<Counter>,
}

impl Losses {
    /// Takes the next packet of the stream. Of the first packet all discarded events count; what
    /// packets were before it is not known.
    pub fn packet(&mut self, info: &PacketInfo) -> Lost {
        let events = info
            .discarded
            .map_or(0, |now| self.discarded.map_or(now.value, |before| now.since(before)));
        let packets = info
            .sequence
            .zip(self.sequence)
            .map_or(0, |(now, before)| now.since(before).saturating_sub(1));
        self.skip(info);
        Lost { events, packets }
    }

    /// Takes a packet of which what was lost before does not count: the first after joining a live
    /// stream.
    pub fn skip(&mut self, info: &PacketInfo) {
        self.discarded = info.discarded.or(self.discarded);
        self.sequence = info.sequence.or(self.sequence);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(sequence: u64, discarded: u64) -> PacketInfo {
        let counter = |value, bits| Some(Counter { value, bits });
        PacketInfo {
            sequence: counter(sequence, 64),
            discarded: counter(discarded, 32),
            ..PacketInfo::default()
        }
    }

    #[test]
    fn gaps_wraps_and_restarts() {
        let mut losses = Losses::default();
        let mut lost = |sequence, discarded| {
            let lost = losses.packet(&packet(sequence, discarded));
            (lost.events, lost.packets)
        };
        assert_eq!(lost(5, 7), (7, 0), "nobody knows what was before the first packet");
        assert_eq!(lost(6, 7), (0, 0));
        assert_eq!(lost(9, 10), (3, 2));
        assert_eq!(lost(9, 10), (0, 0), "the same again");
        assert_eq!(lost(10, u64::from(u32::MAX)), (0, 0), "far back: a new beginning");
        assert_eq!(lost(11, 1), (2, 0), "32 bits wrap");
        assert_eq!(lost(0, 0), (0, 0), "a new beginning");
    }

    #[test]
    fn joined_later() {
        let mut losses = Losses::default();
        losses.skip(&packet(100, 1000));
        assert_eq!(losses.packet(&packet(101, 1001)), Lost { events: 1, packets: 0 });
        assert_eq!(losses.packet(&PacketInfo::default()), Lost::default());
        assert_eq!(losses.packet(&packet(103, 1001)), Lost { events: 0, packets: 1 });
    }
}
