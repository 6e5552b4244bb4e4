//! Event records as PCP gives them.

mod kinds;
mod record;
mod value;

pub use kinds::{Anchor, Kind};
pub use record::{Flags, Instance, Labels, Origin, Record};
pub use value::Value;
