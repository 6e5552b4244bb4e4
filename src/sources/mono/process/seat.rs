//! One way that a process is seen by now: what it feeds, what it has said of the program's sums, and
//! what it shows of the process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use super::facts::{Facts, Key};
use super::processes::{Known, Processes};
use super::{Share, Stage, Way};
use crate::contract::{Identity, Peer};
use crate::heap_size;
use crate::model::{Value, cut};
use crate::sources::mono::metrics as m;

/// Bytes of the command line in the label `command`.
pub(crate) const LABEL: usize = 200;

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

heap_size!(Seat { name, program, facts });

impl Seat {
    /// The process.
    pub(crate) const fn key(&self) -> Key {
        self.facts.key()
    }

    /// What the host knows of the process.
    pub(crate) const fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The identity to report, with `peer` as the address and these labels besides.
    pub(crate) fn identity(&self, peer: String, more: Vec<(&'static str, String)>) -> Identity {
        let key = self.key();
        let mut labels = vec![("program", self.program.clone()), ("pid", key.pid.to_string())];
        let command = self.facts.command_line();
        if !command.is_empty() {
            labels.push(("command", cut(&command, LABEL).to_owned()));
        }
        labels.extend(self.facts.container.iter().map(|id| ("container", id.clone())));
        labels.extend(more);
        Identity {
            name: self.name.clone(),
            peer,
            host: None,
            labels,
            resumes: self.resumes,
            process: Some(format!("{}@{}", key.pid, key.start)),
            service: None,
            way: self.chair.way.rank(),
            ends: None,
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
        let wants = |other: &Chair| {
            other.number != self.chair.number
                && other.claims.load(Ordering::Relaxed) & share.bit() != 0
        };
        fed && self.others() && !self.processes.any(self.key(), wants)
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
        let key = self.key();
        let mut table = self.processes.lock();
        if let Some(process) = table.live.get_mut(&key) {
            process.ended = true;
        }
        if let Some(known) = table.known.get_mut(&key.pid).filter(|known| known.start == key.start)
        {
            known.ended = true;
        }
        drop(table);
        self.processes.changed();
    }

    /// The process executes another program than that of this seat.
    pub(crate) fn another(&self) {
        let mut table = self.processes.lock();
        table.program(self.key(), self.number).into_iter().for_each(Known::next);
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
        self.processes.changes.load(Ordering::Acquire)
    }

    /// The ways that see the process now, as [`Way::bit`], and how far its reading has come.
    pub(crate) fn look(&self) -> (u8, Stage) {
        let table = self.processes.lock();
        let Some(process) = table.live.get(&self.key()) else { return (0, Stage::Gone) };
        let (mut ways, mut furthest) = (0, Stage::Gone);
        for chair in &process.chairs {
            let stage = Stage::of(chair.stage.load(Ordering::Relaxed));
            if stage.sees() {
                ways |= chair.way.bit();
            }
            furthest = furthest.further(stage);
        }
        (ways, if process.ended { Stage::Gone } else { furthest })
    }

    /// The process has no other seat: when this one is left, nothing of it is read any more.
    pub(crate) fn is_last(&self) -> bool {
        !self.processes.any(self.key(), |other| other.number != self.chair.number)
    }

    /// The process is seen by another way as well.
    pub(crate) fn others(&self) -> bool {
        self.processes.any(self.key(), |other| other.way != self.chair.way)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.processes.leave(self.key(), &self.chair);
    }
}

/// A sum over the processes of a program that several ways have a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sum {
    /// `program.exceptions.count`.
    Exceptions,
    /// `program.gc.count`.
    Collections,
}

/// Totals of a process that its program's sums have; `None`: no way has said any.
pub(super) type Counted = [Option<u64>; 2];

/// The totals of one process: each way says its totals, and what no way has said before counts, so
/// that a process counts once whatever ways see it.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    pub(super) processes: Arc<Processes>,
    pub(super) key: Key,
    /// Which program of the process it is of.
    pub(super) number: u32,
    /// The program began before this PMDA.
    pub(super) older: bool,
}

