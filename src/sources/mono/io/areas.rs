//! The task that reads the shared areas of Mono processes once a second: which processes are Mono,
//! and what of them is read.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use super::area::{Area, SHM, Sight, look};
use super::proc::ProcHost;
use crate::clock::now;
use crate::contract::{Control, Peer, PeerMaker};
use crate::host;
use crate::host::{Glance, Interest, Named, Place, Program, Reports, Taken, Visit};
use crate::model::{Charge, Departure, HeapSize, Purpose};
use crate::net::{Net, Peers};
use crate::sources::mono::Config;
use crate::sources::mono::area::{Access, Meter, PAGE, Refusal};
use crate::sources::mono::limits;
use crate::sources::mono::process::{Facts, Processes, Way};
use crate::store::LogThrottle;

/// Time between two readings of each area.
const PERIOD: Duration = Duration::from_secs(1);

/// Starts looking. A later configuration is applied.
pub(super) fn start(
    config: watch::Receiver<Arc<Config>>,
    host: &Arc<ProcHost>,
    processes: Arc<Processes>,
    peers: &Peers,
    net: &Net,
) {
    let charge = Charge::new(Arc::clone(peers.memory()), Purpose::Definitions);
    let live = Live::new(processes, peers.maker(false), charge);
    let finder = Finder::new(Arc::clone(host));
    let place = host.host().add(Arc::new(finder.clone()), Some(SHM));
    let mut task = Task { config, live, finder, place };
    task.configure();
    let stop = net.stop().clone();
    net.spawn(async move {
        let _ = stop.run_until_cancelled(task.run()).await;
        task.live.end("the PMDA stopped");
    });
}

struct Task {
    config: watch::Receiver<Arc<Config>>,
    live: Live,
    finder: Finder,
    place: Place,
}

impl Task {
    async fn run(&mut self) {
        let mut ticks = interval(PERIOD);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            tokio::select! {
                changed = self.config.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    self.configure();
                    self.place.look_again();
                }
                () = self.finder.reports().ready() => {
                    self.live.report(self.place.take(self.finder.reports()));
                }
                _ = ticks.tick() => {
                    self.live.tick();
                    for pid in self.live.again() {
                        self.finder.reports().forget(pid);
                        self.place.again(pid);
                    }
                }
            }
        }
    }

    fn configure(&mut self) {
        let config = self.config.borrow_and_update().clone();
        self.finder.reports().activate(config.discover);
        if !config.discover {
            self.live.end("mono.discover is false");
        }
        for pid in self.live.configure(&config.processes) {
            self.finder.reports().forget(pid);
        }
    }
}

/// Readings between two attempts of a process that a limit of the store has turned away.
const AGAIN: u8 = 10;
/// The answer to requests that only the module takes.
const NO_MODULE: &str =
    "not possible: no module of the process is connected: start it with --profile=apm";
const ENDED: &str = "the process has ended";
const ANOTHER: &str = "the process executes another program";
const RENAMED: &str = "its name is another one now";

/// The processes.
struct Live {
    processes: Arc<Processes>,
    maker: PeerMaker,
    /// `mono.processes`.
    patterns: Vec<String>,
    read: HashMap<u32, Process>,
    /// Processes whose names are not among those. They are no instances, until a configuration
    /// wants them. The host knows at most [`host::limits::PROCESSES`] of these and the next ones.
    left_out: HashMap<u32, LeftOut>,
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
    /// Readings since a limit turned it away.
    refused: u8,
}

/// What is kept of a process that is not wanted.
struct LeftOut {
    start: u64,
    program: Program,
    /// See [`Facts::older`].
    older: bool,
}

