//! Ids never change and are never given twice, whatever happens to processes, peers and the file.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;

use super::file::{parse, write_to};
use super::*;
use crate::catalogue::test_kit::{self, SHOP, STREAM, TOY};
use crate::contract::Identity;
use crate::model::{Departure, Now, Stamp};
use crate::store::{Change, Limits, Peer, RequestQueue, Store};

const HOUR: u64 = 3600;
const START: i64 = 1_700_000_000;

/// Both clocks at `sec` seconds after the start; the monotonic clock began at `boot` seconds.
fn at(sec: u64, boot: u64) -> Now {
    let wall = Stamp { sec: START + i64::try_from(sec).expect("small"), nsec: 0 };
    Now { monotonic: Duration::from_secs(sec - boot), wall }
}

/// A PMDA without libpcp: a store and a book.
struct Pmda {
    store: Arc<Store>,
    book: Book,
    boot: u64,
    live: HashMap<String, (Arc<Peer>, Arc<RequestQueue>)>,
}

impl Pmda {
    fn start(file: &[u8], limits: &Limits, sec: u64) -> (Self, Restored) {
        let store = Store::new(test_kit::catalogue(), 400, limits.clone(), 1 << 20);
        let (book, restored) = Book::restore(parse(file).expect("memory"), &store, at(sec, sec));
        store.initial_rows();
        let mut pmda = Self { store, book, boot: sec, live: HashMap::new() };
        pmda.apply(sec);
        (pmda, restored)
    }

    fn apply(&mut self, sec: u64) {
        let now = at(sec, self.boot);
        for change in self.store.take_changes() {
            match change {
                Change::Metric(metric) => self.book.add_metric(&metric),
                Change::Drop(metric) => self.book.drop_metric(&metric),
                Change::Again(metric) => self.book.add_metric(&metric),
                Change::Join(peer) => assert!(self.book.join_peer(&peer).is_some()),
                Change::Leave(peer) => drop(self.book.leave_peer(&peer, &self.store.limits(), now)),
                Change::JoinRow(source, table, row) => {
                    assert!(self.book.join_row(source, table, &row).is_some())
                }
                Change::LeaveRow(source, table, row) => {
                    self.book.leave_row(source, table, &row, now);
                }
                Change::RowHas(source, table, row, _) => {
                    assert!(self.book.row_id(source, table, &row).is_some());
                }
            }
        }
    }

    fn file(&mut self, sec: u64, clean: bool) -> Vec<u8> {
        let (mut bytes, snapshot) = (Vec::new(), self.book.snapshot(at(sec, self.boot), clean));
        write_to(&mut bytes, snapshot.records(), &snapshot.kept).expect("memory");
        self.book.is_saved(&snapshot.promises);
        bytes
    }

    fn attach(&mut self, name: &str, sec: u64) {
        let requests = Arc::new(RequestQueue::new(|| ()));
        let labels = vec![("pod", format!("label of {name}"))];
        let id = Identity {
            name: name.into(),
            peer: "here:1".into(),
            labels,
            resumes: true,
            ..Identity::default()
        };
        if !self.live.contains_key(name)
            && let Some(peer) = self.store.attach(TOY, &id, &requests, at(sec, self.boot))
        {
            self.live.insert(name.into(), (peer, requests));
        }
        self.apply(sec);
    }

    fn detach(&mut self, name: &str, sec: u64) {
        if let Some((peer, requests)) = self.live.remove(name) {
            let departure = Departure::lost("connection reset");
            self.store.detach(&peer, &requests, departure, at(sec, self.boot));
        }
    }

    fn define(&mut self, name: &str, sec: u64) {
        self.store.define(TOY, &test_kit::brought(name));
        self.apply(sec);
    }

