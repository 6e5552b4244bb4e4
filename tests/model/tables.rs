//! Each table of each source that shows the largest, against an exact model of all keys: who adds most now has a row,
//! each addition is in one row, no counter that is shown falls, and the rest does not jump. 10^7 additions and 30
//! simulated days in an optimised build, as in qa/check --all.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pmdaapm::catalogue::{OTHER, TableDef};
use pmdaapm::contract::{Identity, Peer};
use pmdaapm::model::{InDom, Now, Semantics, SourceId};
use pmdaapm::store::{Change, Limits, RequestQueue, Row, Store};

use super::random::Random;

/// Additions to each table, and to a shared one and one of peers: there is one algorithm.
const ADDITIONS: usize = if cfg!(debug_assertions) { 4_000 } else { 50_000 };
const MOST: usize = if cfg!(debug_assertions) { ADDITIONS } else { 10_000_000 };
const LONG: [&str; 2] = ["zorka statement", "mono lock"];
/// Simulated ms between two additions: 10^7 take 30 days.
const STEP: usize = 259;
/// What is heavy changes after so many additions.
const ERA: usize = if cfg!(debug_assertions) { 2_000 } else { 25_000 };
/// Score of an older addition: half.
const HALF_LIFE: f64 = 600.0;
/// Counters of a key without a row are kept for an hour, of so many keys.
const KEPT: (f64, usize) = (3590.0, 1024);
/// A key with so many times the score of the last one that there is room for has a row, if it has more than one addition
/// of a light key brings: where there is room for more than add in some half-lives, others are chance.
const MORE: f64 = 3.0;
/// Most that is added at once by light keys, and by heavy ones.
const LIGHT: usize = 20;
const HEAVY: usize = 200;
const PEERS: [&str; 2] = ["a:1", "b:2"];

/// What is true of a key.
#[derive(Clone, Copy, Debug, Default)]
struct Truth {
    score: f64,
    at: f64,
    /// The value of its row, when it had one last.
    value: u64,
    /// When it lost its row, and how many had by then.
    left: Option<(f64, usize)>,
}

impl Truth {
    fn score(&self, now: f64) -> f64 {
        self.score * ((self.at - now) / HALF_LIFE).exp2()
    }
}

/// A table, as clients see it.
struct World {
    store: Arc<Store>,
    peers: Vec<Peer>,
    def: TableDef,
    rows: HashMap<Arc<str>, Arc<Row>>,
}

impl World {
    fn new(source: SourceId, def: TableDef) -> Self {
        let store = Store::new(pmdaapm::sources::catalogue(), 400, Limits::default(), 1 << 20);
        let peer = |name: &&str| {
            let mut peer = store.peer_of(source, &Arc::new(RequestQueue::new(|| ())));
            peer.is(Identity { name: (*name).into(), resumes: true, ..Identity::default() });
            peer
        };
        let peers = PEERS.iter().map(peer).collect();
        Self { store, peers, def, rows: HashMap::new() }
    }

    /// A peer counts; returns the rows that have lost their places.
    fn add(
        &mut self,
        peer: usize,
        key: usize,
        name: &str,
        more: u64,
        now: Duration,
    ) -> Vec<Arc<Row>> {
        let def = self.def;
        let counting = &mut self.peers[peer];
        counting.set_now(Now { monotonic: now, ..Now::default() });
        counting.count_row(&[def.score], key as u64, [more], |row| match def.of_peer {
            true => row.of_process(PEERS[peer], "key", &format!("k{key}")),
            false => row.named(name, &[]),
        });
        counting.flush();
        let mut left = Vec::new();
        for change in self.store.take_changes() {
            match change {
                Change::JoinRow(_, table, row) if table == def.score.table() => {
                    let before = self.rows.insert(Arc::clone(&row.key), row);
                    assert!(before.is_none_or(|row| row.gone()), "it joins twice");
                }
                Change::LeaveRow(_, table, row) if table == def.score.table() => {
                    if self.rows.get(&row.key).is_some_and(|known| Arc::ptr_eq(known, &row)) {
                        self.rows.remove(&row.key);
                    }
                    left.push(row);
                }
                _ => {}
            }
        }
        left
    }

    fn value(&self, key: &str) -> Option<u64> {
        self.rows.get(key).and_then(|row| row.cells.get(self.def.score.get()))
    }
}

/// Keys that share a number of rows: of one peer, or of all.
struct Group {
    names: Vec<String>,
    rest: String,
    truth: Vec<Truth>,
    by_name: HashMap<String, usize>,
}

