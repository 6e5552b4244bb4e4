//! What is said of a process beside its events, and when: identity and state by its session, processor time by
//! /proc.

use std::sync::Arc;
use std::time::Duration;

use super::discovery::Found;
use crate::clock::now;
use crate::contract::{Identity, Peer, Service};
use crate::host::{ProcDir, ProcessorTime, ask};
use crate::model::{Now, Value};
use crate::sources::dotnet::discovery::Target;
use crate::sources::dotnet::metrics::{self as m, program};
use crate::sources::dotnet::session::{Process, State};
use crate::sources::dotnet::stream::Parts;

/// Reports what has changed of the facts.
#[derive(Debug)]
pub(super) struct Facts {
    target: Arc<Target>,
    /// It began while this PMDA ran.
    is_new: bool,
    /// The process is an instance.
    introduced: bool,
    state: Option<State>,
    reason: String,
    /// Who has the meters of the process, if that is no session of this PMDA.
    meters: Option<String>,
    counts: (u64, u64),
    informed: bool,
    /// The instance name.
    name: String,
    via: Option<&'static str>,
    times: Times,
}

impl Facts {
    pub(super) fn new(target: Arc<Target>, is_new: bool) -> Self {
        Self {
            target,
            is_new,
            introduced: false,
            state: None,
            reason: String::new(),
            meters: None,
            counts: (0, 0),
            informed: false,
            name: String::new(),
            via: None,
            times: Times::default(),
        }
    }

    /// The instance; empty: not known yet.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Reports what has changed.
    pub(super) fn report(&mut self, session: &Process, parts: &mut Parts, peer: &mut Peer) {
        if !self.introduced {
            // The runtime's name for the process is better than that of the command line.
            let waits = matches!(session.state(), State::Found | State::Connected);
            if waits && !session.is_known() && session.waits() {
                return;
            }
            self.introduce(session, parts, peer);
        }
        if !self.informed && session.info().is_some() {
            self.informed = true;
            self.inform(session, peer);
        }
        let meters = parts.counters.owner().filter(|_| session.state() == State::Streaming);
        if self.state != Some(session.state())
            || self.reason != session.reason()
            || self.meters.as_deref() != meters
        {
            self.state = Some(session.state());
            session.reason().clone_into(&mut self.reason);
            self.meters = meters.map(str::to_owned);
            let (reason, condition) = session.told(meters);
            peer.set(m::STATE, Value::U32(session.state() as u32));
            peer.set(m::REASON, Value::Text(reason.into()));
            peer.condition(condition);
        }
        if self.via != session.via() {
            self.via = session.via();
            peer.set(m::VIA, Value::Text(self.via.unwrap_or_default().into()));
        }
        let (restarts, errors) = session.counts();
        if self.counts != (restarts, errors) {
            let (r, e) = std::mem::replace(&mut self.counts, (restarts, errors));
            peer.add(m::RESTARTS, restarts.saturating_sub(r));
            peer.add(m::ERRORS, errors.saturating_sub(e));
            if errors > e {
                parts.records.session_report(now().wall, session.reason(), peer);
                parts.records.release(peer);
            }
        }
    }

    /// A second has passed.
    pub(super) fn tick(&mut self, now: Now, found: &Found, peer: &mut Peer) {
        if self.introduced {
            self.times.tick(now.monotonic, found, &self.name, peer);
        }
    }

    fn introduce(&mut self, session: &Process, parts: &mut Parts, peer: &mut Peer) {
        self.introduced = true;
        let target = &self.target;
        let entry = session.entry();
        let name = if entry.is_empty() { target.name.as_str() } else { entry };
        let name: String =
            name.chars().map(|c| if c.is_whitespace() { '_' } else { c }).take(200).collect();
        let pid = target.shown_pid();
        let name = format!("{name}:{pid}");
        let mut labels = vec![
            ("pid", pid.to_string()),
            ("container_pid", target.container_pid.to_string()),
            ("user", target.owner.clone()),
        ];
        labels.extend(target.container.iter().map(|id| ("container", id.clone())));
        peer.is(Identity {
            name: name.clone(),
            peer: format!("process {pid}"),
            labels,
            resumes: true,
            process: Some(target.key.clone()),
            service: Some(service(&name, self.is_new)),
            ..Identity::default()
        });
        parts.start(&name, peer);
        self.name = name;
        peer.set(m::COMMAND, Value::Text(target.command.as_str().into()));
        peer.set(m::OWNER, Value::Text(target.owner.as_str().into()));
        peer.set(m::CONTAINER_PID, Value::U32(target.container_pid));
        if let Some(started) = target.started {
            peer.set(m::START_TIME, Value::I64(started));
        }
    }

