//! What is known of a process beside its events: identity, state, times.

mod times;

use std::sync::Arc;

pub(super) use times::Threads;
use times::Times;

use crate::clock::now;
use crate::contract::{Identity, Peer, Service};
use crate::model::{Condition, MetricItem, Now, Value};
use crate::sources::dotnet::metrics as m;
use crate::sources::dotnet::service::program;
use crate::sources::dotnet::session::{Process, State};
use crate::sources::dotnet::stream::Parts;
use crate::sources::dotnet::target::Target;

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
    pub(super) const fn new(target: Arc<Target>, is_new: bool) -> Self {
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
            times: Times::new(),
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
            let owner = meters.map(|owner| format!("; another tool has the meters: {owner}"));
            let reason = [&self.reason, owner.as_deref().unwrap_or_default()].concat();
            set(peer, m::STATE, Value::U32(session.state() as u32));
            set(peer, m::REASON, Value::Text(reason.into()));
            let condition = match (session.condition(), owner) {
                (Condition::Sound, Some(_)) => {
                    Condition::Impaired("another tool has the meters".into())
                }
                (other, _) => other,
            };
            peer.condition(condition);
        }
        if self.via != session.via() {
            self.via = session.via();
            set(peer, m::VIA, Value::Text(self.via.unwrap_or_default().into()));
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
    pub(super) fn tick(&mut self, now: Now, peer: &mut Peer) {
        if self.introduced {
            self.times.tick(now.monotonic, &self.target, &self.name, peer);
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
        peer.is(Identity {
            name: name.clone(),
            peer: format!("process {pid}"),
            labels: vec![
                ("pid", pid.to_string()),
                ("container_pid", target.container_pid.to_string()),
                ("user", target.owner.clone()),
            ],
            resumes: true,
            process: Some(target.key.clone()),
            service: Some(service(&name, self.is_new)),
            ..Identity::default()
        });
        parts.start(&name, peer);
        self.name = name;
        set(peer, m::COMMAND, Value::Text(target.command.as_str().into()));
        set(peer, m::OWNER, Value::Text(target.owner.as_str().into()));
        set(peer, m::CONTAINER_PID, Value::U32(target.container_pid));
        if let Some(started) = target.started {
            set(peer, m::START_TIME, Value::I64(started));
        }
    }

    fn inform(&self, session: &Process, peer: &mut Peer) {
        let Some(info) = session.info() else { return };
        // An early answer has only the program.
        if info.command.len() > self.target.command.len() {
            set(peer, m::COMMAND, Value::Text(info.command.as_str().into()));
        }
        for (item, text) in
            [(m::VERSION, &info.version), (m::RUNTIME_ID, &info.rid), (m::ARCH, &info.arch)]
        {
            if !text.is_empty() {
                set(peer, item, Value::Text(text.as_str().into()));
            }
        }
    }
}

/// The program of an instance.
fn service(instance: &str, is_new: bool) -> Service {
    let name = program(instance).to_owned();
    Service { labels: vec![("program", name.clone())], name, is_new, ..Service::default() }
}

fn set(peer: &mut Peer, item: MetricItem, value: Value) {
    peer.set(item, value);
}
