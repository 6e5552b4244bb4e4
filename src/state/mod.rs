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

#[cfg(test)]
mod book_tests;
#[cfg(test)]
mod file_tests;
