//! The JVMs that are known: reads their performance data, and what /proc and their control groups have of them.

use std::collections::{HashMap, HashSet};
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::attach::Target;
use super::desk::{Desk, Done};
use super::finder::{Access, Found};
use super::region::Region;
use crate::clock::now;
use crate::contract::{Control, Peer, PeerMaker};
use crate::host::{
    Aside, CgroupLimits, Host, Mapped, ProcDir, ProcessorTime, Program, Taken, Usage,
    cgroup_limits, most_files, open_files, usage,
};
use crate::model::{Charge, ControlId, Departure, HeapSize};
use crate::sources::jvm::meter::{Meter, Stage, State};
use crate::sources::jvm::metrics::Request;
use crate::sources::jvm::request::reset;
use crate::sources::jvm::state::Who;
use crate::sources::jvm::{limits, metrics as m};
use crate::store::LogThrottle;

/// Readings between two attempts of a process that a limit of the store has turned away.
const AGAIN: u8 = 10;
/// Readings between two looks at what /proc has, and at limits and open files. Processor time is read at each.
const USAGE: u32 = 5;
const BOUNDS: u32 = 20;
/// A file that no program has.
const NO_FILE: Mapped = ((0, 0), 0);
const ENDED: &str = "the process has ended";
const ANOTHER: &str = "the process executes another program";
const RENAMED: &str = "its name is another one now";

/// The processes.
pub(super) struct Live {
    read: HashMap<u32, Process>,
    /// Processes that there was no room for.
    turned_away: HashSet<u32>,
    full: LogThrottle,
    charge: Charge,
    means: Means,
}

/// What a reading needs.
struct Means {
    host: Arc<Host>,
    maker: PeerMaker,
    /// `jvm.processes`.
    patterns: Vec<String>,
    buffer: Vec<u8>,
    /// Reads the memory of processes.
    aside: Aside,
    desk: Desk,
}

#[derive(Default)]
struct Process {
    meter: Meter,
    time: Option<ProcessorTime>,
    region: Option<Region>,
    program: Program,
    peer: Option<Peer>,
    found: Duration,
    /// Readings of it, also those that were left out.
    looks: u32,
    /// Readings since it was introduced.
    ticks: u32,
    /// Readings since a limit turned it away.
    refused: u8,
    /// It has ended: all is read once more.
    last: bool,
    /// Readings since its memory was gone.
    lost: u8,
    /// Until then it is not asked again.
    rests: Duration,
}

/// Bytes of a process, without what it has on the heap.
#[cfg(test)]
pub(super) const PROCESS: usize = size_of::<Process>();

impl Live {
    pub(super) fn new(host: Arc<Host>, maker: PeerMaker, charge: Charge) -> Self {
        let (patterns, buffer) = (Vec::new(), Vec::new());
        let aside = Aside::new(limits::MEMORY_TIME);
        let desk = Desk::new(Arc::clone(charge.memory()));
        let means = Means { host, maker, patterns, buffer, aside, desk };
        let (read, turned_away, full) = <_>::default();
        Self { read, turned_away, full, charge, means }
    }

    /// Names of processes that are wanted. A known process that is no longer wanted stays an
    /// instance.
    pub(super) fn configure(&mut self, patterns: &[String], attach: bool) {
        self.means.patterns = patterns.to_vec();
        self.means.desk.is_open = attach;
        if !attach {
            self.means.desk.stop();
        }
    }

    /// Applies reports of the finder.
    pub(super) fn report(&mut self, reports: Taken<Found>) {
        if let Some(alive) = &reports.alive {
            self.turned_away.retain(|pid| alive.contains_key(pid));
        }
        let known = self.read.iter().map(|(pid, known)| (*pid, known.meter.who().start));
        for (pid, change) in reports.changes(known) {
            match change {
                Some(found) => self.found(found),
                None => drop(self.gone(pid, ENDED)),
            }
        }
    }

