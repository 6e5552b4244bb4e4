//! The processes that are known, and their areas.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::finder::{Found, Report};
use super::open::Area;
use crate::clock::now;
use crate::contract::{Control, Peer, PeerMaker};
use crate::host::Program;
use crate::model::{Charge, Departure};
use crate::sources::mono::area::{Access, Meter, PAGE, Refusal};
use crate::sources::mono::limits;
use crate::sources::mono::process::{Processes, Way};
use crate::store::LogThrottle;

/// Readings between two charges of memory.
const FLUSH: u8 = 16;
/// Readings between two attempts of a process that a limit of the store has turned away.
const AGAIN: u8 = 10;
/// The answer to requests that only the module takes.
const NO_MODULE: &str =
    "not possible: no module of the process is connected: start it with --profile=apm";
const ENDED: &str = "the process has ended";
const ANOTHER: &str = "the process executes another program";

/// The processes.
pub(super) struct Live {
    processes: Arc<Processes>,
    maker: PeerMaker,
    /// `mono.processes`.
    patterns: Vec<String>,
    read: HashMap<u32, Process>,
    /// Processes whose names are not among those. They are no instances, until a configuration
    /// wants them.
    left_out: HashMap<u32, Found>,
    /// Processes that there was no room for.
    turned_away: HashSet<u32>,
    full: LogThrottle,
    /// What all meters use.
    charge: Charge,
}

struct Process {
    start: u64,
    program: Program,
    meter: Meter,
    area: Option<Area>,
    peer: Peer,
    ticks: u8,
    /// Readings since a limit turned it away.
    refused: u8,
}

impl Live {
    pub(super) fn new(processes: Arc<Processes>, maker: PeerMaker, charge: Charge) -> Self {
        Self {
            processes,
            maker,
            patterns: Vec::new(),
            read: HashMap::new(),
            left_out: HashMap::new(),
            turned_away: HashSet::new(),
            full: LogThrottle::default(),
            charge,
        }
    }

    /// Names of processes that are wanted. A known process that is no longer wanted stays an
    /// instance.
    pub(super) fn configure(&mut self, patterns: &[String]) {
        self.patterns = patterns.to_vec();
        for (_, found) in std::mem::take(&mut self.left_out) {
            self.found(found);
        }
    }

    /// Applies a report of the finder.
    pub(super) fn report(&mut self, report: Report) {
        match report {
            Report::Gone(pid, start) => self.gone(pid, start),
            Report::Found(found) => self.found(*found),
        }
    }

    fn found(&mut self, mut found: Found) {
        let (pid, start) = (found.facts.pid, found.facts.start);
        match self.read.get_mut(&pid) {
            Some(known) if known.start != start => self.gone(pid, 0),
            Some(known) if !found.program.is_another(&known.program) => return known.found(found),
            Some(known) => {
                // A command line may be written over by the same program, whose sums go on.
                let is_sure = found.program.file.and(known.program.file).is_some();
                self.another(pid, is_sure);
            }
            None => {}
        }
        if let Some(old) = self.left_out.remove(&pid).filter(|old| old.facts.start == start) {
            if found.program.is_another(&old.program) {
                found.facts.older = false;
            } else if found.was_open() {
                found.area = old.area;
            }
        }
        if found.was_open() && found.area.is_none() {
            // It was not taken when it was opened.
            self.turned_away.insert(pid);
            return;
        }
        self.begin(found);
    }

    fn begin(&mut self, found: Found) {
        let pid = found.facts.pid;
        if self.room() == 0 {
            self.turned_away.insert(pid);
            if let Some(n) = self.full.allow(now().monotonic) {
                let more = LogThrottle::more(n);
                log::warn!("mono: more than {} processes: not read{more}", limits::AREAS);
            }
            return;
        }
        self.turned_away.remove(&pid);
        if !found.facts.matches(&self.patterns) {
            self.left_out.insert(pid, found);
            return;
        }
        let Found { facts, access, area, program } = found;
        let (start, peer) = (facts.start, self.maker.make());
        let meter = Meter::new(self.processes.seat(Way::Area, facts), access);
        let mut process = Process { start, program, meter, area, peer, ticks: 0, refused: 0 };
        process.peer.at(now());
        process.meter.start(&mut process.peer);
        process.tick();
        self.read.insert(pid, process);
    }

