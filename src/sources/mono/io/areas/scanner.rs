//! Looks at the processes of this host. Blocks, so it runs on a thread for that, and each look on
//! another one, which is left behind if a process does not answer.

use std::sync::Arc;
use std::time::Duration;

use super::aside::Aside;
use super::open::{Area, look};
use crate::proc::ProcDir;
use crate::sources::mono::area::{Access, Change, Table};
use crate::sources::mono::io::host::ProcHost;
use crate::sources::mono::limits;
use crate::sources::mono::process::Facts;
use crate::store::LogThrottle;

/// A change, with what the task needs to know of the process.
#[derive(Debug)]
pub(super) enum Report {
    /// A process of Mono, or one that can be read otherwise than before.
    Found(Box<Facts>, Access, Option<Area>),
    /// One that is known has ended.
    Gone(u32, u64),
}

/// The processes.
#[derive(Debug)]
pub(super) struct Scanner {
    host: Arc<ProcHost>,
    table: Table,
    reports: Vec<Report>,
    aside: Aside,
    silent: LogThrottle,
}

impl Scanner {
    pub(super) fn new(host: Arc<ProcHost>) -> Self {
        Self {
            host,
            table: Table::default(),
            reports: Vec::new(),
            aside: Aside::new(limits::LOOK_TIME),
            silent: LogThrottle::default(),
        }
    }

    /// An area with this number has come or gone.
    pub(super) fn named(&mut self, number: u32) {
        self.table.named(number);
    }

    /// There is room for a process now: the next scan reports it as if it were new.
    pub(super) fn again(&mut self, pid: u32) {
        self.table.again(pid);
    }

    /// The next scan looks at all processes.
    pub(super) fn look_again(&mut self) {
        self.table.look_again();
    }

    /// Forgets all processes: they are no longer looked for.
    pub(super) fn forget(&mut self) {
        let mut changes = Vec::new();
        self.table.listed(&[], &mut changes);
        self.gone(&changes);
    }

    /// Looks at the processes for which it is time.
    ///
    /// # Errors
    /// /proc cannot be listed.
    pub(super) fn scan(&mut self, now: Duration) -> std::io::Result<()> {
        let list = self.host.proc().list()?;
        let mut changes = Vec::new();
        self.table.listed(&list, &mut changes);
        self.gone(&changes);
        for (pid, comm) in self.table.due(now) {
            self.look(pid, comm, now);
        }
        Ok(())
    }

    fn look(&mut self, pid: u32, comm: Option<Vec<u8>>, now: Duration) {
        let process = self.host.proc().open(pid);
        if let (Some(process), Some(comm)) = (&process, comm)
            && process
                .stat()
                .is_some_and(|stat| stat.comm == comm && self.table.unchanged(pid, stat.start, now))
        {
            return;
        }
        // The user is told without the memory of the process, which may be locked.
        let user = process.as_ref().and_then(ProcDir::status).map_or(0, |status| status.uid);
        let host = Arc::clone(&self.host);
        let found = self.aside.run(user, move || {
            let process = process?;
            let seen = look(&process, |uid| host.user(uid))?;
            // If it has ended since, the next scan sees that.
            let facts = seen.0.access.is_some().then(|| host.facts(&process));
            Some((seen, facts.flatten()))
        });
        let Some(found) = found else {
            self.table.unanswered(pid, now);
            if let Some(n) = self.silent.allow(now) {
                log::warn!(
                    "mono: process {pid} does not answer: the processes of {} users are not looked \
                     at{}",
                    self.aside.hanging(),
                    LogThrottle::more(n)
                );
            }
            return;
        };
        let (seen, mut area, mut facts) =
            found.map_or((None, None, None), |((look, area), facts)| (Some(look), area, facts));
        let mut changes = Vec::new();
        self.table.looked(pid, seen, now, &mut changes);
        self.gone(&changes);
        for change in changes {
            let Change::Found { start, access, .. } = change else { continue };
            if let Some(facts) = facts.take().filter(|facts| facts.start == start) {
                self.reports.push(Report::Found(Box::new(facts), access, area.take()));
            }
        }
    }

    /// The reports since the last call.
    pub(super) fn take(&mut self) -> Vec<Report> {
        std::mem::take(&mut self.reports)
    }

    fn gone(&mut self, changes: &[Change]) {
        self.reports.extend(changes.iter().filter_map(|change| match change {
            Change::Gone { pid, start } => Some(Report::Gone(*pid, *start)),
            Change::Found { .. } => None,
        }));
    }
}
