//! Diagnostics sockets of processes. Each of these files can vanish or be forbidden at any time.

use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::proc::{ProcDir, ProcStatus, folder, folder_in, path_of};
use crate::sources::dotnet::discovery::{
    Look, Socket, command_line, program_name, socket_name, tmpdir,
};
use crate::sources::dotnet::limits;

/// Where runtimes put their sockets without TMPDIR.
const TMP: &str = "/tmp";
/// What a process with a runtime has mapped: the runtime's library, or the memory of one that is
/// part of the program (docs/protocols/dotnet.md 1).
const RUNTIME: [&[u8]; 2] = [b"libcoreclr.so", b"memfd:doublemapper"];

/// A socket that exists.
#[derive(Debug)]
pub(super) struct SocketFile {
    /// Not open for reading or writing.
    pub file: OwnedFd,
    open: bool,
}

/// What is asked of a process.
pub(super) trait Sockets {
    /// Looks at the process; `maps`: also whether it has mapped a runtime. `watch` is given each
    /// directory that was looked into. `None`: it has ended.
    fn look(
        &self,
        directories: &[PathBuf],
        maps: bool,
        watch: &mut dyn FnMut(&OwnedFd),
    ) -> Option<Look>;

    /// Name of the program and command line.
    fn command(&self) -> (String, String);

    /// The socket of the process: in its directory of temporary files or in one of `directories`,
    /// as the process sees them.
    fn socket(
        &self,
        start: u64,
        status: ProcStatus,
        directories: &[PathBuf],
        watch: &mut dyn FnMut(&OwnedFd),
    ) -> Result<SocketFile, Socket>;
}

impl Sockets for ProcDir {
    fn look(
        &self,
        directories: &[PathBuf],
        maps: bool,
        watch: &mut dyn FnMut(&OwnedFd),
    ) -> Option<Look> {
        let stat = self.stat()?;
        let mut look = Look {
            start: stat.start,
            comm: stat.comm,
            container_pid: self.pid(),
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
        look.container_pid = status.container_pid.unwrap_or(self.pid());
        look.socket = match self.socket(look.start, status, directories, watch) {
            Ok(SocketFile { open, .. }) => Socket::Present { open },
            Err(why) => why,
        };
        if maps && !matches!(look.socket, Socket::Present { .. }) {
            look.runtime = has_runtime(self);
        }
        Some(look)
    }

    fn command(&self) -> (String, String) {
        match self.read("cmdline") {
            Some(text) if !text.is_empty() => (program_name(&text), command_line(&text)),
            _ => {
                let comm = self.stat().map(|stat| stat.comm).unwrap_or_default();
                (program_name(&comm), String::new())
            }
        }
    }

    fn socket(
        &self,
        start: u64,
        status: ProcStatus,
        directories: &[PathBuf],
        watch: &mut dyn FnMut(&OwnedFd),
    ) -> Result<SocketFile, Socket> {
        let name = socket_name(status.container_pid.unwrap_or(self.pid()), start);
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
        let found = match self.root() {
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
}

/// Whether a .NET runtime is mapped; `None`: this user may not see it.
fn has_runtime(process: &ProcDir) -> Option<bool> {
    let text = process.read_most("maps", limits::PROC_MAPS)?;
    Some(RUNTIME.iter().any(|name| memchr::memmem::find(&text, name).is_some()))
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

#[cfg(test)]
mod tests;
