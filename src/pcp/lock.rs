//! The lock that keeps a second PMDA from writing the same state file.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::Duration;

/// A predecessor that pmcd has just stopped may still be writing.
const PATIENCE: Duration = Duration::from_secs(2);
const AGAIN: Duration = Duration::from_millis(20);

/// What asking for the lock came to.
#[derive(Debug)]
pub(super) enum Locked {
    /// Ours until the file is closed, also by a crash.
    Ours(File),
    /// Another process has it, with this number if it has written one.
    Others(String),
}

/// Takes the lock on `path`, which then holds our process number.
///
/// # Errors
/// The file cannot be made, or its file system has no locks.
pub(super) fn take(path: &Path) -> io::Result<Locked> {
    let mut file =
        OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    let tries = PATIENCE.as_millis() / AGAIN.as_millis();
    for left in (0..tries).rev() {
        // SAFETY: flock(2) takes a descriptor, which the file keeps open.
        if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0 {
            file.set_len(0)?;
            writeln!(file, "{}", std::process::id())?;
            return Ok(Locked::Ours(file));
        }
        let why = io::Error::last_os_error();
        if why.kind() != io::ErrorKind::WouldBlock {
            return Err(why);
        }
        if left > 0 {
            std::thread::sleep(AGAIN);
        }
    }
    let mut holder = String::new();
    file.take(20).read_to_string(&mut holder)?;
    Ok(Locked::Others(holder.trim().to_owned()))
}
