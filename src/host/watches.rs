//! Watches on directories: a new file of a process is seen at once.

use std::collections::HashMap;
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use tokio::io::unix::AsyncFd;

use super::files::path_of;
use super::limits;

/// Most events read at once: the kernel queues 16,384 unless configured.
const EVENTS: usize = 32_768;

/// Directories that are watched. Dropped watches end with [`Watches`].
#[derive(Debug)]
pub(super) struct Watches {
    events: Arc<OwnedFd>,
    directories: Mutex<Directories>,
}

/// Device and inode of each directory that is watched, and the number of its watch.
#[derive(Debug, Default)]
struct Directories {
    by_number: HashMap<i32, (u64, u64)>,
    numbers: HashMap<(u64, u64), i32>,
}

/// What was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Read {
    /// Changes of any files.
    pub(super) events: usize,
    /// The kernel has dropped events.
    pub(super) overflow: bool,
}

impl Watches {
    /// # Errors
    /// The limits of the host are reached.
    pub(super) fn new() -> std::io::Result<Self> {
        let events = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        Ok(Self { events: Arc::new(events), directories: Mutex::default() })
    }

    /// Tells when there are events; `None`: they cannot be waited for.
    #[allow(
        deprecated,
        reason = "its replacement wants a promise that the file stays open; an Arc is that"
    )]
    pub(super) fn readiness(&self) -> Option<AsyncFd<Arc<OwnedFd>>> {
        AsyncFd::new(Arc::clone(&self.events)).ok()
    }

    /// Watches a directory, if there is room and it may be read.
    pub(super) fn add(&self, directory: &OwnedFd) {
        let Ok(stat) = rustix::fs::fstat(directory) else { return };
        let key = (stat.st_dev, stat.st_ino);
        let known = self.lock();
        if known.numbers.contains_key(&key) || known.numbers.len() >= limits::WATCHES {
            return;
        }
        // Without the lock: the file system of the directory need not answer.
        drop(known);
        let flags = WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::ATTRIB
            | WatchFlags::MOVED_TO
            | WatchFlags::ONLYDIR;
        if let Ok(number) = inotify::add_watch(&self.events, path_of(directory), flags) {
            let mut known = self.lock();
            known.by_number.insert(number, key);
            known.numbers.insert(key, number);
        }
    }

    /// Reads what has happened. `named` is called with the name of each file that came, went or
    /// changed.
    pub(super) fn read(&self, mut named: impl FnMut(&[u8])) -> Read {
        let mut read = Read::default();
        let mut buffer = [const { MaybeUninit::uninit() }; 16 << 10];
        let mut reader = inotify::Reader::new(&*self.events, &mut buffer);
        while read.events < EVENTS {
            let Ok(event) = reader.next() else { break };
            read.events += 1;
            let flags = event.events();
            read.overflow |= flags.contains(ReadFlags::QUEUE_OVERFLOW);
            if flags.contains(ReadFlags::IGNORED) {
                let mut known = self.lock();
                if let Some(key) = known.by_number.remove(&event.wd()) {
                    known.numbers.remove(&key);
                }
            }
            if let Some(name) = event.file_name() {
                named(CStr::to_bytes(name));
            }
        }
        read
    }

    fn lock(&self) -> MutexGuard<'_, Directories> {
        self.directories.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits until there are events; for ever without an instance. The caller reads until nothing is
/// left.
pub(super) async fn has_events(events: Option<&AsyncFd<Arc<OwnedFd>>>) {
    let Some(events) = events else { return std::future::pending().await };
    match events.readable().await {
        Ok(mut ready) => ready.clear_ready(),
        Err(_) => std::future::pending().await,
    }
}
