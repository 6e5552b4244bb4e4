//! A watch on /dev/shm: a new area is seen at once.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};

/// Most events read at once: the kernel queues 16,384 unless configured.
const EVENTS: usize = 32_768;

/// The watch.
#[derive(Debug)]
pub(super) struct Watch(Arc<OwnedFd>);

/// What was read.
#[derive(Debug, Default)]
pub(super) struct Read {
    /// The numbers of areas that have come or gone.
    pub(super) named: Vec<u32>,
    /// The kernel has dropped events.
    pub(super) overflow: bool,
}

impl Watch {
    /// # Errors
    /// The limits of the host are reached, or there is no such directory.
    pub(super) fn new() -> std::io::Result<Self> {
        let events = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let flags = WatchFlags::CREATE | WatchFlags::DELETE | WatchFlags::ONLYDIR;
        inotify::add_watch(&events, "/dev/shm", flags)?;
        Ok(Self(Arc::new(events)))
    }

    /// Readable when there are events.
    pub(super) fn file(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.0)
    }

    /// Reads what has happened.
    pub(super) fn read(&self) -> Read {
        let mut read = Read::default();
        let mut buffer = [const { MaybeUninit::uninit() }; 16 << 10];
        let mut reader = inotify::Reader::new(&*self.0, &mut buffer);
        for _ in 0..EVENTS {
            let Ok(event) = reader.next() else { break };
            read.overflow |= event.events().contains(ReadFlags::QUEUE_OVERFLOW);
            let name = event.file_name().map(CStr::to_bytes).unwrap_or_default();
            let number = name.strip_prefix(b"mono.").and_then(|n| std::str::from_utf8(n).ok());
            read.named.extend(number.and_then(|n| n.parse::<u32>().ok()));
        }
        read
    }
}
