//! A lock file that prevents a second process from writing the same files.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// Longest wait: a predecessor that pmcd has just stopped may still be writing.
const LONGEST_WAIT: Duration = Duration::from_secs(2);
/// Time between two attempts.
const RETRY: Duration = Duration::from_millis(20);

/// The outcome of [`lock_file`].
#[derive(Debug)]
pub enum FileLock {
    /// The lock is ours until the file is closed, which also happens after a crash.
    Ours(File),
    /// Another process has the lock: its process number, if it has written one.
    Others(String),
}

/// Takes the lock on `path` and writes our process number into it. Waits at most 2 s for another
/// process.
///
/// # Errors
/// The file cannot be created, or its file system has no locks.
pub fn lock_file(path: &Path) -> io::Result<FileLock> {
    let mut file =
        OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    let tries = LONGEST_WAIT.as_millis() / RETRY.as_millis();
    for left in (0..tries).rev() {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {
                file.set_len(0)?;
                writeln!(file, "{}", std::process::id())?;
                return Ok(FileLock::Ours(file));
            }
            Err(Errno::WOULDBLOCK) => {}
            Err(e) => return Err(e.into()),
        }
        if left > 0 {
            std::thread::sleep(RETRY);
        }
    }
    let mut holder = String::new();
    file.take(20).read_to_string(&mut holder)?;
    Ok(FileLock::Others(holder.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_process_learns_the_number_of_the_first() {
        let path = std::env::temp_dir().join(format!("pmda-lock-{}", std::process::id()));
        let Ok(FileLock::Ours(_file)) = lock_file(&path) else { panic!("no lock") };
        let Ok(FileLock::Others(pid)) = lock_file(&path) else { panic!("two locks") };
        assert_eq!(pid, std::process::id().to_string());
        std::fs::remove_file(&path).expect("gone");
    }
}
