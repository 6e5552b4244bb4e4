//! Watches on directories: a new socket is seen at once.

use std::collections::HashMap;
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};

use crate::proc::path_of;
use crate::sources::dotnet::discovery::parse_socket_name;
use crate::sources::dotnet::limits;

/// Most events read at once: the kernel queues 16,384 unless configured.
const EVENTS: usize = 32_768;

/// Directories that are watched. Dropped watches end with [`Watches`].
#[derive(Debug)]
pub(super) struct Watches {
    events: Arc<OwnedFd>,
    /// Device and inode of each directory that is watched, by the number of its watch.
    known: HashMap<i32, (u64, u64)>,
    directories: HashMap<(u64, u64), i32>,
}

/// What was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Read {
    /// Changes of any files.
    pub events: usize,
    /// Changes of sockets of .NET, by their names.
    pub named: usize,
    /// The kernel has dropped events.
    pub overflow: bool,
}

impl Watches {
    /// # Errors
    /// The limits of the host are reached.
    pub(super) fn new() -> std::io::Result<Self> {
        let events = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        Ok(Self { events: Arc::new(events), known: HashMap::new(), directories: HashMap::new() })
    }

    /// Readable when there are events.
    pub(super) fn file(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.events)
    }

    /// Watches a directory, if there is room and it may be read.
    pub(super) fn add(&mut self, directory: &OwnedFd) {
        let Ok(stat) = rustix::fs::fstat(directory) else { return };
        let key = (stat.st_dev, stat.st_ino);
        if self.directories.contains_key(&key) || self.directories.len() >= limits::WATCHES {
            return;
        }
        let flags = WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::ATTRIB
            | WatchFlags::MOVED_TO
            | WatchFlags::ONLYDIR;
        if let Ok(number) = inotify::add_watch(&self.events, path_of(directory), flags) {
            self.known.insert(number, key);
            self.directories.insert(key, number);
        }
    }

    /// Reads what has happened. `named` is called with the process id and the start time in the
    /// name of each socket that came, went or changed.
    pub(super) fn read(&mut self, mut named: impl FnMut(u32, u64)) -> Read {
        let mut read = Read::default();
        let mut buffer = [const { MaybeUninit::uninit() }; 16 << 10];
        let events = Arc::clone(&self.events);
        let mut reader = inotify::Reader::new(&*events, &mut buffer);
        while read.events < EVENTS {
            let Ok(event) = reader.next() else { break };
            read.events += 1;
            let flags = event.events();
            if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
                read.overflow = true;
            }
            if flags.contains(ReadFlags::IGNORED)
                && let Some(key) = self.known.remove(&event.wd())
            {
                self.directories.remove(&key);
            }
            let name = event.file_name().map(CStr::to_bytes);
            if let Some((pid, start)) = name.and_then(parse_socket_name) {
                read.named += 1;
                named(pid, start);
            }
        }
        read
    }
}
