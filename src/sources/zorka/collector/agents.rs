//! All agents: by session, by instance name and by connection. They come and go.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use foldhash::fast::RandomState;

use super::Collector;
use crate::contract::http::{ConnectionId, Request};
use crate::contract::{Identity, Service};
use crate::model::{Departure, HeapSize, Now};
use crate::sources::zorka::limits::{self, REFUSED, SESSION_AGE};
use crate::sources::zorka::meter::Meter;
use crate::sources::zorka::metrics as m;
use crate::sources::zorka::session::{Agent, Kind, State, digits};

/// Why an agent without a connection is gone.
const SILENT: &str = "silent too long, without a connection";

/// A session: its agent, and its number there.
#[derive(Clone, Debug)]
pub(super) struct SessionRef {
    pub(super) agent: Arc<Agent>,
    pub(super) tables: u64,
}

#[derive(Debug, Default)]
struct Inner {
    sessions: HashMap<Box<str>, SessionRef, RandomState>,
    /// By instance name.
    names: HashMap<String, Arc<Agent>>,
    agents: HashMap<u64, Arc<Agent>, RandomState>,
    /// Agents that had to go and still have their peers.
    retired: Vec<Arc<Agent>>,
    /// Sessions of retired agents are still in the map.
    stale: bool,
    next: u64,
}

/// All agents. Its locks are taken while an agent's lock is held, never the other way round.
#[derive(Debug, Default)]
pub(super) struct Directory {
    inner: RwLock<Inner>,
    /// Numbers of the agents of each open connection.
    connections: Mutex<HashMap<ConnectionId, Vec<u64>, RandomState>>,
}

impl Directory {
    fn read(&self) -> RwLockReadGuard<'_, Inner> {
        self.inner.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Inner> {
        self.inner.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The session of a key.
    pub(super) fn find(&self, key: &str) -> Option<SessionRef> {
        self.read().sessions.get(key).filter(|session| !session.agent.is_retired()).cloned()
    }

    /// Adds an agent; the longest silent ones go if there are too many. `make` gets its number.
    pub(super) fn add(&self, make: impl FnOnce(u64) -> Agent) -> Arc<Agent> {
        let mut inner = self.write();
        if inner.agents.len() >= limits::SESSIONS {
            inner.drop_agents();
        }
        let number = inner.next;
        inner.next += 1;
        let agent = Arc::new(make(number));
        inner.agents.insert(number, Arc::clone(&agent));
        agent
    }

    /// Adds the session of an agent. If another request has done so first, its session is returned.
    pub(super) fn open(&self, key: &str, session: SessionRef) -> SessionRef {
        let mut inner = self.write();
        match inner.sessions.get(key).filter(|known| !known.agent.is_retired()) {
            Some(known) => known.clone(),
            None => {
                inner.sessions.insert(key.into(), session.clone());
                session
            }
        }
    }

    /// Removes sessions that have ended.
    pub(super) fn close(&self, keys: impl IntoIterator<Item = Box<str>>) {
        let mut inner = self.write();
        for key in keys {
            inner.sessions.remove(&key);
        }
    }

    /// Gives an agent that is there an instance name: `wanted`, or with `digits` appended if
    /// another one that is there has that. An agent that is not there any more loses its name, and
    /// with it its sessions.
    pub(super) fn claim(&self, agent: &Arc<Agent>, wanted: &str, digits: &str) -> String {
        let mut inner = self.write();
        let mut name = wanted.to_owned();
        let mut n = 0;
        while let Some(holder) = inner.names.get(&name)
            && !Arc::ptr_eq(holder, agent)
            && holder.is_up()
        {
            n += 1;
            name = if n == 1 {
                format!("{wanted}#{digits}")
            } else {
                format!("{wanted}#{digits}.{n}")
            };
        }
        if let Some(before) = inner.names.insert(name.clone(), Arc::clone(agent))
            && !Arc::ptr_eq(&before, agent)
        {
            inner.retire(before);
        }
        agent.set_up(true);
        name
    }

    /// An agent takes another name, or goes.
    pub(super) fn release(&self, agent: &Arc<Agent>, name: &str) {
        let mut inner = self.write();
        if inner.names.get(name).is_some_and(|holder| Arc::ptr_eq(holder, agent)) {
            inner.names.remove(name);
        }
    }

    /// Removes an agent without sessions.
    pub(super) fn remove(&self, agent: &Arc<Agent>, name: &str) {
        agent.retire();
        self.release(agent, name);
        self.write().agents.remove(&agent.number);
    }

    /// All agents.
    pub(super) fn agents(&self) -> Vec<Arc<Agent>> {
        self.read().agents.values().cloned().collect()
    }

    /// Agents that had to go since the last call.
    pub(super) fn take_retired(&self) -> Vec<Arc<Agent>> {
        let mut inner = self.write();
        if std::mem::take(&mut inner.stale) {
            inner.sessions.retain(|_, session| !session.agent.is_retired());
        }
        std::mem::take(&mut inner.retired)
    }

    /// Numbers of agents and sessions.
    pub(super) fn len(&self) -> (usize, usize) {
        let inner = self.read();
        (inner.agents.len(), inner.sessions.len())
    }

    /// An agent uses a connection.
    pub(super) fn connected(&self, connection: ConnectionId, agent: &Arc<Agent>) {
        let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        let agents = connections.entry(connection).or_default();
        if agents.len() <= limits::CONNECTION_AGENTS {
            agents.push(agent.number);
        }
    }

    /// A connection has ended: all agents that may have used it.
    pub(super) fn closed(&self, connection: ConnectionId) -> Vec<Arc<Agent>> {
        let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        let numbers = connections.remove(&connection).unwrap_or_default();
        drop(connections);
        if numbers.len() > limits::CONNECTION_AGENTS {
            return self.agents();
        }
        let inner = self.read();
        numbers.iter().filter_map(|number| inner.agents.get(number).cloned()).collect()
    }
}

impl Inner {
    fn retire(&mut self, agent: Arc<Agent>) {
        self.stale = true;
        agent.retire();
        self.agents.remove(&agent.number);
        if agent.is_up() {
            self.retired.push(agent);
        }
    }

