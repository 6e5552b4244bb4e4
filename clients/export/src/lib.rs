//! Export of event records and stacks of `pmdaapm`.
//!
//! Data flows one way: [`read`] gives [`model::Record`]s, [`meaning`] says what they mean as spans and
//! instants, and each format writes those.

pub mod chrome;
pub mod command;
pub mod meaning;
pub mod model;
pub mod otlp;
pub mod perfetto;
pub mod profile;
pub mod proto;
pub mod read;
pub mod sink;
pub mod timeline;
pub mod tree;
