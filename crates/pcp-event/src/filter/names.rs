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

    /// Whether parameters of any name may come: then a filter with an unknown name is accepted, and
    /// its comparisons with that are false until there is one.
    fn grows(&self) -> bool {
        false
    }

    /// The unit of a parameter's values in nanoseconds; `None`: they are no times.
    fn time_unit(&self, pmid: Pmid) -> Option<u64> {
        let _ = pmid;
        None
    }
}
