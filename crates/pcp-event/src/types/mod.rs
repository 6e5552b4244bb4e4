//! PCP's identifiers, value types, semantics and units, and the time of records.

pub(crate) mod ids;
pub(crate) mod stamp;
pub(crate) mod units;
pub(crate) mod value;
