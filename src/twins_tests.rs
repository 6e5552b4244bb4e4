use super::*;
use crate::catalogue::test_kit::table;
use crate::catalogue::{
    Catalogue, InDomDef, RollUp, ServiceOf, ServiceSum, Services, SourceTable, TableDef,
};
use crate::contract::{self, Identity, Service};
use crate::model::{Departure, Now, RowItem, SourceId, TableId, Value};
use crate::store::{Limits, RequestQueue};
use crate::{listed, peer_metrics, row_metrics};

const BARN: SourceId = SourceId::new(0);
const HERD: SourceId = SourceId::new(1);

peer_metrics! {
    EGGS 0 "eggs" U64 Counter Count Cell "Eggs" "Of a hen.";
    REST 1 "rest" U64 Counter Nanoseconds Cell "Rests" "Of a barn.";
}

listed! {
    /// Tables.
    TABLES: TableDef as TableId;
    FLOCKS = table("flock", 132, 20, FLOCK_EGGS);
}

row_metrics! {
    FLOCK_EGGS FLOCKS 0 "flock.eggs" U64 Counter Count "Eggs" "Of a flock.";
    FLOCK_ALONE FLOCKS 1 "flock.alone" U64 Counter Count "Eggs" "Of hens alone.";
}

const SERVICE: Services = Services {
    table: FLOCKS,
    of_peer: ServiceOf::Label("flock"),
    leaves: &[],
    sums: &[ServiceSum::Of(EGGS, FLOCK_EGGS), ServiceSum::Alone(EGGS, FLOCK_ALONE)],
    rows: &[],
};

fn store() -> Arc<Store> {
    let peers = |serial| InDomDef { serial, oneline: "Peers", help: "Of a source." };
    let barn = SourceTable {
        metrics: METRICS,
        runtime: &[RollUp { leaf: Leaf::PauseTime, parts: &[Part::Metrics(&[REST])] }],
        ..SourceTable::new("barn", 64, peers(1))
    };
    let herd = SourceTable {
        metrics: METRICS,
        row_metrics: ROW_METRICS,
        tables: TABLES,
        service: Some(SERVICE),
        agents_of: Some("barn"),
        ..SourceTable::new("herd", 128, peers(2))
    };
    let catalogue = Arc::new(Catalogue::new(&[barn, herd]).expect("sound"));
    Store::new(catalogue, 400, Limits::default(), 1 << 20)
}

/// The host: agents by the ports of their ends, and the processes that have these.
struct World {
    store: Arc<Store>,
    twins: Twins,
    now: Duration,
    sockets: HashMap<u16, Process>,
    /// Processes that were asked for.
    asked: usize,
}

impl World {
    fn new() -> Self {
        let store = store();
        let twins = Twins::new(Arc::clone(&store));
        let mut world =
            Self { store, twins, now: Duration::ZERO, sockets: HashMap::new(), asked: 0 };
        world.second();
        world
    }

    fn second(&mut self) {
        self.now += Duration::from_secs(1);
        let asked = self.twins.tick(self.now, true);
        self.asked += asked.among.len() * usize::from(!asked.agents.is_empty());
        let owner = |ends: &Ends| self.sockets.get(&ends.0.port());
        let owner = |ends| owner(ends).filter(|process| asked.among.contains(process)).copied();
        let owners: Vec<_> = asked.connections.iter().map(owner).collect();
        self.twins.answer(&asked, &owners, self.now);
    }

    fn seconds(&mut self, n: u32) {
        (0..n).for_each(|_| self.second());
    }

    fn peer(&self, source: SourceId) -> contract::Peer {
        let mut peer = self.store.peer_of(source, &Arc::new(RequestQueue::new(|| ())));
        peer.set_now(Now { monotonic: self.now, ..Now::default() });
        peer
    }

    /// A process that is read.
    fn barn(&self, name: &str, (pid, start): Process) -> contract::Peer {
        let mut barn = self.peer(BARN);
        let process = Some(format!("{pid}@{start}"));
        barn.is(Identity { name: name.into(), process, resumes: true, ..Identity::default() });
        barn.set(REST, Value::U64(7));
        barn.flush();
        barn
    }

    /// An agent that connects from a port.
    fn hen(&self, name: &str, port: u16) -> contract::Peer {
        let mut hen = self.peer(HERD);
        let service = Service { name: "red".into(), is_new: true, ..Service::default() };
        let ends = Some(Box::new((([127, 0, 0, 1], port).into(), ([127, 0, 0, 1], 7777).into())));
        hen.is(Identity {
            name: name.into(),
            service: Some(service),
            ends,
            resumes: true,
            ..Identity::default()
        });
        hen
    }

    /// The hen lays, which is delivered at once.
    fn eggs(&self, hen: &mut contract::Peer, more: u64) {
        hen.add(EGGS, more);
        hen.set_now(Now { monotonic: self.now + Duration::from_millis(500), ..Now::default() });
        hen.flush();
    }

