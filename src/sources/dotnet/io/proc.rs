//! Diagnostics sockets of processes. Each of these files can vanish or be forbidden at any time.

use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::host::{Glance, Host, ProcDir, ProcStatus, folder, folder_in, path_of};
use crate::sources::dotnet::discovery::{
    Look, Socket, command_line, program_name, socket_name, tmpdir,
};
use crate::sources::dotnet::target::Target;

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

/// Looks at a process; `maps`: also whether it has mapped a runtime.
pub(super) fn look(glance: &Glance, directories: &[PathBuf], maps: bool) -> Look {
    let (stat, status) = (glance.stat(), glance.status());
    let mut watch = |directory: &_| glance.watch(directory);
    let socket = socket(glance.process(), stat.start, status, directories, &mut watch);
    let socket = match socket {
        Ok(SocketFile { open, .. }) => Socket::Present { open },
        Err(why) => why,
    };
    let maps = maps && !matches!(socket, Socket::Present { .. });
    Look {
        start: stat.start,
        comm: stat.comm.clone(),
        uid: status.uid,
        socket,
        runtime: if maps { glance.maps().map(has_runtime) } else { None },
    }
}

/// What is known of a process; `None`: it has ended.
pub(super) fn target(host: &Host, process: &ProcDir) -> Option<Target> {
    let (start, status) = (process.start()?, process.status()?);
    let (name, command) = command(process);
    Some(Target {
        pid: process.pid(),
        start,
        started: host.proc().started(start),
        container_pid: status.container_pid.unwrap_or(process.pid()),
        uid: status.uid,
        owner: host.user(status.uid),
        name,
        command,
        key: start.to_string(),
    })
}

/// Name of the program and command line.
fn command(process: &ProcDir) -> (String, String) {
    match process.read("cmdline") {
        Some(text) if !text.is_empty() => (program_name(&text), command_line(&text)),
        _ => {
            let comm = process.stat().map(|stat| stat.comm).unwrap_or_default();
            (program_name(&comm), String::new())
        }
    }
}

/// The socket of a process: in its directory of temporary files or in one of `directories`, as the
/// process sees them. `watch` is given each directory that was looked into.
pub(super) fn socket(
    process: &ProcDir,
    start: u64,
    status: ProcStatus,
    directories: &[PathBuf],
    watch: &mut dyn FnMut(&OwnedFd),
) -> Result<SocketFile, Socket> {
    let name = socket_name(status.container_pid.unwrap_or(process.pid()), start);
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
    let found = match process.root() {
        Ok(root) => {
            let environ = process.read("environ").unwrap_or_default();
            let first = tmpdir(&environ)
                .map_or(Path::new(TMP), |dir| Path::new(std::ffi::OsStr::from_bytes(dir)));
            let others = directories.iter().map(PathBuf::as_path).filter(|&dir| dir != first);
            let mut all = std::iter::once(first).chain(others);
            all.find_map(|dir| look(folder_in(&root, dir)))
        }
        Err(_) => {
            let others = directories.iter().map(PathBuf::as_path);
            let mut all =
                std::iter::once(Path::new(TMP)).chain(others.filter(|&dir| dir != Path::new(TMP)));
            let found = all.find_map(|dir| look(folder(CWD, dir)));
            if found.is_none() && absent == Socket::Absent {
                absent = Socket::Unknown;
            }
            found
        }
    };
    found.ok_or(absent)
}

/// Whether a .NET runtime is mapped.
fn has_runtime(maps: &[u8]) -> bool {
    RUNTIME.iter().any(|name| memchr::memmem::find(maps, name).is_some())
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