    fn room(&self) -> usize {
        limits::AREAS.saturating_sub(self.read.len() + self.left_out.len())
    }

    /// Processes that there was no room for, and is now: they are to be reported again.
    pub(super) fn again(&mut self) -> Vec<u32> {
        let again: Vec<_> = self.turned_away.iter().copied().take(self.room()).collect();
        for pid in &again {
            self.turned_away.remove(pid);
        }
        again
    }

    /// A process has ended; `start` 0: whichever has the id.
    fn gone(&mut self, pid: u32, start: u64) {
        self.turned_away.remove(&pid);
        if self.left_out.get(&pid).is_some_and(|old| old.facts.start == start || start == 0) {
            self.left_out.remove(&pid);
        }
        if self.read.get(&pid).is_some_and(|known| known.start == start || start == 0)
            && let Some(mut known) = self.read.remove(&pid)
        {
            // The page outlives the process, with all that it has counted.
            known.tick();
            known.end(true, ENDED);
        }
    }

    /// A process executes another program. `is_sure`: with sums of its own, whatever its name is.
    fn another(&mut self, pid: u32, is_sure: bool) {
        if let Some(mut known) = self.read.remove(&pid) {
            known.tick();
            if is_sure {
                known.meter.another();
            }
            known.end(false, ANOTHER);
        }
    }

    /// Reads all areas.
    pub(super) fn tick(&mut self) {
        self.read.values_mut().for_each(Process::tick);
        self.charge.set(self.read.values().map(|process| process.meter.memory()).sum());
    }

    /// Ends all without a fault, and forgets those that are not read: nobody tells of their end.
    pub(super) fn end(&mut self, why: &'static str) {
        self.left_out.clear();
        self.turned_away.clear();
        for (_, mut process) in self.read.drain() {
            process.peer.at(now());
            process.end(false, why);
        }
    }
}

impl Process {
    /// The same program can be read otherwise than before.
    fn found(&mut self, found: Found) {
        let was_open = found.was_open();
        self.program.seen(found.program);
        if was_open {
            return;
        }
        if self.area.is_some() {
            // It has what was counted until now.
            self.tick();
        }
        self.meter.access(found.access);
        self.area = found.area;
        self.tick();
    }

    fn tick(&mut self) {
        let Self { meter, area, peer, ticks, refused, .. } = self;
        peer.at(now());
        if peer.refused() {
            *refused += 1;
            if *refused < AGAIN {
                return;
            }
            *refused = 0;
            meter.restart(peer);
        }
        let mut page = [0; PAGE];
        if let Some(open) = &*area {
            let fault = match open.read(&mut page) {
                Ok(()) => {
                    peer.count_io(PAGE, 0);
                    meter.read(&page, peer).err()
                }
                // The process has ended, which the next scan sees.
                Err(_) => None,
            };
            match fault {
                None => {}
                // It is not complete yet: a Mono that starts fills it in.
                Some(Refusal::NoArea) => {}
                Some(refusal) => {
                    *area = None;
                    meter.access(Access::refused(refusal));
                }
            }
        }
        meter.tick(peer);
        for request in peer.requests() {
            if let Control::Request(control, _) = request {
                peer.answer(control, NO_MODULE.to_owned());
            }
        }
        // There are no records; this charges the memory of new metrics.
        *ticks = ticks.wrapping_add(1);
        if *ticks % FLUSH == 1 {
            peer.flush();
        }
    }

    fn end(mut self, ended: bool, why: &'static str) {
        self.meter.end(ended, why, &mut self.peer);
        self.peer.end(Departure::regular(why));
    }
}

#[cfg(test)]
#[path = "live_tests.rs"]
mod tests;