    fn links(&self, source: SourceId, name: &str) -> Vec<String> {
        let peers = self.store.peers().into_iter();
        let mut found = peers.filter(|peer| (peer.source, &*peer.name) == (source, name));
        let labels = found.next().expect("an instance").labels();
        labels.into_iter().map(|(name, value)| format!("{name}={value}")).collect()
    }

    /// All eggs of the flock, and those of hens alone.
    fn sums(&self) -> [u64; 2] {
        [FLOCK_EGGS, FLOCK_ALONE].map(|item: RowItem| {
            let row = self.store.row(HERD, FLOCKS, None, Some("red")).expect("a flock");
            row.cells.get(item.get()).unwrap_or_default()
        })
    }
}

#[test]
fn an_agent_and_its_process_point_at_each_other_and_count_once() {
    let mut world = World::new();
    let _barn = world.barn("barn:5", (5, 50));
    let _other = world.barn("barn:6", (6, 60));
    world.seconds(10);
    world.sockets.insert(4000, (5, 50));
    let mut hen = world.hen("hen", 4000);
    world.eggs(&mut hen, 3);
    assert_eq!(world.sums(), [3, 0], "whether it counts alone is not known yet");
    world.second();
    world.eggs(&mut hen, 2);
    assert_eq!((world.sums(), world.asked), ([5, 0], 2));
    assert_eq!(world.links(HERD, "hen"), ["barn=barn:5"]);
    assert_eq!(world.links(BARN, "barn:5"), ["herd=hen"]);
    assert_eq!(world.links(BARN, "barn:6"), [""; 0]);
    world.seconds(30);
    world.eggs(&mut hen, 1);
    assert_eq!((world.sums(), world.asked), ([6, 0], 2), "it is found once");
}

#[test]
fn a_process_is_found_after_its_agent_has_connected() {
    let mut world = World::new();
    world.sockets.insert(4000, (5, 50));
    let mut hen = world.hen("hen", 4000);
    world.eggs(&mut hen, 3);
    world.seconds(3);
    let mut barn = world.peer(BARN);
    let process = Some("5@50".to_owned());
    barn.is(Identity { name: "barn:5".into(), process, ..Identity::default() });
    world.second();
    assert_eq!(world.links(HERD, "hen"), ["barn=barn:5"]);
    assert_eq!(world.sums(), [3, 0], "it has no values yet");
    barn.set(REST, Value::U64(0));
    barn.flush();
    world.second();
    world.eggs(&mut hen, 2);
    world.seconds(10);
    assert_eq!(world.sums(), [5, 0]);
}

#[test]
fn agents_of_other_hosts_and_of_processes_that_are_not_read_count_alone() {
    let mut world = World::new();
    let (mut far, mut unread) = (world.hen("far", 4000), world.hen("unread", 4001));
    world.sockets.insert(4001, (6, 60));
    let mut barn = world.peer(BARN);
    let process = Some("6@60".to_owned());
    barn.is(Identity { name: "barn:6".into(), process, ..Identity::default() });
    world.eggs(&mut far, 3);
    world.eggs(&mut unread, 4);
    world.seconds(12);
    world.eggs(&mut far, 1);
    assert_eq!(world.sums(), [8, 0]);
    world.second();
    world.eggs(&mut far, 1);
    world.eggs(&mut unread, 1);
    assert_eq!(world.sums(), [10, 10], "nothing is lost by waiting");
    assert_eq!(world.links(HERD, "unread"), ["barn=barn:6"]);
    // It can be read from now on.
    barn.set(REST, Value::U64(0));
    barn.flush();
    world.second();
    world.eggs(&mut far, 1);
    world.eggs(&mut unread, 1);
    assert_eq!(world.sums(), [12, 11]);
    // A process that comes much later, and has the other's connection all the same.
    let _late = world.barn("barn:7", (7, 70));
    world.sockets.insert(4000, (7, 70));
    world.second();
    world.eggs(&mut far, 1);
    assert_eq!((world.sums(), world.links(HERD, "far")), ([13, 11], vec!["barn=barn:7".into()]));
}

#[test]
fn what_an_agent_counts_before_it_is_known_is_not_lost_with_it() {
    let mut world = World::new();
    let mut hen = world.hen("hen", 4000);
    world.eggs(&mut hen, 3);
    hen.end(Departure::default());
    world.second();
    assert_eq!(world.sums(), [3, 3]);
}

