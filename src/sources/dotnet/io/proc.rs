//! Files of /proc and diagnostics sockets. Each of these can vanish or be forbidden at any time.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirEntryExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::sources::dotnet::discovery::{
    Look, ProcStat, ProcStatus, Socket, command_line, program_name, socket_name, tmpdir,
};
use crate::sources::dotnet::limits;

/// Where runtimes put their sockets without TMPDIR.
const TMP: &str = "/tmp";
/// What a process with a runtime has mapped: the runtime's library, or the memory of one that is
/// part of the program (docs/protocols/dotnet.md 1).
const RUNTIME: [&[u8]; 2] = [b"libcoreclr.so", b"memfd:doublemapper"];

/// A file system like /proc.
#[derive(Debug)]
pub(super) struct ProcFs {
    root: PathBuf,
    /// Milliseconds since 1970 of the boot.
    boot: Option<i64>,
}

/// A socket that exists.
#[derive(Debug)]
pub(super) struct SocketFile {
    /// Not open for reading or writing.
    pub file: OwnedFd,
    open: bool,
}

/// The files of one process. They are those of this process even if its id is used again.
pub(super) struct ProcDir {
    pid: u32,
    dir: OwnedFd,
}

impl ProcFs {
    pub(super) fn new(root: PathBuf) -> Self {
        let mut text = Vec::new();
        let boot =
            read(CWD, &root.join("stat"), limits::PROC_FILE, &mut text).ok().and_then(|()| {
                let line =
                    text.split(|&b| b == b'\n').find_map(|line| line.strip_prefix(b"btime "))?;
                std::str::from_utf8(line).ok()?.trim().parse::<i64>().ok()?.checked_mul(1000)
            });
        Self { root, boot }
    }

    /// The ids of all processes and the inodes of their folders.
    ///
    /// # Errors
    /// /proc is not there.
    pub(super) fn list(&self) -> io::Result<Vec<(u32, u64)>> {
        let entries = std::fs::read_dir(&self.root)?;
        let id = |entry: std::fs::DirEntry| {
            Some((entry.file_name().to_str()?.parse::<u32>().ok()?, entry.ino()))
        };
        Ok(entries.filter_map(|entry| id(entry.ok()?)).take(limits::ENTRIES).collect())
    }

    /// The folder of a process.
    pub(super) fn open(&self, pid: u32) -> Option<ProcDir> {
        let path = self.root.join(pid.to_string());
        Some(ProcDir { pid, dir: folder(CWD, &path).ok()? })
    }

    /// Time of the start of a process in ms since 1970.
    pub(super) fn started(&self, start: u64) -> Option<i64> {
        let ticks = rustix::param::clock_ticks_per_second().max(1);
        let ms = i64::try_from(start.checked_mul(1000)? / ticks).ok()?;
        self.boot?.checked_add(ms)
    }
}

impl ProcDir {
    /// Looks at the process; `maps`: also whether it has mapped a runtime. `watch` is given each
    /// directory that was looked into. `None`: it has ended.
    pub(super) fn look(
        &self,
        directories: &[PathBuf],
        maps: bool,
        watch: &mut dyn FnMut(&OwnedFd),
    ) -> Option<Look> {
        let stat = self.stat()?;
        let mut look = Look {
            start: stat.start,
            comm: stat.comm,
            container_pid: self.pid,
            uid: 0,
            kernel: stat.kernel,
            socket: Socket::Absent,
            runtime: None,
        };
        if look.kernel {
            return Some(look);
        }
        let status = self.status()?;
        look.uid = status.uid;
        look.container_pid = status.container_pid.unwrap_or(self.pid);
        look.socket = match self.socket(look.start, status, directories, watch) {
            Ok(SocketFile { open, .. }) => Socket::Present { open },
            Err(why) => why,
        };
        if maps && !matches!(look.socket, Socket::Present { .. }) {
            look.runtime = self.has_runtime();
        }
        Some(look)
    }

    /// Start time of the process, if it lives.
    pub(super) fn start(&self) -> Option<u64> {
        self.stat().map(|stat| stat.start)
    }

    /// The users of the process, and its innermost id.
    pub(super) fn status(&self) -> Option<ProcStatus> {
        ProcStatus::parse(&self.read("status")?)
    }

    /// Name of the program and command line.
    pub(super) fn command(&self) -> (String, String) {
        match self.read("cmdline") {
            Some(text) if !text.is_empty() => (program_name(&text), command_line(&text)),
            _ => {
                let comm = self.stat().map(|stat| stat.comm).unwrap_or_default();
                (program_name(&comm), String::new())
            }
        }
    }

