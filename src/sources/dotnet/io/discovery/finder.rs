//! Says of each process of this host whether it is one of .NET, and whether it can be read. Each of
//! the files that tell it can vanish or be forbidden at any time.

use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;
use tokio::sync::mpsc::UnboundedSender;

use crate::host::{
    self, Glance, Host, Interest, Known, Named, ProcDir, ProcStatus, Visit, container, folder,
    folder_in, path_of,
};
use crate::sources::dotnet::Config;
use crate::sources::dotnet::discovery::{
    Access, Look, Socket, Target, access, command_line, parse_socket_name, program_name,
    socket_name, tmpdir,
};

/// A change, with what a task needs to know of the process.
#[derive(Debug)]
pub(super) enum Report {
    /// A process of .NET.
    Found(Target, Access),
    /// One that is known can, or can no longer, be read.
    Access(u32, Access),
    /// One that is known has ended.
    Gone(u32),
    /// One that is known is no longer looked for.
    Forgotten(u32),
}

/// The eye of this source.
#[derive(Clone)]
pub(super) struct Finder(Arc<Shared>);

struct Shared {
    host: Arc<Host>,
    directories: Arc<RwLock<Vec<PathBuf>>>,
    /// Where the PMDA listens.
    listen: RwLock<Option<PathBuf>>,
    known: Known<Told>,
    /// There are at most as many reports as changes of processes.
    reports: UnboundedSender<Report>,
}

/// What is known of a process of .NET.
#[derive(Clone, Debug, PartialEq)]
struct Told {
    comm: Vec<u8>,
    /// It has mapped a runtime; `None`: not looked or not allowed to.
    runtime: Option<bool>,
    /// It has had a socket.
    had_socket: bool,
    /// The access reported last.
    access: Access,
}

impl Finder {
    pub(super) fn new(
        host: &Arc<Host>,
        directories: &Arc<RwLock<Vec<PathBuf>>>,
        reports: UnboundedSender<Report>,
    ) -> Self {
        Self(Arc::new(Shared {
            host: Arc::clone(host),
            directories: Arc::clone(directories),
            listen: RwLock::default(),
            known: Known::default(),
            reports,
        }))
    }

    /// Applies a configuration. What depends on it is found anew by the next looks at all processes.
    pub(super) fn configure(&self, config: &Config) {
        let shared = &self.0;
        let mut listen = shared.listen.write().unwrap_or_else(PoisonError::into_inner);
        listen.clone_from(&config.listen);
        drop(listen);
        let mut directories = shared.directories.write().unwrap_or_else(PoisonError::into_inner);
        directories.clone_from(&config.directories);
        drop(directories);
        let forgotten = shared.known.activate(config.discover);
        forgotten.into_iter().for_each(|pid| shared.report(Report::Forgotten(pid)));
    }
}

impl Shared {
    fn report(&self, report: Report) {
        let _ = self.reports.send(report);
    }

    /// A look has come back in time. `target`: of one that is not known.
    fn looked(&self, pid: u32, look: Look, access: Access, target: Option<Target>) {
        let before = self.known.get(pid, look.start);
        let present = matches!(look.socket, Socket::Present { .. });
        let had_socket = present || before.as_ref().is_some_and(|known| known.had_socket);
        let (comm, runtime) = (look.comm, look.runtime);
        let now = Told { comm, runtime, had_socket, access: access.clone() };
        let report = match (before, target) {
            (Some(known), _) if known.access == access => None,
            (Some(_), _) => Some(Report::Access(pid, access)),
            (None, Some(target)) => Some(Report::Found(target, access)),
            // It was forgotten meanwhile: the next look has its target.
            (None, None) => return,
        };
        self.known.tell(pid, look.start, now, || report.into_iter().for_each(|r| self.report(r)));
    }
}

impl host::Finder for Finder {
    fn is_active(&self) -> bool {
        self.0.known.is_active()
    }

    fn look(&self, glance: &Glance, visit: Visit) -> host::Look {
        let shared = &self.0;
        let directories = shared.directories.read().unwrap_or_else(PoisonError::into_inner).clone();
        let mut look = look(glance, &directories, !visit.settled);
        let pid = glance.pid();
        let before = shared.known.get(pid, look.start);
        // Of another program than before nothing is known.
        let same = before.as_ref().filter(|known| known.comm == look.comm);
        look.runtime = look.runtime.or_else(|| same.and_then(|known| known.runtime));
        let had_socket = before.as_ref().is_some_and(|known| known.had_socket);
        let listen = shared.listen.read().unwrap_or_else(PoisonError::into_inner).clone();
        let owner = || shared.host.user(look.uid);
        let Some(access) = access(&look, owner, had_socket, listen.as_deref()) else {
            // One that was found stays what it was.
            let known = before.map(|_| Interest::Often);
            return host::Look { interest: known.unwrap_or_default(), report: None };
        };
        let target = || target(&shared.host, glance.process()).filter(|t| t.start == look.start);
        let target = if before.is_some() { None } else { target() };
        let shared = Arc::clone(shared);
        let report = move || shared.looked(pid, look, access, target);
        host::Look { interest: Interest::Often, report: Some(Box::new(report)) }
    }

    fn gone(&self, pid: u32, start: u64) {
        self.0.known.end(pid, start, || self.0.report(Report::Gone(pid)));
    }

    fn named(&self, name: &[u8]) -> Option<Named> {
        let (inner_pid, start) = parse_socket_name(name)?;
        Some(Named { inner_pid, start: Some(start) })
    }
}

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
        container: container(process),
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
    let access =
        rustix::fs::accessat(CWD, path_of(&file), rustix::fs::Access::WRITE_OK, AtFlags::EACCESS);
    Ok(SocketFile { open: access.is_ok(), file })
}

#[cfg(test)]
#[path = "finder_tests.rs"]
mod tests;
