//! Files of /proc. Each of these can vanish or be forbidden at any time.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use pmda::process::leaves_reserve;
use rustix::fs::{CWD, Mode, OFlags, RawDir};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};

use super::opener::{Opener, Part, Parts, Process, Request};
use super::text::{ProcStat, ProcStatus};

/// Most processes that are listed.
const ENTRIES: usize = 65_536;
/// Bytes of the list that are read at once: some 1,000 entries.
const LIST: usize = 32 << 10;
/// Bytes of a file that are read unless more are asked for.
const FILE: u64 = 256 << 10;
/// Bytes for which there is room before a file is read. Most files are shorter, and the kernel gives at most a page at
/// once; without room the first read asks for 32 bytes, for which it makes the whole text.
const ROOM: usize = 4096;
/// Bytes that are copied at first, where so many are wanted.
const STEP: usize = 256 << 10;

/// Flags of what is found, and not open for reading.
pub(super) const PATH_FLAGS: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// A file system like /proc.
#[derive(Debug)]
pub struct ProcFs {
    root: PathBuf,
    /// Opens what this user may not.
    opener: Option<Arc<Opener>>,
    /// Milliseconds since 1970 of the boot.
    boot: Option<i64>,
}

/// The files of one process. They are those of this process even if its id is used again.
#[derive(Debug)]
pub struct ProcDir {
    pid: u32,
    dir: OwnedFd,
    opener: Option<Arc<Opener>>,
    /// The real user, when the status was read first: whatever it executes, it stays.
    real: OnceLock<u32>,
    inode: OnceLock<u64>,
    /// What the opener has opened before it was asked for.
    ahead: Mutex<Vec<(Part, OwnedFd)>>,
}

impl ProcFs {
    /// The tree below `root`, which is `/proc`.
    #[must_use]
    pub fn new(root: PathBuf) -> Self {
        let mut text = Vec::new();
        let boot = read(CWD, &root.join("stat"), FILE, &mut text).ok().and_then(|()| {
            let line = text.split(|&b| b == b'\n').find_map(|line| line.strip_prefix(b"btime "))?;
            std::str::from_utf8(line).ok()?.trim().parse::<i64>().ok()?.checked_mul(1000)
        });
        Self { root, opener: None, boot }
    }

    /// The same, with what opens files that this user may not open. The tree is that of this host.
    #[must_use]
    pub fn with_opener(self, opener: Option<Arc<Opener>>) -> Self {
        Self { opener, ..self }
    }

    /// What opens files that this user may not open.
    #[must_use]
    pub const fn opener(&self) -> Option<&Arc<Opener>> {
        self.opener.as_ref()
    }

    /// The ids of all processes and the inodes of their folders.
    ///
    /// # Errors
    /// /proc is not there.
    pub fn list(&self) -> io::Result<Vec<(u32, u64)>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::openat(CWD, &self.root, flags, Mode::empty())?;
        let (mut room, mut all) = (Vec::with_capacity(LIST), Vec::new());
        let mut entries = RawDir::new(folder, room.spare_capacity_mut());
        while let Some(entry) = entries.next().filter(|_| all.len() < ENTRIES) {
            let entry = entry?;
            let pid = entry.file_name().to_str().ok().and_then(|name| name.parse().ok());
            all.extend(pid.map(|pid| (pid, entry.ino())));
        }
        Ok(all)
    }

    /// Not even the first process can be seen: it is mounted with `hidepid`.
    #[must_use]
    pub fn hides(&self) -> bool {
        self.open(1).is_none_or(|first| first.stat().is_none())
    }

    /// The first `most` bytes of a file.
    #[must_use]
    pub fn read(&self, file: &str, most: u64) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        // `self` is a link, which only a file's last name must not be.
        read(CWD, &self.root.join(file), most, &mut text).ok()?;
        Some(text)
    }

    /// The folder of a process.
    #[must_use]
    pub fn open(&self, pid: u32) -> Option<ProcDir> {
        let path = self.root.join(pid.to_string());
        let dir = folder(CWD, &path).ok()?;
        let (opener, ahead) = (self.opener.clone(), Mutex::default());
        Some(ProcDir { pid, dir, opener, real: OnceLock::new(), inode: OnceLock::new(), ahead })
    }

    /// Time of the start of a process in ms since 1970.
    #[must_use]
    pub fn started(&self, start: u64) -> Option<i64> {
        let ticks = rustix::param::clock_ticks_per_second().max(1);
        let ms = i64::try_from(start.checked_mul(1000)? / ticks).ok()?;
        self.boot?.checked_add(ms)
    }
}

/// This moment as `/proc` has the starts of processes: in clock ticks since boot.
#[must_use]
pub fn ticks() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let each = rustix::param::clock_ticks_per_second().max(1);
    let part = now.tv_nsec.unsigned_abs().saturating_mul(each) / 1_000_000_000;
    now.tv_sec.unsigned_abs().saturating_mul(each).saturating_add(part)
}

