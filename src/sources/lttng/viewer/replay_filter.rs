//! Packets that were reported before the connection broke. After the next attach the relay daemon
//! sends everything again from the beginning; no packet may be reported twice.
//!
//! Session and stream numbers stay the same over a reconnect, but a restarted relay daemon assigns
//! new ones, and offsets begin again after `lttng clear`. So a stream is identified by the first
//! bytes of its trace's metadata, which contain the trace's random UUID in every encoding, and by
//! its number and name. A packet within its stream is identified by its time, which never goes
//! back: one position for each stream is enough.

use std::collections::HashMap;
use std::hash::Hash;

use super::limits;
use super::model::{Index, StreamInfo};

/// Identifies a stream over connections.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct StreamKey {
    /// Hash of the first bytes of the metadata.
    identity: u64,
    stream: u64,
    /// Hash of path and channel.
    name: u64,
}

impl StreamKey {
    pub(super) fn new(identity: u64, stream: &StreamInfo) -> Self {
        Self { identity, stream: stream.id, name: hash((&stream.path, &stream.channel)) }
    }
}

/// Hash of a value, the same for equal values within this process.
pub(super) fn hash(value: impl Hash) -> u64 {
    use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
    BuildHasherDefault::<DefaultHasher>::default().hash_one(value)
}

/// The latest packet or beacon of a stream that was reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Position {
    end: u64,
    begin: u64,
    /// Offset of the packet; `None` for a beacon.
    offset: Option<u64>,
}

impl Position {
    const fn is_before(self, index: &Index) -> bool {
        if self.end != index.timestamp_end {
            return self.end < index.timestamp_end;
        }
        if self.begin != index.timestamp_begin {
            return self.begin < index.timestamp_begin;
        }
        // An empty packet can have the same times as its neighbour.
        matches!(self.offset, Some(offset) if offset != index.offset)
    }
}

/// Positions in the streams of a session, at most 16384; the least recently used are dropped. It is
/// passed from one [`super::Reading`] of the session to the next, also over a restart of the relay
/// daemon.
#[derive(Clone, Debug, Default)]
pub struct ReplayFilter {
    positions: LruMap<StreamKey, Position>,
}

impl ReplayFilter {
    /// A filter that drops nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of streams with a position.
    #[must_use]
    pub fn streams(&self) -> usize {
        self.positions.entries.len()
    }

    /// Bytes of memory.
    #[must_use]
    pub(super) fn held(&self) -> usize {
        self.positions.entries.capacity() * size_of::<(StreamKey, (u64, Position))>()
    }

    /// Whether a packet has not been reported yet.
    pub(super) fn is_new(&self, stream: &StreamKey, index: &Index) -> bool {
        self.positions.get(stream).is_none_or(|position| position.is_before(index))
    }

    /// Records a reported packet.
    pub(super) fn packet(&mut self, stream: StreamKey, index: &Index) {
        let position = Position {
            end: index.timestamp_end,
            begin: index.timestamp_begin,
            offset: Some(index.offset),
        };
        self.positions.put(stream, position, limits::SEEN_STREAMS);
    }

    /// A stream has another key now: its position goes along, unless the new key has a later one.
    pub(super) fn renamed(&mut self, before: &StreamKey, stream: StreamKey) {
        let Some(position) = self.positions.get(before).copied() else { return };
        let later = |known: &Position| (known.end, known.begin) >= (position.end, position.begin);
        if !self.positions.get(&stream).is_some_and(later) {
            self.positions.put(stream, position, limits::SEEN_STREAMS);
        }
    }

    /// Records a beacon; returns whether its time is later than everything reported before.
    pub(super) fn beacon(&mut self, stream: StreamKey, time: u64) -> bool {
        let new = self.positions.get(&stream).is_none_or(|position| position.end < time);
        if new {
            self.positions.put(
                stream,
                Position { end: time, begin: time, offset: None },
                limits::SEEN_STREAMS,
            );
        }
        new
    }
}

/// A bounded map: when it is full it drops its least recently used entries.
#[derive(Clone, Debug)]
pub(super) struct LruMap<K, V> {
    entries: HashMap<K, (u64, V)>,
    clock: u64,
}

impl<K, V> Default for LruMap<K, V> {
    fn default() -> Self {
        Self { entries: HashMap::new(), clock: 0 }
    }
}

impl<K: Hash + Eq + Clone, V> LruMap<K, V> {
    pub(super) fn get(&self, key: &K) -> Option<&V> {
        self.entries.get(key).map(|(_, value)| value)
    }