impl Tally {
    /// What the sum grows by if this is a total since the start of the process. The first one of a
    /// process that began before this PMDA adds nothing.
    pub(crate) fn since_start(&self, sum: Sum, total: u64) -> u64 {
        self.grown(sum, total, self.older)
    }

    /// The same for a total of what came from a stream: all of it was read by this PMDA.
    pub(crate) fn of_stream(&self, sum: Sum, total: u64) -> u64 {
        self.grown(sum, total, false)
    }

    /// By how much a total is more than any that was said before. `passes`: the first one counts
    /// nothing.
    fn grown(&self, sum: Sum, total: u64, passes: bool) -> u64 {
        let mut table = self.processes.lock();
        let known = table.program(self.key, self.number);
        let Some(counted) = known.and_then(|known| known.counted.get_mut(sum as usize)) else {
            return 0;
        };
        let before = counted.unwrap_or(if passes { total } else { 0 });
        *counted = Some(before.max(total));
        total.saturating_sub(before)
    }
}

/// Bytes of a command line.
const COMMAND: usize = 1024;
/// Slot of the row of a process's program.
pub(crate) const PROGRAM_ROW: u32 = 0;

/// Binds the row of a process's program.
pub(crate) fn bind_program(program: &str, peer: &mut Peer) {
    peer.row(m::PROGRAMS, PROGRAM_ROW, Some(program));
    peer.row_labels(m::PROGRAMS, PROGRAM_ROW, &[("program", program)]);
}

/// What one way has shown of its process.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    begun: bool,
    /// The ways and the stage, as of [`Seat::changes`].
    seen: Option<(u8, Stage)>,
    changes: u64,
    /// The ways and the stage that are reported.
    ways: Option<u8>,
    stage: Option<Stage>,
}

impl Shown {
    /// Shows the process, once, and the ways that it is seen by and how far its reading has come,
    /// when they change: after the identity and about once a second. Returns the ways, as
    /// [`Way::bit`].
    pub(crate) fn tick(&mut self, seat: &Seat, peer: &mut Peer) -> u8 {
        let changes = seat.changes();
        let (ways, stage) = match self.seen {
            Some(seen) if self.changes == changes => seen,
            _ => seat.look(),
        };
        (self.changes, self.seen) = (changes, Some((ways, stage)));
        if !std::mem::replace(&mut self.begun, true) {
            self.begin(seat, peer);
        }
        peer.row_member(m::PROGRAMS, PROGRAM_ROW);
        if self.ways != Some(ways) {
            self.ways = Some(ways);
            let names = [(Way::Module, "module"), (Way::Stream, "stream"), (Way::Area, "area")];
            let seen = names.iter().filter(|(way, _)| ways & way.bit() != 0);
            let text = seen.map(|(_, name)| *name).collect::<Vec<_>>().join(",");
            peer.set(m::VIA, Value::text(&text));
        }
        self.stage(stage, peer);
        ways
    }

    /// Shows how far the reading of a process has come.
    pub(crate) fn stage(&mut self, stage: Stage, peer: &mut Peer) {
        if self.stage.replace(stage) != Some(stage) {
            peer.set(m::STATE, stage as u32);
        }
    }

    /// Shows that the process is no longer read, and why. That stays as long as its values.
    pub(crate) fn gone(&mut self, why: &str, peer: &mut Peer) {
        self.stage(Stage::Gone, peer);
        peer.set(m::REASON, Value::text(why));
    }

    fn begin(&self, seat: &Seat, peer: &mut Peer) {
        let facts = seat.facts();
        bind_program(&seat.program, peer);
        let command = facts.command_line();
        let set = [
            (m::COMMAND, Value::text(cut(&command, COMMAND))),
            (m::OWNER, Value::text(&facts.owner)),
            (m::CONTAINER_PID, Value::U32(facts.inner_pid)),
        ];
        for (item, value) in set {
            peer.set(item, value);
        }
        if let Some(started) = facts.started {
            peer.set(m::START_TIME, started);
        }
    }
}
