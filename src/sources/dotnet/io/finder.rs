//! Says of each process of this host whether it is one of .NET, and whether it can be read.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::mpsc::UnboundedSender;

use super::proc::{look, target};
use crate::host::{self, Glance, Host, Interest, Known, Named, Visit};
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
    advice: RwLock<Advice>,
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
            advice: RwLock::default(),
            known: Known::default(),
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
        self.0.known.end(pid, start, || self.0.report(Report::Gone(pid)));
    }

    fn named(&self, name: &[u8]) -> Option<Named> {
        let (inner_pid, start) = parse_socket_name(name)?;
        Some(Named { inner_pid, start: Some(start) })
    }
}
