//! Says of each process of this host whether it is a JVM, and opens its performance data.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::locate::{Absence, Located, locate};
use super::region::{Closed, Region, loaded, open, open_memory};
use crate::host::{
    self, Glance, Host, Interest, Mapped, Named, Program, Reports, Visit, container, ticks,
};
use crate::sources::jvm::command::{Start, variable};
use crate::sources::jvm::limits;
use crate::sources::jvm::meter::{Stage, State};
use crate::sources::jvm::state::{Who, of_command_line};

/// The look at which what a process that began a moment ago has is its own, and complete.
const STARTED: u8 = 3;
/// Rights that a reading of memory needs: /proc/PID/mem has mode 0600.
const NEEDS: &str = "needs CAP_DAC_READ_SEARCH and CAP_SYS_PTRACE";
/// What makes all readable.
const DO: &str = "start the PMDA as root, or give it CAP_DAC_READ_SEARCH and CAP_SYS_PTRACE";
/// How others can be read.
const BY_MEMORY: &str = "jvm.memory = true reads it all the same, as root or with CAP_DAC_READ_SEARCH and \
     CAP_SYS_PTRACE";

/// Whether the performance data of a process can be read.
#[derive(Debug)]
pub(super) enum Access {
    /// It is open.
    Open(Region),
    /// It is the one that was open at the look before.
    Kept(Mapped),
    /// It may only be starting.
    Waits,
    /// It is not: why, and what to do.
    Closed(State),
}

/// A JVM as it was reported: one that has changed is reported again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shown {
    owner: String,
    program: Program,
    /// Why it is not read; empty: it is.
    why: String,
}

impl Access {
    fn denied(why: impl ToString) -> Self {
        Self::Closed(State::new(Stage::Denied, why.to_string()))
    }

    fn refused(why: impl ToString) -> Self {
        Self::Closed(State::new(Stage::Refused, why.to_string()))
    }

    /// The file of one that can be read.
    const fn file(&self) -> Option<Mapped> {
        match self {
            Self::Open(region) => Some(region.mapped),
            Self::Kept(file) => Some(*file),
            Self::Waits | Self::Closed(_) => None,
        }
    }

    fn why(&self) -> &str {
        match self {
            Self::Open(_) | Self::Kept(_) | Self::Waits => "",
            Self::Closed(state) => &state.why,
        }
    }
}

/// A process, as it was found.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) who: Who,
    pub(super) program: Program,
    pub(super) access: Access,
}

/// The eye of this source.
#[derive(Clone)]
pub(super) struct Finder(Arc<Shared>);

struct Shared {
    host: Arc<Host>,
    /// Since when it looks, in clock ticks since boot: processes that began later are new. What was shown of
    /// the others before has been counted.
    began: AtomicU64,
    /// `jvm.memory`
    memory: AtomicBool,
    /// The JVMs, and what the task does not know of them yet.
    reports: Reports<Shown, Found>,
}

impl Finder {
    pub(super) fn new(host: Arc<Host>) -> Self {
        let (began, memory) = (AtomicU64::new(ticks()), AtomicBool::new(false));
        Self(Arc::new(Shared { host, began, memory, reports: Reports::new(limits::REPORTS) }))
    }

    /// Sets whether it looks.
    pub(super) fn activate(&self, active: bool) {
        if active && !self.reports().known().is_active() {
            self.0.began.store(ticks(), Ordering::Relaxed);
        }
        self.reports().activate(active);
    }

    /// Sets whether JVMs without a file are read.
    pub(super) fn read_memory(&self, memory: bool) {
        self.0.memory.store(memory, Ordering::Relaxed);
    }

    /// What is told.
    pub(super) fn reports(&self) -> &Reports<Shown, Found> {
        &self.0.reports
    }

    /// What was open of a process is not any more: at the next look it is opened again.
    pub(super) fn lost(&self, pid: u32, start: u64) {
        let known = self.reports().known();
        if let Some(mut shown) = known.get(pid, start) {
            shown.program.file = None;
            known.tell_again(pid, start, shown, || true);
        }
    }
}

impl Shared {
    /// A look has come back in time.
    fn looked(&self, who: Who, mut program: Program, access: Access) {
        let (pid, start, why) = (who.pid, who.start, access.why().to_owned());
        program.file = access.file();
        let shown = Shown { owner: who.owner.clone(), program, why };
        if matches!(access, Access::Kept(_)) {
            // What was open is here, if nobody has taken it yet.
            self.reports.tell_again(pid, start, shown, |before| Found {
                who,
                program,
                access: before.map_or(access, |before| before.access),
            });
        } else {
            self.reports.tell(pid, start, shown, Found { who, program, access });
        }
    }

    /// The region that is open already: it stays readable when its name is gone, and is not opened again. A
    /// program that is another one may have a file of the same number.
    fn kept(&self, who: &Who, program: Program, located: &Located) -> Option<Access> {
        let kept = match (&located.area, &located.library) {
            (Some(area), _) => Access::Kept(area.file()),
            (None, Some(library)) if self.reads_memory() => Access::Kept(loaded(library)),
            (None, _) => return None,
        };
        let known = self.reports.known().get(who.pid, who.start)?;
        let differs = program.is_another(&known.program) || program.is_named(&known.program);
        (known.program.file == kept.file() && !differs).then_some(kept)
    }

