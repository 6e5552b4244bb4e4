//! Says of each process of this host whether it is one of Mono, and opens its area.

use std::sync::Arc;

use tokio::sync::mpsc::UnboundedSender;

use super::open::{Area, Sight, look};
use crate::host::{self, Glance, Interest, Known, Named, Program, Visit};
use crate::sources::mono::area::Access;
use crate::sources::mono::io::host::ProcHost;
use crate::sources::mono::process::Facts;

/// Where areas are.
pub(super) const AREAS: &str = "/dev/shm";

/// A change, with what the task needs to know of the process.
#[derive(Debug)]
pub(super) enum Report {
    /// A process of Mono, or one that can be read otherwise than before.
    Found(Box<Found>),
    /// One that is known has ended.
    Gone(u32, u64),
}

/// A process of Mono.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) facts: Facts,
    pub(super) access: Access,
    /// `None` of one that is open: it is the one that was open at the look before.
    pub(super) area: Option<Area>,
    pub(super) program: Program,
}

impl Found {
    /// Its area is the one that was open at the look before.
    pub(super) fn was_open(&self) -> bool {
        self.access == Access::Open && self.area.is_none()
    }
}

/// A process as it was reported: one that has changed is reported again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shown {
    access: Access,
    program: Program,
}

/// The eye of this source.
#[derive(Clone)]
pub(super) struct Finder(Arc<Shared>);

struct Shared {
    host: Arc<ProcHost>,
    known: Known<Shown>,
    /// There are at most as many reports as changes of processes.
    reports: UnboundedSender<Report>,
}

impl Finder {
    pub(super) fn new(host: Arc<ProcHost>, reports: UnboundedSender<Report>) -> Self {
        Self(Arc::new(Shared { host, known: Known::default(), reports }))
    }

    /// The processes of Mono that are known.
    pub(super) fn known(&self) -> &Known<Shown> {
        &self.0.known
    }
}

impl Shared {
    fn gone(&self, pid: u32, start: u64) {
        self.known.end(pid, start, || {
            let _ = self.reports.send(Report::Gone(pid, start));
        });
    }

    /// A look has come back in time.
    fn looked(&self, facts: Facts, Sight { access, file, area }: Sight) {
        let (pid, start) = (facts.pid, facts.start);
        let program = Program { command: facts.command.clone(), file };
        let shown = Shown { access: access.clone(), program: program.clone() };
        let found = Found { facts, access, area, program };
        let was_open = found.was_open();
        let tell = || drop(self.reports.send(Report::Found(Box::new(found))));
        if was_open {
            self.known.tell_again(pid, start, shown, tell);
        } else {
            self.known.tell(pid, start, shown, tell);
        }
    }
}

impl host::Finder for Finder {
    fn is_active(&self) -> bool {
        self.0.known.is_active()
    }

    fn look(&self, glance: &Glance, visit: Visit) -> host::Look {
        // A list of mapped files costs much, and a program that has the same name has the same files.
        if visit.settled {
            return host::Look::default();
        }
        let (pid, start) = (glance.pid(), glance.stat().start);
        let shared = Arc::clone(&self.0);
        let known = shared.known.get(pid, start);
        let open = known.as_ref().and_then(|known| known.program.file);
        let Some(sight) = look(glance, open, |uid| shared.host.user(uid)) else {
            // It executes another program, which has no area.
            let report = Box::new(move || shared.gone(pid, start));
            return host::Look { interest: Interest::Nothing, report: Some(report) };
        };
        let interest = match sight.access {
            Access::Open => Interest::Seldom,
            Access::Denied(_) | Access::Off(_) => Interest::Often,
        };
        // Its area may not be there yet.
        if matches!(sight.access, Access::Off(_)) && visit.number < 2 && known.is_none() {
            return host::Look { interest, report: None };
        }
        // If it has ended since, the next scan sees that.
        let facts = self.0.host.facts(glance.process()).filter(|facts| facts.start == start);
        let report = facts
            .map(|facts| Box::new(move || shared.looked(facts, sight)) as Box<dyn FnOnce() + Send>);
        host::Look { interest, report }
    }

    fn gone(&self, pid: u32, start: u64) {
        self.0.gone(pid, start);
    }

    fn named(&self, name: &[u8]) -> Option<Named> {
        let number = std::str::from_utf8(name.strip_prefix(b"mono.")?).ok()?;
        Some(Named { inner_pid: number.parse().ok()?, start: None })
    }
}
