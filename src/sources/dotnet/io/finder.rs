//! Says of each process of this host whether it is one of .NET, and whether it can be read.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use tokio::sync::mpsc::UnboundedSender;

use super::proc::{look, target};
use crate::host::{self, Glance, Host, Interest, Named, Visit};
use crate::sources::dotnet::Config;
use crate::sources::dotnet::discovery::{Advice, Look, Socket, access, parse_socket_name};
use crate::sources::dotnet::target::{Access, Target};

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
    active: AtomicBool,
    advice: RwLock<Advice>,
    known: Mutex<HashMap<u32, Known>>,
    /// There are at most as many reports as changes of processes.
    reports: UnboundedSender<Report>,
}

/// A process of .NET.
#[derive(Debug)]
struct Known {
    start: u64,
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
            active: AtomicBool::new(false),
            advice: RwLock::default(),
            known: Mutex::default(),
            reports,
        }))
    }

    /// Applies a configuration. What depends on it is found anew by the next looks at all processes.
    pub(super) fn configure(&self, config: &Config) {
        let shared = &self.0;
        *shared.advice.write().unwrap_or_else(PoisonError::into_inner) =
            Advice { listen: config.listen.clone() };
        let mut directories = shared.directories.write().unwrap_or_else(PoisonError::into_inner);
        directories.clone_from(&config.directories);
        drop(directories);
        shared.active.store(config.discover, Ordering::Relaxed);
        if !config.discover {
            let known = std::mem::take(&mut *shared.known());
            known.into_keys().for_each(|pid| shared.report(Report::Forgotten(pid)));
        }
    }
}

impl Shared {
    fn known(&self) -> MutexGuard<'_, HashMap<u32, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn report(&self, report: Report) {
        let _ = self.reports.send(report);
    }

    /// Of a process that is known: whether it has had a socket, and its runtime if it is the same
    /// program as before.
    fn before(&self, pid: u32, look: &Look) -> Option<(bool, Option<bool>)> {
        let known = self.known();
        let known = known.get(&pid).filter(|known| known.start == look.start)?;
        Some((known.had_socket, known.runtime.filter(|_| known.comm == look.comm)))
    }

    /// A look has come back in time.
    fn looked(&self, pid: u32, look: Look, access: Access, target: Option<Target>) {
        if !self.active.load(Ordering::Relaxed) {
            return;
        }
        let mut all = self.known();
        let present = matches!(look.socket, Socket::Present { .. });
        let (start, comm, runtime) = (look.start, look.comm, look.runtime);
        if let Some(known) = all.get_mut(&pid).filter(|known| known.start == start) {
            (known.comm, known.runtime) = (comm, runtime);
            known.had_socket |= present;
            if known.access != access {
                known.access = access.clone();
                self.report(Report::Access(pid, access));
            }
        } else if let Some(target) = target {
            let access_known = access.clone();
            let known = Known { start, comm, runtime, had_socket: present, access: access_known };
            all.insert(pid, known);
            self.report(Report::Found(target, access));
        }
    }
}

impl host::Finder for Finder {
    fn is_active(&self) -> bool {
        self.0.active.load(Ordering::Relaxed)
    }

    fn look(&self, glance: &Glance, visit: Visit) -> host::Look {
        let shared = &self.0;
        let directories = shared.directories.read().unwrap_or_else(PoisonError::into_inner).clone();
        let mut look = look(glance, &directories, !visit.settled);
        let pid = glance.pid();
        let before = shared.before(pid, &look);
        let (had_socket, runtime) = before.unwrap_or_default();
        look.runtime = look.runtime.or(runtime);
        let advice = shared.advice.read().unwrap_or_else(PoisonError::into_inner).clone();
        let owner = || shared.host.user(look.uid);
        let Some(access) = access(&look, owner, had_socket, &advice) else {
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
        let mut known = self.0.known();
        if known.get(&pid).is_some_and(|known| known.start == start) {
            known.remove(&pid);
            self.0.report(Report::Gone(pid));
        }
    }

    fn named(&self, name: &[u8]) -> Option<Named> {
        let (inner_pid, start) = parse_socket_name(name)?;
        Some(Named { inner_pid, start: Some(start) })
    }
}
