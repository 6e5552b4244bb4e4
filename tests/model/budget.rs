//! The budget against a simple model: agents come, name metrics, send texts and records, stay away, come back, in any
//! order and over any time. Nothing is above its limit, nobody is turned away while there is room, and what they held
//! is free when they are forgotten.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use pmdaapm::contract::{Identity, Peer, Refusal};
use pmdaapm::model::{
    Departure, MetricSpec, Now, Place, Semantics, SourceId, Stamp, Units, Value, ValueType,
};
use pmdaapm::store::{Change, Limits, RequestQueue, Stat, Store};

use super::random::Random;

/// Orders that are tried, and what happens in each.
const SCHEDULES: u64 = if cfg!(debug_assertions) { 6 } else { 100 };
const STEPS: usize = if cfg!(debug_assertions) { 400 } else { 2_000 };
/// Steps in which more come than go, and then as many in which they go.
const CROWD: usize = 100;

/// More agents, names and bytes than there is room for.
const AGENTS: usize = 40;
const KEYS: usize = 200;
const TEXT: usize = 1000;
const INSTANCES: usize = 24;
const NAMES: usize = 150;
const MEMORY: usize = EVENTS + (400 << 10);
const EVENTS: usize = 1 << 20;
const FORGET: Duration = Duration::from_secs(600);
/// What one charge is rounded up to.
const STEP: usize = 4 << 10;
/// A peer may bring as many names while there are any.
const FREE: usize = 64;

const SOURCE: SourceId = SourceId::new(0);

/// What an agent has said since it is connected.
struct Agent {
    peer: Peer,
    /// Keys of its slots; `None`: the limit was reached.
    slots: Vec<Option<usize>>,
    /// The newest text of each key, and how many of them were sent while there was no room.
    texts: BTreeMap<usize, String>,
    refused: u64,
}

struct World {
    store: Arc<Store>,
    random: Random,
    now: Now,
    agents: HashMap<usize, Agent>,
    /// Columns of keys, as clients know them.
    columns: HashMap<String, u16>,
    reached: Reached,
}

/// How often somebody was turned away, or a name or text was.
#[derive(Debug, Default)]
struct Reached {
    instances: u64,
    memory: u64,
    names: u64,
    texts: u64,
}

fn spec(key: usize) -> MetricSpec {
    MetricSpec {
        key: format!("model/{key}"),
        place: Place::Peers("counter"),
        path: format!("model.k{key}"),
        ty: ValueType::Text,
        sem: Semantics::Discrete,
        units: Units::None,
        oneline: "x".into(),
        help: "x".into(),
        labels: Vec::new(),
        persist: format!("{key}"),
    }
}

impl World {
    fn new(seed: u64) -> Self {
        let limits = Limits {
            instances: INSTANCES,
            names: NAMES,
            memory: MEMORY,
            peer_memory: 1 << 20,
            forget: FORGET,
            ..Limits::default()
        };
        Self {
            store: Store::new(pmdaapm::sources::catalogue(), 400, limits, EVENTS),
            random: Random(seed),
            now: Now { monotonic: Duration::from_secs(100), wall: Stamp { sec: 1, nsec: 0 } },
            agents: HashMap::new(),
            columns: HashMap::new(),
            reached: Reached::default(),
        }
    }

    fn stat(&self, stat: Stat) -> usize {
        let value = self.store.memory_stat(stat).unwrap_or_else(|| self.store.stats.get(stat));
        usize::try_from(value).unwrap()
    }

    /// Bytes charged without records.
    fn used(&self) -> usize {
        self.stat(Stat::MemoryTotal) - self.stat(Stat::MemoryEvents)
    }

    fn one(&mut self) -> Option<usize> {
        let mut all: Vec<usize> = self.agents.keys().copied().collect();
        all.sort_unstable();
        (!all.is_empty()).then(|| all[self.random.index(all.len())])
    }

    /// An agent connects and says who it is.
    fn connect(&mut self, agent: usize) {
        if self.agents.contains_key(&agent) {
            return;
        }
        let full = self.used() + STEP > MEMORY - EVENTS;
        let mut peer = self.store.peer_of(SOURCE, &Arc::new(RequestQueue::new(|| ())));
        peer.set_now(self.now);
        let resumes = self.random.index(2) == 0;
        peer.is(Identity { name: format!("app:{agent}"), resumes, ..Identity::default() });
        match peer.refusal() {
            None => {
                assert!(!full, "there is no room");
                assert_eq!(peer.name().unwrap(), self.name(agent));
                let new = Agent { peer, slots: Vec::new(), texts: BTreeMap::new(), refused: 0 };
                self.agents.insert(agent, new);
            }
            Some(Refusal::Memory) => {
                self.reached.memory += 1;
                assert!(full, "there is room");
            }
            Some(Refusal::Instances) => {
                self.reached.instances += 1;
                assert_eq!(self.agents.len(), INSTANCES, "somebody who is gone could give way");
            }
        }
    }

    fn name(&self, agent: usize) -> String {
        format!("{}::app:{agent}", self.store.catalogue().name(SOURCE))
    }

    /// It names some metrics.
    fn define(&mut self, agent: usize, how_many: usize) -> usize {
        let mut given = 0;
        for _ in 0..how_many {
            let key = self.random.index(KEYS);
            let before = self.stat(Stat::NamesRejected);
            let saying = self.agents.get_mut(&agent).unwrap();
            saying.peer.define(u32::try_from(saying.slots.len()).unwrap(), &spec(key));
            let refused = self.stat(Stat::NamesRejected) - before;
            assert!(refused <= 1);
            self.reached.names += refused as u64;
            let saying = self.agents.get_mut(&agent).unwrap();
            saying.slots.push((refused == 0).then_some(key));
            given += 1 - refused;
        }
        given
    }