impl Live {
    fn new(processes: Arc<Processes>, maker: PeerMaker, charge: Charge) -> Self {
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
    /// instance. Returns those that were not wanted: they are to be reported again.
    fn configure(&mut self, patterns: &[String]) -> Vec<u32> {
        self.patterns = patterns.to_vec();
        self.left_out.keys().copied().collect()
    }

    /// Applies reports of the finder.
    fn report(&mut self, reports: Taken<Found>) {
        if let Some(alive) = &reports.alive {
            self.turned_away.retain(|pid| alive.contains_key(pid));
        }
        let left_out = self.left_out.iter().map(|(pid, left)| (*pid, left.start));
        let known = self.read.iter().map(|(pid, known)| (*pid, known.start)).chain(left_out);
        for (pid, change) in reports.changes(known) {
            match change {
                Some(found) => self.found(found),
                None => self.gone(pid),
            }
        }
    }

    fn found(&mut self, mut found: Found) {
        let (pid, start) = (found.facts.pid, found.facts.start);
        match self.read.get_mut(&pid) {
            Some(known) if known.start != start => self.gone(pid),
            Some(known) if found.program.is_another(&known.program) => {
                // A command line may be written over by the same program, whose sums go on and whose area
                // stays mapped.
                let is_sure = found.program.is_surely_another(&known.program)
                    || known.program.file.is_some() && found.was_seen();
                self.leave(pid, is_sure, ANOTHER);
            }
            Some(known) if found.program.is_named(&known.program) => {
                let area = self.leave(pid, false, RENAMED);
                found.area = found.area.or(area.filter(|_| found.access == Access::Open));
            }
            Some(known) => return known.found(found),
            None => {}
        }
        if found.was_open() && found.area.is_none() {
            // It was not taken when it was opened.
            self.turned_away.insert(pid);
            return;
        }
        if let Some(old) = self.left_out.remove(&pid).filter(|old| old.start == start) {
            found.facts.older &= old.older && !found.program.is_another(&old.program);
        }
        self.begin(found);
    }

    fn begin(&mut self, found: Found) {
        let pid = found.facts.pid;
        self.turned_away.remove(&pid);
        if !found.facts.matches(&self.patterns) {
            let Found { facts: Facts { start, older, .. }, program, .. } = found;
            self.left_out.insert(pid, LeftOut { start, program, older });
            return;
        }
        if self.room() == 0 {
            self.turned_away.insert(pid);
            if let Some(n) = self.full.allow(now().monotonic) {
                let more = LogThrottle::more(n);
                log::warn!("mono: more than {} processes: not read{more}", limits::AREAS);
            }
            return;
        }
        let Found { facts, access, area, program } = found;
        let (start, peer) = (facts.start, self.maker.make());
        let meter = Meter::new(self.processes.seat(Way::Area, facts), access);
        let mut process = Process { start, program, meter, area, peer, refused: 0 };
        process.peer.at(now());
        process.meter.start(&mut process.peer);
        process.tick();
        self.read.insert(pid, process);
    }

    fn room(&self) -> usize {
        limits::AREAS.saturating_sub(self.read.len())
    }

    /// Processes that there was no room for, and is now: they are to be reported again.
    fn again(&mut self) -> Vec<u32> {
        let room = self.room();
        self.turned_away.extract_if(|_| true).take(room).collect()
    }

    /// The process that had this id has ended.
    fn gone(&mut self, pid: u32) {
        self.turned_away.remove(&pid);
        self.left_out.remove(&pid);
        if let Some(mut known) = self.read.remove(&pid) {
            // The page outlives the process, with all that it has counted.
            known.tick();
            known.end(true, ENDED);
        }
    }

    /// A process goes on under another name. `is_sure`: as another program, with sums of its own. Returns its area.
    fn leave(&mut self, pid: u32, is_sure: bool, why: &'static str) -> Option<Area> {
        let mut known = self.read.remove(&pid)?;
        known.tick();
        if is_sure {
            known.meter.another();
        }
        let area = known.area.take();
        known.end(false, why);
        area
    }

    /// Reads all areas.
    fn tick(&mut self) {
        self.read.values_mut().for_each(Process::tick);
        let meters = self.read.values().map(|process| process.meter.heap_size()).sum::<usize>();
        let others = self.left_out.heap_size() + self.turned_away.heap_size();
        self.charge.set(self.read.heap_size() + meters + others);
    }

    /// Ends all without a fault, and forgets those that are not read: nobody tells of their end.
    fn end(&mut self, why: &'static str) {
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
        let Self { meter, area, peer, refused, .. } = self;
        peer.set_now(now());
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
        peer.flush();
    }

    fn end(mut self, ended: bool, why: &'static str) {
        self.meter.end(ended, why, &mut self.peer);
        self.peer.end(Departure::regular(why));
    }
}

/// A process of Mono, or one that can be read otherwise than before.
#[derive(Debug)]
struct Found {
    facts: Facts,
    access: Access,
    /// `None` of one that is open: it is the one that was open at the look before.
    area: Option<Area>,
    program: Program,
}

impl Found {
    /// Which area it has was seen, or that it has none.
    const fn was_seen(&self) -> bool {
        self.program.file.is_some() || matches!(self.access, Access::Off(_))
    }

