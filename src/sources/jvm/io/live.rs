//! The JVMs that are known, and their performance data.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use super::files::{bounds, usage};
use super::finder::{Access, Report};
use super::region::Region;
use crate::clock::now;
use crate::contract::{OwnSink, Sinks};
use crate::host::Host;
use crate::model::{Charge, Departure, Now};
use crate::sources::jvm::limits;
use crate::sources::jvm::meter::Meter;
use crate::sources::jvm::process::{State, Who};
use crate::store::LogThrottle;

/// Readings between two attempts of a process that a limit of the store has turned away.
const AGAIN: u8 = 10;
/// Readings between two looks at what /proc has, and at limits and open files.
const USAGE: u32 = 5;
const BOUNDS: u32 = 20;
const ENDED: &str = "the process has ended";
const ANOTHER: &str = "the process executes another program";
const RENAMED: &str = "its name is another one now";

/// The processes.
pub(super) struct Live {
    host: Arc<Host>,
    sinks: Arc<dyn Sinks>,
    /// `jvm.processes`.
    patterns: Vec<String>,
    read: HashMap<u32, Process>,
    /// Processes that there was no room for.
    turned_away: HashSet<u32>,
    full: LogThrottle,
    charge: Charge,
    buffer: Vec<u8>,
}

struct Process {
    meter: Meter,
    region: Option<Region>,
    /// The region that was open last.
    id: Option<(u64, u64)>,
    sink: Option<Box<dyn OwnSink>>,
    found: Duration,
    /// Readings of it, also those that were left out.
    looks: u32,
    /// Readings since it was introduced.
    ticks: u32,
    /// Readings since a limit turned it away.
    refused: u8,
}

impl Live {
    pub(super) fn new(host: Arc<Host>, sinks: Arc<dyn Sinks>, charge: Charge) -> Self {
        Self {
            host,
            sinks,
            patterns: Vec::new(),
            read: HashMap::new(),
            turned_away: HashSet::new(),
            full: LogThrottle::default(),
            charge,
            buffer: Vec::new(),
        }
    }

    /// Names of processes that are wanted. A known process that is no longer wanted stays an
    /// instance.
    pub(super) fn configure(&mut self, patterns: &[String]) {
        self.patterns = patterns.to_vec();
    }

    /// Applies a report of the finder.
    pub(super) fn report(&mut self, report: Report) {
        match report {
            Report::Gone(pid, start) => {
                self.turned_away.remove(&pid);
                if self.read.get(&pid).is_some_and(|known| known.meter.who().start == start) {
                    self.gone(pid, ENDED);
                }
            }
            Report::Found(who, access) => self.found(*who, access),
        }
    }

    fn found(&mut self, mut who: Who, access: Access) {
        let pid = who.pid;
        let mut before = None;
        if let Some(known) = self.read.get(&pid) {
            if known.meter.who().start != who.start {
                self.gone(pid, ENDED);
            } else if known.is_another(&access) {
                // Of the process only the processor time is that of both programs.
                who.is_new = true;
                before = known.meter.processor_time();
                self.gone(pid, ANOTHER);
            }
        }
        if !self.read.contains_key(&pid) && self.room() == 0 {
            self.turned_away.insert(pid);
            if let Some(n) = self.full.allow(now().monotonic) {
                let more = LogThrottle::more(n);
                log::warn!("jvm: more than {} processes: not read{more}", limits::PROCESSES);
            }
            return;
        }
        let process = self.read.entry(pid).or_insert_with(|| Process::new(Meter::new(who, before)));
        process.access(access);
        process.tick(&self.host, &self.sinks, &self.patterns, &mut self.buffer);
    }

    fn room(&self) -> usize {
        limits::PROCESSES.saturating_sub(self.read.len())
    }

    /// Processes that there was no room for, and is now: they are to be reported again.
    pub(super) fn again(&mut self) -> Vec<u32> {
        let again: Vec<_> = self.turned_away.iter().copied().take(self.room()).collect();
        for pid in &again {
            self.turned_away.remove(pid);
        }
        again
    }

    /// What was known by this id is no longer.
    fn gone(&mut self, pid: u32, why: &'static str) {
        if let Some(mut process) = self.read.remove(&pid) {
            // The region outlives the process, with all that it has counted.
            process.tick(&self.host, &self.sinks, &self.patterns, &mut self.buffer);
            process.end(why);
        }
    }

