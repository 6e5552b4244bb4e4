//! The module's only words: lines on the program's stderr.

use std::io::Write;

/// One line, in one write; what cannot be written is not worth harming the program for.
pub(crate) fn complain(what: &str) {
    let line = format!("mono-profiler-apm: {what}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
}
