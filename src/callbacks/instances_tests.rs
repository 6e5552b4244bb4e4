//! The PMDA thread's view of rows with dynamic metrics is that of the store, whatever the order of
//! updates, reconnects and ends of peers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::Instances;
use crate::catalogue::test_kit::{self, SHOP, STREAM, ware};
use crate::contract::{Identity, Peer};
use crate::model::{Departure, Now, Value};
use crate::state::Book;
use crate::store::{Change, Limits, RequestQueue, Store};

const SERIAL: u32 = 20;
const PEERS: u32 = 20;
const ROWS: u32 = 6;
const METRICS: u32 = 10;

/// Values by peer, row and metric.
type Model = BTreeMap<(u32, u32, u32), u64>;

struct World {
    store: Arc<Store>,
    book: Book,
    instances: Instances,
    peers: Vec<Option<Peer>>,
    model: Model,
    now: u64,
}

impl World {
    fn new() -> Self {
        let catalogue = test_kit::catalogue();
        Self {
            store: Store::new(Arc::clone(&catalogue), 400, Limits::default(), 1 << 20),
            book: Book::new(&catalogue),
            instances: Instances::default(),
            peers: (0..PEERS).map(|_| None).collect(),
            model: Model::new(),
            now: 1,
        }
    }

    fn now(&self) -> Now {
        Now { monotonic: Duration::from_secs(self.now), ..Now::default() }
    }

    fn key(peer: u32, row: u32) -> String {
        format!("p{peer}::{row}")
    }

    /// A peer. A new session has other slots.
    fn peer(&mut self, peer: u32) -> &mut Peer {
        let now = self.now();
        let store = &self.store;
        let place = self.peers.get_mut(peer as usize).expect("a peer");
        place.get_or_insert_with(|| {
            let mut session = store.peer_of(SHOP, &Arc::new(RequestQueue::new(|| ())));
            session.set_now(now);
            let name = format!("p{peer}");
            let id = Identity { name, resumes: true, ..Identity::default() };
            session.is(id);
            for n in 0..METRICS {
                let spec = ware(&format!("series m{n}.count"));
                session.define(slot(n, peer), &spec);
            }
            for row in 0..ROWS {
                let key = Self::key(peer, row);
                session.row(STREAM, row, Some(&key));
            }
            session
        })
    }

    fn value(&mut self, peer: u32, row: u32, metric: u32, what: u32, value: u64) {
        let slot = slot(metric, peer);
        let key = (peer, row, metric);
        let before = self.model.get(&key).copied();
        let row = Some(row);
        match what {
            0 => {
                self.model.remove(&key);
                self.peer(peer).unset_slot(slot, row);
            }
            1 => {
                self.model.insert(key, before.unwrap_or_default() + value);
                self.peer(peer).add_slot(slot, row, Value::U64(value));
            }
            _ => {
                self.model.insert(key, value);
                self.peer(peer).set_slot(slot, row, Value::U64(value));
            }
        }
    }

    fn end(&mut self, peer: u32) {
        if let Some(mut session) = self.peers.get_mut(peer as usize).and_then(Option::take) {
            session.finish(false, Departure::default());
        }
    }

    /// Peers without a connection are forgotten with their rows.
    fn forget(&mut self) {
        self.now += 25 * 3600;
        self.store.sweep(Duration::from_secs(self.now));
        let connected: Vec<bool> = self.peers.iter().map(Option::is_some).collect();
        self.model.retain(|(peer, ..), _| connected.get(*peer as usize) == Some(&true));
    }

    fn apply(&mut self) {
        let now = self.now();
        for change in self.store.take_changes() {
            match change {
                Change::JoinRow(source, table, row) => {
                    let id = self.book.join_row(source, table, &row).expect("an id");
                    self.instances.add_row(SERIAL, id, &row);
                }
                Change::LeaveRow(source, table, row) => {
                    let id = self.book.leave_row(source, table, &row, now).expect("an id");
                    self.instances.remove_row(SERIAL, id);
                }
                Change::RowHas(source, table, row, column) => {
                    if let Some(id) = self.book.row_id(source, table, &row) {
                        self.instances.row_has(SERIAL, id, &row, column);
                    }
                }
                Change::Metric(_)
                | Change::Drop(_)
                | Change::Again(_)
                | Change::Join(_)
                | Change::Leave(_) => {}
            }
        }
    }

    /// What a fetch finds.
    fn check(&mut self) {
        self.apply();
        let mut seen = BTreeMap::new();
        for n in 0..METRICS {
            let spec = ware(&format!("series m{n}.count"));
            let column = self.store.define(SHOP, &spec).expect("room").column();
            let rows = self.instances.with_column(SERIAL, column);
            for (id, row) in rows.into_iter().flatten() {
                assert!(!row.gone() && self.instances.rows(SERIAL).expect("rows").contains_key(id));
                if let Some(value) = row.brought.get(column) {
                    seen.insert((row.key.to_string(), n), value);
                }
            }
        }
        let model: BTreeMap<_, _> =
            self.model.iter().map(|((p, r, n), v)| ((Self::key(*p, *r), *n), *v)).collect();
        assert_eq!(seen, model);
    }
}

/// Sessions number the same metrics differently.
const fn slot(metric: u32, peer: u32) -> u32 {
    (metric + peer) % METRICS
}

#[test]
fn the_view_of_fetches_is_that_of_the_store() {
    for seed in 0..20 {
        let (mut world, mut state) = (World::new(), seed * 7919 + 1);
        let mut random = |below: u32| {
            state = (u64::from(state) * 48_271 % 2_147_483_647) as u32;
            state % below
        };
        for _ in 0..1500 {
            let peer = if seed % 2 == 0 { random(2) } else { random(PEERS) };
            match random(100) {
                0..=2 => world.end(peer),
                3 => world.forget(),
                4..=14 => world.check(),
                15..=20 => world.apply(),
                _ => {
                    let (row, metric) = (random(ROWS), random(METRICS));
                    world.value(peer, row, metric, random(4), random(1000).into());
                }
            }
        }
        world.check();
        (0..PEERS).for_each(|peer| world.end(peer));
        world.forget();
        world.check();
        assert!(world.instances.columns.is_empty() && world.model.is_empty());
    }
}

/// Of services with one name the first source has it, whatever order they come in.
#[test]
fn services_of_two_sources_with_one_name() {
    let mut world = World::new();
    world.peer(1);
    world.apply();
    let rows = world.instances.rows(SERIAL).expect("rows");
    let row = Arc::clone(rows.values().next().expect("a row"));
    let (shop, toy) = ((2, SHOP, "shop"), (1, test_kit::TOY, "toy"));
    for order in [[shop, toy], [toy, shop]] {
        let mut instances = Instances::default();
        for (inst, source, protocol) in order {
            let row = Arc::clone(&row);
            instances.add_service(inst, super::Service { source, protocol, row });
        }
        let names = |instances: &Instances| -> Vec<String> {
            instances.service_names().map(|(_, name)| name.into_owned()).collect()
        };
        assert_eq!(names(&instances), [row.key.to_string(), format!("shop::{}", row.key)]);
        instances.remove_service(1);
        assert_eq!(names(&instances), [row.key.to_string()]);
    }
}
