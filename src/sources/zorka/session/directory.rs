//! All agents: by session, by instance name and by connection.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use foldhash::fast::RandomState;

use super::Agent;
use crate::contract::http::ConnectionId;
use crate::sources::zorka::limits;

/// A session: its agent, and its number there.
#[derive(Clone, Debug)]
pub(crate) struct SessionRef {
    pub(crate) agent: Arc<Agent>,
    pub(crate) tables: u64,
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
pub(crate) struct Directory {
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
    pub(crate) fn find(&self, key: &str) -> Option<SessionRef> {
        self.read().sessions.get(key).filter(|session| !session.agent.is_retired()).cloned()
    }

    /// Adds an agent; the longest silent ones go if there are too many. `make` gets its number.
    pub(crate) fn add(&self, make: impl FnOnce(u64) -> Agent) -> Arc<Agent> {
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
    pub(crate) fn open(&self, key: &str, session: SessionRef) -> SessionRef {
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
    pub(crate) fn close(&self, keys: impl IntoIterator<Item = Box<str>>) {
        let mut inner = self.write();
        for key in keys {
            inner.sessions.remove(&key);
        }
    }

    /// Gives an agent that is there an instance name: `wanted`, or with `digits` appended if
    /// another one that is there has that. An agent that is not there any more loses its name, and
    /// with it its sessions.
    pub(crate) fn claim(&self, agent: &Arc<Agent>, wanted: &str, digits: &str) -> String {
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
    pub(crate) fn release(&self, agent: &Arc<Agent>, name: &str) {
        let mut inner = self.write();
        if inner.names.get(name).is_some_and(|holder| Arc::ptr_eq(holder, agent)) {
            inner.names.remove(name);
        }
    }

    /// Removes an agent without sessions.
    pub(crate) fn remove(&self, agent: &Arc<Agent>, name: &str) {
        agent.retire();
        self.release(agent, name);
        self.write().agents.remove(&agent.number);
    }

    /// All agents.
    pub(crate) fn agents(&self) -> Vec<Arc<Agent>> {
        self.read().agents.values().cloned().collect()
    }

    /// Agents that had to go since the last call.
    pub(crate) fn take_retired(&self) -> Vec<Arc<Agent>> {
        let mut inner = self.write();
        if std::mem::take(&mut inner.stale) {
            inner.sessions.retain(|_, session| !session.agent.is_retired());
        }
        std::mem::take(&mut inner.retired)
    }

    /// Numbers of agents and sessions.
    pub(crate) fn len(&self) -> (usize, usize) {
        let inner = self.read();
        (inner.agents.len(), inner.sessions.len())
    }

    /// An agent uses a connection.
    pub(crate) fn connected(&self, connection: ConnectionId, agent: &Arc<Agent>) {
        let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        let agents = connections.entry(connection).or_default();
        if agents.len() <= limits::CONNECTION_AGENTS {
            agents.push(agent.number);
        }
    }

    /// A connection has ended: all agents that may have used it.
    pub(crate) fn closed(&self, connection: ConnectionId) -> Vec<Arc<Agent>> {
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