    pub(super) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.clock += 1;
        let entry = self.entries.get_mut(key)?;
        entry.0 = self.clock;
        Some(&mut entry.1)
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &V> {
        self.entries.values().map(|(_, value)| value)
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn put(&mut self, key: K, value: V, max: usize) {
        self.clock += 1;
        let clock = self.clock;
        if let Some(entry) = self.entries.get_mut(&key) {
            *entry = (clock, value);
            return;
        }
        if self.entries.len() >= max {
            self.forget(max / 4);
        }
        self.entries.insert(key, (clock, value));
    }

    /// Drops the `many` oldest entries at once, so that the search for them is rare.
    pub(super) fn forget(&mut self, many: usize) {
        let mut clocks: Vec<u64> = self.entries.values().map(|(clock, _)| *clock).collect();
        clocks.sort_unstable();
        let oldest = clocks.get(many).copied().unwrap_or_default();
        self.entries.retain(|_, (clock, _)| *clock >= oldest);
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::TraceKey;
    use super::*;

    fn key(identity: u64, id: u64) -> StreamKey {
        let trace = TraceKey { session: 1, trace: 1 };
        StreamKey::new(
            identity,
            &StreamInfo { id, trace, metadata: false, path: "p".into(), channel: "c".into() },
        )
    }

    const fn index(begin: u64, end: u64, offset: u64) -> Index {
        Index {
            offset,
            packet_size: 4096,
            content_size: 4096,
            timestamp_begin: begin,
            timestamp_end: end,
            events_discarded: 0,
            stream_class: 0,
        }
    }

    #[test]
    fn a_replay_is_known_and_what_follows_is_new() {
        let mut replay_filter = ReplayFilter::new();
        // The fourth comes after a clear; the fifth is empty and has the time of its neighbour's
        // end.
        let packets = [
            index(10, 20, 0),
            index(20, 30, 8),
            index(30, 40, 16),
            index(55, 60, 0),
            index(60, 60, 8),
            index(60, 60, 16),
        ];
        for (i, packet) in packets.iter().enumerate() {
            assert!(packets[i..].iter().all(|p| replay_filter.is_new(&key(1, 1), p)));
            replay_filter.packet(key(1, 1), packet);
            assert!(
                packets[..i].iter().chain([packet]).all(|p| !replay_filter.is_new(&key(1, 1), p))
                    || i >= 4
            );
        }
        assert!(
            replay_filter.is_new(&key(1, 2), &packets[0])
                && replay_filter.is_new(&key(2, 1), &packets[0])
        );
    }

    #[test]
    fn a_beacon_marks_time_and_never_goes_back() {
        let mut replay_filter = ReplayFilter::new();
        assert!(replay_filter.beacon(key(1, 1), 50) && !replay_filter.beacon(key(1, 1), 50));
        assert!(
            !replay_filter.is_new(&key(1, 1), &index(10, 40, 0))
                && replay_filter.is_new(&key(1, 1), &index(49, 51, 0))
        );
        replay_filter.packet(key(1, 1), &index(49, 70, 0));
        assert!(!replay_filter.beacon(key(1, 1), 60));
        assert!(!replay_filter.is_new(&key(1, 1), &index(60, 65, 8)));
    }

    #[test]
    fn a_stream_with_another_key_does_not_go_back() {
        let (mut replay_filter, packets) =
            (ReplayFilter::new(), [index(10, 20, 0), index(20, 30, 8)]);
        replay_filter.packet(key(1, 1), &packets[0]);
        replay_filter.renamed(&key(1, 1), key(2, 1));
        let new = |filter: &ReplayFilter| packets.map(|packet| filter.is_new(&key(2, 1), &packet));
        assert_eq!(new(&replay_filter), [false, true]);
        replay_filter.packet(key(2, 1), &packets[1]);
        replay_filter.renamed(&key(1, 1), key(2, 1));
        replay_filter.renamed(&key(3, 1), key(2, 1));
        assert_eq!(new(&replay_filter), [false, false]);
    }

    #[test]
    fn memory_is_bounded_and_the_oldest_gives_way() {
        let mut replay_filter = ReplayFilter::new();
        for stream in 0..100_000 {
            replay_filter.packet(key(1, stream), &index(1, 2, 0));
            replay_filter.packet(key(9, 9), &index(1, stream + 2, 0));
            assert!(replay_filter.streams() <= limits::SEEN_STREAMS);
        }
        assert!(
            !replay_filter.is_new(&key(1, 99_999), &index(1, 2, 0))
                && replay_filter.is_new(&key(1, 0), &index(1, 2, 0))
        );
        assert!(!replay_filter.is_new(&key(9, 9), &index(1, 2, 0)));
    }
}
