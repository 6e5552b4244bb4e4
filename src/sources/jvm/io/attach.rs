//! Asks one JVM by HotSpot's attach protocol (docs/protocols/jvm-hsperfdata.md 4): the proof that it is one, its
//! door, a command, a recording. It blocks, and runs in a thread of its own that takes the user's ids of the JVM
//! before it touches anything of it: files and signals are those that the user could make.
//!
//! SIGQUIT ends a process that does not catch it. It is sent only to one whose performance data is open, by a
//! descriptor of the very process, and after a look at what it catches.

use std::fs::File;
use std::io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, fstat, mkdirat, openat, statat, unlinkat};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with, sockopt,
};
use rustix::process::{
    Gid, Pid, PidfdFlags, Signal, Uid, getegid, geteuid, getgid, getuid, pidfd_open,
    pidfd_send_signal,
};
use rustix::thread::{
    CapabilitySet, CapabilitySets, set_capabilities, set_thread_groups, set_thread_res_gid,
    set_thread_res_uid,
};

use super::locate::locate;
use super::region::loaded;
use crate::host::limits::MAPS;
use crate::host::{Mapped, ProcDir, ProcFs, folder_in, path_of, ticks};
use crate::model::Charge;
use crate::sources::jvm::limits;
use crate::sources::jvm::metrics::Request;
use crate::sources::jvm::request::{start, stop};

/// A JVM whose performance data is open.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) pid: u32,
    /// Clock ticks since boot.
    pub(super) start: u64,
    /// Its id as it sees it.
    pub(super) inner_pid: u32,
    /// The mapping that its performance data was found by.
    pub(super) mapped: Mapped,
}

/// Bytes of /proc/PID/status.
const STATUS: u64 = 8 << 10;
/// The bit of SIGQUIT in a set of signals.
const QUIT: u64 = 1 << 2;
/// The folder of a recording has only what this user may see.
const PRIVATE: Mode = Mode::RWXU;
const RECORDING: &str = "recording.jfr";
const ENDED: &str = "the process has ended";
const ANOTHER: &str = "it executes another program than the one that was read";
const STOPPED: &str = "it was stopped: jvm.attach is false, or what was asked is gone";
const LATE: &str = "it does not answer in time";

/// Ends a request before its time, also a recording.
#[derive(Debug, Default)]
pub(super) struct Stop(AtomicBool);

impl Stop {
    pub(super) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn check(&self) -> Result<(), String> {
        if self.0.load(Ordering::Relaxed) { Err(STOPPED.to_owned()) } else { Ok(()) }
    }

    /// Waits so long.
    pub(super) fn pause(&self, length: Duration) -> Result<(), String> {
        let until = Instant::now() + length;
        loop {
            self.check()?;
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            sleep(left.min(limits::STOP));
        }
    }
}

/// A process that was proven to be the target.
struct Door<'s> {
    stop: &'s Stop,
    target: Target,
    process: ProcDir,
    /// Its maps as they were opened: they are empty when it executes another program.
    maps: OwnedFd,
    pidfd: OwnedFd,
    user: u32,
    /// `/tmp` of its root.
    tmp: OwnedFd,
    /// Name of its socket there.
    socket: String,
}

/// Asks a JVM. Returns its answer, or the recording; `held` has its bytes.
///
/// # Errors
/// Why not, in words for the user.
pub(super) fn ask(
    proc: &ProcFs,
    target: Target,
    request: Request,
    stop: &Stop,
    held: &mut Charge,
) -> Result<Vec<u8>, String> {
    let door = Door::prove(proc, target, stop)?;
    door.open()?;
    let answer = match request {
        Request::Profile(length) => door.record(length, held),
        _ => door.command(request.command(), stop, held),
    }?;
    door.is_same()?;
    Ok(answer)
}

