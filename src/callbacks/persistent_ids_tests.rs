//! New metrics and the disk.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use pmda::process::create_private;

use super::*;
use crate::catalogue::test_kit::{self, TOY};
use crate::model::{MetricSpec, Place, Semantics, Units, ValueType};
use crate::store::Limits;

fn world(name: &str) -> (std::path::PathBuf, Arc<Store>, PersistentIds) {
    // A pipe in the place of the next file is waited for: a disk that hangs.
    world_with(name, |path| OpenOptions::new().write(true).create(true).truncate(true).open(path))
}

fn world_with(name: &str, create: Create) -> (std::path::PathBuf, Arc<Store>, PersistentIds) {
    let dir = std::env::temp_dir().join(format!("apm-ids-{}-{name}", std::process::id()));
    let store = Store::new(test_kit::catalogue(), 400, Limits::default(), 1 << 20);
    let (ids, _) = PersistentIds::open(&dir, &store, create);
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
    let (mut ids, _) = PersistentIds::open(&dir, &store, create_private);
    assert!(ids.saver.is_none(), "the first has the lock");
    ids.add_metric(metric(&store, 0));
    ids.turn();
    assert_eq!(names(&mut ids, Duration::ZERO), ["m0"]);
    std::fs::remove_dir_all(dir).expect("it is ours");
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).expect("a file")
}

#[test]
fn the_last_write_is_the_first_thing_at_the_end() {
    let (dir, store, mut ids) = world_with("last", create_private);
    ids.add_metric(metric(&store, 0));
    ids.save_last();
    let (path, lock) = (dir.join("apm.400.state"), dir.join("apm.400.state.lock"));
    assert!(text(&path).contains("\"clean\":true") && text(&path).contains("\"m0\""));
    for path in [&path, &lock] {
        let mode = path.metadata().expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", path.display());
    }
    std::fs::remove_file(&path).expect("ours");
    drop(ids);
    assert!(!path.exists(), "written once more");
    std::fs::remove_dir_all(dir).expect("it is ours");
}

#[test]
fn what_cannot_be_read_is_not_replaced() {
    let dir = std::env::temp_dir().join(format!("apm-ids-{}-unreadable", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a folder");
    let (path, theirs) = (dir.join("apm.400.state"), dir.join("theirs"));
    std::fs::write(&theirs, "theirs").expect("room");
    symlink(&theirs, &path).expect("a link");
    let (_, store, mut ids) = world_with("unreadable", create_private);
    ids.add_metric(metric(&store, 0));
    ids.turn();
    assert_eq!(
        names(&mut ids, Duration::ZERO),
        ["m0"],
        "nothing is saved, so nothing is waited for"
    );
    drop(ids);
    assert_eq!(text(&theirs), "theirs");
    assert!(path.symlink_metadata().expect("there").is_symlink());
    std::fs::remove_dir_all(dir).expect("it is ours");
}

#[test]
fn without_the_lock_nothing_is_saved_until_there_is_one() {
    let (dir, store, first) = world_with("lock", create_private);
    let at = now().monotonic;
    let (mut file, _) = StateFile::open(&dir, &store, create_private, at);
    assert!(file.saver().is_none());
    drop(first);
    let (later, next) = (at + Duration::from_secs(4), at + Duration::from_secs(6));
    assert!(file.again(later).is_none(), "it is tried each 5 s");
    assert!(file.again(next).is_none(), "the first has written what this one has not read");

    let (mut file, _) = StateFile::open(&dir, &store, create_private, at);
    assert!(file.saver().is_some(), "nobody has it");
    let (mut second, _) = StateFile::open(&dir, &store, create_private, at);
    assert!(second.saver().is_none() && file.again(next).is_none());
    drop(file);
    assert!(second.again(next).is_some(), "nothing was written meanwhile");
    std::fs::remove_dir_all(dir).expect("it is ours");
}
