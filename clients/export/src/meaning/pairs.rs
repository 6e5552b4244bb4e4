//! Records that say where something starts and ends, as one.

use crate::model::Record;

/// Starts that wait for their ends.
#[derive(Debug, Default)]
pub struct Pairs {}

impl Pairs {
    /// Gives a record to `emit` unless it waits for its other half; an end comes with its start as one record.
    pub fn add(&mut self, record: Record, emit: &mut impl FnMut(Record)) {
        emit(record);
    }

    /// Gives all starts that have no end, as instants.
    pub fn finish(&mut self, _emit: &mut impl FnMut(Record)) {}
}
