//! The names of parameters, provided by the user of the crate.

use crate::types::ids::{Pmid, ValueType};

/// The parameters of one kind of records, by name.
pub trait ParameterNames {
    /// Number of known parameters; later parameters get higher numbers.
    fn known(&self) -> usize {
        0
    }

    /// All parameters from number `from` on whose full name is `name` or ends in `.name`, with
    /// their types.
    fn find(&self, name: &str, from: usize) -> Vec<(Pmid, ValueType)>;
}
