//! What takes records and writes them in a format.

use std::io;
use std::ops::AddAssign;
use std::time::Instant;

use crate::model::Record;
use crate::read::Sampled;

/// What became of the records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Summary {
    /// Spans, slices and instants that were written, or that the receiver took.
    pub sent: u64,
    /// Those that the receiver refused, or that could not be delivered.
    pub rejected: u64,
}

impl AddAssign for Summary {
    fn add_assign(&mut self, more: Self) {
        self.sent += more.sent;
        self.rejected += more.rejected;
    }
}

/// A format with its place. Records come in the order of their arrival, which is not always that of time.
pub trait Exporter {
    /// Takes a record. It may be held, never without a limit.
    ///
    /// # Errors
    /// The file cannot be written. What a receiver refuses is no error: it is counted.
    fn add(&mut self, record: &Record, now: Instant) -> io::Result<()>;

    /// Live, after all records of a fetch: what has waited long enough is written, also without new records.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    fn tick(&mut self, now: Instant) -> io::Result<()>;

    /// The value of a metric beside the records. Formats without such values take none.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    fn counter(&mut self, _value: &Sampled<'_>) -> io::Result<()> {
        Ok(())
    }

    /// Whether records may come: `false` as long as a receiver is slower than they are.
    fn is_ready(&self) -> bool {
        true
    }

    /// No more records come: all that waits is written, and delivered or given up.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    fn finish(&mut self) -> io::Result<Summary>;
}
