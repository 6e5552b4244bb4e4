//! Discarded events and missing packets.

use super::counter::Counter;
use super::info::PacketInfo;

/// Events and packets that were lost between the previous packet and this one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Discarded {
    /// Events that the tracer discarded up to the end of this packet.
    pub events: u64,
    /// Packets skipped by the sequence numbers.
    pub packets: u64,
}

/// Compares the counters of the packets of one stream.
#[derive(Clone, Copy, Debug, Default)]
pub struct DiscardTracker {
    sequence: Option<Counter>,
    discarded: Option<Counter>,
}

impl DiscardTracker {
    /// Counts the next packet of the stream. All discarded events of the first packet count;
    /// packets missing before it cannot be known.
    pub fn packet(&mut self, info: &PacketInfo) -> Discarded {
        let events = info
            .discarded
            .map_or(0, |now| self.discarded.map_or(now.value, |before| now.since(before)));
        let packets = info
            .sequence
            .zip(self.sequence)
            .map_or(0, |(now, before)| now.since(before).saturating_sub(1));
        self.skip(info);
        Discarded { events, packets }
    }

    /// Adds a packet without counting what was lost before it: the first after joining a live
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
        let mut losses = DiscardTracker::default();
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
        let mut losses = DiscardTracker::default();
        losses.skip(&packet(100, 1000));
        assert_eq!(losses.packet(&packet(101, 1001)), Discarded { events: 1, packets: 0 });
        assert_eq!(losses.packet(&PacketInfo::default()), Discarded::default());
        assert_eq!(losses.packet(&packet(103, 1001)), Discarded { events: 0, packets: 1 });
    }
}
