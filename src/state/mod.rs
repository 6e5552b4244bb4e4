//! The state that outlives the process: one file with the ids, names, descriptions, labels and
//! times of leaving of all peers, rows and dynamic metrics.
//!
//! * [`record`]: a line of the file: a checksum and a JSON object. Damage to a line loses only that
//!   line.
//! * [`Book`]: the ids and their holders. Ids are never given out twice, and never change: each
//!   domain has a mark above all ids it ever gave.
//! * [`read`] and the [`Saver`]: a separate thread writes a new file beside the old one, syncs and
//!   renames it.
//! * [`old`]: the files that pmdaapm 0.1 wrote with pmdaCache(3).

mod book;
mod domain;
mod file;
mod old;
mod record;
mod restore;
mod saver;

pub use book::{Book, Snapshot};
pub use file::{Create, Loaded, Replace, read, write};
pub use old::read_old;
pub use record::{Ending, LINE_MAX, Record, VERSION};
pub use restore::Restored;
pub use saver::{Outcome, Saver};

/// Bytes in and out, for `fuzz/fuzz_targets/state_file.rs`.
#[cfg(fuzzing)]
pub mod fuzzing {
    use super::{Loaded, Snapshot, file};

    /// As [`read`](super::read).
    ///
    /// # Panics
    /// Bytes in memory could not be read.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Loaded {
        file::parse(bytes).expect("bytes in memory")
    }

    /// The bytes of a snapshot's file.
    ///
    /// # Panics
    /// Memory could not be written.
    #[must_use]
    pub fn bytes(snapshot: &Snapshot) -> Vec<u8> {
        let mut bytes = Vec::new();
        let size = file::write_to(&mut bytes, snapshot.records(), &snapshot.kept);
        assert_eq!(size.expect("memory"), bytes.len() as u64);
        bytes
    }
}

#[cfg(test)]
mod book_tests;
#[cfg(test)]
mod file_tests;