#[test]
fn an_agent_that_connects_again_is_looked_for_again() {
    let mut world = World::new();
    let _barn = world.barn("barn:5", (5, 50));
    world.sockets.insert(4000, (5, 50));
    let mut hen = world.hen("hen", 4000);
    world.second();
    world.eggs(&mut hen, 1);
    hen.end(Departure::default());
    world.seconds(20);
    assert_eq!(world.links(BARN, "barn:5"), ["herd=hen"], "it is the last that is known");
    world.sockets.insert(4001, (5, 50));
    let mut hen = world.hen("hen", 4001);
    assert_eq!(world.links(HERD, "hen"), ["barn=barn:5"], "the label stays meanwhile");
    world.eggs(&mut hen, 1);
    world.second();
    world.eggs(&mut hen, 1);
    assert_eq!((world.sums(), world.links(HERD, "hen")), ([3, 0], vec!["barn=barn:5".into()]));
    // From elsewhere: it is not of the process any more.
    hen.end(Departure::default());
    let mut hen = world.hen("hen", 4002);
    world.eggs(&mut hen, 1);
    world.seconds(14);
    world.eggs(&mut hen, 1);
    assert_eq!(world.sums(), [5, 2]);
    assert_eq!([world.links(HERD, "hen"), world.links(BARN, "barn:5")], [[""; 0], [""; 0]]);
}

#[test]
fn a_process_that_is_not_there_any_more_counts_for_a_while() {
    let mut world = World::new();
    let mut barn = world.barn("barn:5", (5, 50));
    world.sockets.insert(4000, (5, 50));
    let mut hen = world.hen("hen", 4000);
    world.second();
    barn.end(Departure::default());
    world.second();
    world.eggs(&mut hen, 1);
    assert_eq!(world.sums(), [1, 0], "its last values had this");
    world.seconds(12);
    world.eggs(&mut hen, 1);
    assert_eq!(world.sums(), [2, 1]);
    assert_eq!(world.links(HERD, "hen"), ["barn=barn:5"], "both are shown as gone, or this one");
    // It has got another name.
    let _barn = world.barn("shop:5", (5, 50));
    world.second();
    world.eggs(&mut hen, 1);
    assert_eq!((world.sums(), world.links(HERD, "hen")), ([3, 1], vec!["barn=shop:5".into()]));
    assert_eq!(world.links(BARN, "barn:5"), [""; 0]);
    assert_eq!(world.links(BARN, "shop:5"), ["herd=hen"]);
}

#[test]
fn another_program_with_the_same_id_is_another_process() {
    let mut world = World::new();
    let mut barn = world.barn("barn:5", (5, 50));
    world.sockets.insert(4000, (5, 50));
    let mut hen = world.hen("hen", 4000);
    world.second();
    hen.end(Departure::default());
    barn.end(Departure::default());
    world.second();
    assert_eq!(world.links(BARN, "barn:5"), ["herd=hen"], "what has gone stays as it was");
    let _barn = world.barn("barn:5", (5, 90));
    assert_eq!(world.links(BARN, "barn:5"), [""; 0]);
    world.second();
    assert_eq!(world.links(HERD, "hen"), [""; 0], "that is not its process");
    // The same process executes another program, which closes the connection.
    world.sockets.insert(4001, (5, 90));
    let mut hen = world.hen("hen", 4001);
    world.second();
    assert_eq!(world.links(HERD, "hen"), ["barn=barn:5"]);
    hen.end(Departure::default());
    let _shop = world.barn("shop:5", (5, 90));
    world.seconds(2);
    assert_eq!(world.links(BARN, "shop:5"), [""; 0]);
}

#[test]
fn a_process_with_several_agents_of_a_source_passes_on_those_of_others() {
    let mut world = World::new();
    let _barn = world.barn("barn:5", (5, 50));
    world.sockets.extend([4000, 4001].map(|port| (port, (5, 50))));
    let mut one = world.hen("one", 4000);
    world.second();
    assert_eq!(world.links(HERD, "one"), ["barn=barn:5"], "one is its agent");
    let mut other = world.hen("other", 4001);
    world.seconds(2);
    for hen in [&mut one, &mut other] {
        world.eggs(hen, 2);
    }
    assert_eq!(world.sums(), [4, 4], "each counts for itself");
    let links = |world: &World| {
        [(HERD, "one"), (HERD, "other"), (BARN, "barn:5")]
            .map(|(source, name)| world.links(source, name))
    };
    assert_eq!(links(&world), [[""; 0]; 3]);
    other.end(Departure::default());
    let _third = world.hen("third", 4001);
    world.seconds(30);
    assert_eq!(world.links(HERD, "third"), [""; 0], "it is known for a while");
    world.seconds(601);
    assert_eq!(links(&world), [[""; 0]; 3], "and found to be one again");
    one.end(Departure::default());
    world.seconds(601);
    assert_eq!(world.links(HERD, "third"), ["barn=barn:5"], "the only one is its agent");
}

#[test]
fn an_agent_that_connects_from_a_process_again_is_one() {
    let mut world = World::new();
    let _barn = world.barn("barn:5", (5, 50));
    world.sockets.extend([4000, 4001].map(|port| (port, (5, 50))));
    let mut hen = world.hen("hen", 4000);
    world.second();
    hen.end(Departure::default());
    let _hen = world.hen("hen#2", 4001);
    world.seconds(2);
    assert_eq!(world.links(HERD, "hen#2"), ["barn=barn:5"]);
    assert_eq!(world.links(BARN, "barn:5"), ["herd=hen#2"]);
}
