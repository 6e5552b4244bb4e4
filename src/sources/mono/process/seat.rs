//! One way that a process is seen by now.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use super::host::{Facts, Key};
use super::processes::Processes;
use super::share::{Share, Way};
use super::stage::Stage;
use super::tally::Tally;
use crate::contract::Identity;
use crate::model::cut;

/// Bytes of the command line in the label `command`.
const COMMAND: usize = 200;

/// What the processes and a seat share.
#[derive(Debug)]
pub(super) struct Chair {
    pub(super) way: Way,
    pub(super) number: u64,
    /// What it wants to feed.
    pub(super) claims: AtomicU8,
    /// What it feeds.
    pub(super) feeds: AtomicU8,
    /// How far it has come, a [`Stage`].
    pub(super) stage: AtomicU8,
    /// A part of what it reads is missing.
    pub(super) damaged: AtomicBool,
}

impl Chair {
    pub(super) const fn new(way: Way, number: u64) -> Self {
        Self {
            way,
            number,
            claims: AtomicU8::new(0),
            feeds: AtomicU8::new(0),
            stage: AtomicU8::new(match way {
                Way::Area => Stage::Found,
                Way::Module | Way::Stream => Stage::Connected,
            } as u8),
            damaged: AtomicBool::new(false),
        }
    }
}

/// One way that a process is seen by now. Dropped, it leaves: others take over what it fed.
#[derive(Debug)]
pub(crate) struct Seat {
    pub(super) processes: Arc<Processes>,
    pub(super) name: String,
    pub(super) program: String,
    pub(super) facts: Facts,
    pub(super) resumes: bool,
    /// Which program of the process it is of.
    pub(super) number: u32,
    pub(super) chair: Arc<Chair>,
}

impl Seat {
    /// The process.
    pub(crate) const fn key(&self) -> Key {
        self.facts.key()
    }

    /// What the host knows of the process.
    pub(crate) const fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The name of the program.
    pub(crate) fn program(&self) -> &str {
        &self.program
    }

    /// The identity to report, with `peer` as the address and these labels besides.
    pub(crate) fn identity(&self, peer: String, more: Vec<(&'static str, String)>) -> Identity {
        let key = self.key();
        let mut labels = vec![("program", self.program.clone()), ("pid", key.pid.to_string())];
        let command = self.facts.command_line();
        if !command.is_empty() {
            labels.push(("command", cut(&command, COMMAND).to_owned()));
        }
        labels.extend(more);
        Identity {
            name: self.name.clone(),
            peer,
            labels,
            resumes: self.resumes,
            process: Some(format!("{}@{}", key.pid, key.start)),
            service: None,
            way: self.chair.way.rank(),
        }
    }

    /// Whether this way feeds these metrics now. The first call says that it wants to, and each
    /// call may be answered otherwise than the last one.
    pub(crate) fn feeds(&self, share: Share) -> bool {
        if self.chair.claims.load(Ordering::Relaxed) & share.bit() == 0 {
            self.processes.claim(self.key(), &self.chair, share, true);
        }
        self.chair.feeds.load(Ordering::Relaxed) & share.bit() != 0
    }

    /// This way no longer has these metrics. `true`: it fed them, the process is seen otherwise and
    /// nobody takes over: their values are to be hidden.
    pub(crate) fn yields(&self, share: Share) -> bool {
        let fed = self.chair.feeds.load(Ordering::Relaxed) & share.bit() != 0;
        if self.chair.claims.load(Ordering::Relaxed) & share.bit() != 0 {
            self.processes.claim(self.key(), &self.chair, share, false);
        }
        fed && self.others() && !self.processes.wanted(self.key(), &self.chair, share)
    }

    /// How far this way has come.
    pub(crate) fn stage(&self, stage: Stage) {
        if self.chair.stage.swap(stage as u8, Ordering::Relaxed) != stage as u8 {
            self.processes.changed();
        }
    }

    /// A part of what this way reads is missing, now or before: it feeds only what no other way has.
    pub(crate) fn damaged(&self) {
        if !self.chair.damaged.swap(true, Ordering::Relaxed) {
            self.processes.settle(self.key());
        }
    }

    /// The process has ended: all its ways say so from now on.
    pub(crate) fn ended(&self) {
        self.processes.ended(self.key());
    }

    /// The process executes another program than that of this seat.
    pub(crate) fn another(&self) {
        self.processes.another(self.key(), self.number);
    }

    /// What its program's sums have of the process.
    pub(crate) fn tally(&self) -> Tally {
        let (processes, number) = (Arc::clone(&self.processes), self.number);
        // What another program counts, this PMDA has seen from its begin.
        let older = self.facts.older && number == 0;
        Tally { processes, key: self.key(), number, older }
    }

    /// A number that changes with [`Seat::look`] of any process.
    pub(crate) fn changes(&self) -> u64 {
        self.processes.changes()
    }

    /// The ways that see the process now, as [`Way::bit`], and how far its reading has come.
    pub(crate) fn look(&self) -> (u8, Stage) {
        self.processes.look(self.key())
    }

    /// The process has no other seat: when this one is left, nothing of it is read any more.
    pub(crate) fn is_last(&self) -> bool {
        self.processes.is_last(self.key(), &self.chair)
    }

    /// The process is seen by another way as well.
    pub(crate) fn others(&self) -> bool {
        self.processes.others(self.key(), self.chair.way)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.processes.leave(self.key(), &self.chair);
    }
}
