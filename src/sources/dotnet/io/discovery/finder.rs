//! Says of each process of this host whether it is one of .NET, and whether it can be read. Each of
//! the files that tell it can vanish or be forbidden at any time.

use std::cell::OnceCell;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::CWD;
use rustix::io::Errno;
use tokio::sync::watch;

use crate::host::{
    self, Found, Glance, Host, Interest, Named, ProcDir, ProcStatus, Program, Reports, Visit,
    container, folder, folder_in,
};
use crate::sources::dotnet::discovery::{
    Access, Look, Socket, Target, access, command_line, parse_socket_name, program_name,
    socket_name, tmpdir,
};
use crate::sources::dotnet::{Config, limits};

/// A process of .NET, or one that can be read otherwise than before.
#[derive(Debug)]
pub(super) struct Report {
    /// What a task needs to know of it; `None`: it was told before.
    pub(super) target: Option<Target>,
    /// It was another program before.
    pub(super) again: bool,
    /// It executes one without a runtime, and is no process of .NET any more.
    pub(super) over: bool,
    pub(super) program: Program,
    pub(super) access: Access,
}

/// The eye of this source.
#[derive(Clone)]
pub(super) struct Finder(Arc<Shared>);

struct Shared {
    host: Arc<Host>,
    config: watch::Receiver<Arc<Config>>,
    /// The processes of .NET, and what the task does not know of them yet.
    reports: Reports<Told, Report>,
}

/// What is known of a process of .NET.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Told {
    program: Program,
    /// It has mapped a runtime; `None`: not looked or not allowed to.
    runtime: Option<bool>,
    /// It has had a socket.
    had_socket: bool,
    /// It was another program before.
    again: bool,
    /// It executes one without a runtime: its socket is still there, and nobody listens on it.
    over: bool,
    /// The access reported last.
    access: Access,
}

impl Finder {
    /// What depends on the configuration is found anew by the next looks at all processes.
    pub(super) fn new(host: &Arc<Host>, config: watch::Receiver<Arc<Config>>) -> Self {
        let (host, reports) = (Arc::clone(host), Reports::new(limits::REPORTS));
        Self(Arc::new(Shared { host, config, reports }))
    }

    /// What is told.
    pub(super) fn reports(&self) -> &Reports<Told, Report> {
        &self.0.reports
    }
}

impl Shared {
    /// A look has come back in time. `target`: of one that is not known, or not as what it executes now.
    fn looked(&self, pid: u32, start: u64, told: Told, target: Option<Target>) {
        let Told { program, again, over, access, .. } = told.clone();
        let report = Report { target, again, over, program, access };
        if report.target.is_some() {
            self.reports.tell(pid, start, told, report);
        } else {
            // If it was forgotten meanwhile, the next look has its target.
            self.reports.tell_again(pid, start, told, |before| Report {
                target: before.filter(|_| !over).and_then(|before| before.target),
                ..report
            });
        }
    }
}

impl host::Finder for Finder {
    fn is_active(&self) -> bool {
        self.reports().known().is_active()
    }

