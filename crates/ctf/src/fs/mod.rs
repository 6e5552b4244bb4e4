//! Traces in directories: the events of all streams in time order. Needs the feature `fs`.
//!
//! A trace is a directory with a file `metadata`; every other file beside it is a data stream, or a
//! part of one (tracers begin a new file when one is full). [`Session`] finds the traces below a
//! directory, at any depth.
//!
//! Memory is bounded: besides the metadata, one packet of each stream is in memory.
//!
//! ```
//! # fn main() -> Result<(), ctf::fs::Error> {
//! # let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/trace");
//! let session = ctf::fs::Session::open(dir)?;
//! for record in session.records() {
//!     println!("{}", record?);
//! }
//! # assert_eq!(session.records().count(), 2);
//! # Ok(())
//! # }
//! ```
//!
//! [`Session::records`] copies the values of events for [`Record`]s; [`Records::read`] lends one of them.
//! [`Session::reader`] and a [`MergeVisitor`](crate::MergeVisitor) avoid the copies.

mod directory;
mod error;
mod files;
mod reader;
mod records;
mod session;
mod stream;

pub use error::Error;
pub use files::{StreamFiles, TraceFiles};
pub use reader::Reader;
pub use records::Records;
pub use session::Session;

pub use crate::record::Record;
