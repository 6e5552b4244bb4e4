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
        // A packet that follows the last one begins nothing: tracers write 0 at times into one that a timer ends
        // (docs/protocols/ctf.md (iii)). The next one has the count that goes on.
        let next = info.sequence.zip(self.sequence).is_some_and(|(now, last)| now.since(last) == 1);
        let back = info.discarded.zip(self.discarded).is_some_and(|(now, last)| now.is_back(last));
        if !(next && back) {
            self.discarded = info.discarded.or(self.discarded);
        }
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
        assert_eq!(lost(1, u64::from(u32::MAX)), (0, 0), "far back: a new beginning");
        assert_eq!(lost(2, 1), (2, 0), "32 bits wrap");
        assert_eq!(lost(0, 0), (0, 0), "a new beginning");
    }

    /// What a tracer wrote: 235,661 events in all, of which 29,141 counted twice.
    #[test]
    fn a_count_of_0_between_others_is_none() {
        let mut losses = DiscardTracker::default();
        let counts = [(6, 24_857), (7, 29_141), (8, 0), (9, 59_288), (10, 59_288), (22, 235_661)];
        let lost: Vec<u64> =
            counts.map(|(n, count)| losses.packet(&packet(n, count)).events).into();
        assert_eq!(lost, [24_857, 4_284, 0, 30_147, 0, 176_373]);
        assert_eq!(losses.packet(&packet(0, 0)).events, 0, "a new beginning");
        assert_eq!(losses.packet(&packet(1, 7)).events, 7);
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
