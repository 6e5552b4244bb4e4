//! The file that remembers which sessions are ours.

use std::fs::{File, OpenOptions, rename};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::sources::lttng::control::State;
use crate::sources::lttng::control::limits::STATE_MAX;

/// Reads it; one that is not there is an empty one.
///
/// # Errors
/// Why it cannot be used.
pub(super) fn read(path: &Path) -> Result<State, String> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(State::default()),
        Err(e) => return Err(e.to_string()),
    };
    let mut text = String::new();
    file.take(STATE_MAX as u64 + 1).read_to_string(&mut text).map_err(|e| e.to_string())?;
    State::parse(&text)
}

/// Writes it beside the old one, to the disk, and then puts it in its place: there is always a
/// whole one.
///
/// # Errors
/// The old one stays.
pub(super) fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    rename(&new, path)
}
