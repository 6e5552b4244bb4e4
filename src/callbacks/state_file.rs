//! The state file: what it has at the start, and whether this process may replace it.

use std::fs::{File, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pmda::process::{FileLock, lock_file, open_private};

use crate::state::{Create, Loaded, Saver, read, read_old};
use crate::store::Store;

/// Longest wait for the lock at the start: a predecessor that pmcd has just stopped may still be writing.
const PREDECESSOR: Duration = Duration::from_secs(2);
/// Time between two attempts to get the lock later.
const AGAIN: Duration = Duration::from_secs(5);

/// What was at the path when the file was read; `None`: nothing.
type Seen = Option<(u64, u64, u64, i64, i64)>;

#[derive(Debug)]
pub(super) struct StateFile {
    path: PathBuf,
    create: Create,
    lock: Option<File>,
    /// Nothing may replace what could not be read.
    readable: bool,
    seen: Seen,
    tried: Duration,
}

impl StateFile {
    /// Reads the file of a domain in `dir`, or the files of the version before it. `create` makes the next one.
    pub(super) fn open(dir: &Path, store: &Store, create: Create, at: Duration) -> (Self, Loaded) {
        let path = dir.join(format!("apm.{}.state", store.domain()));
        // A fault of the directory is reported by the lock and by each write.
        let _ = std::fs::create_dir_all(dir);
        let mut file = Self { path, create, lock: None, readable: true, seen: None, tried: at };
        match lock_file(&file.lock_path(), PREDECESSOR) {
            Ok(FileLock::Ours(lock)) => file.lock = Some(lock),
            Ok(FileLock::Others(pid)) => log::error!(
                "{} is kept by another PMDA, process {}: this one reads it and saves nothing; ids that it gives are its own",
                file.path.display(),
                if pid.is_empty() { "of unknown number" } else { &pid }
            ),
            Err(e) => log::error!(
                "{}: no lock ({e}), nothing is saved until there is one: is {} writable for user {}?",
                file.lock_path().display(),
                dir.display(),
                user()
            ),
        }
        let loaded = file.load(dir, store);
        (file, loaded)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn lock_path(&self) -> PathBuf {
        self.path.with_extension("state.lock")
    }

    /// Who writes the file, if this process may.
    pub(super) fn saver(&self) -> Option<Saver> {
        let may = self.readable && self.lock.is_some();
        may.then(|| Saver::new(self.path.clone(), self.create))
    }

    /// Tries again to get a lock that could not be had, each 5 s: who saves if this process may now.
    pub(super) fn again(&mut self, at: Duration) -> Option<Saver> {
        if self.lock.is_some() || !self.readable || at.saturating_sub(self.tried) < AGAIN {
            return None;
        }
        self.tried = at;
        let Ok(FileLock::Ours(lock)) = lock_file(&self.lock_path(), Duration::ZERO) else {
            return None;
        };
        self.lock = Some(lock);
        let path = self.path.display();
        if now_at(&self.path) == self.seen {
            log::info!("{path} is kept by this PMDA from now on");
        } else {
            (self.readable, self.lock) = (false, None);
            log::error!(
                "{path} has changed since it was read, another PMDA wrote it: this one saves nothing; restart it"
            );
        }
        self.saver()
    }

    fn load(&mut self, dir: &Path, store: &Store) -> Loaded {
        let path = self.path.display();
        let opened = open_private(&self.path).and_then(|file| {
            self.seen = Some(mark(&file.metadata()?));
            read(file)
        });
        match opened {
            Ok(Loaded { newer: Some(version), .. }) => {
                let kept = self.path.with_extension(format!("state.version{version}"));
                log::error!("{path} is of version {version}, which this program cannot read");
                if self.lock.is_some() {
                    match std::fs::rename(&self.path, &kept) {
                        Ok(()) => log::error!("it is kept as {}; ids begin anew", kept.display()),
                        Err(e) => log::error!("it cannot be kept as {}: {e}", kept.display()),
                    }
                    self.seen = None;
                }
                Loaded::default()
            }
            Ok(loaded) => loaded,
            Err(e) if e.kind() == ErrorKind::NotFound => {
                match read_old(dir, store.domain(), store.catalogue()) {
                    Some(old) => {
                        log::info!(
                            "ids and names are taken over from {}/{}.*",
                            dir.display(),
                            store.domain()
                        );
                        old
                    }
                    None => Loaded::default(),
                }
            }
            Err(e) => {
                self.readable = false;
                log::error!(
                    "{path}: {e}: ids begin anew and nothing is saved over it; make it readable for user {}, or \
                     move it away, and restart the PMDA",
                    user()
                );
                Loaded::default()
            }
        }
    }
}

fn user() -> String {
    let id = pmda::process::effective_user();
    pmda::process::user_name(id).unwrap_or_else(|| id.to_string())
}

fn mark(found: &Metadata) -> (u64, u64, u64, i64, i64) {
    (found.dev(), found.ino(), found.len(), found.mtime(), found.mtime_nsec())
}

/// What is at the path now.
fn now_at(path: &Path) -> Seen {
    std::fs::symlink_metadata(path).ok().as_ref().map(mark)
}