    /// It sends some texts.
    fn texts(&mut self, agent: usize, how_many: usize) {
        for _ in 0..how_many {
            let (a, b) = (self.random.index(KEYS), self.random.index(TEXT));
            let before = self.stat(Stat::MemoryRefused);
            let saying = self.agents.get_mut(&agent).unwrap();
            if saying.slots.is_empty() {
                return;
            }
            let slot = a % saying.slots.len();
            let text = format!("{a}{}", "x".repeat(b));
            saying.peer.set_slot(u32::try_from(slot).unwrap(), None, Value::text(&text));
            saying.texts.extend(saying.slots[slot].map(|key| (key, text)));
            let refused = self.stat(Stat::MemoryRefused) - before;
            self.reached.texts += refused as u64;
            self.agents.get_mut(&agent).unwrap().refused += refused as u64;
        }
    }

    /// It ends, with or without a word.
    fn leave(&mut self, agent: usize) {
        let Some(mut leaving) = self.agents.remove(&agent) else { return };
        leaving.peer.set_now(self.now);
        if self.random.index(2) == 0 {
            leaving.peer.end(Departure::default());
        }
    }

    fn pass(&mut self, time: Duration) {
        self.now.monotonic += time;
        for agent in self.agents.values_mut() {
            agent.peer.at(self.now);
        }
        if self.random.index(3) > 0 {
            self.store.sweep(self.now.monotonic);
        }
    }

    /// `crowd`: more come than go.
    fn step(&mut self, crowd: bool) {
        let kinds = if crowd { 12 } else { 16 };
        match self.random.index(kinds) {
            0..4 => {
                let agent = self.random.index(AGENTS);
                self.connect(agent);
            }
            4..10 => {
                let (names, texts) = (self.random.index(12), self.random.index(200));
                if let Some(agent) = self.one() {
                    self.define(agent, names);
                    self.learn();
                    self.texts(agent, texts);
                    self.agents.get_mut(&agent).unwrap().peer.flush();
                }
            }
            10 => self.pass(Duration::from_millis(10)),
            11 => self.pass(Duration::from_secs(30)),
            12..15 => {
                if let Some(agent) = self.one() {
                    self.leave(agent);
                }
            }
            _ => {
                let times = u32::try_from(self.random.index(3)).unwrap();
                self.pass(FORGET * times);
            }
        }
    }

    /// What clients are told.
    fn learn(&mut self) {
        for change in self.store.take_changes() {
            match change {
                Change::Metric(metric) | Change::Again(metric) => {
                    self.columns.insert(metric.spec.key.clone(), metric.column());
                }
                Change::Drop(metric) => {
                    self.columns.remove(&metric.spec.key);
                }
                _ => {}
            }
        }
    }

    fn holds(&mut self) {
        self.learn();
        let peers = self.store.peers();
        assert!(peers.len() <= INSTANCES);
        assert_eq!(self.stat(Stat::InstancesRegistered), peers.len());
        assert_eq!(self.stat(Stat::NamesRegistered), self.columns.len());
        assert!(self.columns.len() <= NAMES);
        // What is there already is charged even if there is no room for it: the cells of a peer, and the names.
        let registry = self.stat(Stat::MemoryRegistry);
        assert!(self.used() - registry <= MEMORY - EVENTS, "{} and {registry}", self.used());
        let parts = [Stat::MemoryTexts, Stat::MemoryDefinitions, Stat::MemoryDictionaries];
        let parts = parts.iter().map(|part| self.stat(*part)).sum::<usize>();
        assert_eq!(self.used(), parts + registry + self.stat(Stat::MemoryInput));
        let mut shown = 0;
        for (agent, saying) in &self.agents {
            let name = format!("app:{agent}");
            let peer = peers.iter().find(|peer| peer.name == name).expect("it is connected");
            assert!(peer.liveness.up());
            for (key, text) in &saying.texts {
                let now = self.columns.get(&spec(*key).key).and_then(|column| peer.text(*column));
                shown += now.as_ref().map_or(0, |now| now.len());
                assert!(
                    now.as_deref() == Some(text) || saying.refused > 0,
                    "{agent} {key}: a text that there was room for is not shown"
                );
            }
        }
        assert!(shown <= self.stat(Stat::MemoryTexts), "{shown} bytes of texts");
    }

    /// All leave and are forgotten: the next one has all the room.
    fn end(&mut self) {
        (0..AGENTS).for_each(|agent| self.leave(agent));
        self.now.monotonic += FORGET + Duration::from_secs(1);
        self.store.sweep(self.now.monotonic);
        assert!(self.store.peers().is_empty());
        self.holds();
        let held = [Stat::MemoryTexts, Stat::MemoryDefinitions, Stat::MemoryInput];
        let held = held.map(|purpose| self.stat(purpose));
        assert_eq!((held, self.stat(Stat::MemoryEvents)), ([0, 0, 0], 0));
        self.connect(0);
        assert_eq!(self.define(0, FREE), FREE, "nobody brings the names of before any more");
        self.holds();
    }
}

#[test]
fn whoever_comes_and_goes_the_budget_holds() {
    let mut reached = Reached::default();
    for seed in 1..=SCHEDULES {
        let mut world = World::new(seed);
        for step in 0..STEPS {
            world.step((step / CROWD).is_multiple_of(2));
            world.holds();
        }
        world.end();
        let Reached { instances, memory, names, texts } = world.reached;
        reached.instances += instances;
        reached.memory += memory;
        reached.names += names;
        reached.texts += texts;
    }
    let Reached { instances, memory, names, texts } = reached;
    assert!([instances, memory, names, texts].iter().all(|n| *n > SCHEDULES), "{reached:?}");
}
