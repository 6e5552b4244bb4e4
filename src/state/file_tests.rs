//! Lines, files and every kind of damage.

use std::collections::BTreeMap;
use std::fs::File;

use proptest::prelude::*;

use super::file::{Create, Loaded, Replace, parse, read, write, write_to};
use super::record::{LINE_MAX, Record, VERSION, seal};
use super::*;
use crate::catalogue::test_kit;
use crate::model::{Departure, Now};
use crate::store::{Limits, Store};

fn records() -> Vec<Record> {
    let name = |id, path: &str| Record::Name {
        source: "toy".into(),
        id,
        path: path.into(),
        persist: "E3 é \"\\\n".into(),
        unseen: id == 7,
    };
    let labels: BTreeMap<String, String> = [("pod".to_owned(), "π\u{0}\r\n".to_owned())].into();
    let peer = Record::Peer {
        source: "toy".into(),
        name: "app.exe:12".into(),
        id: 3,
        agent: Some(8),
        left: Some(-5),
        forgotten: false,
        end: Departure::lost("connection reset").into(),
        address: "127.0.0.1:9".into(),
        labels,
    };
    let row = Record::Row { table: "shop/bucket".into(), key: "0-1".into(), id: 0, left: None };
    let next = Record::Next { of: "toy names".into(), next: 12 };
    let head = Record::Head { version: VERSION, saved: 1_700_000_000, clean: true };
    vec![head, next.clone(), name(0, "gc.a"), name(7, "gc.b"), peer, row, next]
}

fn bytes() -> Vec<u8> {
    let mut bytes = Vec::new();
    write_to(&mut bytes, records().into_iter(), &[]).expect("memory");
    bytes
}

fn parsed(bytes: &[u8]) -> Loaded {
    parse(bytes).expect("memory")
}

/// Every parsed record is one that was written.
fn only_sound(loaded: &Loaded) {
    assert!(loaded.records.iter().all(|r| records().contains(r)), "{:?}", loaded.records);
    assert_eq!((loaded.kept.len(), loaded.newer), (0, None));
}

#[test]
fn what_is_written_is_read() {
    assert_eq!(parsed(&bytes()), Loaded { records: records(), ..Loaded::default() });
}

#[test]
fn a_flipped_bit_costs_one_line_or_two() {
    let whole = bytes();
    for at in 0..whole.len() * 8 {
        let mut bytes = whole.clone();
        bytes[at / 8] ^= 1 << (at % 8);
        let loaded = parsed(&bytes);
        only_sound(&loaded);
        // A damaged newline joins two lines.
        assert!(
            loaded.records.len() + 2 >= records().len() && loaded.records.len() < records().len(),
            "bit {at}"
        );
        assert!(loaded.damaged > 0);
    }
}

#[test]
fn a_cut_costs_what_is_behind_it() {
    let whole = bytes();
    for at in 0..whole.len() {
        let loaded = parsed(&whole[..at]);
        only_sound(&loaded);
        let complete = whole[..at].iter().filter(|b| **b == b'\n').count();
        assert_eq!(loaded.records, records()[..complete]);
    }
}

#[test]
fn nuls_and_overlong_lines_cost_only_themselves() {
    let whole = bytes();
    let lines: Vec<&[u8]> = whole.split_inclusive(|b| *b == b'\n').collect();
    for junk in [
        vec![0; 4096],
        vec![b'x'; LINE_MAX - 1],
        vec![b'x'; LINE_MAX],
        vec![b'x'; 3 * LINE_MAX + 7],
        vec![0xff; 9],
    ] {
        for at in 0..=lines.len() {
            let mut bytes = lines[..at].concat();
            bytes.extend(&junk);
            bytes.push(b'\n');
            bytes.extend(lines[at..].concat());
            let loaded = parsed(&bytes);
            assert_eq!((&loaded.records, loaded.damaged), (&records(), 1));
        }
    }
}

#[test]
fn what_a_later_version_adds_is_kept_and_a_later_format_is_not_read() {
    let mut bytes = bytes();
    bytes.extend(seal("{\"is\":\"novelty\",\"of\":1}").bytes());
    let loaded = parsed(&bytes);
    assert_eq!(
        (loaded.records.len(), &loaded.kept[..]),
        (records().len(), &["{\"is\":\"novelty\",\"of\":1}".to_owned()][..])
    );
    let mut newer =
        Record::Head { version: VERSION + 1, saved: 0, clean: true }.line().into_bytes();
    newer.extend(bytes);
    assert_eq!(parsed(&newer), Loaded { newer: Some(VERSION + 1), ..Loaded::default() });
}