    /// All ids: domain, id, name.
    fn ids(&mut self) -> Vec<(String, u32, String)> {
        let snapshot = self.book.snapshot(at(self.boot, self.boot), true);
        let mut ids = Vec::new();
        for record in snapshot.records() {
            match record {
                Record::Name { source, id, persist, .. } => {
                    ids.push((format!("{source} names"), id, persist))
                }
                Record::Peer { source, name, id, agent, .. } => {
                    ids.extend(agent.map(|agent| ("agent".to_owned(), agent, name.clone())));
                    ids.push((source, id, name));
                }
                Record::Row { table, key, id, .. } => ids.push((table, id, key)),
                _ => {}
            }
        }
        ids
    }

    fn shown(&self) -> Vec<String> {
        let mut names: Vec<String> = self.store.peers().iter().map(|p| p.name.clone()).collect();
        names.sort_unstable();
        names
    }
}

fn limits() -> Limits {
    Limits { instances: 4, names: 64, forget: Duration::from_secs(24 * HOUR), ..Limits::default() }
}

#[test]
fn ids_labels_and_addresses_survive_a_restart() {
    let (mut first, _) = Pmda::start(b"", &limits(), 0);
    for name in ["a:1", "b:1"] {
        first.attach(name, 1);
    }
    first.define("x", 1);
    first.detach("a:1", 2);
    let (before, file) = (first.ids(), first.file(3, false));
    let (mut second, restored) = Pmda::start(&file, &limits(), 100);
    let sorted = |mut ids: Vec<(String, u32, String)>| {
        ids.sort_unstable();
        ids
    };
    assert_eq!((sorted(second.ids()), restored.faults), (sorted(before), Vec::<String>::new()));
    assert_eq!(
        (second.shown(), restored.metrics.len()),
        (vec!["a:1".to_owned(), "b:1".to_owned()], 1)
    );
    let peer = second.store.peers().into_iter().find(|p| p.name == "a:1").expect("shown");
    assert_eq!(
        (peer.address(), peer.labels()),
        ("here:1".to_owned(), vec![("pod".into(), "label of a:1".to_owned())])
    );
    assert_eq!(restored.metrics[0].id, 0);
    // How each connection ended survives as well; b:1 was connected when the PMDA was killed.
    let (now, stale) = (at(230, 100).monotonic, Duration::from_secs(10));
    let state = |name: &str| {
        let peers = second.store.peers();
        let peer = peers.iter().find(|p| p.name == name).expect("shown");
        (peer.state(now, stale).into_owned(), peer.since().expect("known"))
    };
    let since = |sec| format!("{:.0}", at(sec, 0).wall);
    assert_eq!(state("a:1"), ("gone 3 min ago: connection reset".into(), since(2)));
    assert_eq!(state("b:1"), ("gone 2 min ago: the PMDA was restarted".into(), since(100)));
}

#[test]
fn forget_counts_from_the_time_of_leaving_over_restarts() {
    let (mut pmda, _) = Pmda::start(b"", &limits(), 0);
    for name in ["long:1", "gone:1"] {
        pmda.attach(name, 10);
    }
    pmda.detach("gone:1", 10 * HOUR);
    // `long:1` has been connected much longer than `forget`, `gone:1` disconnected for 23 h.
    let file = pmda.file(33 * HOUR, false);
    let (mut again, _) = Pmda::start(&file, &limits(), 33 * HOUR);
    assert_eq!(again.shown(), ["gone:1", "long:1"]);
    again.attach("long:1", 33 * HOUR);
    let ids = again.ids();
    again.store.sweep(at(34 * HOUR - 1, again.boot).monotonic);
    assert_eq!(again.shown(), ["gone:1", "long:1"]);
    again.store.sweep(at(34 * HOUR + 2, again.boot).monotonic);
    again.apply(34 * HOUR + 2);
    assert_eq!(again.shown(), ["long:1"]);
    // The peer stays forgotten over the next restart, and has its old id when it returns.
    let file = again.file(35 * HOUR, true);
    let (mut third, _) = Pmda::start(&file, &limits(), 59 * HOUR - 1);
    assert_eq!(third.shown(), ["long:1"]);
    third.attach("gone:1", 59 * HOUR);
    assert!(
        third.ids().iter().all(|id| ids.contains(id) || id.0.contains('/')),
        "{:?}",
        third.ids()
    );
    // After a clean end, the connected peers count as gone since then.
    let (fourth, _) = Pmda::start(&file, &limits(), 35 * HOUR + 24 * HOUR + 1);
    assert_eq!(fourth.shown(), Vec::<String>::new());
}