    /// Whether a process can be read. `None`: it is no JVM, as far as this user can see.
    fn access(
        &self,
        glance: &Glance,
        located: Option<&Located>,
        start: Start<'_>,
        look: u8,
    ) -> Option<Access> {
        let uid = glance.status().uid;
        let denied = || {
            let user = self.host.user(uid);
            Access::denied(format!("only user {user} may read its performance data: {DO}"))
        };
        let Some(located) = located else {
            // Its files are hidden from this user: its name is all there is.
            let program = start.command.split(|&b| b == 0).next().unwrap_or_default();
            let java = glance.stat().comm == b"java" || program.ends_with(b"/java");
            return java.then(denied);
        };
        if let Some(area) = located.area.as_ref().filter(|_| !located.openj9) {
            return Some(match open(glance, area) {
                Ok(region) => Access::Open(region),
                Err(Closed::Denied) => denied(),
                Err(Closed::Refused(why)) => Access::refused(why),
            });
        }
        let absence = Absence::of(located, start, uid)?;
        Some(match &located.library {
            // Its region may not be there yet.
            _ if matches!(absence, Absence::NoFile { .. }) && look < STARTED => Access::Waits,
            // A child that goes on after fork has the memory of its parent, and none of its threads. A JVM has several.
            Some(_) if absence.is_private() && glance.stat().threads == 1 => Access::Waits,
            Some(library) if absence.is_private() && self.reads_memory() => {
                // So has it in memory.
                if look < STARTED {
                    return Some(Access::Waits);
                }
                match open_memory(glance, library) {
                    Ok(Some(region)) => Access::Open(region),
                    Ok(None) => Access::refused(Absence::Off),
                    Err(Closed::Denied) => Access::denied(format!("{absence}; jvm.memory {NEEDS}")),
                    Err(Closed::Refused(why)) => {
                        Access::refused(format!("{absence}; in its memory: {why}"))
                    }
                }
            }
            Some(_) if absence.is_private() => Access::refused(format!("{absence}; {BY_MEMORY}")),
            _ => Access::refused(absence),
        })
    }

    fn reads_memory(&self) -> bool {
        self.memory.load(Ordering::Relaxed)
    }

    fn who(&self, glance: &Glance, start: Start<'_>) -> Who {
        let (stat, status) = (glance.stat(), glance.status());
        let service = variable(start.environment, "OTEL_SERVICE_NAME");
        let comm = String::from_utf8_lossy(&stat.comm).into_owned();
        let command = String::from_utf8_lossy(start.command);
        let command = command.trim_end_matches('\0').replace(|c: char| c.is_control(), " ");
        Who {
            pid: glance.pid(),
            start: stat.start,
            started: self.host.proc().started(stat.start),
            inner_pid: glance.inner_pid(),
            owner: self.host.user(status.uid),
            container: container(glance.process()),
            command: command.chars().take(limits::SHOWN).collect(),
            is_new: stat.start > self.began.load(Ordering::Relaxed),
            comm: of_command_line(start.command).unwrap_or(comm),
            service: service.map(|name| String::from_utf8_lossy(name).into_owned()),
        }
    }
}

impl host::Finder for Finder {
    fn is_active(&self) -> bool {
        self.reports().known().is_active()
    }

    fn look(&self, glance: &Glance, visit: Visit) -> host::Look {
        // A list of mapped files costs much: that of a program which has shown none of ours is seldom read again.
        if visit.settled {
            return host::Look::default();
        }
        let (pid, start) = (glance.pid(), glance.stat().start);
        let process = glance.process();
        let shared = Arc::clone(&self.0);
        let none = |shared: Arc<Shared>| {
            // It executes another program, which is no JVM.
            let report = Box::new(move || shared.reports.end(pid, start));
            host::Look { interest: Interest::Nothing, report: Some(report) }
        };
        let located = glance.maps().map(|maps| locate(maps, glance.inner_pid()));
        // Most processes are none, which is seen without more of their files.
        if located.as_ref().is_some_and(|located| !located.is_jvm()) {
            return none(shared);
        }
        let command = process.read_most("cmdline", limits::COMMAND).unwrap_or_default();
        let environment = process.read_most("environ", limits::ENVIRONMENT).unwrap_or_default();
        let texts = Start { command: &command, environment: &environment };
        let who = shared.who(glance, texts);
        let program = Program::of(process, &command, None);
        let kept = located.as_ref().and_then(|located| shared.kept(&who, program, located));
        let look = || shared.access(glance, located.as_ref(), texts, visit.number);
        let Some(access) = kept.or_else(look) else { return none(shared) };
        let interest = match access {
            Access::Waits => return host::Look { interest: Interest::Often, report: None },
            Access::Open(_) | Access::Kept(_) => Interest::Seldom,
            Access::Closed(_) => Interest::Often,
        };
        let report = Box::new(move || shared.looked(who, program, access));
        host::Look { interest, report: Some(report) }
    }

    fn gone(&self, pid: u32, start: u64) {
        self.reports().end(pid, start);
    }

    fn named(&self, _: &[u8]) -> Option<Named> {
        None
    }
}

#[cfg(test)]
#[path = "finder_tests.rs"]
mod tests;
