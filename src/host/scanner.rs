//! One scan: all processes are listed, and those whose time has come are looked at. It blocks, so it runs on a
//! thread for that, and each look on another one, which is left behind if a process does not answer.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Host;
use super::aside::Aside;
use super::finder::{Finder, Look};
use super::limits;
use super::table::{Finders, Gone, Table};
use super::turn::{One, Seen, Turn, Who};

/// The processes, and who looks at them.
pub(super) struct Scanner {
    host: Arc<Host>,
    finders: Arc<[Arc<dyn Finder>]>,
    table: Table,
    aside: Aside,
    /// The finder that is first to look.
    first: usize,
    /// A scan was made.
    began: bool,
}

impl Scanner {
    pub(super) fn new(host: Arc<Host>, finders: Vec<Arc<dyn Finder>>) -> Self {
        let aside = Aside::new(limits::LOOK_TIME);
        let finders = finders.into();
        Self { host, finders, table: Table::default(), aside, first: 0, began: false }
    }

    /// A file of this name has come, gone or changed.
    pub(super) fn named(&mut self, name: &[u8]) {
        for (n, finder) in self.finders.iter().enumerate().filter(|(_, f)| f.is_active()) {
            if let Some(named) = finder.named(name) {
                self.table.named(n, named);
            }
        }
    }

    /// A finder looks at a process as if it were new.
    pub(super) fn again(&mut self, finder: usize, pid: u32) {
        self.table.again(finder, pid);
    }

    /// A finder, or each, looks at all processes as if they were young.
    pub(super) fn look_again(&mut self, finder: Option<usize>) {
        match finder {
            Some(finder) => self.table.look_again(finder),
            None => (0..self.finders.len()).for_each(|n| self.table.look_again(n)),
        }
    }

    /// Looks at the processes for which it is time. Returns, if one has not answered, its id and the number
    /// of looks that have not come back.
    ///
    /// # Errors
    /// /proc cannot be listed.
    pub(super) fn scan(&mut self, now: Duration) -> std::io::Result<Option<(u32, usize)>> {
        let active = (0..).zip(&*self.finders).filter(|(_, finder)| finder.is_active());
        let active: Finders = active.fold(0, |all, (n, _)| all | 1 << n);
        self.host.looks.store(active != 0, Ordering::Relaxed);
        if active == 0 {
            return Ok(None);
        }
        if !std::mem::replace(&mut self.began, true) && self.host.proc().hides() {
            log::warn!(
                "processes: /proc hides those of other users, so they are not found: mount it with gid=GROUP of the \
                 PMDA's user beside hidepid (docs/security.md, The opener)"
            );
        }
        let mut gone = Vec::new();
        self.table.listed(&self.host.proc().list()?, &mut gone);
        self.tell(&mut gone);
        let mut silent = None;
        let mut turn: Vec<(u32, One)> = Vec::new();
        for (pid, due) in self.table.due(now, active) {
            let Some(one) = self.one(pid, (due, active), now) else { continue };
            let is_other = |(_, first): &(u32, One)| first.status.real != one.status.real;
            if turn.len() >= limits::TURN || turn.first().is_some_and(is_other) {
                silent = silent.or(self.turn(std::mem::take(&mut turn), now));
            }
            turn.push((pid, one));
        }
        silent = silent.or(self.turn(turn, now));
        Ok(silent.map(|pid| (pid, self.aside.hanging())))
    }

    /// A process to look at, and whose it is. `None`: it has ended.
    ///
    /// The real user, who has started it, pays for the look. Users are told whatever a process waits for. Its state is
    /// not: one that executes a program is locked, and can wait for a file system.
    fn one(&mut self, pid: u32, due: (Finders, Finders), now: Duration) -> Option<One> {
        let before = self.table.before(pid, due)?;
        let process = self.host.proc().open(pid);
        let opened = process.and_then(|process| process.status().map(|status| (process, status)));
        let Some((process, status)) = opened else {
            self.ended(pid, now);
            return None;
        };
        Some(One { before, process, status })
    }

    /// Looks at some processes of one user. Returns the first that does not answer.
    fn turn(&mut self, all: Vec<(u32, One)>, now: Duration) -> Option<u32> {
        let user = all.first()?.1.status.real;
        let who: Vec<_> = all.iter().map(|(pid, one)| (*pid, one.before.due)).collect();
        let all = all.into_iter().map(|(_, one)| one).collect();
        let (turn, watches) = (Turn::new(&self.finders, self.first, all), self.host.watches());
        let back = turn.back();
        let _ = self.aside.run(user, move || turn.look(watches.as_ref()));
        let mut silent = None;
        for ((pid, due), seen) in who.into_iter().zip(back.take()) {
            if !self.seen(pid, due, seen, now) {
                silent = silent.or(Some(pid));
            }
        }
        silent
    }

    /// What came back of a look at a process; `false`: not all did.
    fn seen(&mut self, pid: u32, due: Finders, Seen { who, looks }: Seen, now: Duration) -> bool {
        let (due, is_seen) = match who {
            Who::Unknown => (due, false),
            Who::Ended => {
                self.ended(pid, now);
                return true;
            }
            Who::Kernel => {
                self.table.kernel(pid);
                return true;
            }
            Who::Process { stat, inner_pid, due } => {
                let mut gone = Vec::new();
                self.table.seen(pid, &stat, inner_pid, &mut gone);
                self.tell(&mut gone);
                (due, true)
            }
        };
        let mut silent = due;
        for (n, Look { interest, report }) in looks {
            silent &= !(1 << n);
            self.table.looked(pid, n, interest, now);
            if let Some(report) = report {
                report();
            }
        }
        let all = (0..self.finders.len()).map(|n| (n + self.first) % self.finders.len());
        let silent: Vec<usize> = all.filter(|n| silent & 1 << n != 0).collect();
        silent.iter().for_each(|&n| self.table.unanswered(pid, n, now));
        // What hangs may be what only this one looks at: others go first next time.
        if let Some(hangs) = silent.first().filter(|_| is_seen) {
            self.first = hangs + 1;
        }
        silent.is_empty()
    }

    fn ended(&mut self, pid: u32, now: Duration) {
        let mut gone = Vec::new();
        self.table.ended(pid, now, &mut gone);
        self.tell(&mut gone);
    }

    fn tell(&self, gone: &mut Vec<Gone>) {
        for Gone { pid, start, finders } in gone.drain(..) {
            let interested = self.finders.iter().enumerate().filter(|(n, _)| finders & 1 << n != 0);
            interested.for_each(|(_, finder)| finder.gone(pid, start));
        }
    }
}

#[cfg(test)]
#[path = "tests/scanner.rs"]
mod tests;
