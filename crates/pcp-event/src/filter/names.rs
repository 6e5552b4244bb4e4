//! The names of parameters, as the user of the crate knows them.

use crate::types::ids::{Pmid, ValueType};

/// The parameters of one kind of records, by name.
pub trait ParameterNames {
    /// Number of parameters known; a parameter that comes later has a higher number.
    fn known(&self) -> usize {
        0
    }

    /// All parameters from number `from` on whose full name is `name` or ends in `.name`, with
    /// their types.
    fn find(&self, name: &str, from: usize) -> Vec<(Pmid, ValueType)>;
}
