//! The processes that are known, each with the task that reads it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::UnixStream;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::door::{Door, Found, Port};
use super::finder::Report;
use super::listener::Arrival;
use crate::clock::now;
use crate::host::{Host, Program, Taken};
use crate::sources::dotnet::discovery::{Access, Target, Via};
use crate::sources::dotnet::session::Choice;
use crate::sources::dotnet::wire::ipc::Request;
use crate::sources::dotnet::{Config, limits};
use crate::store::LogThrottle;

/// Time without a connection after which a process that is known by its connections alone is gone:
/// a runtime comes back within half a second.
const PATIENCE: Duration = Duration::from_secs(10);

/// Starts the task of a process.
pub(super) type OnFound = Box<dyn Fn(Found) + Send + Sync>;

/// The processes.
pub(super) struct Registry {
    host: Arc<Host>,
    config: watch::Receiver<Arc<Config>>,
    on_found: OnFound,
    live: HashMap<Id, Live>,
    /// `dotnet.processes`.
    patterns: Vec<String>,
    /// Processes whose names are not among those. They are no instances, until a configuration
    /// wants them.
    left_out: HashMap<u32, Report>,
    stop: CancellationToken,
    full: LogThrottle,
}

/// A process: its id, or the cookie of one whose id is not to be seen.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Id {
    Pid(u32),
    Cookie([u8; 16]),
}

struct Live {
    target: Arc<Target>,
    program: Program,
    /// Access without the port.
    socket: Option<Access>,
    /// Monotonic time when the port was open last, if it ever was.
    port: Option<Duration>,
    door: Arc<Door>,
    access: watch::Sender<Access>,
    gone: CancellationToken,
    /// The PMDA ends.
    stop: CancellationToken,
}

/// What a process comes with.
struct Entrance {
    target: Target,
    program: Program,
    /// See [`Found::again`].
    again: bool,
    socket: Option<Access>,
    port: Option<(Port, Duration)>,
}

impl Drop for Live {
    fn drop(&mut self) {
        // At the end of the PMDA the process still runs, and its session is stopped.
        if !self.stop.is_cancelled() {
            self.gone.cancel();
        }
    }
}

impl Registry {
    pub(super) fn new(
        host: &Arc<Host>,
        config: watch::Receiver<Arc<Config>>,
        on_found: OnFound,
        stop: CancellationToken,
    ) -> Self {
        Self {
            host: Arc::clone(host),
            config,
            on_found,
            live: HashMap::new(),
            patterns: Vec::new(),
            left_out: HashMap::new(),
            stop,
            full: LogThrottle::default(),
        }
    }

    /// Applies a configuration. A known process that is no longer wanted stays an instance.
    pub(super) fn configure(&mut self, config: &Config) {
        self.patterns.clone_from(&config.processes);
        if !config.discover {
            self.forget();
        }
        for (pid, report) in std::mem::take(&mut self.left_out) {
            self.found(pid, report);
        }
    }

    /// Nobody looks for processes any more. Those that are connected to us stay.
    fn forget(&mut self) {
        self.left_out.clear();
        self.live.retain(|_, live| {
            if live.socket.take().is_none() {
                return true;
            }
            let is_open = live.door.port.is_open();
            if is_open {
                live.publish();
            }
            is_open
        });
    }

    /// Applies reports of the finder.
    pub(super) fn report(&mut self, reports: Taken<Report>) {
        let start = |left: &Report| left.target.as_ref().map_or(0, |target| target.start);
        let left_out = self.left_out.iter().map(|(pid, left)| (*pid, start(left)));
        // Of one that is known by its connections alone no finder has told.
        let live = self.live.iter().filter(|(_, live)| live.socket.is_some());
        let live = live.map(|(_, live)| (live.target.pid, live.target.start));
        for (pid, change) in reports.changes(left_out.chain(live)) {
            match change {
                Some(report) => self.found(pid, report),
                None => {
                    self.left_out.remove(&pid);
                    self.live.remove(&Id::Pid(pid));
                }
            }
        }
    }

