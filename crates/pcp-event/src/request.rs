//! A client's request to a stream and the delivery that answers it.

use std::time::Duration;

use crate::event_array::EventArray;
use crate::types::ids::Pmid;

/// Limit of the time since the last delivery by which the limits of a delivery grow. Longer intervals of a reader count as
/// this one: nobody knows whether it comes again.
const LONGEST: Duration = Duration::from_secs(3600);

/// The arrays that a request asks for. Both come from one snapshot of the stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resolutions {
    /// `pmEventArray`: times in microseconds.
    pub low: bool,
    /// `pmHighResEventArray`: times in nanoseconds.
    pub high: bool,
}

/// Limits of one delivery; further records are left to the next request.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Records for each second since the client's last delivery, at least for one second.
    pub records: usize,
    /// Bytes of packed records for each of those seconds.
    pub rate: usize,
    /// Bytes of packed records in any case.
    pub bytes: usize,
    /// Bytes of the first record: up to this size it is delivered alone although it exceeds
    /// `bytes`; a larger one blocks the stream.
    pub single_record: usize,
    /// Bytes of records that a filter examines.
    pub filter_bytes: usize,
}

impl Limits {
    /// At most `records` per second and `bytes` in all, but always one record; filters may examine
    /// all records.
    #[must_use]
    pub const fn new(records: usize, bytes: usize) -> Self {
        let unlimited = usize::MAX;
        Self { records, rate: unlimited, bytes, single_record: unlimited, filter_bytes: unlimited }
    }

    /// Limits of records and bytes for a client whose last delivery was `elapsed` ago.
    pub(crate) fn after(&self, elapsed: Duration) -> (usize, usize) {
        let ms = elapsed.as_millis().clamp(1000, LONGEST.as_millis());
        let scaled = |rate: usize| usize::try_from(rate as u128 * ms / 1000).unwrap_or(usize::MAX);
        (scaled(self.records), scaled(self.rate).min(self.bytes))
    }
}

/// Whether a client wants a record; the argument is the packed high-resolution record.
pub type RecordFilter<'a> = &'a dyn Fn(&[u8]) -> bool;

/// Which records may not be delivered yet, because a client could not understand them.
#[derive(Clone, Copy)]
pub struct Hold<'a> {
    /// Whether there are such records; asked for each piece, while the stream is locked.
    pub any: &'a dyn Fn() -> bool,
    /// Whether this one is; the first of these and all behind it are left to a later request.
    pub record: RecordFilter<'a>,
}

/// A client's request to a stream.
#[derive(Clone, Copy)]
pub struct ReadRequest<'a> {
    /// The arrays to build.
    pub resolutions: Resolutions,
    /// The bounds of the delivery.
    pub limits: Limits,
    /// The parameter that carries the number of missed records in high-resolution arrays.
    pub lost: Pmid,
    /// Selects records; without it all records are delivered.
    pub filter: Option<RecordFilter<'a>>,
    /// Holds records back; without it none is.
    pub hold: Option<Hold<'a>>,
    /// Called after each piece that a filter has examined: `false` ends the delivery, and the rest
    /// is left to the next request.
    pub may_continue: Option<&'a dyn Fn() -> bool>,
    /// The time of the request on a monotonic clock.
    pub now: Duration,
}

impl ReadRequest<'_> {
    /// A request without a filter, at time 0.
    #[must_use]
    pub const fn new(resolutions: Resolutions, limits: Limits, lost: Pmid) -> Self {
        let now = Duration::ZERO;
        Self { resolutions, limits, lost, filter: None, hold: None, may_continue: None, now }
    }
}

/// One client's new records as finished arrays.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Delivery {
    /// `pmEventArray`, if requested.
    pub low: Option<EventArray>,
    /// `pmHighResEventArray`, if requested.
    pub high: Option<EventArray>,
    /// Number of events in each array, without records about missed events.
    pub records: usize,
    /// Events dropped before this client had read them.
    pub missed: u64,
    /// Bytes of records that a filter has examined.
    pub scanned: usize,
}

/// A client that has not read for so many of its intervals is no reader any more.
const READER_INTERVALS: u32 = 3;
/// Shorter intervals count as this one, and so does that of a client that has read once: the usual one of a logger.
const READER_INTERVAL: Duration = Duration::from_secs(60);

/// A client's position in a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Client {
    /// Sequence number of the first record not yet delivered.
    pub(crate) cursor: u64,
    /// The time of the last delivery.
    pub(crate) at: Duration,
    /// The time between the last two deliveries, at least half of what it was before: one that comes twice in a
    /// row is no faster reader.
    interval: Duration,
    /// It still reads: what is dropped before it has read it is lost.
    pub(crate) reads: bool,
}

impl Client {
    /// A client that has not read yet.
    pub(crate) const fn new(cursor: u64, now: Duration) -> Self {
        Self { cursor, at: now, interval: Duration::ZERO, reads: true }
    }

    /// The same at its next delivery, which begins at `cursor`.
    pub(crate) fn again(self, cursor: u64, now: Duration) -> Self {
        let interval = now.saturating_sub(self.at).max(self.interval / 2);
        Self { cursor, at: now, interval, reads: true }
    }

    /// It is no reader if it has not read for some of its intervals.
    pub(crate) fn lapse(&mut self, now: Duration) {
        let limit = self.interval.clamp(READER_INTERVAL, LONGEST) * READER_INTERVALS;
        self.reads = now.saturating_sub(self.at) <= limit;
    }
}