#[test]
fn a_file_is_replaced_whole_or_not_at_all() {
    let dir = std::env::temp_dir().join(format!("apm-state-test-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a directory");
    let path = dir.join("apm.400.state");
    let create: Create = |path| File::create(path);
    let there = || File::open(&path).and_then(read).expect("there").records;
    let size = write(&path, create, Replace::Synced, records().into_iter(), &[]).expect("room");
    assert_eq!((there(), size), (records(), bytes().len() as u64));
    // A directory blocks the path of the new file.
    std::fs::create_dir(dir.join("apm.400.state.new")).expect("a directory");
    assert!(write(&path, create, Replace::AtOnce, std::iter::empty(), &[]).is_err());
    assert_eq!(there(), records());
    std::fs::remove_dir(dir.join("apm.400.state.new")).expect("empty");
    write(&path, create, Replace::AtOnce, std::iter::empty(), &[]).expect("room");
    assert!(there().is_empty());
    std::fs::remove_dir_all(&dir).expect("ours");
}

#[test]
fn the_files_of_the_old_version_are_taken_over() {
    let dir = std::env::temp_dir().join(format!("apm-state-old-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a directory");
    let put = |serial: u32, text: &str| {
        std::fs::write(dir.join(format!("400.{serial}")), text).expect("room")
    };
    assert_eq!(read_old(&dir, 400, &test_kit::catalogue()), None);
    put(0, "2 0 2147483647\n4 1700000000 toy::p.exe:7\n9 1700000001 shop::a/b/c\nbroken\n");
    put(1, "2 0 2147483647\n2 1700000000 p.exe:7\n3 x y\n");
    put(1001, "2 0 2147483647\n5 1700000000 gc.x toy x y\n");
    put(21, "2 0 2147483647\n1 1700000000 1-2\n");
    let old = read_old(&dir, 400, &test_kit::catalogue()).expect("found");
    assert_eq!(old.damaged, 2);
    let has = |record: &Record| old.records.contains(record);
    assert!(has(&Record::Next { of: "agent".into(), next: 10 }));
    let persist = "toy x y".into();
    assert!(has(&Record::Name {
        source: "toy".into(),
        id: 5,
        path: "gc.x".into(),
        persist,
        unseen: false
    }));
    let peer = |r: &Record| matches!(r, Record::Peer { name, id: 2, agent: Some(4), left: Some(1_700_000_000), .. } if name == "p.exe:7");
    assert!(old.records.iter().any(peer));
    assert!(
        old.records.iter().any(|r| matches!(r, Record::Row { key, id: 1, .. } if key == "1-2"))
    );
    std::fs::remove_dir_all(&dir).expect("ours");
}

#[test]
fn a_name_that_is_none_is_made_anew() {
    let paths = ["", "a b", "a..b", "9a", "stock\u{1}", "sold_2.count"];
    let names = (0..).zip(paths).map(|(id, path)| Record::Name {
        source: "shop".into(),
        id,
        path: path.into(),
        persist: format!("gauge ware.n{id}"),
        unseen: false,
    });
    let store = Store::new(test_kit::catalogue(), 400, Limits::default(), 1 << 20);
    let loaded = Loaded { records: names.collect(), ..Loaded::default() };
    let (_, restored) = Book::restore(loaded, &store, Now::default());
    let paths = restored.metrics.iter().map(|metric| &*metric.spec.path);
    let expected = ["ware.n0", "ware.n1", "ware.n2", "ware.n3", "ware.n4", "sold_2.count"];
    assert_eq!(paths.collect::<Vec<_>>(), expected);
}

proptest! {
    #[test]
    fn nonsense_is_never_a_record(bytes in prop::collection::vec(any::<u8>(), 0..2000), at in any::<prop::sample::Index>()) {
        only_sound(&parsed(&bytes));
        let whole = super::file_tests::bytes();
        let at = at.index(whole.len());
        let loaded = parsed(&[&whole[..at], &bytes[..], &whole[at..]].concat());
        only_sound(&loaded);
        prop_assert!(loaded.records.len() + 2 > records().len() || bytes.is_empty());
    }
}
