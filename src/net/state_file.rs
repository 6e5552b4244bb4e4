//! Files that outlive the process.

use std::fs::rename;
use std::io::{ErrorKind, Read, Write};
use std::path::Path;

use pmda::process::{create_private, open_private};

/// Reads a file, up to one byte more than `max`; `None`: there is none.
///
/// # Errors
/// The file cannot be read, or is not UTF-8.
pub fn read(path: &Path, max: usize) -> std::io::Result<Option<String>> {
    let file = match open_private(path) {
        Ok(file) => file,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(e),
    };
    let mut text = String::new();
    file.take(max as u64 + 1).read_to_string(&mut text)?;
    Ok(Some(text))
}

/// Writes a new file to the disk and renames it over the old one: a complete file always exists.
///
/// # Errors
/// The old file stays.
pub fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    let mut file = create_private(Path::new(&new))?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    rename(&new, path)
}