impl<'s> Door<'s> {
    /// Proves that the process is the JVM that was read, and becomes its user.
    fn prove(proc: &ProcFs, target: Target, stop: &'s Stop) -> Result<Self, String> {
        let process = proc.open(target.pid).ok_or(ENDED)?;
        let number = i32::try_from(target.pid).ok().and_then(Pid::from_raw).ok_or(ENDED)?;
        let pidfd = pidfd_open(number, PidfdFlags::empty())
            .map_err(|e| format!("it cannot be held (pidfd_open, Linux 5.3): {e}"))?;
        // Both are of the process that was read, if that lives now.
        let status = Status::of(&process, &target)?;
        let held = maps(&process).map_err(|e| format!("its maps cannot be opened: {e}"))?;
        let maps = process.read_most("maps", MAPS).ok_or("its maps cannot be read")?;
        let located = locate(&maps, target.inner_pid);
        let area = located.area.map(|area| (area.device, area.inode));
        let library = located.library.as_ref().map(loaded);
        if located.openj9 || ![area, library].contains(&Some(target.mapped)) {
            return Err(ANOTHER.to_owned());
        }
        let root = process.root().map_err(|e| format!("its root cannot be opened: {e}"))?;
        status.become_user()?;
        let tmp = folder_in(&process, &root, Path::new("tmp")).map_err(|e| match e {
            Errno::REMOTE => "its /tmp is on a file system that may not answer".to_owned(),
            e => format!("its /tmp cannot be opened: {e}"),
        })?;
        let socket = format!(".java_pid{}", target.inner_pid);
        let user = status.user.0;
        Ok(Self { stop, process, maps: held, pidfd, user, tmp, socket, target })
    }

    /// It is still the process and the program that was proven.
    fn is_same(&self) -> Result<(), String> {
        Status::of(&self.process, &self.target)?;
        match rustix::io::pread(&self.maps, &mut [0; 1], 0) {
            Ok(1) => Ok(()),
            _ => Err(ANOTHER.to_owned()),
        }
    }

    /// Its socket is there.
    fn is_open(&self) -> Result<bool, String> {
        match statat(&self.tmp, &self.socket, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => Ok(false),
            Err(e) => Err(format!("its socket cannot be seen: {e}")),
            Ok(stat)
                if FileType::from_raw_mode(stat.st_mode) == FileType::Socket
                    && stat.st_uid == self.user =>
            {
                Ok(true)
            }
            Ok(_) => Err(format!("/tmp/{} is not its socket", self.socket)),
        }
    }

    /// Makes it listen, if it does not yet.
    fn open(&self) -> Result<(), String> {
        if self.is_open()? {
            return Ok(());
        }
        self.stop.pause(youth(ticks().saturating_sub(self.target.start)))?;
        let name = format!(".attach_pid{}", self.target.inner_pid);
        let make = || {
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
            openat(&self.tmp, &name, flags, Mode::RUSR | Mode::WUSR)
        };
        // One that somebody has left behind means the same.
        let made = match make() {
            Err(Errno::EXIST) => unlinkat(&self.tmp, &name, AtFlags::empty()).and_then(|()| make()),
            made => made,
        };
        made.map_err(|e| format!("/tmp/{name} cannot be made: {e}"))?;
        let opened = self.knock();
        let _ = unlinkat(&self.tmp, &name, AtFlags::empty());
        opened
    }

    fn knock(&self) -> Result<(), String> {
        if !Status::of(&self.process, &self.target)?.catches {
            return Err("it does not catch SIGQUIT (-Xrs), which would end it".to_owned());
        }
        pidfd_send_signal(&self.pidfd, Signal::QUIT).map_err(|e| format!("no signal: {e}"))?;
        let until = Instant::now() + limits::DOOR;
        while Instant::now() < until {
            if self.is_open()? {
                return Ok(());
            }
            self.stop.pause(limits::LOOK)?;
        }
        Err(format!(
            "it has not opened its socket in {} s: it is stopped, or has no Attach Listener",
            limits::DOOR.as_secs()
        ))
    }

