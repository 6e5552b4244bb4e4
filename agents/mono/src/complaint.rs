//! The module's log: lines on the program's stderr.

use std::io::Write;

/// Writes one line in one call. Errors are ignored, since the program must not be affected.
pub(crate) fn complain(what: &str) {
    let line = format!("mono-profiler-apm: {what}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
}