    fn look(&self, glance: &Glance, visit: Visit) -> host::Look {
        let (shared, process) = (&self.0, glance.process());
        let config = Arc::clone(&shared.config.borrow());
        let mut look = look(glance, &config.directories, !visit.settled);
        let (pid, start) = (glance.pid(), look.start);
        let known = self.reports().known().get(pid, start);
        let command = OnceCell::new();
        let command = || &**command.get_or_init(|| process.read("cmdline").unwrap_or_default());
        let program = || Program::of(process, command(), None);
        let now = known.as_ref().map(|_| program());
        let changed = known.as_ref().zip(now).filter(|(known, now)| now.is_another(&known.program));
        let over = known.as_ref().is_some_and(|known| known.over);
        // Its socket stays where it is when it executes another program, which need not be one of .NET.
        let runs = || glance.maps().map_or(look.comm == b"dotnet", has_runtime);
        let is_another = (over || changed.is_some()) && runs();
        if !is_another {
            let is_sure =
                |(known, now): &(&Told, Program)| over || now.is_surely_another(&known.program);
            let ends = changed.filter(is_sure).map(|(known, program)| {
                let told = Told { program, again: true, over: true, ..known.clone() };
                let shared = Arc::clone(shared);
                Box::new(move || shared.looked(pid, start, told, None)) as Box<dyn FnOnce() + Send>
            });
            if over || ends.is_some() {
                return host::Look { interest: Interest::Often, report: ends };
            }
        }
        // Of another program than before nothing is known.
        let before = known.as_ref().filter(|_| !is_another);
        let again = is_another || known.as_ref().is_some_and(|known| known.again);
        look.runtime = look.runtime.or_else(|| before.and_then(|before| before.runtime));
        let had_socket = before.is_some_and(|before| before.had_socket);
        let owner = || shared.host.user(look.uid);
        let Some(access) = access(&look, owner, had_socket, config.listen.as_deref()) else {
            // One that was found stays what it was.
            let known = known.map(|_| Interest::Often);
            return host::Look { interest: known.unwrap_or_default(), report: None };
        };
        let program = now.unwrap_or_else(program);
        let is_told = before.is_some_and(|before| !program.is_named(&before.program));
        let target =
            || target(&shared.host, process, command()).filter(|target| target.start == start);
        let target = if is_told { None } else { target() };
        let had_socket = had_socket || matches!(look.socket, Socket::Present { .. });
        // What it executes is not told of one that stays what it was.
        let program = before.filter(|_| is_told).map_or(program, |before| before.program);
        let told = Told { program, runtime: look.runtime, had_socket, again, over: false, access };
        let shared = Arc::clone(shared);
        let report = move || shared.looked(pid, start, told, target);
        host::Look { interest: Interest::Often, report: Some(Box::new(report)) }
    }

    fn gone(&self, pid: u32, start: u64) {
        self.reports().end(pid, start);
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
    pub way: Way,
    open: bool,
}

/// How a socket is connected to.
#[derive(Debug)]
pub(super) enum Way {
    /// By this user; it is not open for reading or writing.
    File(OwnedFd),
    /// By the opener: its path below the root of the process.
    Opener(PathBuf),
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

/// What is known of a process with this command line; `None`: it has ended.
pub(super) fn target(host: &Host, process: &ProcDir, command: &[u8]) -> Option<Target> {
    let (stat, status) = (process.stat()?, process.status()?);
    let start = stat.start;
    // As between exec and the end of it.
    let name = program_name(if command.is_empty() { &stat.comm } else { command });
    Some(Target {
        pid: process.pid(),
        start,
        started: host.proc().started(start),
        container_pid: status.container_pid.unwrap_or(process.pid()),
        uid: status.uid,
        owner: host.user(status.uid),
        container: container(process),
        name,
        command: command_line(command),
        key: start.to_string(),
    })
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
    let mut look = |folder: Result<OwnedFd, Errno>, path: &Path| {
        let found = folder.and_then(|folder| {
            watch(&folder);
            Found::at(&folder, Path::new(&name))
        });
        let found = match found {
            // Only its user sees what is there.
            Err(Errno::ACCESS) => Found::named(process, &path.join(&name)),
            found => found,
        };
        match looked(found, path.join(&name), (process, status)) {
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
            all.find_map(|dir| look(folder_in(process, &root, dir), dir))
        }
        Err(_) => {
            let others = directories.iter().map(PathBuf::as_path);
            let mut all =
                std::iter::once(Path::new(TMP)).chain(others.filter(|&dir| dir != Path::new(TMP)));
            let found = all.find_map(|dir| look(folder(CWD, dir), dir));
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

/// What was found must be a socket and of the process's user or of root.
fn looked(
    found: Result<Found<'_>, Errno>,
    path: PathBuf,
    (process, status): (&ProcDir, ProcStatus),
) -> Result<SocketFile, Socket> {
    let found = found.map_err(|_| Socket::Absent)?;
    if !found.is_socket() || ![0, status.uid].contains(&found.stat().stx_uid) {
        return Err(Socket::Fake { owner: found.stat().stx_uid });
    }
    if found.may_be_written() {
        return Ok(SocketFile { way: Way::File(found.into_file()), open: true });
    }
    Ok(SocketFile { way: Way::Opener(path), open: process.has_opener() })
}

#[cfg(test)]
#[path = "finder_tests.rs"]
mod tests;
