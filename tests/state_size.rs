//! A hundred thousand instances: the size of the state file, and a cost of one pointer each on the
//! thread that answers pmcd.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use pmdaapm::contract::Identity;
use pmdaapm::model::{Departure, Now, SourceId, Stamp};
use pmdaapm::state::{Book, Saver, read};
use pmdaapm::store::{Change, Limits, RequestQueue, Store};

const INSTANCES: usize = 100_000;

/// The first source of the catalogue, whichever it is.
const SOURCE: SourceId = SourceId::new(0);

const fn now() -> Now {
    Now { monotonic: Duration::from_secs(5), wall: Stamp { sec: 1_700_000_000, nsec: 0 } }
}

fn join(store: &Store, book: &mut Book) -> usize {
    let joined = store
        .take_changes()
        .into_iter()
        .filter(|c| matches!(c, Change::Join(p) if book.join_peer(p).is_some()));
    joined.count()
}

#[test]
fn a_hundred_thousand_instances_are_saved_aside_and_read_at_once() {
    let limits = Limits { instances: INSTANCES, ..Limits::default() };
    let store = Store::new(pmdaapm::sources::catalogue(), 400, limits.clone(), 1 << 20);
    let mut book = Book::new(store.catalogue());
    for n in 0..INSTANCES {
        let requests = Arc::new(RequestQueue::new(|| ()));
        let labels = vec![
            ("program", format!("program{n}.exe")),
            ("pid", n.to_string()),
            ("dialect", "e3".to_owned()),
        ];
        let name = format!("program{n}.exe:{n}");
        let id = Identity {
            name,
            peer: "127.0.0.1:12345".into(),
            labels,
            resumes: true,
            ..Identity::default()
        };
        let peer = store.attach(SOURCE, &id, &requests, now()).unwrap();
        if n % 2 == 0 {
            store.detach(&peer, &requests, Departure::default(), now());
        }
    }
    assert_eq!(join(&store, &mut book), INSTANCES);
    let dir = std::env::temp_dir().join(format!("apm-state-size-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let path = dir.join("apm.400.state");
    let mut saver = Saver::new(path.clone(), |path| std::fs::File::create(path));

    let begin = Instant::now();
    let snapshot = book.snapshot(now(), true);
    saver.submit(snapshot).unwrap();
    let handed_over = begin.elapsed();
    assert!(saver.wait(Duration::from_secs(60)));
    let outcome = saver.outcome().unwrap();
    let size = outcome.result.unwrap();

    let begin = Instant::now();
    let loaded = std::fs::File::open(&path).and_then(read).unwrap();
    let read = begin.elapsed();
    let again = Store::new(pmdaapm::sources::catalogue(), 400, limits, 1 << 20);
    let begin = Instant::now();
    let (mut book, restored) = Book::restore(loaded, &again, now());
    let restored_in = begin.elapsed();
    assert_eq!((join(&again, &mut book), restored.faults.len()), (INSTANCES, 0));
    std::fs::remove_dir_all(&dir).unwrap();
    println!(
        "{size} bytes; handed over in {handed_over:?}, written in {:?}, read in {read:?} + {restored_in:?}",
        outcome.took
    );
    assert!(handed_over < Duration::from_millis(250), "{handed_over:?}");
    assert!(size < 250 * INSTANCES as u64, "{size}");
}
