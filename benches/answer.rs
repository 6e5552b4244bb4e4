//! Answers to fetches without pmcd: `cargo bench --bench answer`. The values of simulated Mono
//! processes, from `qa/corpus/mono`.

use std::sync::Arc;

use bytes::BytesMut;
use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use pmda::{ContextId, Trial};
use pmdaapm::callbacks::Callbacks;
use pmdaapm::catalogue::DYNAMIC_CLUSTER;
use pmdaapm::contract::{Peer, Session};
use pmdaapm::model::{Allow, Now, Pmid, Rights, Stamp};
use pmdaapm::sources::mono;
use pmdaapm::store::{Limits, RequestQueue, Store};
use test_kit::catalogue;

mod mono_kit;

use mono_kit::{CAPTURE, session};

const DOMAIN: u32 = 400;
/// Item of `table` of a kind of event records, whose cluster follows the source's first.
const TABLE: u16 = 7;
const CLIENT: ContextId = ContextId(1);

fn main() {
    divan::main();
}

/// The PMDA with connected processes.
struct Fleet {
    trial: Trial<Callbacks>,
    /// They are connected as long as these live.
    _peers: Vec<(mono::Inspector, Peer)>,
}

fn fleet(processes: usize) -> Fleet {
    let limits = Limits { instances: 2 * processes, ..Limits::default() };
    let store = Store::new(catalogue(), DOMAIN, limits, 32 << 20);
    let requests = Arc::new(RequestQueue::new(|| ()));
    let peers = (0..processes).map(|n| connect(n, &store, &requests)).collect();
    // Instance numbers are kept in a folder, which a bench does not need any more.
    let dir = std::env::temp_dir().join(format!("apm-answer-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a folder");
    let built = Trial::new(DOMAIN, |tables| Callbacks::new(Arc::clone(&store), &dir, tables));
    let mut trial = built.expect("an agent");
    let everyone = Allow { remote: true, ..Allow::default() };
    let events = vec![everyone; catalogue().sources().len()];
    trial.handler().set_rights(&Rights { events, ..Rights::default() });
    trial.update();
    std::fs::remove_dir_all(&dir).expect("the folder is ours");
    Fleet { trial, _peers: peers }
}

/// Connects process number `n`, which sends all of the capture.
fn connect(n: usize, store: &Arc<Store>, requests: &Arc<RequestQueue>) -> (mono::Inspector, Peer) {
    let mut session = session(n);
    let mut peer = store.peer_of(catalogue().id("mono").expect("built in"), requests);
    let (mut input, mut out) = (BytesMut::from(CAPTURE), BytesMut::new());
    let now = Now { wall: Stamp { sec: 1_795_000_000, nsec: 0 }, ..Now::default() };
    session.feed(now, &mut input, &mut out, &mut peer).expect("the capture is good");
    peer.flush();
    (session, peer)
}

fn pmid(cluster: u16, item: u16) -> Pmid {
    let source = catalogue().id("mono").and_then(|id| catalogue().source(id).map(|s| s.cluster));
    Pmid::new(DOMAIN, source.expect("built in") + cluster, item)
}

impl Fleet {
    /// The counters that have a value for each process.
    fn counters(&mut self, processes: usize) -> Vec<Pmid> {
        let mut found: Vec<Pmid> = (0..1024).map(|item| pmid(DYNAMIC_CLUSTER, item)).collect();
        found.retain(|pmid| self.trial.fetch(CLIENT, &[*pmid]) == [Ok(processes)]);
        assert!(found.len() > 100, "{}", found.len());
        found
    }

    fn read(&mut self, metrics: &[Pmid]) {
        let answer = black_box(self.trial.fetch(CLIENT, metrics));
        assert!(answer.iter().all(Result::is_ok), "no metric is refused");
    }
}

/// All counters of all processes in one fetch: a client that reads the whole tree. An item is a
/// value.
#[divan::bench(args = [50, 200], sample_size = 1)]
fn tree(bencher: Bencher<'_, '_>, processes: usize) {
    let mut fleet = fleet(processes);
    let counters = fleet.counters(processes);
    bencher
        .counter(ItemsCount::new(counters.len() * processes))
        .bench_local(|| fleet.read(&counters));
}

/// The table of event records of all processes, without a new record. An item is a table.
#[divan::bench(args = [50, 200], sample_size = 1)]
fn tables(bencher: Bencher<'_, '_>, processes: usize) {
    let mut fleet = fleet(processes);
    let table = [pmid(1, TABLE)];
    // Below valgrind not all texts are made within the time limit of one fetch.
    let made = (0..100).any(|_| fleet.trial.fetch(CLIENT, &table) == [Ok(processes)]);
    assert!(made, "each process has a table");
    bencher.counter(ItemsCount::new(processes)).bench_local(|| fleet.read(&table));
}