/// How long ago a process has begun, by its start.
#[must_use]
pub fn age(start: u64) -> Duration {
    let each = rustix::param::clock_ticks_per_second().max(1);
    Duration::from_millis(ticks().saturating_sub(start).saturating_mul(1000) / each)
}

impl ProcDir {
    /// Start time of the process, if it lives.
    #[must_use]
    pub fn start(&self) -> Option<u64> {
        self.stat().map(|stat| stat.start)
    }

    /// The users of the process, and its innermost id.
    #[must_use]
    pub fn status(&self) -> Option<ProcStatus> {
        let status = ProcStatus::parse(&self.read("status")?)?;
        let _ = self.real.set(status.real);
        Some(status)
    }

    /// Its state, if it lives.
    #[must_use]
    pub fn stat(&self) -> Option<ProcStat> {
        ProcStat::parse(&self.read("stat")?).filter(|stat| !stat.ended)
    }

    /// The text of a file.
    #[must_use]
    pub fn read(&self, file: &str) -> Option<Vec<u8>> {
        self.read_most(file, FILE)
    }

    /// A file that all may read, open.
    pub(super) fn open(&self, file: &str) -> io::Result<File> {
        open(self.dir.as_fd(), Path::new(file))
    }

    /// The first `most` bytes of a file.
    #[must_use]
    pub fn read_most(&self, file: &str, most: u64) -> Option<Vec<u8>> {
        let (mut text, part) = (Vec::new(), Part::of(file));
        let opened = match part.and_then(|part| self.opened_ahead(part)) {
            Some(opened) => opened,
            None => match read(self.dir.as_fd(), Path::new(file), most, &mut text) {
                Ok(()) => return Some(text),
                Err(e) if refused(&e) => self.ask(|| Some(Request::Open(part?.into())))?.ok()?,
                Err(_) => return None,
            },
        };
        read_all(File::from(opened), most, &mut text).ok()?;
        Some(text)
    }

    /// Opens a file that is only for those who may debug the process.
    pub(super) fn part(&self, part: Part) -> Result<OwnedFd, Errno> {
        let flags = match part {
            Part::Root => PATH_FLAGS | OFlags::DIRECTORY,
            Part::Users | Part::Network => PATH_FLAGS,
            Part::Files => OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Part::Maps | Part::Environ | Part::Auxv | Part::Memory => {
                OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW
            }
        };
        if let Some(opened) = self.opened_ahead(part) {
            return Ok(opened);
        }
        let opened = rustix::fs::openat(&self.dir, part.name(), flags, Mode::empty());
        self.or_ask(opened, || Some(Request::Open(part.into())))
    }

