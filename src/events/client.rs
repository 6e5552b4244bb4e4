//! What one client context gets from a stream: the request, the delivery, the cursor.

use crate::model::Pmid;

/// Which arrays a fetch wants. Both are taken from one snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Want {
    /// `…records`
    pub low: bool,
    /// `…highres_records`
    pub high: bool,
}

/// Bounds of one delivery; what is left comes with the next fetch.
#[derive(Clone, Copy, Debug)]
pub struct Caps {
    /// Most records (`events.max_records`).
    pub records: usize,
    /// Most bytes of packed records.
    pub bytes: usize,
    /// A record of at most this many bytes is delivered alone if it is the first, else a large one would block the stream.
    pub one: usize,
    /// Most bytes of records that a filter looks at.
    pub scan: usize,
}

impl Caps {
    /// So many records and bytes, but one record always; filters may look at everything.
    #[must_use]
    pub const fn new(records: usize, bytes: usize) -> Self {
        Self { records, bytes, one: usize::MAX, scan: usize::MAX }
    }
}

/// Looks at a packed high-resolution record.
pub type Keep<'a> = &'a dyn Fn(&[u8]) -> bool;

/// What a client asks of a stream.
#[derive(Clone, Copy)]
pub struct Ask<'a> {
    /// Which arrays.
    pub want: Want,
    /// How much.
    pub caps: Caps,
    /// PMID of the parameter that tells of loss in high-resolution arrays.
    pub lost: Pmid,
    /// `true` for records (packed, high resolution) that this client wants; all, if there is none.
    pub filter: Option<Keep<'a>>,
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
}