impl Group {
    fn new(prefix: &str, keys: usize) -> Self {
        let names: Vec<String> = (0..keys).map(|key| format!("{prefix}k{key}")).collect();
        let by_name = names.iter().cloned().zip(0..).collect();
        Self {
            names,
            rest: format!("{prefix}{OTHER}"),
            truth: vec![Truth::default(); keys],
            by_name,
        }
    }
}

fn model(source: SourceId, name: &str, def: TableDef) {
    let most = if def.of_peer { def.per_peer } else { def.max };
    let keys = 8 * most.max(20);
    let mut random = Random(9);
    let mut world = World::new(source, def);
    let mut groups: Vec<Group> = match def.of_peer {
        true => PEERS.iter().map(|peer| Group::new(&format!("{peer}::"), keys)).collect(),
        false => vec![Group::new("", keys)],
    };
    let (mut leaves, mut swept) = (0, 0);
    for n in 0..if LONG.contains(&name) { MOST } else { ADDITIONS } {
        let ms = n * STEP;
        let (time, now) = (Duration::from_millis(ms as u64), ms as f64 / 1000.0);
        if ms / 5000 != swept {
            swept = ms / 5000;
            world.store.sweep(time);
        }
        // A tenth of the additions are of ten keys that are heavy in this era.
        let heavy = random.index(10) == 0;
        let key = match heavy {
            true => (n / ERA * 10 + random.index(10)) % keys,
            false => random.index(keys),
        };
        let more = 1 + random.index(if heavy { HEAVY } else { LIGHT }) as u64;
        let peer = random.index(PEERS.len());
        let group = if def.of_peer { peer } else { 0 };
        let of = &groups[group];
        let rest = world.value(&of.rest).unwrap_or_default();
        let left = world.add(peer, key, &of.names[key], more, time);
        let Group { names, rest: rest_name, truth, by_name } = &mut groups[group];
        let now_rest = world.value(rest_name).unwrap_or_default();
        for row in left {
            leaves += 1;
            let of = &mut truth[by_name[&*row.key]];
            assert_eq!(row.cells.get(def.score.get()), Some(of.value), "{name}: {}", row.key);
            of.left = Some((now, leaves));
        }
        let of = &mut truth[key];
        *of = Truth { score: of.score(now) + more as f64, at: now, ..*of };
        // It is in one row: its own, or that of the rest.
        if now_rest > rest {
            assert_eq!(now_rest, rest + more, "{name}: the rest jumps");
        } else {
            let value = world.value(&names[key]).expect("it has a row");
            let forgotten = |(at, number)| now - at > KEPT.0 || leaves - number >= KEPT.1;
            if value == more && of.left.is_some_and(forgotten) {
                of.value = 0;
            }
            assert_eq!(value, of.value + more, "{name}: {} {of:?} at {now}", names[key]);
            (of.value, of.left) = (value, None);
        }
        if n % ERA == ERA - 1 {
            let scores: Vec<f64> = truth.iter().map(|of| of.score(now)).collect();
            let mut sorted = scores.clone();
            sorted.sort_unstable_by(f64::total_cmp);
            let enough = (MORE * sorted[keys - most]).max(LIGHT as f64);
            for (name_of, score) in names.iter().zip(scores).filter(|(_, score)| *score > enough) {
                let shown = world.value(name_of).is_some();
                assert!(shown, "{name}: {name_of} has {score}, {enough} is enough");
            }
        }
    }
}

#[test]
fn whoever_adds_most_now_has_a_row() {
    let catalogue = pmdaapm::sources::catalogue();
    let tables: Vec<(SourceId, String, TableDef)> = catalogue
        .sources()
        .flat_map(|(id, source)| {
            let counts = |def: &TableDef| {
                source.row_metrics.iter().any(|metric| {
                    metric.item == def.score.get()
                        && metric.indom == InDom::Table(def.score.table())
                        && metric.sem == Semantics::Counter
                })
            };
            // Rows that always exist are all that there are. Values are set for a list of rows that is shown whole.
            let limited = move |def: &&TableDef| (!def.of_peer || def.per_peer > 0) && counts(def);
            let tables =
                source.tables.iter().filter(limited).filter(|def| (def.initial)().is_empty());
            tables.map(move |def| (id, format!("{} {}", source.name, def.name), *def))
        })
        .collect();
    assert!(LONG.iter().all(|long| tables.iter().any(|(_, name, _)| name == long)), "{tables:?}");
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some((source, name, def)) =
                    tables.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    model(*source, name, *def);
                    done.lock().unwrap().push(name.as_str());
                }
            });
        }
    });
    assert_eq!(done.into_inner().unwrap().len(), tables.len());
}
