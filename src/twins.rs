//! One process that two sources have: an agent that connected from within it, and the process itself. Their instances
//! point at each other by labels, each called like the other's source, and what both count is in `apm.service` once.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use crate::catalogue::{AgentCell, Part};
use crate::clock::now;
use crate::confine::aside::spawn_blocking;
use crate::host::{Host, owners};
use crate::model::{Leaf, SourceId};
use crate::store::{Ends, Peer, Share, Store};

/// Time between two looks at who has come.
const PERIOD: Duration = Duration::from_secs(1);
/// Time after which an agent counts alone if its process is not known, or has gone: processes are found and read some
/// seconds after their start.
const WAIT: Duration = Duration::from_secs(12);
/// After a look for processes, this many times as long as it took none is begun.
const REST: u32 = 20;
/// The longest rest: a look that took long because this process was stopped says nothing of the next one.
const LONGEST_REST: Duration = Duration::from_secs(60);
/// Time after which a relay is looked at anew: an agent that came again before its old connection was gone is no relay.
const RELAYS: Duration = Duration::from_secs(600);

/// A process: id and start.
type Process = (u32, u64);

/// Looks for them, for ever.
pub(crate) async fn run(store: Arc<Store>, host: Arc<Host>) {
    let mut twins = Twins::new(store);
    let mut ticks = interval(PERIOD);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut rested = Duration::ZERO;
    loop {
        ticks.tick().await;
        let began = now().monotonic;
        let asked = twins.tick(began, host.is_looking());
        if asked.agents.is_empty() || began < rested {
            continue;
        }
        let host = Arc::clone(&host);
        let look = spawn_blocking(move || {
            let owners = owners(host.proc(), &asked.connections, &asked.among);
            (asked, owners)
        });
        if let Ok((asked, owners)) = look.await {
            let ended = now().monotonic;
            twins.answer(&asked, &owners, ended);
            rested = ended + (ended - began).saturating_mul(REST).min(LONGEST_REST);
        }
    }
}

/// Agents whose processes are not known, and among which these may be.
#[derive(Debug, Default)]
struct Asked {
    /// Their names, and the numbers of their connections.
    agents: Vec<(String, u64)>,
    connections: Vec<Ends>,
    among: Vec<Process>,
    /// The last process that had come.
    came: u64,
}

/// An agent that is connected, or was when its process was found.
struct Agent {
    peer: Arc<Peer>,
    /// The source that has its process.
    source: &'static str,
    /// Number of its connection.
    connects: u64,
    /// The process of this connection is not known.
    open: bool,
    /// Until when it is waited for.
    until: Duration,
    /// Of the processes in the order of coming, the last one that it was looked for among.
    looked: u64,
    twin: Option<Twin>,
}

/// The peer that is an agent's process.
struct Twin {
    peer: Arc<Peer>,
    process: Process,
    /// When it was last seen to count collections.
    counted: Option<Duration>,
}

/// The agents by name, and the processes that other sources have.
struct Twins {
    store: Arc<Store>,
    agents: HashMap<String, Agent>,
    /// The peer of each, and its number in the order of coming.
    processes: HashMap<Process, (Arc<Peer>, u64)>,
    /// Those from which several agents of one source were connected at a time, and when that was seen: they pass on what
    /// agents elsewhere send.
    relays: HashMap<Process, Duration>,
    came: u64,
    comings: Option<u64>,
}

/// The process of a peer, by `PID@START`.
fn process(peer: &Peer) -> Option<Process> {
    let process = peer.process()?;
    let (pid, start) = process.split_once('@')?;
    Some((pid.parse().ok()?, start.parse().ok()?))
}

/// How often it has connected: the number of its connection.
fn connects(peer: &Peer) -> u64 {
    peer.agent.get(AgentCell::Connects as u16).unwrap_or_default()
}

impl Agent {
    fn link(&mut self, peer: &Arc<Peer>, process: Process) {
        self.unlink();
        self.open = false;
        self.peer.link(self.source, Some(&peer.name));
        peer.link(self.peer.protocol(), Some(&self.peer.name));
        self.twin = Some(Twin { peer: Arc::clone(peer), process, counted: None });
    }

    /// It is an agent of this source that is connected from within the process.
    fn is_in(&self, process: Process, source: SourceId) -> bool {
        let twin = self.twin.as_ref().filter(|_| !self.open && self.peer.source == source);
        twin.is_some_and(|twin| twin.process == process)
            && self.peer.liveness.up()
            && connects(&self.peer) == self.connects
    }

    fn unlink(&mut self) {
        let Some(twin) = self.twin.take() else { return };
        self.peer.link(self.source, None);
        let protocol = self.peer.protocol();
        if twin.peer.linked(protocol).as_ref() == Some(&self.peer.name) {
            twin.peer.link(protocol, None);
        }
    }

    /// Its process is looked for as that of a new agent, but not waited for.
    fn reopen(&mut self, now: Duration) {
        self.unlink();
        (self.open, self.until, self.looked) = (true, now, 0);
    }
}

impl Twins {
    fn new(store: Arc<Store>) -> Self {
        let (agents, processes, relays) = <_>::default();
        Self { store, agents, processes, relays, came: 0, comings: None }
    }

    /// A second has passed. `looks`: processes are looked for. Returns what is to be found out.
    fn tick(&mut self, now: Duration, looks: bool) -> Asked {
        self.store.look_for_twins(looks);
        // Before the peers are listed: who comes then is seen the next time.
        let comings = self.store.comings();
        if self.comings.replace(comings) != Some(comings) {
            self.list(now);
        }
        let relays = self.relays.len();
        self.relays.retain(|_, seen| now.saturating_sub(*seen) < RELAYS);
        if self.relays.len() < relays {
            self.agents.values_mut().for_each(|agent| agent.looked = 0);
        }
        self.settle(now);
        self.ask()
    }

