//! The processes that are known, each with the task that reads it.

use std::collections::{HashMap, HashSet};
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
use crate::model::{Charge, HeapSize};
use crate::sources::dotnet::discovery::{Access, Target, Via};
use crate::sources::dotnet::session::Choice;
use crate::sources::dotnet::wire::ipc::{Advertise, Request};
use crate::sources::dotnet::{Config, limits};
use crate::store::LogThrottle;

/// Time without a connection after which a process that is known by its connections alone is gone:
/// a runtime comes back within half a second.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time after which a process that the store has turned away is tried again. It is asked who it is each time.
const AGAIN: Duration = Duration::from_secs(60);

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
    /// Processes whose names are not among those, with their starts, and whether they were other programs before.
    /// They are no instances, until a configuration wants them. The host knows at most
    /// [`host::limits::PROCESSES`](crate::host::limits::PROCESSES) of these and the next ones.
    left_out: HashMap<u32, (u64, bool)>,
    /// Processes that there was no room for.
    turned_away: HashSet<u32>,
    /// What all of these take.
    charge: Charge,
    stop: CancellationToken,
    full: LogThrottle,
}

/// A process: its id, or the cookie of one whose id is not to be seen.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Id {
    Pid(u32),
    Cookie(Cookie),
}

/// What a runtime calls itself, whatever process it is.
type Cookie = [u8; 16];

struct Live {
    target: Arc<Target>,
    program: Program,
    /// See [`Found::again`].
    again: bool,
    /// The cookie of the runtime that has connected to us.
    cookie: Option<Cookie>,
    /// Since when its task has been gone: the store had no room for it.
    refused: Option<Duration>,
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
    port: Option<(Port, Duration, Option<Cookie>)>,
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
        charge: Charge,
        stop: CancellationToken,
    ) -> Self {
        Self {
            host: Arc::clone(host),
            config,
            on_found,
            live: HashMap::new(),
            patterns: Vec::new(),
            left_out: HashMap::new(),
            turned_away: HashSet::new(),
            charge,
            stop,
            full: LogThrottle::default(),
        }
    }

    /// Applies a configuration. A known process that is no longer wanted stays an instance. Returns those that were
    /// not wanted: they are to be reported again.
    pub(super) fn configure(&mut self, config: &Config) -> Vec<u32> {
        self.patterns.clone_from(&config.processes);
        if !config.discover {
            self.forget();
        }
        self.left_out.keys().copied().collect()
    }

    /// Nobody looks for processes any more. Those that are connected to us stay.
    fn forget(&mut self) {
        self.left_out.clear();
        self.turned_away.clear();
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
        if let Some(alive) = &reports.alive {
            self.turned_away.retain(|pid| alive.contains_key(pid));
        }
        let left_out = self.left_out.iter().map(|(pid, (start, _))| (*pid, *start));
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
        let Report { target, mut again, over, program, access } = report;
        let id = Id::Pid(pid);
        let mut port = None;
        if over {
            match self.live.get_mut(&id) {
                // It has connected to us, whatever it is.
                Some(live) if live.port.is_some() && !live.program.is_another(&program) => {
                    live.socket = None;
                    live.publish();
                }
                _ => drop(self.live.remove(&id)),
            }
            self.left_out.remove(&pid);
            self.turned_away.remove(&pid);
            return;
        }
        match (self.live.get_mut(&id), &target) {
            (Some(live), target) if target.as_ref().is_none_or(|t| live.is(t, &program)) => {
                live.program.seen(program);
                live.socket = Some(access);
                return live.publish();
            }
            (Some(live), Some(target)) if live.target.start == target.start => {
                // What is connected to us is the program that it executes now.
                again = true;
                let open = live.door.port.take_now();
                port = open.map(|stream| (Port::of(stream), now().monotonic, live.cookie));
            }
            (None, None) => {
                if !self.left_out.contains_key(&pid) {
                    // It was not taken when it was told.
                    self.turned_away.insert(pid);
                }
                return;
            }
            _ => {}
        }
        self.live.remove(&id);
        self.turned_away.remove(&pid);
        let before = self.left_out.remove(&pid);
        let Some(target) = target else { return };
        again |= before.is_some_and(|(start, again)| again && start == target.start);
        if is_wanted(&self.patterns, &target) {
            self.enter(id, Entrance { target, program, again, socket: Some(access), port });
        } else {
            self.left_out.insert(pid, (target.start, again));
        }
    }

    /// A process has connected to us. `target`: what is known of it.
    pub(super) fn arrived(&mut self, arrival: Arrival, target: Target, program: Program) {
        let Arrival { stream, advertise: Advertise { cookie, .. }, .. } = arrival;
        let id = if target.pid == 0 { Id::Cookie(cookie) } else { Id::Pid(target.pid) };
        let at = now().monotonic;
        let again = match self.live.get_mut(&id) {
            // Another cookie is another runtime: it executes the same program once more.
            Some(live)
                if live.is(&target, &program) && live.cookie.is_none_or(|old| old == cookie) =>
            {
                live.door.port.put(stream);
                (live.port, live.cookie) = (Some(at), Some(cookie));
                return live.publish();
            }
            old => old.is_some_and(|live| live.target.start == target.start),
        };
        self.live.remove(&id);
        let port = Some((Port::of(stream), at, Some(cookie)));
        self.enter(id, Entrance { target, program, again, socket: None, port });
    }

    /// Looks which processes still have connections to us, and begins anew with those that the store had no room for.
    pub(super) fn tick(&mut self, at: Duration) {
        self.live.retain(|_, live| {
            if live.access.is_closed() {
                let since = *live.refused.get_or_insert(at);
                if at.saturating_sub(since) >= AGAIN {
                    live.refused = None;
                    (self.on_found)(live.found());
                }
            }
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
        let others = self.left_out.heap_size() + self.turned_away.heap_size();
        self.charge.set(self.live.heap_size() + others);
    }

    /// Processes that there was no room for, and is now: they are to be reported again.
    pub(super) fn again(&mut self) -> Vec<u32> {
        let room = limits::PROCESSES.saturating_sub(self.live.len());
        self.turned_away.extract_if(|_| true).take(room).collect()
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
            if let Some(stream) = port.and_then(|(port, ..)| port.take_now()) {
                turn_away(&stream);
            }
            // One that connects to us comes back by itself.
            self.turned_away.extend(socket.map(|_| target.pid));
            return;
        }
        let (port, at, cookie) = match port {
            Some((port, at, cookie)) => (port, Some(at), cookie),
            None => (Port::default(), None, None),
        };
        let live = Live {
            target: Arc::new(target),
            program,
            again,
            cookie,
            refused: None,
            access: watch::Sender::new(merged(socket.as_ref(), at.is_some())),
            socket,
            port: at,
            door: Arc::new(Door {
                host: Arc::clone(&self.host),
                config: self.config.clone(),
                port,
            }),
            gone: CancellationToken::new(),
            stop: self.stop.clone(),
        };
        (self.on_found)(live.found());
        self.live.insert(id, live);
    }
}

fn is_wanted(patterns: &[String], target: &Target) -> bool {
    !Choice::of(patterns, &target.name, &target.owner).is_empty()
}

impl Live {
    /// What its task gets.
    fn found(&self) -> Found {
        Found {
            target: Arc::clone(&self.target),
            again: self.again,
            access: self.access.subscribe(),
            gone: self.gone.clone(),
            door: Arc::clone(&self.door),
        }
    }

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
