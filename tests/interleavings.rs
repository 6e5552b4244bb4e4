//! Peers attach, detach, return, are evicted and swept, in orders that shuttle chooses: a connected
//! peer is always known to the store, and the PMDA thread gets the same changes.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use pmdaapm::contract::Identity;
use pmdaapm::model::{Departure, Now, SourceId, Stamp};
use pmdaapm::store::{Change, Limits, Peer, RequestQueue, Stat, Store};
use shuttle::thread;

/// Orders that are tried.
const RUNS: usize = 1_500;

/// The first source of the catalogue, whichever it is.
const SOURCE: SourceId = SourceId::new(0);

const fn at(sec: u64) -> Now {
    Now { monotonic: Duration::from_secs(sec), wall: Stamp { sec: 1, nsec: 0 } }
}

fn is_known(store: &Store, peer: &Arc<Peer>) -> bool {
    store.peers().iter().any(|p| Arc::ptr_eq(p, peer))
}

/// Attaches a peer, checks that it is known while it is connected, and detaches it. `false`: the
/// peer was refused.
fn visit(store: &Store, name: &str, now: u64) -> bool {
    let requests = Arc::new(RequestQueue::new(|| ()));
    let id = Identity { name: name.into(), resumes: true, ..Identity::default() };
    let Some(peer) = store.attach(SOURCE, &id, &requests, at(now)) else { return false };
    assert!(is_known(store, &peer), "{name} is connected and not known");
    thread::yield_now();
    assert!(is_known(store, &peer) && peer.liveness.up(), "{name} is still connected");
    store.detach(&peer, &requests, Departure::default(), at(now + 1));
    true
}

/// Checks that the changes, applied in their order, give the peers that the store knows.
fn agrees(store: &Store, shown: &mut HashMap<String, *const Peer>) {
    for change in store.take_changes() {
        match change {
            Change::Join(p) => assert_eq!(shown.insert(p.name.clone(), Arc::as_ptr(&p)), None),
            Change::Leave(p) => assert_eq!(shown.remove(&p.name), Some(Arc::as_ptr(&p))),
            _ => {}
        }
    }
}

fn scene() {
    let store = Store::new(
        pmdaapm::sources::catalogue(),
        400,
        Limits { instances: 2, forget: Duration::from_secs(50), ..Limits::default() },
        1 << 20,
    );
    for name in ["old:1", "old:2"] {
        assert!(visit(&store, name, 1));
    }
    let worker = |names: [&'static str; 2], now: u64| {
        let store = Arc::clone(&store);
        thread::spawn(move || names.into_iter().filter(|name| !visit(&store, name, now)).count())
    };
    // One peer returns, two are new, all at the limit; a sweep drops those that left long ago.
    let workers = [
        worker(["old:1", "new:a"], 100),
        worker(["new:b", "old:1"], 101),
        worker(["new:c", "old:2"], 102),
    ];
    let sweeping = Arc::clone(&store);
    let sweeper =
        thread::spawn(move || (100..103).for_each(|now| sweeping.sweep(Duration::from_secs(now))));
    let mut shown = HashMap::new();
    agrees(&store, &mut shown);
    let refused: usize = workers.into_iter().map(|w| w.join().unwrap()).sum();
    sweeper.join().unwrap();
    agrees(&store, &mut shown);
    let known: HashMap<String, *const Peer> =
        store.peers().iter().map(|p| (p.name.clone(), Arc::as_ptr(p))).collect();
    assert_eq!(shown, known);
    assert!(known.len() <= 2 && store.peers().iter().all(|p| !p.liveness.up()));
    assert_eq!(store.stats.get(Stat::InstancesRejected), refused as u64);
    assert_eq!(store.stats.get(Stat::InstancesRegistered), known.len() as u64);
}

#[test]
fn a_connected_peer_is_known_in_every_order() {
    assert!(pmdaapm::sources::catalogue().sources().len() > 1);
    shuttle::check_random(scene, RUNS);
    shuttle::check_pct(scene, RUNS, 3);
}