    /// A diagnostic command and its answer.
    fn command(&self, command: &str, stop: &Stop, held: &mut Charge) -> Result<Vec<u8>, String> {
        let until = Instant::now() + limits::ANSWER_TIME;
        let mut stream = self.connect(until, stop)?;
        let failed = |e: std::io::Error| match e.kind() {
            WouldBlock | TimedOut => LATE.to_owned(),
            _ => format!("its answer ends with a fault: {e}"),
        };
        stream.set_write_timeout(Some(limits::STOP)).map_err(failed)?;
        stream
            .write_all(&[b"1\0jcmd\0", command.as_bytes(), b"\0\0\0"].concat())
            .map_err(failed)?;
        let (mut answer, mut part) = (Vec::new(), [0; 16 << 10]);
        loop {
            stop.check()?;
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(LATE.to_owned());
            }
            stream.set_read_timeout(Some(left.min(limits::STOP))).map_err(failed)?;
            let read = match stream.read(&mut part) {
                Ok(0) => return result(answer),
                Ok(read) => part.get(..read).unwrap_or_default(),
                Err(e) if matches!(e.kind(), WouldBlock | TimedOut | Interrupted) => continue,
                Err(e) => return Err(failed(e)),
            };
            if answer.len() + read.len() > limits::ANSWER {
                return Err(format!("its answer has more than {} MiB", limits::ANSWER >> 20));
            }
            if answer.capacity() - answer.len() < read.len() {
                let room = (2 * answer.len()).max(part.len());
                hold(held, room)?;
                answer.reserve_exact(room - answer.len());
            }
            answer.extend(read);
        }
    }

    /// Connects, and looks who listens.
    fn connect(&self, until: Instant, stop: &Stop) -> Result<UnixStream, String> {
        let path = path_of(&self.tmp).join(&self.socket);
        let address = SocketAddrUnix::new(&path).map_err(|e| e.to_string())?;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)
            .map_err(|e| e.to_string())?;
        loop {
            match connect(&socket, &address) {
                Ok(()) => break,
                // Others wait for it already.
                Err(Errno::AGAIN | Errno::INTR) if Instant::now() < until => {
                    stop.pause(limits::LOOK)?;
                }
                Err(e) => return Err(format!("nobody listens on /tmp/{}: {e}", self.socket)),
            }
        }
        let who = sockopt::socket_peercred(&socket).map_err(|e| e.to_string())?;
        let pid = u32::try_from(who.pid.as_raw_nonzero().get()).ok();
        if pid != Some(self.target.pid) {
            return Err(format!("another process listens on /tmp/{}", self.socket));
        }
        let stream = UnixStream::from(socket);
        stream.set_nonblocking(false).map_err(|e| e.to_string())?;
        Ok(stream)
    }

    /// Records for so long. The JVM writes the file into a folder that only its user sees.
    fn record(&self, length: Duration, held: &mut Charge) -> Result<Vec<u8>, String> {
        let folder = Folder::make(self)?;
        let path = format!("/tmp/{}/{RECORDING}", folder.name);
        let name = format!("pmdaapm-{}", ticks());
        let said = |answer: Result<Vec<u8>, String>, what: &str| {
            let answer = answer?;
            let text = String::from_utf8_lossy(&answer);
            let text = text.trim_start();
            if text.starts_with(what) { Ok(()) } else { Err(format!("it says: {}", first(text))) }
        };
        let started = self.command(&start(&name, &path, length), self.stop, held);
        let recorded = said(started, "Started recording").and_then(|()| self.stop.pause(length));
        // Also of one that may have begun, and of one that is to end now.
        let stopped = self.command(&stop(&name, &path), &Stop::default(), held);
        recorded?;
        said(stopped, "Stopped recording")?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(&folder.dir, RECORDING, flags, Mode::empty())
            .map_err(|e| format!("its recording cannot be opened: {e}"))?;
        let stat = fstat(&file).map_err(|e| e.to_string())?;
        let size = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile
            || size > limits::RECORDING
        {
            return Err(format!("its recording has {size} bytes: too many"));
        }
        let room = usize::try_from(size).unwrap_or(usize::MAX);
        hold(held, room)?;
        let mut bytes = Vec::with_capacity(room);
        let read = File::from(file).take(size).read_to_end(&mut bytes);
        read.map_err(|e| format!("its recording cannot be read: {e}"))?;
        Ok(bytes)
    }
}

/// The folder of a recording. It goes with its file.
struct Folder<'d> {
    tmp: &'d OwnedFd,
    name: String,
    /// What was made, whatever has its name by now.
    dir: OwnedFd,
}

impl<'d> Folder<'d> {
    fn make(door: &'d Door<'_>) -> Result<Self, String> {
        let name = format!(".pmdaapm-{}-{}", door.target.inner_pid, door.target.start);
        let tmp = &door.tmp;
        let made = match mkdirat(tmp, &name, PRIVATE) {
            // A PMDA that was ended has left it behind.
            Err(Errno::EXIST) => {
                drop(Self::opened(tmp, name.clone()));
                mkdirat(tmp, &name, PRIVATE)
            }
            made => made,
        };
        let failed = |e| format!("/tmp/{name} cannot be made: {e}");
        made.map_err(failed)?;
        Self::opened(tmp, name.clone()).map_err(failed)
    }

