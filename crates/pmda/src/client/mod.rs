//! A client of PMAPI(3): values, event records, instances and labels of a host's pmcd or of an archive.
//!
//! Feature `client`.

mod context;
mod end;
mod events;
mod fetched;
mod lists;
mod window;

pub use context::{Context, Desc, Source};
pub use end::at_end;
pub use events::{EventRecord, EventRecords, Malformed, Parameter, ParameterValue};
pub use fetched::{Fetched, Raw};
pub use window::{TimeZone, Window, interval};
