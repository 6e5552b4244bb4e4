//! Any bytes as the state file. What is damaged loses only itself; of what is left no id is held
//! twice and each is below its domain's mark; the file that is written from it is whole, and the
//! PMDA that reads it has the same names with the same ids, marks that never go back, and writes
//! the same again.
#![no_main]

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use pmdaapm::catalogue::{Catalogue, SourceTable};
use pmdaapm::model::{Now, Stamp};
use pmdaapm::sources::registry::TABLES;
use pmdaapm::state::fuzzing::{bytes, parse};
use pmdaapm::state::{Book, LINE_MAX, Loaded, Record};
use pmdaapm::store::{Change, Limits, Store};

const ID_MAX: u32 = 1 << 30;

/// Two sources, with tables and dynamic metrics: what is there for each metric of a source takes most
/// of the time. The others are strangers, whose records are kept.
static CATALOGUE: LazyLock<Arc<Catalogue>> = LazyLock::new(|| {
    let known = TABLES.iter().filter(|table| ["mono", "lttng"].contains(&table.name));
    Arc::new(Catalogue::new(&known.cloned().collect::<Vec<_>>()).expect("a catalogue"))
});

/// A PMDA that reads a file and is then stopped; what it writes.
fn restart(loaded: Loaded) -> (Vec<u8>, usize) {
    let now = Now {
        wall: Stamp { sec: 1_700_000_000, nsec: 0 },
        monotonic: Duration::from_secs(100_000),
    };
    let limits = Limits { instances: 8, names: 16, ..Limits::default() };
    let store = Store::new(Arc::clone(&CATALOGUE), 400, limits, 1 << 20);
    let (mut book, restored) = Book::restore(loaded, &store, now);
    for change in store.take_changes() {
        match change {
            Change::Metric(metric) => book.add_metric(&metric),
            Change::Join(peer) => assert!(book.join_peer(&peer).is_some()),
            _ => {}
        }
    }
    (bytes(&book.snapshot(now, true)), restored.faults.len())
}

/// The holders of ids, by domain and name, and the marks.
#[derive(Debug, Default, PartialEq)]
struct Ids {
    held: HashMap<(String, String), u32>,
    marks: HashMap<String, u32>,
}

/// A domain of the catalogue. Records of others are kept as they are, whatever they have.
fn is_known(of: &str) -> bool {
    let of = of.strip_suffix(" names").unwrap_or(of);
    let is = |table: &SourceTable| {
        let rest = of.strip_prefix(table.name);
        rest.is_some_and(|rest| {
            rest.is_empty() || table.tables.iter().any(|t| rest.strip_prefix('/') == Some(t.name))
        })
    };
    of == "agent" || CATALOGUE.sources().any(|(_, table)| is(table))
}

fn ids(loaded: &Loaded) -> Ids {
    let (mut ids, mut by_id) = (Ids::default(), HashMap::new());
    let mut hold = |of: String, name: &String, id: u32| {
        if !is_known(&of) {
            return;
        }
        assert!(id < ID_MAX);
        assert_eq!(by_id.insert((of.clone(), id), name.clone()), None, "{id} of {of} twice");
        assert_eq!(ids.held.insert((of.clone(), name.clone()), id), None, "{name} of {of} twice");
    };
    for record in &loaded.records {
        match record {
            Record::Peer { source, name, id, agent, .. } => {
                hold(source.clone(), name, *id);
                if let Some(agent) = agent {
                    hold("agent".into(), &format!("{source} {name} {agent}"), *agent);
                }
            }
            Record::Row { table, key, id, .. } => hold(table.clone(), key, *id),
            Record::Name { source, id, .. } => {
                hold(format!("{source} names"), &id.to_string(), *id);
            }
            Record::Next { of, next } => {
                let mark = ids.marks.entry(of.clone()).or_default();
                *mark = (*mark).max(*next);
            }
            Record::Head { .. } => {}
        }
    }
    for ((of, name), id) in &ids.held {
        if let Some(mark) = ids.marks.get(of).filter(|_| !of.ends_with(" names")) {
            assert!(id < mark, "{name} of {of} has {id}, the mark is {mark}");
        }
    }
    ids
}

fuzz_target!(|data: &[u8]| {
    let Some((&how, data)) = data.split_first() else { return };
    let mut file = data.to_vec();
    if how & 1 != 0 {
        // A fuzzer seldom makes a right sum.
        file.clear();
        for line in data.split(|&b| b == b'\n') {
            let mut crc = flate2::Crc::new();
            crc.update(line);
            file.extend(format!("{:08x} ", crc.sum()).into_bytes());
            file.extend(line);
            file.push(b'\n');
        }
    }
    let loaded = parse(&file);
    let lines = file.split(|&b| b == b'\n').count();
    assert!(loaded.damaged + loaded.records.len() + loaded.kept.len() <= lines);
    // Damage behind it loses nothing.
    let mut damaged = file.clone();
    damaged.extend(b"\n0badc0de {}\n");
    let more = parse(&damaged);
    if loaded.newer.is_none() && file.ends_with(b"\n") {
        assert_eq!((&more.records, &more.kept), (&loaded.records, &loaded.kept));
    }
    if loaded.newer.is_some() {
        return;
    }
    let marks = loaded.records.iter().filter_map(|record| match record {
        Record::Next { of, next } => Some((of.clone(), (*next).min(ID_MAX))),
        _ => None,
    });
    let marks: Vec<_> = marks.collect();
    let (first, _) = restart(loaded);
    for line in first.split_inclusive(|&b| b == b'\n') {
        assert!(line.len() <= LINE_MAX, "a line of {} bytes", line.len());
    }
    let once = parse(&first);
    assert_eq!(once.damaged, 0);
    let before = ids(&once);
    for (of, next) in marks {
        assert!(before.marks.get(&of).is_some_and(|mark| *mark >= next), "{of} goes back");
    }
    let (second, _) = restart(once);
    let again = parse(&second);
    assert_eq!(again.damaged, 0);
    assert_eq!(ids(&again), before);
    let lines = |file: &[u8]| {
        let mut lines: Vec<_> = file.split(|&b| b == b'\n').map(<[u8]>::to_vec).collect();
        lines.sort_unstable();
        lines
    };
    assert_eq!(lines(&first), lines(&second));
});
