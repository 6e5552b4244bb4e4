//! Opens what is asked for. It is one process, which does one request after the other: one that hangs is given up.

use std::ffi::OsStr;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::message::{self, Answer, OPENS, Part, Parts, Place, Process, Request};
use super::names::Names;
use crate::host::files::{ProcDir, ProcFs, connect};
use crate::host::found::Found;
use crate::host::known::Mapped;
use crate::host::sockets::{Holding, held, holds};
use crate::host::text::ProcStatus;
use crate::model::Grants;

/// Requests of one second. A scan of 1,000 processes makes fewer.
const RATE: usize = 20_000;
/// Bytes of a file that is opened for reading.
const BYTES: u64 = 64 << 20;

/// What it may open.
#[derive(Clone, Copy, Debug)]
pub(super) struct Worker {
    pub(super) names: Names,
    pub(super) grants: Grants,
}

impl Worker {
    /// Answers until the other side ends.
    pub(super) fn serve(&self, socket: BorrowedFd<'_>) {
        let proc = ProcFs::new(PathBuf::from("/proc"));
        let (mut second, mut count) = (Instant::now(), 0);
        loop {
            match poll(&mut [PollFd::from_borrowed_fd(socket, PollFlags::IN)], None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return,
            }
            let bytes = match message::receive(socket) {
                Ok((bytes, _)) if bytes.is_empty() => return,
                Ok((bytes, _)) => bytes,
                Err(Errno::AGAIN | Errno::INTR) => continue,
                Err(_) => return,
            };
            if second.elapsed() >= Duration::from_secs(1) {
                (second, count) = (Instant::now(), 0);
            }
            let requests = Request::decode_all(&bytes);
            count += requests.as_ref().map_or(1, Vec::len);
            let answer = match requests.as_deref() {
                _ if count > RATE => Err(Errno::BUSY),
                None | Some([]) => Err(Errno::INVAL),
                Some([(process, request)]) => self.answer(&proc, *process, request),
                Some(all) => Ok(self.answers(&proc, all)),
            };
            if message::answer(socket, &answer).is_err() {
                return;
            }
        }
    }

    /// For each process a byte with what was opened of it.
    fn answers(&self, proc: &ProcFs, all: &[(Process, Request)]) -> (u64, Vec<OwnedFd>) {
        let (mut numbers, mut files) = ([0; OPENS], Vec::new());
        for (number, (process, request)) in numbers.iter_mut().zip(all) {
            if let Ok((opened, more)) = self.answer(proc, *process, request) {
                *number = opened.to_le_bytes()[0];
                files.extend(more);
            }
        }
        (u64::from_le_bytes(numbers), files)
    }

    fn answer(&self, proc: &ProcFs, process: Process, request: &Request) -> Answer {
        // The very process: as long as the PMDA has the folder, its inode is no other one's.
        let dir = proc.open(process.pid).ok_or(Errno::SRCH)?;
        if dir.inode() != Some(process.inode) {
            return Err(Errno::SRCH);
        }
        let opened = |file: OwnedFd| Ok((0, vec![file]));
        match request {
            Request::Open(parts) if parts.has(Part::Memory) && !self.grants.memory => {
                Err(Errno::PERM)
            }
            Request::Open(parts) => open(&dir, *parts),
            Request::Find(place) => opened(self.find(&dir, place)?.into_file()),
            Request::Read(place, file) => opened(self.read(&dir, place, *file)?),
            Request::Connect(path) => opened(self.connect(&dir, path)?),
            Request::Holds(sockets) => {
                let held = held(&dir, &sockets.iter().copied().collect());
                let bits = sockets.iter().enumerate().filter(|(_, inode)| held.contains(inode));
                Ok((bits.fold(0, |bits, (n, _)| bits | 1 << n), Vec::new()))
            }
            Request::HoldsFile(device, inode) => {
                let holds = holds(&dir, Holding::File(*device, *inode)).ok_or(Errno::ACCESS)?;
                Ok((holds.into(), Vec::new()))
            }
        }
    }

    /// A file whose name is one of those that sources read.
    fn find<'p>(&self, dir: &'p ProcDir, place: &Place) -> Result<Found<'p>, Errno> {
        match place {
            Place::Mapped(from, to) => {
                let link = format!("map_files/{from:x}-{to:x}");
                let name = rustix::fs::readlinkat(dir.file(), &link, Vec::new())?;
                self.is_named(Path::new(OsStr::from_bytes(name.as_bytes())))?;
                Found::mapped(dir, (*from, *to))
            }
            Place::Path(path) => {
                self.is_named(path)?;
                Found::named(dir, path)
            }
        }
    }

    fn is_named(&self, path: &Path) -> Result<(), Errno> {
        if self.names.has(path) { Ok(()) } else { Err(Errno::PERM) }
    }

    /// A regular file of the process's user: the one that the PMDA has looked at.
    fn read(&self, dir: &ProcDir, place: &Place, file: Mapped) -> Result<OwnedFd, Errno> {
        let found = self.find(dir, place)?;
        let status = status(dir)?;
        if found.file() != file
            || !found.is_plain(&(0..=BYTES))
            || !(found.is_of(status.uid) || found.is_of(status.real))
        {
            return Err(Errno::PERM);
        }
        found.open().map(OwnedFd::from)
    }

    /// A socket of the process's user or of root.
    fn connect(&self, dir: &ProcDir, path: &Path) -> Result<OwnedFd, Errno> {
        let found = self.find(dir, &Place::Path(path.to_owned()))?;
        let status = status(dir)?;
        if !found.is_socket() || ![0, status.uid].into_iter().any(|user| found.is_of(user)) {
            return Err(Errno::PERM);
        }
        connect(&found.into_file())
    }
}

/// Those that can be opened; the error of the first if none can.
fn open(dir: &ProcDir, parts: Parts) -> Answer {
    let (mut opened, mut files, mut error) = (Parts::default(), Vec::new(), None);
    for part in parts.all() {
        match dir.part(part) {
            Ok(file) => {
                opened = opened.with(part);
                files.push(file);
            }
            Err(e) => error = error.or(Some(e)),
        }
    }
    match error {
        Some(e) if files.is_empty() => Err(e),
        _ => Ok((opened.number(), files)),
    }
}

fn status(dir: &ProcDir) -> Result<ProcStatus, Errno> {
    dir.status().ok_or(Errno::SRCH)
}