    fn stat(&self) -> Option<ProcStat> {
        ProcStat::parse(&self.read("stat")?).filter(|stat| !stat.ended)
    }

    fn read(&self, file: &str) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        read(self.dir.as_fd(), Path::new(file), limits::PROC_FILE, &mut text).ok()?;
        Some(text)
    }

    /// The socket of the process: in its directory of temporary files or in one of `directories`,
    /// as the process sees them.
    pub(super) fn socket(
        &self,
        start: u64,
        status: ProcStatus,
        directories: &[PathBuf],
        watch: &mut dyn FnMut(&OwnedFd),
    ) -> Result<SocketFile, Socket> {
        let name = socket_name(status.container_pid.unwrap_or(self.pid), start);
        let mut absent = Socket::Absent;
        let mut look = |folder: Result<OwnedFd, Errno>| {
            let folder = folder.ok()?;
            watch(&folder);
            match socket_in(&folder, &name, status) {
                Ok(socket) => Some(socket),
                Err(fake @ Socket::Fake { .. }) => {
                    absent = fake;
                    None
                }
                Err(_) => None,
            }
        };
        let found = match folder(self.dir.as_fd(), Path::new("root")) {
            Ok(root) => {
                let environ = self.read("environ").unwrap_or_default();
                let first = tmpdir(&environ)
                    .map_or(Path::new(TMP), |dir| Path::new(std::ffi::OsStr::from_bytes(dir)));
                let others = directories.iter().map(PathBuf::as_path).filter(|&dir| dir != first);
                let mut all = std::iter::once(first).chain(others);
                all.find_map(|dir| look(folder_in(&root, dir)))
            }
            Err(_) => {
                let others = directories.iter().map(PathBuf::as_path);
                let mut all = std::iter::once(Path::new(TMP))
                    .chain(others.filter(|&dir| dir != Path::new(TMP)));
                let found = all.find_map(|dir| look(folder(CWD, dir)));
                if found.is_none() && absent == Socket::Absent {
                    absent = Socket::Unknown;
                }
                found
            }
        };
        found.ok_or(absent)
    }

    /// Whether a .NET runtime is mapped; `None`: this user may not see it.
    fn has_runtime(&self) -> Option<bool> {
        let mut text = Vec::new();
        read(self.dir.as_fd(), Path::new("maps"), limits::PROC_MAPS, &mut text).ok()?;
        Some(RUNTIME.iter().any(|name| memchr::memmem::find(&text, name).is_some()))
    }
}

/// A socket of this name, which must be a socket and of the process's user or of root.
fn socket_in(folder: &OwnedFd, name: &str, status: ProcStatus) -> Result<SocketFile, Socket> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file =
        rustix::fs::openat(folder, name, flags, Mode::empty()).map_err(|_| Socket::Absent)?;
    let stat = rustix::fs::fstat(&file).map_err(|_| Socket::Absent)?;
    let is_socket = FileType::from_raw_mode(stat.st_mode) == FileType::Socket;
    if !is_socket || ![0, status.uid, status.real].contains(&stat.st_uid) {
        return Err(Socket::Fake { owner: stat.st_uid });
    }
    let access = rustix::fs::accessat(CWD, path_of(&file), Access::WRITE_OK, AtFlags::EACCESS);
    Ok(SocketFile { open: access.is_ok(), file })
}

/// A path to an open file. It is short, and a change of directories does not change it.
pub(super) fn path_of(file: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// A directory of a process. Links in it lead to nowhere outside of the process's root.
fn folder_in(root: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
    match rustix::fs::openat2(root, path, flags, Mode::empty(), resolve) {
        // Linux before 5.6, or a filter of system calls: links are then not followed.
        Err(Errno::NOSYS | Errno::PERM) => {
            let mut at = None;
            for part in path.components() {
                let Component::Normal(name) = part else { continue };
                let parent = at.as_ref().unwrap_or(root);
                let flags = flags | OFlags::NOFOLLOW;
                at = Some(rustix::fs::openat(parent, name, flags, Mode::empty())?);
            }
            at.ok_or(Errno::NOENT)
        }
        opened => opened,
    }
}

fn folder(at: impl AsFd, path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat(at, path, flags, Mode::empty())
}

fn read(at: impl AsFd, path: &Path, max: u64, into: &mut Vec<u8>) -> io::Result<()> {
    // NONBLOCK: in a tree that is not /proc the file can be a FIFO.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = File::from(rustix::fs::openat(at, path, flags, Mode::empty())?);
    into.clear();
    file.take(max).read_to_end(into)?;
    Ok(())
}

#[cfg(test)]
mod tests;