    fn found(&mut self, Found { mut who, program, access }: Found) {
        let pid = who.pid;
        let mut before = None;
        match self.read.get_mut(&pid) {
            Some(known) if known.meter.who().start != who.start => {
                self.gone(pid, ENDED);
            }
            Some(known) if program.is_another(&known.program) => {
                // Of the process only the processor time is that of both programs.
                who.is_new = true;
                before = self.gone(pid, ANOTHER).or_else(|| {
                    let Means { host, aside, .. } = &mut self.means;
                    Some(used_by(host, aside, &who, false)?.usage.cpu)
                });
            }
            Some(known) => {
                if program.is_named(&known.program) {
                    known.meter.reader().named(&who);
                }
                known.meter.known_as(who.clone());
            }
            None => {}
        }
        let is_read = self.read.contains_key(&pid);
        if !is_read && matches!(access, Access::Kept(_)) {
            // It was not taken when it was opened.
            self.turned_away.insert(pid);
            return;
        }
        if !is_read && self.room() == 0 {
            self.turned_away.insert(pid);
            if let Some(n) = self.full.allow(now().monotonic) {
                let more = LogThrottle::more(n);
                log::warn!("jvm: more than {} processes: not read{more}", limits::PROCESSES);
            }
            return;
        }
        self.turned_away.remove(&pid);
        let process = self.read.entry(pid).or_insert_with(|| {
            let (meter, found) = (Meter::new(who, before), now().monotonic);
            Process { meter, found, ..Process::default() }
        });
        process.program.seen(program);
        process.access(access);
        process.tick(&mut self.means);
    }

    fn room(&self) -> usize {
        limits::PROCESSES.saturating_sub(self.read.len())
    }

    /// Processes that there was no room for, and is now: they are to be reported again.
    pub(super) fn again(&mut self) -> Vec<u32> {
        let room = self.room();
        self.turned_away.extract_if(|_| true).take(room).collect()
    }

    /// Processes whose memory is gone since the last time, with their starts.
    pub(super) fn lost(&mut self) -> Vec<(u32, u64)> {
        let lost = self.read.iter_mut().filter(|(_, process)| process.lost == 1);
        lost.map(|(pid, process)| {
            process.lost += 1;
            (*pid, process.meter.who().start)
        })
        .collect()
    }

    /// What was known by this id is no longer. Returns the processor time that it has counted.
    fn gone(&mut self, pid: u32, why: &'static str) -> Option<(u64, u64)> {
        self.turned_away.remove(&pid);
        let mut process = self.read.remove(&pid)?;
        // The region outlives the process, with all that it has counted.
        process.last = true;
        process.tick(&mut self.means);
        let counted = process.meter.processor_time();
        process.end(why, &mut self.means.desk);
        counted
    }

    /// Reads all regions.
    pub(super) fn tick(&mut self) {
        self.read.values_mut().for_each(|process| process.tick(&mut self.means));
        for Done { pid, control, outcome, at, .. } in self.means.desk.done(Instant::now()) {
            let Some(process) = self.read.get_mut(&pid) else { continue };
            process.rests = at + limits::REST;
            let Some(peer) = &mut process.peer else { continue };
            let text = match outcome {
                Ok(found) => found.show(process.meter.instance(), peer),
                Err(why) => format!("failed: {why}"),
            };
            peer.answer(control, text);
        }
        let buffer = &mut self.means.buffer;
        // One that is large is seldom read.
        buffer.shrink_to(limits::LARGE);
        let meters = self.read.values().map(|process| process.meter.heap_size()).sum::<usize>();
        self.charge.set(self.read.heap_size() + meters + buffer.capacity());
    }

    /// Ends all without a fault.
    pub(super) fn end(&mut self, why: &'static str) {
        let desk = &mut self.means.desk;
        self.read.drain().for_each(|(_, process)| process.end(why, desk));
    }

    /// Some JVM is being asked.
    pub(super) fn is_asking(&self) -> bool {
        self.means.desk.is_busy()
    }
}

impl Process {
    fn access(&mut self, access: Access) {
        self.lost = 0;
        match access {
            Access::Kept(_) | Access::Waits => {}
            Access::Open(region) => {
                self.meter.via(region.via);
                self.region = Some(region);
            }
            Access::Closed(state) => self.unread(state),
        }
    }

    fn unread(&mut self, state: State) {
        self.region = None;
        self.meter.via("");
        self.meter.unread(state);
    }

