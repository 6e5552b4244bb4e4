//! OTLP: `ExportTraceServiceRequest`s of spans, to a file or a receiver.

mod answer;
mod batch;
mod between;
mod build;
mod delivery;
mod endpoint;
mod file;
mod hold;
mod journal;
mod post;
mod span;
#[cfg(test)]
mod tests;

pub use batch::Form;
pub use build::{Choice, Otlp};
pub use delivery::Patience;
pub use endpoint::{Endpoint, Said, header};
pub use file::Layout;
pub(crate) use hold::process;
pub use journal::Journal;
