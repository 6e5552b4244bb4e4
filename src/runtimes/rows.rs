//! Rows that a process counts in: `PROCESS::KEY`.

use crate::contract::Peer;
use crate::meter::row_key;
use crate::model::RowItem;

/// Bytes of the key of a row behind the name of the process.
pub(crate) const KEY: usize = 250;

/// The counters of a table of such rows; the first of them ranks the rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout<const N: usize> {
    pub(crate) items: [RowItem; N],
    /// The instance label that has the key.
    pub(crate) label: &'static str,
}

impl<const N: usize> Layout<N> {
    /// Adds to the sums of the row of a key. `name` writes the key for its row.
    #[inline]
    pub(crate) fn count(
        &self,
        owner: &str,
        hash: u64,
        more: [u64; N],
        peer: &mut Peer,
        name: impl FnOnce(&mut String),
    ) {
        peer.count_row(&self.items, hash, more, |row| {
            let mut key = String::new();
            name(&mut key);
            row.of_process(owner, self.label, &row_key(&key, KEY));
        });
    }
}