#[test]
fn a_clock_that_jumps_drops_nobody_live_and_keeps_nobody_for_ever() {
    let (mut pmda, _) = Pmda::start(b"", &limits(), 1000 * HOUR);
    for name in ["a:1", "b:1"] {
        pmda.attach(name, 1000 * HOUR);
    }
    pmda.detach("a:1", 1001 * HOUR);
    let file = pmda.file(1001 * HOUR, true);
    // The clock jumps 41 days back: both count as gone since now.
    let (mut back, _) = Pmda::start(&file, &limits(), HOUR);
    assert_eq!(back.shown(), ["a:1", "b:1"]);
    back.attach("b:1", HOUR);
    back.store.sweep(at(26 * HOUR, back.boot).monotonic);
    assert_eq!(back.shown(), ["b:1"]);
}

#[test]
fn limits_hold_on_the_way_back() {
    let wide = Limits { instances: 100, ..limits() };
    let (mut pmda, _) = Pmda::start(b"", &wide, 0);
    for n in 0..90u64 {
        pmda.attach(&format!("p:{n}"), n);
        pmda.detach(&format!("p:{n}"), n + 1);
    }
    let file = pmda.file(100, true);
    let (mut narrow, _) = Pmda::start(&file, &limits(), 100);
    assert_eq!(narrow.shown(), ["p:86", "p:87", "p:88", "p:89"], "those that left last");
    let known = narrow.ids().into_iter().filter(|(of, ..)| of == "toy").count();
    assert_eq!(known, 16, "four times limits.instances");
    narrow.attach("new:1", 101);
    assert!(
        narrow.ids().contains(&("toy".to_owned(), 90, "new:1".to_owned())),
        "above all that ever were"
    );
}

fn peer_record(source: &str, name: &str, id: u32, agent: u32) -> Record {
    Record::Peer {
        source: source.into(),
        name: name.into(),
        id,
        agent: Some(agent),
        left: None,
        forgotten: false,
        end: Ending::default(),
        address: String::new(),
        labels: std::collections::BTreeMap::new(),
    }
}

#[test]
fn what_contradicts_itself_is_refused() {
    let peer = |name, id, agent| peer_record("toy", name, id, agent);
    let name = |id, text: &str| Record::Name {
        source: "toy".into(),
        id,
        path: text.into(),
        persist: test_kit::persist(text),
        unseen: false,
    };
    let records = [
        peer("a", 1, 1),
        peer("b", 1, 2),
        peer("a", 3, 3),
        peer("c", 4, 1),
        peer("d", u32::MAX, 5),
    ];
    let names = [name(2, "x"), name(2, "y"), name(5, "x"), name(70_000, "z")];
    let all: Vec<u8> = records.iter().chain(&names).flat_map(|r| r.line().into_bytes()).collect();
    let (mut pmda, restored) = Pmda::start(&all, &limits(), 0);
    let ids: Vec<_> = pmda
        .ids()
        .into_iter()
        .filter(|(of, ..)| of == "toy")
        .map(|(_, id, name)| (id, name))
        .collect();
    assert_eq!(ids.len(), 2, "{ids:?}");
    assert!(ids.contains(&(1, "a".into())) && ids.contains(&(4, "c".into())));
    assert_eq!((restored.metrics.len(), restored.metrics[0].id), (1, 2));
    assert_eq!(restored.faults.len(), 6, "{:?}", restored.faults);
    pmda.define("w", 0);
    assert!(pmda.ids().iter().any(|(of, id, _)| of == "toy names" && *id == 6));
}