    fn inform(&self, session: &Process, peer: &mut Peer) {
        let Some(info) = session.info() else { return };
        // An early answer has only the program.
        if info.command.len() > self.target.command.len() {
            peer.set(m::COMMAND, Value::Text(info.command.as_str().into()));
        }
        for (item, text) in
            [(m::VERSION, &info.version), (m::RUNTIME_ID, &info.rid), (m::ARCH, &info.arch)]
        {
            if !text.is_empty() {
                peer.set(item, Value::Text(text.as_str().into()));
            }
        }
    }
}

/// The program of an instance.
fn service(instance: &str, is_new: bool) -> Service {
    let name = program(instance).to_owned();
    Service { labels: vec![("program", name.clone())], name, is_new, ..Service::default() }
}

/// Time between two looks at all that /proc has; processor time is read each second.
const PERIOD: Duration = Duration::from_secs(5);

/// Processor time of a process.
#[derive(Debug, Default)]
pub(super) struct Times {
    /// When all of it is looked at.
    next: Duration,
    kept: Option<ProcessorTime>,
    /// The rows of user and system time are bound.
    bound: bool,
}

impl Times {
    /// Reads the times. `name`: the instance name.
    pub(super) fn tick(&mut self, now: Duration, found: &Found, name: &str, peer: &mut Peer) {
        if found.target.pid == 0 {
            return;
        }
        let read = if now < self.next {
            self.kept.as_ref().and_then(ProcessorTime::read).map(|cpu| (cpu, None))
        } else {
            self.next = now + PERIOD;
            self.look(found)
        };
        let Some(((user, system), cpus)) = read else { return };
        if let Some(cpus) = cpus {
            peer.set(m::CPUS, cpus);
        }
        for (slot, mode, time) in [(0, "user", user), (1, "system", system)] {
            if !self.bound {
                let key = format!("{name}::{mode}");
                peer.row(m::CPU, slot, Some(&key));
                let labels = [("process", name), ("mode", mode)];
                peer.row_labels(m::CPU, slot, &labels);
            }
            peer.row_set(slot, m::CPU_TIME, time);
        }
        self.bound = true;
    }

    /// Its processor time, and the processors that it may use: they can be others at any time.
    fn look(&mut self, found: &Found) -> Option<((u64, u64), Option<u32>)> {
        let (keeps, found) = (self.kept.is_some(), found.clone());
        // One that executes another program is locked meanwhile, and who decodes opens nothing.
        let read = ask(found.target.uid, move || {
            let (process, start) = (found.process()?, found.target.start);
            let cpu = process.stat().filter(|stat| stat.start == start)?.cpu;
            let kept = if keeps { None } else { ProcessorTime::open(&process, start) };
            Some((cpu, cpus(&process), kept))
        });
        let (cpu, cpus, kept) = read.flatten()?;
        self.kept = kept.or(self.kept.take());
        Some((cpu, cpus))
    }
}

/// Processors that the process may use.
fn cpus(process: &ProcDir) -> Option<u32> {
    let status = process.read("status")?;
    let status = String::from_utf8_lossy(&status);
    count(status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?.trim())
}

/// Processors of a list like `0-3,8`.
fn count(list: &str) -> Option<u32> {
    let mut count = 0_u32;
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        count = count.checked_add(last.checked_sub(first)?.checked_add(1)?)?;
    }
    Some(count)
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn processors_are_counted() {
        for (list, expected) in [
            ("0-3,8", Some(5)),
            ("0", Some(1)),
            ("0-1023", Some(1024)),
            ("", None),
            ("3-1", None),
            ("0-4294967295", None),
        ] {
            assert_eq!(count(list), expected, "{list}");
        }
    }
}
