//! A connected agent is always an instance, whatever other agents connect, disconnect or are
//! evicted meanwhile: at `limits.instances`, with two workers and a sweep that runs all the time.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use pmdaapm::contract::Identity;
use pmdaapm::model::{Departure, Now, SourceId, Stamp};
use pmdaapm::store::{Change, Limits, RequestQueue, Stat, Store};

const ATTACHES: usize = 10_000;

/// The first source of the catalogue, whichever it is.
const SOURCE: SourceId = SourceId::new(0);

const fn now() -> Now {
    Now { monotonic: Duration::from_secs(100_000), wall: Stamp { sec: 1, nsec: 0 } }
}

/// Applies the changes as the PMDA thread does: `shown` has the instances.
fn follow(shown: &mut HashMap<String, usize>, changes: Vec<Change>) {
    for change in changes {
        match change {
            Change::Join(p) => assert_eq!(
                shown.insert(p.name.clone(), Arc::as_ptr(&p) as usize),
                None,
                "{} joins twice",
                p.name
            ),
            Change::Leave(p) => assert_eq!(
                shown.remove(&p.name),
                Some(Arc::as_ptr(&p) as usize),
                "{} leaves",
                p.name
            ),
            _ => {}
        }
    }
}

#[test]
fn nobody_connected_is_invisible() {
    let limits = Limits { instances: 64, forget: Duration::from_secs(60), ..Limits::default() };
    let store = Store::new(pmdaapm::sources::catalogue(), 400, limits, 1 << 20);
    let (invisible, refused, stop) =
        (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    let mut shown = HashMap::new();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..2)
            .map(|worker| {
                let (store, invisible, refused) = (&store, &invisible, &refused);
                scope.spawn(move || {
                    for n in 0..ATTACHES / 2 {
                        let requests = Arc::new(RequestQueue::new(|| ()));
                        // Every third agent returns under a name that the other worker uses too.
                        let name = if n % 3 == 0 {
                            format!("back:{}", n % 50)
                        } else {
                            format!("app:{worker}.{n}")
                        };
                        let id = Identity { name, resumes: true, ..Identity::default() };
                        let Some(peer) = store.attach(SOURCE, &id, &requests, now()) else {
                            refused.fetch_add(1, Ordering::Relaxed);
                            continue;
                        };
                        if !store.peers().iter().any(|p| Arc::ptr_eq(p, &peer)) {
                            invisible.fetch_add(1, Ordering::Relaxed);
                        }
                        store.detach(&peer, &requests, Departure::default(), now());
                    }
                })
            })
            .collect();
        let (sweeping, stop) = (&store, &stop);
        scope.spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                sweeping.sweep(now().monotonic);
                std::thread::yield_now();
            }
        });
        while workers.iter().any(|w| !w.is_finished()) {
            follow(&mut shown, store.take_changes());
        }
        stop.store(true, Ordering::Relaxed);
    });
    follow(&mut shown, store.take_changes());
    let known: HashMap<String, usize> =
        store.peers().iter().map(|p| (p.name.clone(), Arc::as_ptr(p) as usize)).collect();
    assert_eq!(invisible.into_inner(), 0, "connected and not known, of {ATTACHES}");
    assert_eq!(shown, known, "what the PMDA thread shows");
    assert_eq!(refused.into_inner() as u64, store.stats.get(Stat::InstancesRejected));
    assert!(known.len() <= 64, "{}", known.len());
    assert!(store.peers().iter().all(|p| !p.liveness.up()));
}
