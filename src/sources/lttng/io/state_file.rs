//! The state file of managed sessions.

use std::fs::{File, OpenOptions, rename};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::sources::lttng::control::State;
use crate::sources::lttng::control::limits::STATE_MAX;

/// Reads the file; a missing file is an empty state.
///
/// # Errors
/// The file cannot be read or parsed.
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

/// Writes a new file to the disk and renames it over the old one: a complete file always exists.
///
/// # Errors
/// The old file stays.
pub(super) fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    rename(&new, path)
}
