//! Looks at the processes of this host. Blocks, so it runs on a thread for that.

use std::sync::Arc;
use std::time::Duration;

use super::open::{Area, look};
use crate::sources::mono::area::{Access, Change, Table};
use crate::sources::mono::io::host::ProcHost;
use crate::sources::mono::process::Facts;

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
}

impl Scanner {
    pub(super) fn new(host: Arc<ProcHost>) -> Self {
        Self { host, table: Table::default(), reports: Vec::new() }
    }

    /// An area with this number has come or gone.
    pub(super) fn named(&mut self, number: u32) {
        self.table.named(number);
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
        let seen = process.as_ref().and_then(|dir| look(dir, |uid| self.host.user(uid)));
        let (seen, mut area) = seen.map_or((None, None), |(look, area)| (Some(look), area));
        let mut changes = Vec::new();
        self.table.looked(pid, seen, now, &mut changes);
        self.gone(&changes);
        for change in changes {
            let Change::Found { start, access, .. } = change else { continue };
            // If it has ended since, the next scan sees that.
            let facts = process.as_ref().and_then(|dir| self.host.facts(dir));
            if let Some(facts) = facts.filter(|facts| facts.start == start) {
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