    /// Takes over who is there.
    fn list(&mut self, now: Duration) {
        let catalogue = Arc::clone(self.store.catalogue());
        let source_of = |peer: &Peer| catalogue.source(peer.source)?.agents_of;
        let sources: HashSet<_> = catalogue.sources().filter_map(|(_, s)| s.agents_of).collect();
        let peers = self.store.peers();
        let there = || peers.iter().filter(|peer| peer.liveness.up());
        let before = std::mem::take(&mut self.processes);
        for peer in there().filter(|peer| sources.contains(peer.protocol())) {
            let Some(process) = process(peer) else { continue };
            let known = before.get(&process).filter(|(known, _)| Arc::ptr_eq(known, peer));
            let number = known.map_or(self.came + 1, |(_, number)| *number);
            self.came = self.came.max(number);
            self.processes.insert(process, (Arc::clone(peer), number));
        }
        self.relays.retain(|process, _| self.processes.contains_key(process));
        for (peer, source) in there().filter_map(|peer| Some((peer, source_of(peer)?))) {
            let connects = connects(peer);
            let name = peer.agent_name();
            let mut known = self.agents.remove(&name);
            if known.as_ref().is_none_or(|known| !Arc::ptr_eq(&known.peer, peer)) {
                known.iter_mut().for_each(Agent::unlink);
                known = None;
            }
            let agent = match known {
                Some(known) if known.connects == connects => known,
                known => {
                    let (peer, until) = (Arc::clone(peer), now + WAIT);
                    let twin = known.and_then(|known| known.twin);
                    Agent { peer, source, connects, open: true, until, looked: 0, twin }
                }
            };
            self.agents.insert(name, agent);
        }
    }

    /// Sets who counts alone.
    fn settle(&mut self, now: Duration) {
        self.agents.retain(|_, agent| {
            if agent.peer.is_forgotten() {
                agent.unlink();
                return false;
            }
            if connects(&agent.peer) != agent.connects {
                // It has connected since the peers were listed.
                return true;
            }
            let up = agent.peer.liveness.up();
            if let Some(twin) = agent.twin.as_ref().filter(|_| !agent.open) {
                let process = twin.process;
                // The process may have another name by now: then another peer is it.
                let renamed = self.processes.get(&process).filter(|_| up && !twin.is_there());
                if up && self.relays.contains_key(&process) {
                    agent.reopen(now);
                } else if let Some((peer, _)) = renamed {
                    agent.link(peer, process);
                } else if twin.is_another() {
                    agent.reopen(now);
                }
            }
            if agent.open {
                if now >= agent.until {
                    agent.unlink();
                    agent.peer.set_share(Share::Alone);
                }
                return up || agent.twin.is_some();
            }
            let Some(twin) = &mut agent.twin else { return false };
            if twin.is_there() {
                twin.counted = counts(&self.store, &twin.peer).then_some(now);
            }
            // The last that the agent has said of a process that has gone comes later.
            if twin.counted.is_some_and(|counted| now.saturating_sub(counted) < WAIT) {
                agent.peer.set_share(Share::Shared);
            } else if now >= agent.until {
                agent.peer.set_share(Share::Alone);
            }
            true
        });
    }

    fn ask(&self) -> Asked {
        let open = |agent: &&Agent| agent.open && agent.looked < self.came;
        let mut asked = Asked { came: self.came, ..Asked::default() };
        let mut looked = u64::MAX;
        for agent in self.agents.values().filter(open) {
            let Some(ends) = agent.peer.ends() else { continue };
            asked.agents.push((agent.peer.agent_name(), agent.connects));
            asked.connections.push(ends);
            looked = looked.min(agent.looked);
        }
        let among = self.processes.iter().filter(|(_, (_, number))| *number > looked);
        asked.among = among.map(|(process, _)| *process).collect();
        asked
    }

    /// Which of the processes that were asked for has the connection of each agent.
    fn answer(&mut self, asked: &Asked, owners: &[Option<Process>], now: Duration) {
        for ((name, connects), owner) in asked.agents.iter().zip(owners) {
            let agent = self.agents.get_mut(name).filter(|agent| agent.connects == *connects);
            let Some(agent) = agent else { continue };
            agent.looked = asked.came;
            let Some(process) = owner.filter(|process| !self.relays.contains_key(process)) else {
                continue;
            };
            let peer = self.processes.get(&process);
            let Some((peer, _)) = peer.filter(|(peer, _)| peer.protocol() == agent.source) else {
                continue;
            };
            agent.link(peer, process);
            let source = agent.peer.source;
            let here = self.agents.values().filter(|agent| agent.is_in(process, source));
            if here.count() > 1 {
                self.relays.insert(process, now);
            }
        }
        self.settle(now);
    }
}

impl Twin {
    fn is_there(&self) -> bool {
        self.peer.liveness.up() && !self.is_another()
    }

    /// Its instance is of another process by now, or is none.
    fn is_another(&self) -> bool {
        self.peer.is_forgotten() || process(&self.peer) != Some(self.process)
    }
}

/// The peer counts collections.
fn counts(store: &Store, peer: &Peer) -> bool {
    let Some(table) = store.catalogue().source(peer.source) else { return false };
    let mut items = table.parts(Leaf::PauseTime, false).iter().flat_map(|part| match part {
        Part::Metrics(items) => *items,
        _ => &[],
    });
    items.any(|item| peer.cells.get(item.get()).is_some())
}

#[cfg(test)]
#[path = "twins_tests.rs"]
mod tests;
