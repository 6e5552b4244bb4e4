//! PCP's value types and identifiers.

mod metric;
mod stamp;
mod value;

pub use metric::{Pmid, Semantics, Units, ValueType};
pub use stamp::Stamp;
pub use value::Value;
