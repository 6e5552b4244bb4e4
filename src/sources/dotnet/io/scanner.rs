//! Looks at the processes of this host. Blocks, so it runs on a thread for that.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use pmda::process::user_name;

use super::proc::Sockets as _;
use super::watches::{Read, Watches};
use crate::proc::{ProcDir, ProcFs};
use crate::sources::dotnet::Config;
use crate::sources::dotnet::discovery::{Advice, Change, Table, access};
use crate::sources::dotnet::target::{Access, Target};

/// Names of users that are kept.
const USERS: usize = 4_096;

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

/// The processes, and where to look for them.
pub(super) struct Scanner {
    proc: Arc<ProcFs>,
    directories: Arc<RwLock<Vec<PathBuf>>>,
    table: Table,
    watches: Option<Watches>,
    advice: Advice,
    users: HashMap<u32, String>,
    reports: Vec<Report>,
}

impl Scanner {
    pub(super) fn new(
        proc: &Arc<ProcFs>,
        directories: &Arc<RwLock<Vec<PathBuf>>>,
        watches: Option<Watches>,
    ) -> Self {
        Self {
            proc: Arc::clone(proc),
            directories: Arc::clone(directories),
            table: Table::default(),
            watches,
            advice: Advice::default(),
            users: HashMap::new(),
            reports: Vec::new(),
        }
    }

    /// Applies a configuration. What depends on it is found anew by the next scans.
    pub(super) fn configure(&mut self, config: &Config) {
        self.advice = Advice { listen: config.listen.clone() };
        let mut directories = self.directories.write().unwrap_or_else(PoisonError::into_inner);
        directories.clone_from(&config.directories);
        drop(directories);
        self.table.look_again();
    }

    /// Forgets all processes: they are no longer looked for.
    pub(super) fn forget(&mut self) {
        let mut changes = Vec::new();
        self.table.listed(&[], &mut changes);
        let pids = changes.iter().filter_map(|change| match change {
            Change::Gone { pid } => Some(*pid),
            _ => None,
        });
        self.reports.extend(pids.map(Report::Forgotten));
    }

    /// Reads which sockets have come or gone.
    pub(super) fn events(&mut self) -> Read {
        let Self { watches, table, .. } = self;
        let read = watches.as_mut().map(|w| w.read(|pid, start| table.named(pid, start)));
        read.unwrap_or_default()
    }

    /// The next scan looks at all processes.
    pub(super) fn look_again(&mut self) {
        self.table.look_again();
    }

    /// Looks at the processes for which it is time.
    ///
    /// # Errors
    /// /proc cannot be listed.
    pub(super) fn scan(&mut self, now: Duration) -> std::io::Result<()> {
        let list = self.proc.list()?;
        let mut changes = Vec::new();
        self.table.listed(&list, &mut changes);
        let due = self.table.due(now);
        let directories = self.directories.read().unwrap_or_else(PoisonError::into_inner).clone();
        for (pid, maps) in due {
            let Self { proc, table, watches, users, advice, .. } = self;
            let mut watch = |folder: &_| {
                if let Some(watches) = watches {
                    watches.add(folder);
                }
            };
            let look = proc.open(pid).and_then(|dir| dir.look(&directories, maps, &mut watch));
            let judge = |look: &_, before| {
                let look: &crate::sources::dotnet::discovery::Look = look;
                access(look, || name_of(users, look.uid), before, advice)
            };
            table.looked(pid, look, now, judge, &mut changes);
        }
        self.report(changes);
        Ok(())
    }

    /// The reports since the last call.
    pub(super) fn take(&mut self) -> Vec<Report> {
        std::mem::take(&mut self.reports)
    }

    /// What is known of the process that has connected to us; `None`: it has ended.
    /// `uid`: the user that the kernel knows of its connection. A process that has executed a program
    /// of another user since is not taken for that program.
    pub(super) fn identify(&mut self, pid: u32, uid: u32) -> Option<Target> {
        let dir = self.proc.open(pid)?;
        self.target(pid, &dir).filter(|target| target.uid == uid)
    }

    /// Name of a user, or the number.
    pub(super) fn user(&mut self, uid: u32) -> String {
        name_of(&mut self.users, uid)
    }

    fn report(&mut self, changes: Vec<Change>) {
        for change in changes {
            let report = match change {
                Change::Gone { pid } => Report::Gone(pid),
                Change::Access { pid, access } => Report::Access(pid, access),
                Change::Found { pid, look, access } => {
                    let target = self.proc.open(pid).and_then(|dir| self.target(pid, &dir));
                    match target.filter(|target| target.start == look.start) {
                        Some(target) => Report::Found(target, access),
                        // It has ended since, which the next scan sees.
                        None => continue,
                    }
                }
            };
            self.reports.push(report);
        }
    }

    fn target(&mut self, pid: u32, dir: &ProcDir) -> Option<Target> {
        let (start, status) = (dir.start()?, dir.status()?);
        let (name, command) = dir.command();
        Some(Target {
            pid,
            start,
            started: self.proc.started(start),
            container_pid: status.container_pid.unwrap_or(pid),
            uid: status.uid,
            owner: self.user(status.uid),
            name,
            command,
            key: start.to_string(),
        })
    }
}

/// Names of users can come from the network, so each is asked for once.
fn name_of(users: &mut HashMap<u32, String>, uid: u32) -> String {
    if users.len() >= USERS {
        users.clear();
    }
    users.entry(uid).or_insert_with(|| user_name(uid).unwrap_or_else(|| uid.to_string())).clone()
}
