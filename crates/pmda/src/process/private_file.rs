//! Files that only this process's user may read or replace, in folders that others may write into.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};
use std::path::Path;

/// A symbolic link is not followed, and a named pipe not waited for.
pub(super) const FLAGS: i32 = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;

/// Opens a regular file for reading.
///
/// # Errors
/// There is none, it cannot be read, or something else is in its place.
pub fn open_private(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(FLAGS).open(path)?;
    regular(&file)?;
    Ok(file)
}

/// Makes an empty file with mode 0600, in the place of what was there.
///
/// # Errors
/// The folder cannot be written into, or another folder is in the file's place.
pub fn create_private(path: &Path) -> io::Result<File> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    OpenOptions::new().write(true).create_new(true).mode(0o600).custom_flags(FLAGS).open(path)
}

/// Gives root's files of a folder whose names begin with `prefix` to another user. Only regular files with one name:
/// who may write into the folder could have put a link to any file there.
///
/// # Errors
/// The folder cannot be read.
pub(crate) fn hand_over(dir: &Path, prefix: &str, user: u32) -> io::Result<()> {
    for entry in std::fs::read_dir(dir)?.flatten() {
        if !entry.file_name().as_encoded_bytes().starts_with(prefix.as_bytes()) {
            continue;
        }
        let Ok(file) = open_private(&entry.path()) else { continue };
        let owned = file.metadata().is_ok_and(|found| found.uid() == 0 && found.nlink() == 1);
        if owned && let Err(e) = fchown(&file, Some(user), None) {
            log::warn!("{}: cannot be given to user {user}: {e}", entry.path().display());
        }
    }
    Ok(())
}

/// Checked after the open, since what is at the path may change.
pub(super) fn regular(file: &File) -> io::Result<()> {
    if file.metadata()?.is_file() { Ok(()) } else { Err(io::Error::other("it is no regular file")) }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::process::Command;

    use super::*;

    #[test]
    fn only_a_regular_file_is_opened_and_a_new_one_follows_nothing() {
        let dir = std::env::temp_dir().join(format!("pmda-private-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a folder");
        let (path, other) = (dir.join("file"), dir.join("other"));
        std::fs::write(&other, "theirs").expect("room");
        assert_eq!(open_private(&path).expect_err("none").kind(), io::ErrorKind::NotFound);

        symlink(&other, &path).expect("a link");
        assert!(open_private(&path).is_err(), "a link was followed");
        create_private(&path).and_then(|mut file| file.write_all(b"ours")).expect("a file");
        assert_eq!(std::fs::read_to_string(&other).expect("there"), "theirs");
        let mode =
            open_private(&path).and_then(|file| file.metadata()).expect("ours").permissions();
        assert_eq!(mode.mode() & 0o777, 0o600);

        std::fs::remove_file(&path).expect("ours");
        assert!(Command::new("mkfifo").arg(&path).status().expect("mkfifo").success());
        assert!(open_private(&path).is_err(), "a pipe was waited for");
        create_private(&path).expect("in its place");
        assert!(open_private(&dir).is_err() && create_private(&dir).is_err(), "a folder");
        std::fs::remove_dir_all(&dir).expect("ours");
    }
}