    /// Its area is the one that was open at the look before.
    fn was_open(&self) -> bool {
        self.access == Access::Open && self.area.is_none()
    }
}

/// A process as it was reported: one that has changed is reported again.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Shown {
    access: Access,
    program: Program,
}

/// The eye of this source.
#[derive(Clone)]
struct Finder(Arc<Shared>);

struct Shared {
    host: Arc<ProcHost>,
    /// The processes of Mono, and what the task does not know of them yet.
    reports: Reports<Shown, Found>,
}

impl Finder {
    fn new(host: Arc<ProcHost>) -> Self {
        Self(Arc::new(Shared { host, reports: Reports::new(limits::REPORTS) }))
    }

    /// What is told.
    fn reports(&self) -> &Reports<Shown, Found> {
        &self.0.reports
    }
}

impl Shared {
    /// A look has come back in time.
    fn looked(&self, facts: Facts, mut program: Program, Sight { access, file, area }: Sight) {
        let (pid, start) = (facts.pid, facts.start);
        program.file = file;
        let shown = Shown { access: access.clone(), program };
        let found = Found { facts, access, area, program };
        if found.was_open() {
            // What was open is here, if nobody has taken it yet.
            self.reports.tell_again(pid, start, shown, |before| Found {
                area: before.and_then(|before| before.area),
                ..found
            });
        } else {
            self.reports.tell(pid, start, shown, found);
        }
    }
}

impl host::Finder for Finder {
    fn is_active(&self) -> bool {
        self.reports().known().is_active()
    }

    fn look(&self, glance: &Glance, visit: Visit) -> host::Look {
        // A list of mapped files costs much: that of a program which has shown none of ours is seldom read again.
        if visit.settled {
            return host::Look::default();
        }
        let (pid, start) = (glance.pid(), glance.stat().start);
        let shared = Arc::clone(&self.0);
        let known = shared.reports.known().get(pid, start);
        let open = known.as_ref().and_then(|known| known.program.file);
        let Some(sight) = look(glance, open, |uid| shared.host.user(uid)) else {
            // It executes another program, which has no area.
            let report = Box::new(move || shared.reports.end(pid, start));
            return host::Look { interest: Interest::Nothing, report: Some(report) };
        };
        let interest = match sight.access {
            Access::Open => Interest::Seldom,
            Access::Denied(_) | Access::Off(_) => Interest::Often,
        };
        // Its area may not be there yet.
        if matches!(sight.access, Access::Off(_)) && visit.number < 2 && known.is_none() {
            return host::Look { interest, report: None };
        }
        // If it has ended since, the next scan sees that.
        let facts = self.0.host.facts(glance.process()).filter(|facts| facts.start == start);
        let report = facts.map(|facts| {
            let program = Program::of(glance.process(), &facts.command, None);
            Box::new(move || shared.looked(facts, program, sight)) as Box<dyn FnOnce() + Send>
        });
        host::Look { interest, report }
    }

    fn gone(&self, pid: u32, start: u64) {
        self.reports().end(pid, start);
    }

    fn named(&self, name: &[u8]) -> Option<Named> {
        let number = std::str::from_utf8(name.strip_prefix(b"mono.")?).ok()?;
        Some(Named { inner_pid: number.parse().ok()?, start: None })
    }
}

#[cfg(test)]
#[path = "areas_tests.rs"]
mod tests;