    fn found(&mut self, pid: u32, report: Report) {
        let id = Id::Pid(pid);
        let live = self.live.get_mut(&id);
        let (mut again, mut port) = (false, None);
        match (live, &report.target) {
            (Some(live), target) if target.as_ref().is_none_or(|t| live.is(t, &report.program)) => {
                live.program.seen(report.program);
                live.socket = Some(report.access);
                return live.publish();
            }
            (Some(live), Some(target)) if live.target.start == target.start => {
                // What is connected to us is the program that it executes now.
                again = true;
                port = live.door.port.take_now().map(|stream| (Port::of(stream), now().monotonic));
            }
            (None, None) => {
                if let Some(known) = self.left_out.get_mut(&pid) {
                    known.access = report.access;
                }
                return;
            }
            _ => {}
        }
        self.live.remove(&id);
        self.left_out.remove(&pid);
        match report.target {
            Some(target) if is_wanted(&self.patterns, &target) => {
                let Report { program, access, .. } = report;
                self.enter(id, Entrance { target, program, again, socket: Some(access), port });
            }
            // The host knows at most `host::limits::PROCESSES`.
            _ => drop(self.left_out.insert(pid, report)),
        }
    }

    /// A process has connected to us. `target`: what is known of it.
    pub(super) fn arrived(&mut self, arrival: Arrival, target: Target, program: Program) {
        let Arrival { stream, advertise, .. } = arrival;
        let id = if target.pid == 0 { Id::Cookie(advertise.cookie) } else { Id::Pid(target.pid) };
        let at = now().monotonic;
        let again = match self.live.get_mut(&id) {
            Some(live) if live.is(&target, &program) => {
                live.door.port.put(stream);
                live.port = Some(at);
                return live.publish();
            }
            old => old.is_some_and(|live| live.target.start == target.start),
        };
        self.live.remove(&id);
        let port = Some((Port::of(stream), at));
        self.enter(id, Entrance { target, program, again, socket: None, port });
    }

    /// Looks which processes still have connections to us.
    pub(super) fn tick(&mut self) {
        let at = now().monotonic;
        self.live.retain(|_, live| {
            let Some(last) = &mut live.port else { return true };
            if live.door.port.is_open() {
                *last = at;
            } else if at.saturating_sub(*last) > PATIENCE {
                live.port = None;
                live.publish();
                return live.socket.is_some();
            }
            true
        });
    }

    fn enter(&mut self, id: Id, entrance: Entrance) {
        let Entrance { target, program, again, socket, port } = entrance;
        if self.live.len() >= limits::PROCESSES {
            if let Some(n) = self.full.allow(now().monotonic) {
                let (name, pid) = (&target.name, target.shown_pid());
                log::warn!(
                    "dotnet: {name}:{pid} is not read: at most {} processes are{}",
                    limits::PROCESSES,
                    LogThrottle::more(n)
                );
            }
            if let Some(stream) = port.and_then(|(port, _)| port.take_now()) {
                turn_away(&stream);
            }
            return;
        }
        let (port, at) = port.map_or((Port::default(), None), |(port, at)| (port, Some(at)));
        let target = Arc::new(target);
        let door =
            Arc::new(Door { host: Arc::clone(&self.host), config: self.config.clone(), port });
        let (access, receiver) = watch::channel(merged(socket.as_ref(), at.is_some()));
        let gone = CancellationToken::new();
        (self.on_found)(Found {
            target: Arc::clone(&target),
            again,
            access: receiver,
            gone: gone.clone(),
            door: Arc::clone(&door),
        });
        let stop = self.stop.clone();
        self.live.insert(id, Live { target, program, socket, port: at, door, access, gone, stop });
    }
}

fn is_wanted(patterns: &[String], target: &Target) -> bool {
    !Choice::of(patterns, &target.name, &target.owner).is_empty()
}

impl Live {
    /// It is this program of this process.
    fn is(&self, target: &Target, program: &Program) -> bool {
        let differs = program.is_another(&self.program) || program.is_named(&self.program);
        self.target.start == target.start && !differs
    }

    fn publish(&self) {
        let access = merged(self.socket.as_ref(), self.port.is_some());
        self.access.send_if_modified(|old| {
            let differs = *old != access;
            if differs {
                *old = access;
            }
            differs
        });
    }
}

/// The port is used if there is one: a process that waits for ResumeRuntime must get it there.
fn merged(socket: Option<&Access>, port: bool) -> Access {
    match socket {
        _ if port => Access::Open(Via::Port),
        Some(access) => access.clone(),
        None => Access::Off(Arc::from("it has closed its connection to us")),
    }
}

/// A process that is not read may wait for ResumeRuntime. Nothing is done if it does not take it.
fn turn_away(stream: &UnixStream) {
    if let Ok(request) = Request::Resume.encode() {
        let _ = stream.try_write(&request);
    }
}

#[cfg(test)]
#[path = "registry_tests.rs"]
mod tests;
