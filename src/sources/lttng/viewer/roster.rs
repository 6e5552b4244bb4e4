//! Selects the sessions of a relay daemon to read: listed, matching a pattern, not being read, and
//! past their back-off. Keeps which packets were reported before a connection broke: after the next
//! attach the relay daemon sends everything again from the beginning, and no packet may be reported
//! twice.
//!
//! Session and stream numbers stay the same over a reconnect, but a restarted relay daemon assigns
//! new ones, and offsets begin again after `lttng clear`. So a stream is identified by the first
//! bytes of its trace's metadata, which contain the trace's random UUID in every encoding, and by
//! its number and name. A packet within its stream is identified by its time, which never goes
//! back: one position for each stream is enough.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use super::super::limits;
use super::reading::{End, Start};
use super::{Index, Pattern, Refused, Seek, SessionEnd, SessionInfo, Settings, StreamInfo};
use crate::heap_size;

/// A matching session that is not read.
#[derive(Debug)]
struct Candidate {
    info: SessionInfo,
    /// Reason that was reported.
    why: Option<Refused>,
    listing: u64,
}

/// History of a session, listed or not.
#[derive(Debug, Default)]
struct SessionHistory {
    /// Read from the beginning, regardless of the configured seek: the session was read before, or
    /// is younger than the first listing.
    beginning: bool,
    /// Attached by us before, and not listed without a viewer since.
    ours: bool,
    /// Pause before the last attempt to attach.
    pause: Duration,
    /// Earliest time of the next attempt.
    after: Duration,
    replay_filter: ReplayFilter,
}

/// Number, host and name.
type Key = (u64, u64);

fn key(session: &SessionInfo) -> Key {
    (session.id, hash((&session.host, &session.name)))
}

/// The sessions of one relay daemon, over connections and restarts of the relay daemon.
#[derive(Debug)]
pub struct Roster {
    patterns: Vec<Pattern>,
    seek: Seek,
    /// Matching sessions of the last listing that are not read.
    candidates: HashMap<u64, Candidate>,
    /// Sessions that are read.
    reading: HashMap<u64, SessionInfo>,
    history: LruMap<Key, SessionHistory>,
    listing: u64,
    /// Matching sessions of the listing under way beyond the limit.
    crowded: u64,
}

impl Roster {
    /// A roster without sessions.
    #[must_use]
    pub fn new(settings: &Settings) -> Self {
        Self {
            patterns: settings.patterns.clone(),
            seek: settings.seek,
            candidates: HashMap::new(),
            reading: HashMap::new(),
            history: LruMap::default(),
            listing: 0,
            crowded: 0,
        }
    }

    /// Replaces the patterns, from the next listing on. Sessions that are being read continue.
    pub fn choose(&mut self, patterns: Vec<Pattern>) {
        self.patterns = patterns;
    }

    /// A session is listed. Returns whether it matches.
    pub fn listed(&mut self, info: SessionInfo) -> bool {
        let fits = self.patterns.iter().any(|pattern| pattern.fits(&info.host, &info.name));
        if !fits || self.reading.contains_key(&info.id) {
            return fits;
        }
        match self.history.get_mut(&key(&info)) {
            Some(history) => history.ours &= info.clients > 0,
            None => {
                let beginning = self.listing > 0;
                self.history.put(
                    key(&info),
                    SessionHistory { beginning, ..SessionHistory::default() },
                    limits::SEEN_SESSIONS,
                );
            }
        }
        let listing = self.listing;
        let full = self.candidates.len() >= limits::CANDIDATES;
        if let Some(known) = self.candidates.get_mut(&info.id) {
            if known.info.host == info.host && known.info.name == info.name {
                if known.info.clients > 0
                    && info.clients == 0
                    && let Some(history) = self.history.get_mut(&key(&info))
                {
                    // The other viewer has left.
                    history.after = Duration::ZERO;
                }
                (known.info, known.listing) = (info, listing);
                return true;
            }
        } else if full {
            self.crowded += 1;
            return true;
        }
        self.candidates.insert(info.id, Candidate { info, why: None, listing });
        true
    }

    /// The listing is complete: drops sessions missing from it. Returns the number of matching
    /// sessions beyond the limit.
    pub fn listing_done(&mut self) -> u64 {
        let listing = self.listing;
        self.candidates.retain(|_, candidate| candidate.listing == listing);
        self.listing += 1;
        std::mem::take(&mut self.crowded)
    }