    fn tick(&mut self, means: &mut Means) {
        let at = now();
        let age = at.monotonic.saturating_sub(self.found);
        let is_read = self.copy(&mut means.buffer, &mut means.aside);
        let Means { host, maker, patterns, buffer, aside, desk } = means;
        let region = is_read.then_some(&**buffer);
        let begins = |process: &Self| process.peer.is_none() || process.meter.is_renamed();
        if let Some(region) = region.filter(|_| begins(self)) {
            // Its name may be the same.
            self.meter.learn(region, age);
        }
        if begins(self) {
            if !self.meter.is_known(age) || self.peer.is_none() && !self.meter.is_wanted(patterns) {
                return;
            }
            if let Some(mut old) = self.peer.take() {
                // What came since the last reading is the old name's.
                old.at(at);
                fail(RENAMED, self.meter.who().pid, desk, &mut old);
                if let Some(region) = region {
                    self.meter.read(region, age, &mut old);
                }
                show_usage(host, aside, false, &mut self.meter, &mut old);
                self.meter.end(RENAMED, &mut old);
                old.end(Departure::regular(RENAMED));
                self.meter.again();
            }
            let peer = self.peer.insert(maker.make());
            peer.at(at);
            self.ticks = 0;
            self.meter.start(peer);
        }
        let Some(peer) = &mut self.peer else { return };
        peer.at(at);
        if peer.refused() {
            self.refused += 1;
            if self.refused < AGAIN {
                return;
            }
            self.refused = 0;
            self.meter.again();
            self.meter.start(peer);
        }
        if let Some(region) = region {
            peer.count_io(region.len(), 0);
            self.meter.read(region, age, peer);
        }
        // Not of all in the same second, but soon of each.
        let always = self.ticks == 0 || self.last;
        let turn = self.ticks.wrapping_add(self.meter.who().pid);
        if always || turn.is_multiple_of(USAGE) {
            let bounds = always || turn.is_multiple_of(BOUNDS);
            show_usage(host, aside, bounds, &mut self.meter, peer);
        } else if let Some(cpu) = processor_time(host, &mut self.time, self.meter.who()) {
            self.meter.used(cpu, peer);
        }
        self.meter.tick(peer);
        self.ticks = self.ticks.wrapping_add(1);
        self.requests(means);
        self.peer.iter_mut().for_each(Peer::flush);
    }

    /// Does what users have asked for, or says why not. One that rests is asked later.
    fn requests(&mut self, means: &mut Means) {
        if now().monotonic < self.rests {
            return;
        }
        for request in self.peer.as_mut().map(Peer::requests).unwrap_or_default() {
            let Control::Request(control, text) = request else { continue };
            let answer = match Request::parse(control, &text) {
                // The answer to the one that runs comes in the same place.
                _ if means.desk.owes(self.meter.who().pid) == Some(control) => {
                    Some("running: what was asked meanwhile is refused".to_owned())
                }
                Ok(Request::Reset) => self.peer.as_mut().map(|peer| reset(control, peer)),
                Ok(request) => {
                    let begun = self.begin(control, request, means);
                    Some(begun.map_or_else(|why| why, |()| "running".to_owned()))
                }
                Err(why) => Some(why),
            };
            if let (Some(peer), Some(answer)) = (&mut self.peer, answer) {
                peer.answer(control, answer);
            }
        }
    }

    fn begin(
        &self,
        control: ControlId,
        request: Request,
        Means { host, desk, .. }: &mut Means,
    ) -> Result<(), String> {
        if !desk.is_open {
            return Err("refused: set attach = true in section [jvm] of apm.toml".to_owned());
        }
        // Only what has HotSpot's performance data is HotSpot.
        let Some(region) = self.region.as_ref().filter(|_| self.meter.is_read()) else {
            return Err("refused: only a process that is read is asked (session.reason)".to_owned());
        };
        self.meter.can(request)?;
        let who = self.meter.who();
        let (pid, start, inner_pid, mapped) = (who.pid, who.start, who.inner_pid, region.mapped);
        let target = Target { pid, start, inner_pid, mapped };
        desk.begin((control, request), (target, &who.owner), host)
    }

