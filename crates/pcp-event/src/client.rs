//! What one client context gets from a stream: the request, the delivery, the cursor.

use std::time::Duration;

use crate::Pmid;

/// A delivery grows with the time since the one before up to this.
const LONGEST: Duration = Duration::from_secs(3600);

/// Which arrays a fetch wants. Both are taken from one snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resolutions {
    /// `…records`
    pub low: bool,
    /// `…highres_records`
    pub high: bool,
}

/// Bounds of one delivery; what is left comes with the next fetch.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Most records (`events.max_records`) for each second since this client's last delivery, at
    /// least for one.
    pub records: usize,
    /// Most bytes of packed records for each of those seconds.
    pub rate: usize,
    /// Most bytes of packed records in any case.
    pub bytes: usize,
    /// A record of at most this many bytes is delivered alone if it is the first, else a large one
    /// would block the stream.
    pub single_record: usize,
    /// Most bytes of records that a filter looks at.
    pub filter_bytes: usize,
}

impl Limits {
    /// So many records for a second and bytes in all, but one record always; filters may look at
    /// everything.
    #[must_use]
    pub const fn new(records: usize, bytes: usize) -> Self {
        Self {
            records,
            rate: usize::MAX,
            bytes,
            single_record: usize::MAX,
            filter_bytes: usize::MAX,
        }
    }

    /// Records and bytes for a client whose last delivery is so long ago.
    pub(super) fn after(&self, elapsed: Duration) -> (usize, usize) {
        let ms = elapsed.as_millis().clamp(1000, LONGEST.as_millis());
        let scaled = |rate: usize| usize::try_from(rate as u128 * ms / 1000).unwrap_or(usize::MAX);
        (scaled(self.records), scaled(self.rate).min(self.bytes))
    }
}

/// Looks at a packed high-resolution record.
pub type RecordFilter<'a> = &'a dyn Fn(&[u8]) -> bool;

/// What a client asks of a stream.
#[derive(Clone, Copy)]
pub struct ReadRequest<'a> {
    /// Which arrays.
    pub resolutions: Resolutions,
    /// How much.
    pub limits: Limits,
    /// PMID of the parameter that tells of loss in high-resolution arrays.
    pub lost: Pmid,
    /// `true` for records (packed, high resolution) that this client wants; all, if there is none.
    pub filter: Option<RecordFilter<'a>>,
    /// Asked after each piece that a filter has looked at: `false` ends the delivery, and the rest
    /// comes with the next.
    pub may_continue: Option<&'a dyn Fn() -> bool>,
    /// The time, on a clock that only goes forward.
    pub now: Duration,
}

impl ReadRequest<'_> {
    /// Without a filter, at time 0.
    #[must_use]
    pub const fn new(resolutions: Resolutions, limits: Limits, lost: Pmid) -> Self {
        Self { resolutions, limits, lost, filter: None, may_continue: None, now: Duration::ZERO }
    }
}

/// One client's new records as finished arrays.
#[derive(Debug, Default)]
pub struct Delivery {
    /// `pmEventArray`, when wanted.
    pub low: Option<Vec<u8>>,
    /// `pmHighResEventArray`, when wanted.
    pub high: Option<Vec<u8>>,
    /// Records in it, without those that tell of loss.
    pub records: usize,
    /// Records that this client will never see.
    pub missed: u64,
    /// Bytes of records that a filter has looked at.
    pub scanned: usize,
}

/// A context's place in a stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Client {
    /// Sequence number of the first record not yet delivered.
    pub(super) cursor: u64,
    /// When it was last read.
    pub(super) at: Duration,
}