    /// Retires an eighth of the agents: first those that are not there, in the order of their
    /// creation. No agent's lock is taken.
    fn drop_agents(&mut self) {
        let mut all: Vec<(bool, u64)> =
            self.agents.values().map(|a| (a.is_up(), a.number)).collect();
        all.sort_unstable();
        let mut dropped = HashSet::new();
        for (_, number) in all.into_iter().take(limits::SESSIONS / 8) {
            dropped.insert(number);
            if let Some(agent) = self.agents.get(&number).cloned() {
                self.retire(agent);
            }
        }
        self.names.retain(|_, agent| !dropped.contains(&agent.number));
        self.sessions.retain(|_, session| !dropped.contains(&session.agent.number));
    }
}

impl Collector {
    /// A request of an agent has come.
    pub(super) fn hear(
        &self,
        now: Now,
        agent: &Arc<Agent>,
        state: &mut State,
        request: &Request<'_>,
    ) {
        state.to = Some(request.to);
        if state.seen(now, request.from, request.connection) {
            self.directory.connected(request.connection, agent);
        }
        let (requests, bytes) = state.heard;
        state.heard = (requests.saturating_add(1), bytes.saturating_add(request.body.len()));
        self.arrive(now, agent, state);
    }

    /// An agent with a name is there again.
    pub(super) fn arrive(&self, now: Now, agent: &Arc<Agent>, state: &mut State) {
        if state.attached || state.wanted.is_empty() {
            return;
        }
        let name = self.directory.claim(agent, &state.wanted, &state.digits);
        if !state.shown.is_empty() && state.shown != name {
            self.directory.release(agent, &state.shown);
            renew(self, now, state);
            state.peer = None;
        }
        let key = state.tables.last().map(|tables| &*tables.key);
        let mut labels: Vec<_> = state.facts.labels(&state.wanted).collect();
        labels.push(("dialect", state.dialect.to_owned()));
        labels.extend(key.map(|key| ("session", digits(key))));
        let process = key.filter(|_| agent.kind == Kind::Modern).map(ToOwned::to_owned);
        let address = state.from.map(|from| from.to_string()).unwrap_or_default();
        let service = state.facts.service(&state.wanted);
        let peer = state.peer.get_or_insert_with(|| self.maker.make());
        peer.at(now);
        state.tried = now.monotonic;
        peer.is(Identity {
            name: name.clone(),
            host: state.facts.host(&address),
            peer: address,
            labels,
            resumes: true,
            process,
            service: Some(Service {
                name: service.to_owned(),
                labels: vec![("service", service.to_owned())],
                ..Service::default()
            }),
            ends: state.from.zip(state.to).map(Box::new),
            ..Identity::default()
        });
        state.meter.start(&name, service, &self.latencies, &self.slow, peer);
        state.shown = name;
        state.attached = true;
        let last = state.tables.len().saturating_sub(1);
        show_names(state, last);
    }

    /// More is known of an agent that has not registered: if that makes another name, its instance
    /// goes and one with the better name comes, which the agent has again after its next restart.
    /// What it has counted and its records so far stay with the old one.
    pub(super) fn rename(&self, now: Now, agent: &Arc<Agent>, state: &mut State) {
        let name = state.best_name();
        if !state.attached || state.wanted == name {
            return;
        }
        state.wanted = name;
        // It must not be retired by an agent that takes the old name.
        self.directory.release(agent, &state.shown);
        Self::depart(now, agent, state, Departure::regular("has a better name now"));
        self.arrive(now, agent, state);
    }

