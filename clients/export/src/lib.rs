//! Export of event records and stacks of `pmdaapm`.
//!
//! Data flows one way: [`read`] gives [`model::Record`]s, [`meaning`] says what they mean as spans and
//! instants, and each format writes those.

use std::io::Write;

pub mod chrome;
pub mod command;
pub mod exporter;
mod http;
pub mod meaning;
pub mod model;
pub mod otlp;
pub mod perfetto;
pub mod profile;
pub mod proto;
pub mod read;
pub mod timeline;
pub mod tree;

/// A line for who started the program.
pub(crate) fn say(text: &str) {
    // There is nobody to tell if nobody listens.
    let _ = writeln!(std::io::stderr(), "pmdaapm-export: {text}");
}
