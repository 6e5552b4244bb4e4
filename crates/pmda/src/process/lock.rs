//! A lock file that prevents a second process from writing the same files.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::private_file::{FLAGS, regular};

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

/// Takes the lock on `path` and writes our process number into it. Waits at most `longest`
/// for another process.
///
/// # Errors
/// The file cannot be created or is no regular one, or its file system has no locks.
pub fn lock_file(path: &Path, longest: Duration) -> io::Result<FileLock> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600).custom_flags(FLAGS);
    let mut file = options.open(path)?;
    regular(&file)?;
    let tries = 1 + longest.as_millis() / RETRY.as_millis();
    for left in (0..tries).rev() {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {
                // One of an earlier version may be readable for all. It may also belong to somebody else.
                let _ = file.set_permissions(PermissionsExt::from_mode(0o600));
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
        let Ok(FileLock::Ours(_file)) = lock_file(&path, Duration::ZERO) else { panic!("no lock") };
        let Ok(FileLock::Others(pid)) = lock_file(&path, Duration::ZERO) else {
            panic!("two locks")
        };
        assert_eq!(pid, std::process::id().to_string());
        std::fs::remove_file(&path).expect("gone");
    }
}
