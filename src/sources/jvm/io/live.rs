//! The JVMs that are known, and their performance data.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use super::files::{bounds, usage};
use super::finder::{Access, Report};
use super::region::Region;
use crate::clock::now;
use crate::host::Host;
use crate::model::{Charge, Departure, Now};
use crate::sources::jvm::limits;
use crate::sources::jvm::meter::{Meter, State, Who};
use crate::sources::{OwnSink, Sinks};
use crate::store::LogThrottle;

/// Readings between two charges of memory.
const FLUSH: u32 = 16;
/// Readings between two attempts of a process that a limit of the store has turned away.
const AGAIN: u8 = 10;
/// Readings between two looks at what /proc has, and at limits and open files.
const USAGE: u32 = 5;
const BOUNDS: u32 = 20;
const ENDED: &str = "the process has ended";

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
            Report::Gone(pid, start) => self.gone(pid, Some(start)),
            Report::Found(who, access) => {
                if self.read.get(&who.pid).is_some_and(|known| known.meter.who().start != who.start)
                {
                    self.gone(who.pid, None);
                }
                self.found(*who, access);
            }
        }
    }

    fn found(&mut self, who: Who, access: Access) {
        let pid = who.pid;
        if !self.read.contains_key(&pid) && self.room() == 0 {
            self.turned_away.insert(pid);
            if let Some(n) = self.full.allow(now().monotonic) {
                let more = LogThrottle::more(n);
                log::warn!("jvm: more than {} processes: not read{more}", limits::PROCESSES);
            }
            return;
        }
        let process = self.read.entry(pid).or_insert_with(|| Process::new(Meter::new(who)));
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

    /// A process has ended; `None`: whichever has the id.
    fn gone(&mut self, pid: u32, start: Option<u64>) {
        self.turned_away.remove(&pid);
        let known = self.read.get(&pid).map(|known| known.meter.who().start);
        if known.is_some_and(|known| start.is_none_or(|start| start == known))
            && let Some(mut process) = self.read.remove(&pid)
        {
            // The region outlives the process, with all that it has counted.
            process.tick(&self.host, &self.sinks, &self.patterns, &mut self.buffer);
            process.end(ENDED);
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
        Self { meter, region: None, sink: None, found, looks: 0, ticks, refused: 0 }
    }

    fn access(&mut self, access: Access) {
        self.region = None;
        match access {
            Access::Open(region) => {
                self.meter.via(region.via);
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
        let rests =
            self.meter.want() > limits::LARGE && !self.looks.is_multiple_of(limits::LARGE_EVERY);
        self.looks = self.looks.wrapping_add(1);
        let read = !rests && self.copy(buffer);
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
        if self.ticks.is_multiple_of(USAGE) {
            let process = host.proc().open(self.meter.who().pid);
            let start = self.meter.who().start;
            let usage = process.as_ref().and_then(|process| usage(process, start));
            if let (Some(process), Some(usage)) = (process, usage) {
                self.meter.usage(&usage, &mut **sink);
                if self.ticks.is_multiple_of(BOUNDS) {
                    self.meter.bounds(&bounds(&process), &mut **sink);
                }
            }
        }
        self.meter.tick(&mut **sink);
        self.ticks = self.ticks.wrapping_add(1);
        // There are no records; this charges the memory of new rows.
        if self.ticks % FLUSH == 1 {
            sink.flush();
        }
    }

    /// Copies the region. What has grown meanwhile is read once more.
    fn copy(&self, buffer: &mut Vec<u8>) -> bool {
        let Some(region) = &self.region else { return false };
        region.read(self.meter.want(), buffer).is_ok()
    }

    fn introduce(&mut self, sinks: &Arc<dyn Sinks>, at: Now) {
        if let Some(mut old) = self.sink.take() {
            // It has another name now.
            old.at(at);
            self.meter.end("its name is another one now", &mut *old);
            old.end(Departure::regular("its name is another one now"));
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