/// Found by the fuzz target state_file.
#[test]
fn an_id_among_all_agents_of_an_unknown_source_is_nobody_elses() {
    let peer = |name, agent| peer_record("of a later version", name, 7, agent);
    let all: Vec<u8> =
        [peer("a", 3), peer("b", 3)].iter().flat_map(|r| r.line().into_bytes()).collect();
    let (mut pmda, restored) = Pmda::start(&all, &limits(), 0);
    assert_eq!(restored.faults.len(), 0, "{:?}", restored.faults);
    pmda.attach("new", 0);
    let ids = pmda.ids();
    let agents: Vec<_> = ids.iter().filter(|(of, ..)| of == "agent").collect();
    assert!(matches!(agents[..], [(_, 4, _)]), "{agents:?}");
    // The first of two has it.
    let kept = parse(&pmda.file(1, true)[..]).expect("memory").records;
    let agents: Vec<_> = kept
        .iter()
        .filter_map(|r| match r {
            Record::Peer { source, agent, .. } if source == "of a later version" => Some(*agent),
            _ => None,
        })
        .collect();
    assert_eq!(agents, [Some(3), None]);
}

#[test]
fn names_that_no_client_has_seen_give_way_after_a_restart_and_their_ids_do_not() {
    let name = |id, text: &str, unseen| Record::Name {
        source: "toy".into(),
        id,
        path: text.into(),
        persist: test_kit::persist(text),
        unseen,
    };
    let records = [name(0, "seen", false), name(1, "junk", true), name(2, "more", true)];
    let file: Vec<u8> = records.iter().flat_map(|r| r.line().into_bytes()).collect();
    let small = Limits { names: 3, ..limits() };
    let (mut pmda, restored) = Pmda::start(&file, &small, 0);
    assert_eq!(restored.metrics.len(), 3);
    pmda.define("orders", 0);
    let named = |pmda: &mut Pmda| -> Vec<u32> {
        pmda.ids().into_iter().filter(|(of, ..)| of == "toy names").map(|(_, id, _)| id).collect()
    };
    assert_eq!(named(&mut pmda), [0, 3]);
    pmda.define("junk", 0);
    assert_eq!(named(&mut pmda), [0, 1, 3], "the same id as long as the PMDA runs");
    let file = pmda.file(1, true);
    let (mut pmda, _) = Pmda::start(&file, &Limits { names: 9, ..small }, 2);
    pmda.define("more", 2);
    assert_eq!(named(&mut pmda), [0, 1, 3, 4], "2 was another's");
}

#[derive(Clone, Debug)]
enum Step {
    Attach(u8),
    Detach(u8),
    Define(u8),
    Sweep,
    Row(u8),
    /// The process ends, cleanly or not, and starts again with a damaged file.
    Restart {
        clean: bool,
        damage: Damage,
    },
}

#[derive(Clone, Debug)]
enum Damage {
    None,
    Flip(usize),
    Cut(usize),
    Nuls(usize),
    Lose(usize),
    Twice(usize),
}