    /// Reads all regions.
    pub(super) fn tick(&mut self) {
        let Self { host, sinks, patterns, buffer, .. } = self;
        self.read.values_mut().for_each(|process| process.tick(host, sinks, patterns, buffer));
        self.charge.set(self.read.values().map(|process| process.meter.memory()).sum());
    }

    /// Ends all without a fault.
    pub(super) fn end(&mut self, why: &'static str) {
        self.read.drain().for_each(|(_, process)| process.end(why));
    }
}

impl Process {
    fn new(meter: Meter) -> Self {
        let (found, ticks) = (now().monotonic, 0);
        Self { meter, region: None, id: None, sink: None, found, looks: 0, ticks, refused: 0 }
    }

    /// It is another JVM that has this region, in the same process.
    fn is_another(&self, access: &Access) -> bool {
        let Access::Open(region) = access else { return false };
        self.id.is_some_and(|id| id != region.id)
    }

    fn access(&mut self, access: Access) {
        self.region = None;
        match access {
            Access::Open(region) => {
                self.meter.via(region.via);
                self.id = Some(region.id);
                self.region = Some(region);
            }
            Access::Denied(why) => self.meter.unread(State::Denied(why)),
            Access::Off(why) => self.meter.unread(State::Refused(why)),
        }
    }

    fn tick(
        &mut self,
        host: &Host,
        sinks: &Arc<dyn Sinks>,
        patterns: &[String],
        buffer: &mut Vec<u8>,
    ) {
        let at = now();
        let age = at.monotonic.saturating_sub(self.found);
        let read = self.copy(buffer);
        if self.sink.is_none() || self.meter.is_renamed() {
            if read {
                self.meter.learn(buffer, age);
            }
            if !self.meter.is_known(age) || self.sink.is_none() && !self.meter.is_wanted(patterns) {
                return;
            }
            self.introduce(sinks, at);
        }
        let Some(sink) = &mut self.sink else { return };
        sink.at(at);
        if sink.refused() {
            self.refused += 1;
            if self.refused < AGAIN {
                return;
            }
            self.refused = 0;
            self.meter.again();
            self.meter.start(&mut **sink);
        }
        if read {
            sink.read(buffer.len());
            self.meter.read(buffer, age, at.monotonic, &mut **sink);
        }
        // Not of all in the same second, but soon of each.
        let (pid, start) = (self.meter.who().pid, self.meter.who().start);
        let is_due = |each| self.ticks == 0 || self.ticks.wrapping_add(pid).is_multiple_of(each);
        if is_due(USAGE)
            && let Some(process) = host.proc().open(pid)
            && let Some(usage) = usage(&process, start)
        {
            self.meter.usage(&usage, &mut **sink);
            if is_due(BOUNDS) {
                self.meter.bounds(&bounds(&process), &mut **sink);
            }
        }
        self.meter.tick(&mut **sink);
        self.ticks = self.ticks.wrapping_add(1);
        sink.flush();
    }

    /// Copies the region, a large one not each time. `false`: there is no copy.
    fn copy(&mut self, buffer: &mut Vec<u8>) -> bool {
        let Some(region) = &self.region else { return false };
        let rests =
            self.meter.want() > limits::LARGE && !self.looks.is_multiple_of(limits::LARGE_EVERY);
        self.looks = self.looks.wrapping_add(1);
        if rests || region.read(self.meter.want(), buffer).is_err() {
            return false;
        }
        // Its size is known by its begin, and it grows.
        !self.meter.needs_more(buffer) || region.read(self.meter.want(), buffer).is_ok()
    }

    fn introduce(&mut self, sinks: &Arc<dyn Sinks>, at: Now) {
        if let Some(mut old) = self.sink.take() {
            // It has another name now.
            old.at(at);
            self.meter.end(RENAMED, &mut *old);
            old.end(Departure::regular(RENAMED));
            self.meter.again();
        }
        let mut sink = sinks.open();
        sink.at(at);
        self.ticks = 0;
        self.meter.start(&mut *sink);
        self.sink = Some(sink);
    }

    fn end(mut self, why: &'static str) {
        if let Some(mut sink) = self.sink.take() {
            sink.at(now());
            self.meter.end(why, &mut *sink);
            sink.end(Departure::regular(why));
        }
    }
}