    /// An agent has gone. It may come back.
    fn depart(now: Now, agent: &Agent, state: &mut State, departure: Departure) {
        if !std::mem::take(&mut state.attached) {
            return;
        }
        if let Some(peer) = &mut state.peer {
            peer.at(now);
            state.meter.end(now, peer);
            peer.flush();
            peer.end(departure);
        }
        agent.set_up(false);
    }

    /// Passes on what has been counted for an agent with a name.
    pub(super) fn report(&self, now: Now, state: &mut State) {
        if state.attached
            && let Some(peer) = &mut state.peer
        {
            peer.at(now);
            let (requests, bytes) = std::mem::take(&mut state.heard);
            peer.count_io(bytes, 0);
            (0..requests).for_each(|_| peer.message());
            state.meter.report(peer);
            peer.flush();
        }
    }

    /// A connection has ended.
    pub(super) fn leave(&self, now: Now, connection: ConnectionId) {
        for agent in self.directory.closed(connection) {
            let mut state = agent.lock();
            if state.closed(connection) {
                let why = Departure::regular("closed by the agent");
                Self::depart(now, &agent, &mut state, why);
            }
        }
    }

    /// All agents go: the collector ends.
    pub(super) fn end(&self) {
        for agent in self.directory.agents().into_iter().chain(self.directory.take_retired()) {
            let mut state = agent.lock();
            if std::mem::take(&mut state.attached)
                && let Some(peer) = &mut state.peer
            {
                peer.end(Departure::regular("the PMDA stopped"));
            }
        }
    }

    /// Names agents that wait for it, ends sessions, shows who has gone.
    pub(super) fn each_second(&self, now: Now) {
        for agent in self.directory.take_retired() {
            let why = Departure::regular("another session of this agent took over");
            Self::depart(now, &agent, &mut agent.lock(), why);
        }
        let idle = self.config().idle;
        let settings = self.settings();
        for agent in self.directory.agents() {
            let mut state = agent.lock();
            if !state.waiting.is_empty() {
                self.name(now, &agent, &mut state);
            }
            let silent = now.monotonic.saturating_sub(state.last);
            let is_gone = state.has_no_connection() && silent >= idle;
            if is_gone {
                Self::depart(now, &agent, &mut state, Departure::lost(SILENT));
            }
            if state.attached
                && state.peer.as_ref().is_some_and(|peer| peer.refused())
                && !state.has_no_connection()
                && now.monotonic.saturating_sub(state.tried) >= REFUSED
            {
                // A kept connection would never ask for it. Rows were bound without a peer.
                state.attached = false;
                renew(self, now, &mut state);
                self.arrive(now, &agent, &mut state);
            }
            let newest = state.tables.iter().map(|t| t.number).max().unwrap_or_default();
            let named = !state.wanted.is_empty();
            let ended = state.tables.extract_if(.., |tables| {
                let age = now.monotonic.saturating_sub(tables.used);
                let main = tables.number == newest && (named || !is_gone);
                age >= if main { SESSION_AGE } else { idle }
            });
            let ended: Vec<_> = ended.map(|tables| tables.key).collect();
            if !ended.is_empty() {
                self.directory.close(ended);
            }
            if state.attached && state.settings != settings {
                renew(self, now, &mut state);
            }
            let State { meter, peer, attached, .. } = &mut *state;
            if *attached && let Some(peer) = peer {
                peer.at(now);
                meter.tick(now, peer);
                peer.flush();
            }
            if state.tables.is_empty() && silent >= idle {
                Self::depart(now, &agent, &mut state, Departure::lost(SILENT));
                self.directory.remove(&agent, &state.shown);
            }
            let memory = size_of::<Agent>() + state.heap_size();
            state.charge.set(memory);
        }
    }
}

/// Counts anew: under another name, or by other settings. Numbers that the meter gave to methods
/// are not valid any more.
fn renew(collector: &Collector, now: Now, state: &mut State) {
    state.settings = collector.settings();
    if let Some(peer) = state.peer.as_mut().filter(|_| state.attached) {
        state.meter.end(now, peer);
    }
    state.meter = Meter::new(state.settings);
    if let Some(peer) = state.peer.as_mut().filter(|_| state.attached) {
        let service = state.facts.service(&state.wanted);
        state.meter.start(&state.shown, service, &collector.latencies, &collector.slow, peer);
    }
    state.tables.iter_mut().for_each(|tables| tables.names.unbind());
}

/// Shows the numbers of names of the session that an agent uses.
pub(super) fn show_names(state: &mut State, at: usize) {
    let State { tables, peer, attached: true, .. } = state else { return };
    let (Some(tables), Some(peer)) = (tables.get(at), peer) else { return };
    let names = &tables.names;
    for (item, n) in [(m::SYMBOLS, names.symbols()), (m::METHODS_KNOWN, names.methods())] {
        peer.set(item, n as u64);
    }
}