    /// Sessions to read now, oldest first, each with a `permit`. `told` is called for each other
    /// session with a new reason. A session counts as read until [`Self::ended`].
    pub fn take<P>(
        &mut self,
        now: Duration,
        mut permit: impl FnMut() -> Option<P>,
        mut told: impl FnMut(&SessionInfo, Refused),
    ) -> Vec<(Start, P)> {
        let mut ids: Vec<u64> = self.candidates.keys().copied().collect();
        ids.sort_unstable();
        let mut taken = Vec::new();
        for id in ids {
            let Some(candidate) = self.candidates.get_mut(&id) else { continue };
            let history = self.history.get_mut(&key(&candidate.info));
            let ours = history.as_ref().is_some_and(|p| p.ours);
            let why = match &candidate.info {
                info if info.live_timer.is_zero() => Refused::NotLive,
                info if info.clients > 0 && !ours => Refused::Busy,
                _ if history.as_ref().is_some_and(|p| now < p.after) => continue,
                _ => match permit() {
                    Some(permit) => {
                        let Some(Candidate { info: session, .. }) = self.candidates.remove(&id)
                        else {
                            continue;
                        };
                        let beginning = history.as_ref().is_none_or(|p| p.beginning);
                        let seek = if beginning { Seek::Beginning } else { self.seek };
                        let replay_filter = history
                            .map(|p| std::mem::take(&mut p.replay_filter))
                            .unwrap_or_default();
                        self.reading.insert(id, session.clone());
                        taken.push((Start { session, seek, ours, replay_filter }, permit));
                        continue;
                    }
                    None => Refused::Limit,
                },
            };
            if candidate.why != Some(why) {
                candidate.why = Some(why);
                told(&candidate.info, why);
            }
        }
        taken
    }

    /// Number of sessions that are not read because `lttng.max_sessions` is reached.
    #[must_use]
    pub fn beyond_limit(&self) -> usize {
        self.candidates.values().filter(|candidate| candidate.why == Some(Refused::Limit)).count()
    }

    /// Reading a session has ended. It is retried with back-off while it is listed.
    pub fn ended(&mut self, now: Duration, end: End) {
        let End { session, attached, refused, over, replay_filter } = end;
        let Some(info) = self.reading.remove(&session) else { return };
        if self.history.get(&key(&info)).is_none() {
            self.history.put(
                key(&info),
                SessionHistory { beginning: true, ..SessionHistory::default() },
                limits::SEEN_SESSIONS,
            );
        }
        let Some(history) = self.history.get_mut(&key(&info)) else { return };
        // A session that ran out of memory will do so again, however long it was read.
        let lasted = over != Some(SessionEnd::Full)
            && attached.is_some_and(|since| now.saturating_sub(since) >= limits::LASTED);
        let (first, longest) = match (refused, over) {
            (Some(_), _) | (_, Some(SessionEnd::Closed | SessionEnd::Lost | SessionEnd::Full)) => {
                (limits::ATTACH_FIRST, limits::ATTACH_RETRY)
            }
            (None, Some(SessionEnd::Disconnected) | None) => {
                (limits::BROKEN_FIRST, limits::BROKEN_RETRY)
            }
        };
        history.pause = if lasted || over == Some(SessionEnd::Closed) {
            first
        } else {
            (history.pause * 2).clamp(first, longest)
        };
        if attached.is_some() {
            (history.beginning, history.ours) = (true, true);
        }
        history.replay_filter = replay_filter;
        history.after = now + history.pause;
        self.bound();
    }

    /// Drops the oldest histories while all together have more than `SEEN_STREAMS` streams.
    fn bound(&mut self) {
        let streams = |history: &LruMap<Key, SessionHistory>| {
            history.values().map(|p| p.replay_filter.streams()).sum::<usize>()
        };
        while streams(&self.history) > limits::SEEN_STREAMS && self.history.len() > 1 {
            self.history.forget((self.history.len() / 4).max(1));
        }
    }
}

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

heap_size!(ReplayFilter { positions });

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

heap_size!([K, V] LruMap<K, V> { entries });

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
#[path = "tests/roster.rs"]
mod roster_tests;

#[cfg(test)]
#[path = "tests/replay_filter.rs"]
mod replay_filter_tests;
