//! What one client context gets from a stream: caps, the delivery, the cursor.

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
}

/// A context's place in a stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Client {
    /// Sequence number of the first record not yet delivered.
    pub(super) cursor: u64,
}