    /// Opens files of these processes of one user that will be asked for soon, once each. For this user's own the opener
    /// is not asked.
    pub(super) fn open_ahead(all: &[(&Self, Parts)]) {
        let Some((first, _)) = all.first() else { return };
        let (Some(opener), Some(user)) = (&first.opener, first.real.get()) else { return };
        if *user == rustix::process::geteuid().as_raw() {
            return;
        }
        let asked: Option<Vec<_>> =
            all.iter().map(|(dir, parts)| Some((dir.process()?, *parts))).collect();
        let opened = opener.ask_for_files(&asked.unwrap_or_default(), *user);
        for ((dir, _), opened) in all.iter().zip(opened) {
            *dir.lock() = opened;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(Part, OwnedFd)>> {
        self.ahead.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn opened_ahead(&self, part: Part) -> Option<OwnedFd> {
        let mut opened = self.lock();
        let place = opened.iter().position(|(is, _)| *is == part)?;
        Some(opened.swap_remove(place).1)
    }

    /// What was opened, or what the opener opens if this user may not.
    pub(super) fn or_ask(
        &self,
        opened: Result<OwnedFd, Errno>,
        request: impl FnOnce() -> Option<Request>,
    ) -> Result<OwnedFd, Errno> {
        match opened {
            Err(e @ (Errno::ACCESS | Errno::PERM)) => self.ask(request).unwrap_or(Err(e)),
            opened => opened,
        }
    }

    /// `None`: there is nobody to ask.
    pub(super) fn ask(
        &self,
        request: impl FnOnce() -> Option<Request>,
    ) -> Option<Result<OwnedFd, Errno>> {
        let answer = self.answer(&request()?)?;
        Some(answer.and_then(|(_, mut opened)| opened.pop().ok_or(Errno::MFILE)))
    }

    /// The opener's answer. `None`: there is no opener.
    pub(super) fn answer(&self, request: &Request) -> Option<Result<(u64, Vec<OwnedFd>), Errno>> {
        let opener = self.opener.as_ref()?;
        let process = self.process()?;
        // Before it is asked: one that hangs can be gone afterwards, and its folder is root's if it may not be dumped.
        let user = match self.real.get() {
            Some(real) => *real,
            None => match self.status() {
                Some(status) => status.real,
                None => rustix::fs::fstat(&self.dir).ok()?.st_uid,
            },
        };
        Some(opener.ask(process, user, request))
    }

    /// Connects to a socket of this path below its root, whose name is one that a source has declared. It does not wait.
    ///
    /// # Errors
    /// There is no opener, it refuses the socket, or nobody listens on it.
    pub fn connect(&self, path: &Path) -> Result<OwnedFd, Errno> {
        self.ask(|| Some(Request::Connect(path.to_owned()))).unwrap_or(Err(Errno::ACCESS))
    }

    /// The opener opens what this user may not.
    #[must_use]
    pub const fn has_opener(&self) -> bool {
        self.opener.is_some()
    }

    /// Who it is, for the opener.
    fn process(&self) -> Option<Process> {
        Some(Process { pid: self.pid, inode: self.inode()? })
    }

    /// Inode of the folder.
    pub(super) fn inode(&self) -> Option<u64> {
        if let Some(inode) = self.inode.get() {
            return Some(*inode);
        }
        let inode = rustix::fs::fstat(&self.dir).ok()?.st_ino;
        Some(*self.inode.get_or_init(|| inode))
    }

    /// Its memory: that of the program that runs now.
    ///
    /// # Errors
    /// This user may not read it; [`Errno::MFILE`]: the limit of open files is reached.
    pub fn memory(&self) -> Result<File, Errno> {
        let file = self.part(Part::Memory)?;
        if leaves_reserve(&file) { Ok(File::from(file)) } else { Err(Errno::MFILE) }
    }

    /// The process's id.
    #[must_use]
    pub const fn pid(&self) -> u32 {
        self.pid
    }

    /// The root directory of the process.
    ///
    /// # Errors
    /// This user may not see it, or the process has ended.
    pub fn root(&self) -> Result<OwnedFd, Errno> {
        self.part(Part::Root)
    }

    /// The folder.
    #[must_use]
    pub const fn file(&self) -> &OwnedFd {
        &self.dir
    }
}

/// Copies at most so many bytes that a file has at a position. Room is made for no more than twice what has come: a
/// file may be shorter than it says.
///
/// # Errors
/// Its file system cannot read it.
pub fn read_at(file: &File, at: u64, most: usize, into: &mut Vec<u8>) -> io::Result<()> {
    let mut read = 0;
    while read < most {
        let end = most.min(STEP.max(2 * read));
        into.resize(into.len().max(end), 0);
        let rest = into.get_mut(read..end).unwrap_or_default();
        match file.read_at(rest, at.saturating_add(read as u64))? {
            0 => break,
            more => read += more,
        }
    }
    into.truncate(read);
    Ok(())
}

/// A path to an open file. It is short, and a change of directories does not change it.
#[must_use]
pub fn path_of(file: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// Connects to the socket of a file, without waiting.
///
/// # Errors
/// [`Errno::AGAIN`]: many connect; others as of connect(2).
pub fn connect(file: &OwnedFd) -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path_of(file))?)?;
    Ok(socket)
}

/// A directory, not open for reading.
///
/// # Errors
/// It is not there.
pub fn folder(at: impl AsFd, path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat(at, path, flags, Mode::empty())
}

/// It is only for those who may debug the process.
fn refused(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}

fn open(at: impl AsFd, path: &Path) -> io::Result<File> {
    // NONBLOCK: in a tree that is not /proc the file can be a FIFO.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    Ok(File::from(rustix::fs::openat(at, path, flags, Mode::empty())?))
}

fn read(at: impl AsFd, path: &Path, max: u64, into: &mut Vec<u8>) -> io::Result<()> {
    read_all(open(at, path)?, max, into)
}

fn read_all(file: File, max: u64, into: &mut Vec<u8>) -> io::Result<()> {
    into.clear();
    into.reserve(ROOM);
    file.take(max).read_to_end(into)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_shorter_than_it_says_takes_no_room() {
        let path = std::env::temp_dir().join(format!("apm-host-read-{}", std::process::id()));
        let text: Vec<u8> = (0..1_000_000_u32).map(|n| n.to_le_bytes()[0]).collect();
        std::fs::write(&path, &text[..9_000]).unwrap();
        let (file, mut into) = (File::open(&path).unwrap(), Vec::new());
        read_at(&file, 0, 16 << 20, &mut into).unwrap();
        assert_eq!(into, text[..9_000]);
        assert!(into.capacity() < 1 << 20, "{}", into.capacity());
        for (at, most) in [(0, 1_000), (8_000, 5_000), (9_000, 1), (0, 0), (u64::MAX, 9)] {
            let end = |at: usize| at.min(9_000);
            let from = usize::try_from(at).unwrap();
            let (from, to) = (end(from), end(from.saturating_add(most)));
            let read = read_at(&file, at, most, &mut into);
            assert!(read.is_err() || into == text[from..to], "{at} {most}");
        }
        // One that is long is read whole.
        std::fs::write(&path, &text).unwrap();
        read_at(&file, 1, 16 << 20, &mut into).unwrap();
        assert_eq!(into, text[1..]);
        read_at(&file, 0, 999_999, &mut into).unwrap();
        assert_eq!(into, text[..999_999]);
        std::fs::remove_file(&path).unwrap();
    }
}
