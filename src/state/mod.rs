//! What outlives the process: one file with the ids, names, descriptions, labels and times of
//! leaving of all that peers have brought.
//!
//! * [`record`]: a line of the file: a checksum and a JSON object. A damaged line costs only
//!   itself.
//! * [`Book`]: who has which id. Ids are never given out twice, and never move: each domain has a
//!   mark above all ids it ever gave.
//! * [`read`] and the [`Saver`]: the file is written whole beside the old one, synced and renamed,
//!   by a thread of its own.
//! * [`old`]: the files that pmdaapm 0.1 kept with pmdaCache(3).

mod book;
mod domain;
mod file;
mod old;
mod record;
mod restore;
mod saver;

pub use book::{Book, Snapshot};
pub use file::{Loaded, read, write};
pub use old::read_old;
pub use record::{LINE_MAX, Record, VERSION};
pub use restore::Restored;
pub use saver::{Outcome, Saver};

#[cfg(test)]
mod book_tests;
#[cfg(test)]
mod file_tests;
