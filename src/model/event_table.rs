//! The tables of a kind of event records: text for people, one record a line.

use super::ParamItem;

/// The columns of the tables `table` and `slowest` of an event kind. The first column is always
/// `time`.
#[derive(Clone, Copy, Debug)]
pub struct EventTable {
    /// The other columns: name and what a cell has.
    pub columns: &'static [(&'static str, TableCell)],
    /// The parameter by which records are the slowest, in nanoseconds. `None`: the kind has no
    /// duration, and no metric `slowest`.
    pub duration: Option<ParamItem>,
}

/// What a cell has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableCell {
    /// Name of the instance.
    Peer,
    /// A parameter.
    Param(ParamItem),
    /// A parameter whose text may have 16 KiB.
    Long(ParamItem),
    /// A parameter in nanoseconds, in milliseconds.
    Milliseconds(ParamItem),
    /// `error` if a parameter is there and not 0, else `ok`.
    Status(ParamItem),
    /// A parameter that programs define, by its name below `param.`.
    Named(&'static str),
    /// All parameters that have no column, `name=value` parted by blanks. Of a name with more
    /// components than this number, that many are left out.
    Others(usize),
    /// Name of the line's parameter. A table with this column has a line for each parameter of a
    /// record.
    Counter,
    /// Value of the line's parameter.
    Value,
    /// The value less that of the same parameter in the record before that has it.
    Delta,
}

impl EventTable {
    /// Whether a record has a line for each of its parameters.
    #[must_use]
    pub fn line_for_each_parameter(&self) -> bool {
        self.columns.iter().any(|(_, cell)| *cell == TableCell::Counter)
    }

    /// The header line.
    #[must_use]
    pub fn header(&self) -> String {
        let names = self.columns.iter().map(|(name, _)| *name);
        std::iter::once("time").chain(names).collect::<Vec<_>>().join(",")
    }
}
