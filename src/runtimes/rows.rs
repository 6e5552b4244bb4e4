//! Rows that a process counts in: `PROCESS::KEY`.

use std::fmt::Write;

use crate::contract::Peer;
use crate::model::{RowItem, TableId};

/// Bytes of the key of a row behind the name of the process.
const KEY: usize = 250;

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
            row.of_process(owner, self.label, &clean(&key));
        });
    }
}

/// Binds a slot to the row `OWNER::KEY`. `label`: the instance label of the key, and the key.
pub(crate) fn bind(
    table: TableId,
    owner: &str,
    slot: u32,
    label: (&'static str, &str),
    peer: &mut Peer,
) {
    let mut key = String::with_capacity(owner.len() + 2 + label.1.len());
    let _ = write!(key, "{owner}::{}", label.1);
    peer.row(table, slot, Some(&key));
    peer.row_labels(table, slot, &[("process", owner), label]);
}

/// A text without blanks and control characters, at most [`KEY`] bytes; `#` if it is empty.
pub(crate) fn clean(text: &str) -> String {
    let mut clean = String::with_capacity(text.len().min(KEY));
    for c in text.chars() {
        let c = if c.is_whitespace() || c.is_control() { '_' } else { c };
        if clean.len() + c.len_utf8() > KEY {
            break;
        }
        clean.push(c);
    }
    if clean.is_empty() {
        clean.push('#');
    }
    clean
}