    /// No link leads out of it.
    fn opened(tmp: &'d OwnedFd, name: String) -> Result<Self, Errno> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let dir = openat(tmp, &name, flags, Mode::empty())?;
        Ok(Self { tmp, name, dir })
    }
}

impl Drop for Folder<'_> {
    fn drop(&mut self) {
        let _ = unlinkat(&self.dir, RECORDING, AtFlags::empty());
        let _ = unlinkat(self.tmp, &self.name, AtFlags::REMOVEDIR);
    }
}

/// What is used of /proc/PID/status here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Status {
    /// Effective user and group, which are the real ones too.
    user: (u32, u32),
    /// It catches SIGQUIT.
    catches: bool,
}

impl Status {
    /// Of a process that is still the target.
    fn of(process: &ProcDir, target: &Target) -> Result<Self, String> {
        let text = process.read_most("status", STATUS).ok_or(ENDED)?;
        if process.start() != Some(target.start) {
            return Err(ENDED.to_owned());
        }
        Self::parse(&text).ok_or_else(|| "its user, group or signals are not clear".to_owned())
    }

    /// `None`: something is missing, or its ids are several.
    fn parse(text: &[u8]) -> Option<Self> {
        let words = |key: &str| {
            let line =
                text.split(|&b| b == b'\n').find_map(|line| line.strip_prefix(key.as_bytes()));
            Some(std::str::from_utf8(line?).ok()?.split_ascii_whitespace())
        };
        let id = |key| {
            let mut ids = words(key)?.map(|word| word.parse::<u32>());
            let first = ids.next()?.ok()?;
            ids.all(|id| id == Ok(first)).then_some(first)
        };
        let caught = u64::from_str_radix(words("SigCgt:")?.next()?, 16).ok()?;
        Some(Self { user: (id("Uid:")?, id("Gid:")?), catches: caught & QUIT != 0 })
    }

    /// Gives this thread the ids of the process, and takes what it may do beyond them away: also from root, whose
    /// JVM may be in a container.
    fn become_user(self) -> Result<(), String> {
        let (uid, gid) = (Uid::from_raw(self.user.0), Gid::from_raw(self.user.1));
        if geteuid() != uid || getegid() != gid {
            // The effective ids count for files, sockets and what is signalled; by the others the user could end
            // this thread, and with it the PMDA.
            let taken = set_thread_groups(&[])
                .and_then(|()| set_thread_res_gid(getgid(), gid, getgid()))
                .and_then(|()| set_thread_res_uid(getuid(), uid, getuid()));
            taken.map_err(|_| {
                let user = self.user.0;
                format!("only root and user {user} may ask it: run the PMDA as one of them")
            })?;
        }
        let none = CapabilitySet::empty();
        let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
        set_capabilities(None, sets).map_err(|e| format!("capabilities cannot be laid down: {e}"))
    }
}

/// Time after which a process of so many ticks is old enough to be signalled.
fn youth(age: u64) -> Duration {
    let each = rustix::param::clock_ticks_per_second().max(1);
    limits::ATTACH_AGE.saturating_sub(Duration::from_millis(age.saturating_mul(1000) / each))
}

fn maps(process: &ProcDir) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    openat(process.file(), "maps", flags, Mode::empty())
}

/// So many bytes are about to be held.
fn hold(held: &mut Charge, bytes: usize) -> Result<(), String> {
    let fits = held.resize(bytes, bytes);
    if fits { Ok(()) } else { Err("there is no room for its answer (limits.memory)".to_owned()) }
}

/// The first line of what a JVM says, cut.
fn first(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default().chars();
    line.filter(|c| !c.is_control()).take(limits::SAID).collect()
}

/// The text of an answer `RESULT\nTEXT`.
fn result(mut answer: Vec<u8>) -> Result<Vec<u8>, String> {
    let end = memchr::memchr(b'\n', answer.get(..limits::RESULT).unwrap_or(&answer));
    let end = end.ok_or("it has cut the connection without an answer")?;
    let number: Vec<u8> = answer.drain(..=end).take(end).collect();
    if number == b"0" {
        return Ok(answer);
    }
    let (number, why) = (String::from_utf8_lossy(&number), String::from_utf8_lossy(&answer));
    Err(format!("it refuses ({number}): {}", first(&why)))
}

#[cfg(test)]
#[path = "attach_tests.rs"]
mod tests;