impl Damage {
    fn inflict(&self, file: &mut Vec<u8>) {
        let place = |n: usize, len: usize| n % len.max(1);
        let mut lines: Vec<Vec<u8>> =
            file.split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
        match *self {
            Self::None => {}
            Self::Flip(n) => {
                let at = place(n, file.len() * 8);
                file.iter_mut().skip(at / 8).take(1).for_each(|b| *b ^= 1 << (at % 8));
            }
            // The marks are the first lines; at least one copy of each must stay.
            Self::Cut(n) => file.truncate((file.len() / 2).max(2000).max(place(n, file.len()))),
            Self::Nuls(n) => {
                let at = place(n, file.len());
                file.iter_mut().skip(at).take(200).for_each(|b| *b = 0);
            }
            Self::Lose(n) if !lines.is_empty() => {
                lines.remove(n % lines.len());
                *file = lines.concat();
            }
            Self::Twice(n) if !lines.is_empty() => {
                let line = lines[n % lines.len()].clone();
                lines.push(line);
                *file = lines.concat();
            }
            _ => {}
        }
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let damage = prop_oneof![
        4 => Just(Damage::None),
        1 => any::<usize>().prop_map(Damage::Flip),
        1 => any::<usize>().prop_map(Damage::Cut),
        1 => any::<usize>().prop_map(Damage::Nuls),
        1 => any::<usize>().prop_map(Damage::Lose),
        1 => any::<usize>().prop_map(Damage::Twice),
    ];
    let step = prop_oneof![
        6 => (0u8..30).prop_map(Step::Attach),
        4 => (0u8..30).prop_map(Step::Detach),
        4 => (0u8..40).prop_map(Step::Define),
        2 => (0u8..40).prop_map(Step::Row),
        1 => Just(Step::Sweep),
        2 => (any::<bool>(), damage).prop_map(|(clean, damage)| Step::Restart { clean, damage }),
    ];
    prop::collection::vec(step, 1..120)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn ids_never_go_to_another(steps in steps()) {
        let (mut pmda, _) = Pmda::start(b"", &limits(), 0);
        let mut file = pmda.file(0, false);
        // The first holder of each id.
        let mut seen: HashMap<(String, u32), String> = HashMap::new();
        for (n, step) in steps.iter().enumerate() {
            let sec = 3 * HOUR * n as u64;
            match step {
                Step::Attach(n) => pmda.attach(&format!("p:{n}"), sec),
                Step::Detach(n) => pmda.detach(&format!("p:{n}"), sec),
                Step::Define(n) => {
                    pmda.define(&format!("m{n}"), sec);
                    // A name is in the file before any client sees it.
                    file = pmda.file(sec, false);
                }
                Step::Row(n) => {
                    pmda.store.row(SHOP, STREAM, None, Some(&format!("row {n}")));
                    pmda.apply(sec);
                }
                Step::Sweep => {
                    pmda.store.sweep(at(sec, pmda.boot).monotonic);
                    pmda.apply(sec);
                }
                Step::Restart { clean, damage } => {
                    if *clean {
                        file = pmda.file(sec, true);
                    }
                    damage.inflict(&mut file);
                    pmda = Pmda::start(&file, &limits(), sec).0;
                    prop_assert!(pmda.store.peers().len() <= 4);
                    file = pmda.file(sec, false);
                }
            }
            if pmda.book.is_ahead() {
                file = pmda.file(sec, false);
            }
            for (of, id, name) in pmda.ids() {
                let before = seen.entry((of.clone(), id)).or_insert_with(|| name.clone());
                prop_assert_eq!(&*before, &name, "{} {}", of, id);
            }
        }
        // Without damage all ids are as before; of instances, as many as the limits allow.
        let (before, file) = (pmda.ids(), pmda.file(1_000 * HOUR, true));
        let (mut last, _) = Pmda::start(&file, &limits(), 1_000 * HOUR);
        let after = last.ids();
        prop_assert!(after.iter().all(|id| before.contains(id)), "{:?} {:?}", before, after);
        let lost = before.iter().filter(|id| !after.contains(id)).count();
        prop_assert!(lost <= 2 * 4 && before.iter().all(|id| after.contains(id) || !id.0.contains(' ')), "{:?}", lost);
    }
}

#[test]
fn metrics_of_all_places_have_their_ids_and_names_again() {
    let (mut first, _) = Pmda::start(b"", &limits(), 0);
    let lines =
        ["gauge till.cash", "series till.cash", "field till.cash", "series till", "gauge x.count"];
    let define = |pmda: &mut Pmda| {
        let metrics =
            lines.map(|line| pmda.store.define(SHOP, &test_kit::ware(line)).expect("room"));
        pmda.apply(pmda.boot + 1);
        metrics.map(|m| (m.id, m.pmid, m.param, m.spec.clone()))
    };
    let before = define(&mut first);
    let paths = before.each_ref().map(|(_, _, _, spec)| spec.path.as_str());
    assert_eq!(paths, ["till.cash", "till.cash", "till.cash", "till_2", "x.count"]);
    let file = first.file(3, true);
    let (mut second, restored) = Pmda::start(&file, &limits(), 100);
    assert_eq!((restored.metrics.len(), restored.faults), (lines.len(), Vec::<String>::new()));
    assert_eq!(define(&mut second), before);
}
