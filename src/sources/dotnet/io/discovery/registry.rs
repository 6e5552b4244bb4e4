//! The processes that are known, each with the task that reads it.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use tokio::net::UnixStream;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::door::{Door, Found, Port};
use super::finder::Report;
use super::listener::Arrival;
use crate::clock::now;
use crate::host::Host;
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
    directories: Arc<RwLock<Vec<PathBuf>>>,
    on_found: OnFound,
    live: HashMap<Id, Live>,
    /// `dotnet.processes`.
    patterns: Vec<String>,
    /// Processes whose names are not among those. They are no instances, until a configuration
    /// wants them.
    left_out: HashMap<u32, (Target, Access)>,
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
        directories: &Arc<RwLock<Vec<PathBuf>>>,
        on_found: OnFound,
        stop: CancellationToken,
    ) -> Self {
        Self {
            host: Arc::clone(host),
            directories: Arc::clone(directories),
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
        let wanted =
            |_: &u32, (target, _): &mut (Target, Access)| is_wanted(&config.processes, target);
        let wanted: Vec<_> = self.left_out.extract_if(wanted).collect();
        for (_, (target, access)) in wanted {
            self.report(Report::Found(target, access));
        }
    }

    /// Applies a report of the finder.
    pub(super) fn report(&mut self, report: Report) {
        match report {
            Report::Found(target, access) => {
                let id = Id::Pid(target.pid);
                let known = self.live.get(&id).is_some_and(|l| l.target.start == target.start);
                if !known && !is_wanted(&self.patterns, &target) {
                    self.live.remove(&id);
                    // The host knows at most `host::limits::PROCESSES`.
                    self.left_out.insert(target.pid, (target, access));
                    return;
                }
                self.left_out.remove(&target.pid);
                match self.live.get_mut(&id).filter(|live| live.target.start == target.start) {
                    Some(live) => {
                        live.socket = Some(access);
                        live.publish();
                    }
                    None => {
                        self.live.remove(&id);
                        self.enter(id, target, Some(access), None);
                    }
                }
            }
            Report::Access(pid, access) => {
                if let Some(live) = self.live.get_mut(&Id::Pid(pid)) {
                    live.socket = Some(access);
                    live.publish();
                } else if let Some((_, known)) = self.left_out.get_mut(&pid) {
                    *known = access;
                }
            }
            Report::Gone(pid) => {
                self.left_out.remove(&pid);
                self.live.remove(&Id::Pid(pid));
            }
            Report::Forgotten(pid) => {
                self.left_out.remove(&pid);
                let id = Id::Pid(pid);
                match self.live.get_mut(&id) {
                    Some(live) if live.door.port.is_open() => {
                        live.socket = None;
                        live.publish();
                    }
                    _ => {
                        self.live.remove(&id);
                    }
                }
            }
        }
    }

    /// A process has connected to us. `target`: what is known of it.
    pub(super) fn arrived(&mut self, arrival: Arrival, target: Target) {
        let Arrival { stream, advertise, .. } = arrival;
        let id = if target.pid == 0 { Id::Cookie(advertise.cookie) } else { Id::Pid(target.pid) };
        let at = now().monotonic;
        if self.live.get(&id).is_some_and(|live| live.target.start != target.start) {
            self.live.remove(&id);
        }
        if let Some(live) = self.live.get_mut(&id) {
            live.door.port.put(stream);
            live.port = Some(at);
            live.publish();
            return;
        }
        let port = Port::default();
        port.put(stream);
        self.enter(id, target, None, Some((port, at)));
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

    fn enter(
        &mut self,
        id: Id,
        target: Target,
        socket: Option<Access>,
        port: Option<(Port, Duration)>,
    ) {
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
        let door = Arc::new(Door {
            host: Arc::clone(&self.host),
            directories: Arc::clone(&self.directories),
            port,
        });
        let (access, receiver) = watch::channel(merged(socket.as_ref(), at.is_some()));
        let gone = CancellationToken::new();
        (self.on_found)(Found {
            target: Arc::clone(&target),
            access: receiver,
            gone: gone.clone(),
            door: Arc::clone(&door),
        });
        let stop = self.stop.clone();
        self.live.insert(id, Live { target, socket, port: at, door, access, gone, stop });
    }
}

fn is_wanted(patterns: &[String], target: &Target) -> bool {
    !Choice::of(patterns, &target.name, &target.owner).is_empty()
}

impl Live {
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
