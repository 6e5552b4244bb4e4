//! New metrics and the disk.

use std::io::Read;
use std::process::Command;

use super::*;
use crate::catalogue::testkit::{self, TOY};
use crate::model::{MetricSpec, Place, Semantics, Units, ValueType};
use crate::store::Limits;

fn world(name: &str) -> (std::path::PathBuf, Arc<Store>, PersistentIds) {
    let dir = std::env::temp_dir().join(format!("apm-ids-{}-{name}", std::process::id()));
    let store = Store::new(testkit::catalogue(), 400, Limits::default(), 1 << 20);
    let (ids, _) = PersistentIds::open(&dir, &store);
    (dir, store, ids)
}

fn metric(store: &Store, n: usize) -> Arc<DynamicMetric> {
    let key = format!("m{n}");
    let spec = MetricSpec {
        path: key.clone(),
        persist: key.clone(),
        key,
        place: Place::Sampled("counter"),
        ty: ValueType::U64,
        sem: Semantics::Counter,
        units: Units::Count,
        oneline: String::new(),
        help: String::new(),
        labels: vec![],
    };
    store.define(TOY, &spec).expect("room")
}

fn names(ids: &mut PersistentIds, later: Duration) -> Vec<String> {
    ids.ready(now().monotonic + later).iter().map(|metric| metric.spec.key.clone()).collect()
}

#[test]
fn a_metric_is_seen_when_the_file_has_it() {
    let (dir, store, mut ids) = world("disk");
    ids.add_metric(metric(&store, 0));
    assert!(names(&mut ids, Duration::ZERO).is_empty(), "nothing is written yet");
    ids.turn();
    assert_eq!(names(&mut ids, Duration::ZERO), ["m0"]);
    let file = std::fs::read_to_string(dir.join("apm.400.state")).expect("a file");
    assert!(file.contains("\"m0\""));

    // A disk that hangs: the next file is a pipe that nobody reads.
    let next = dir.join("apm.400.state.new");
    assert!(Command::new("mkfifo").arg(&next).status().expect("mkfifo").success());
    ids.add_metric(metric(&store, 1));
    ids.turn();
    ids.add_metric(metric(&store, 2));
    ids.turn();
    assert!(
        names(&mut ids, Duration::ZERO).is_empty(),
        "a client could see ids that a crash gives to others"
    );
    assert_eq!(names(&mut ids, HIDE + HIDE), ["m1", "m2"], "a disk may hang for ever");

    // It fails in the end, as a pipe cannot be synced; nothing is hidden any more.
    let mut pipe = File::open(&next).expect("a reader");
    pipe.read_to_end(&mut Vec::new()).expect("all of it");
    while !ids.failing {
        ids.turn();
    }
    ids.add_metric(metric(&store, 3));
    ids.turn();
    assert_eq!(names(&mut ids, Duration::ZERO), ["m3"]);
    drop(ids);
    std::fs::remove_dir_all(dir).expect("it is ours");
}

#[test]
fn one_that_saves_nothing_hides_nothing() {
    let (dir, store, _first) = world("second");
    let (mut ids, _) = PersistentIds::open(&dir, &store);
    assert!(ids.saver.is_none(), "the first has the lock");
    ids.add_metric(metric(&store, 0));
    ids.turn();
    assert_eq!(names(&mut ids, Duration::ZERO), ["m0"]);
    std::fs::remove_dir_all(dir).expect("it is ours");
}