    /// Copies the region, a large one not each time. `false`: there is no copy.
    fn copy(&mut self, buffer: &mut Vec<u8>, aside: &mut Aside) -> bool {
        if self.lost > 0 {
            self.lost = self.lost.saturating_add(1);
            if self.lost == limits::LOST {
                let why = "its memory is gone, and what it executes now is not read";
                self.unread(State::new(Stage::Refused, why));
            }
        }
        let Some(region) = &self.region else { return false };
        let rests = self.meter.reader().want() > limits::LARGE
            && !self.last
            && !self.looks.is_multiple_of(limits::LARGE_EVERY);
        self.looks = self.looks.wrapping_add(1);
        if rests {
            return false;
        }
        let mut read = region.read(self.meter.reader().want(), buffer, aside);
        // Its size is known by its begin, and it grows.
        if read.is_ok() && self.meter.reader().needs_more(buffer) {
            read = region.read(self.meter.reader().want(), buffer, aside);
        }
        if read.as_ref().is_err_and(|e| e.kind() == ErrorKind::UnexpectedEof) {
            // What it executes now is another program, even if that looks the same.
            (self.region, self.lost) = (None, 1);
            self.program.file = Some(NO_FILE);
        } else if let Err(e) = &read {
            // It may be again: it stays open.
            let why = format!("its performance data cannot be read: {e}");
            self.meter.unread(State::new(Stage::Refused, why));
        }
        read.is_ok()
    }

    fn end(mut self, why: &'static str, desk: &mut Desk) {
        if let Some(mut peer) = self.peer.take() {
            peer.at(now());
            fail(why, self.meter.who().pid, desk, &mut peer);
            self.meter.end(why, &mut peer);
            peer.end(Departure::regular(why));
        }
    }
}

/// A request that waits for an answer gets none.
fn fail(why: &str, pid: u32, desk: &mut Desk, peer: &mut Peer) {
    if let Some(control) = desk.forget(pid) {
        peer.answer(control, format!("failed: {why}"));
    }
}

/// Its processor time, whose file is kept.
fn processor_time(host: &Host, kept: &mut Option<ProcessorTime>, who: &Who) -> Option<(u64, u64)> {
    if kept.is_none() {
        *kept = ProcessorTime::open(&host.proc().open(who.pid)?, who.start);
    }
    kept.as_ref()?.read()
}

/// What /proc has of a process, and with `bounds` its limits and open files.
struct Used {
    usage: Usage,
    bounds: Option<(CgroupLimits, Option<u64>, Option<u64>)>,
}

/// Of the very process that began then; `None`: it has ended.
fn used(process: &ProcDir, start: u64, bounds: bool) -> Option<Used> {
    let usage = usage(process, start)?;
    let read = || (cgroup_limits(process), open_files(process), most_files(process));
    Some(Used { usage, bounds: bounds.then(read) })
}

/// The same, aside: one that executes a program is locked meanwhile.
fn used_by(host: &Host, aside: &mut Aside, who: &Who, bounds: bool) -> Option<Used> {
    let (process, start) = (host.proc().open(who.pid)?, who.start);
    aside.look(process, move |process| used(process, start, bounds))?
}

/// Shows what /proc has. `bounds`: also the limits of the process, and its open files.
fn show_usage(host: &Host, aside: &mut Aside, bounds: bool, meter: &mut Meter, peer: &mut Peer) {
    let Some(Used { usage, bounds }) = used_by(host, aside, meter.who(), bounds) else { return };
    peer.show(m::WORKING_SET, usage.resident);
    peer.show(m::SWAP, usage.swap);
    peer.show(m::THREADS_NATIVE, usage.threads);
    meter.used(usage.cpu, peer);
    if let Some((group, open, most)) = bounds {
        peer.show(m::MEMORY_LIMIT, group.memory);
        peer.show(m::MEMORY_USAGE, group.usage);
        peer.show(m::OOM_KILLS, group.oom_kills);
        peer.show(m::CPUS_LIMIT, group.cpus);
        peer.show(m::FILES_OPEN, open);
        peer.show(m::FILES_LIMIT, most);
    }
}
