//! Trace directories: packets of any size in any number of files, and faulty ones.
#![cfg(feature = "fs")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs, reason = "a test")]

use std::fs;
use std::path::{Path, PathBuf};

use ctf::fs::{Error, Session};
use ctf::{Packet, Trace, Value, Violation};

const METADATA: &[u8] = include_bytes!("../examples/trace/metadata");
const STREAM: &[u8] = include_bytes!("../examples/trace/stream_0");

/// An empty directory of this test.
fn directory(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).unwrap();
    dir
}

fn trace(name: &str, metadata: &[u8], files: &[(&str, &[u8])]) -> PathBuf {
    let dir = directory(name);
    fs::write(dir.join("metadata"), metadata).unwrap();
    for (file, bytes) in files {
        fs::write(dir.join(file), bytes).unwrap();
    }
    dir
}

/// The names of all events, and the errors.
fn events(dir: &Path) -> (Vec<String>, Vec<Error>) {
    let session = Session::open(dir).unwrap();
    let (mut names, mut errors) = (Vec::new(), Vec::new());
    for record in session.records() {
        match record {
            Ok(record) => names.push(record.name().to_owned()),
            Err(error) => errors.push(error),
        }
    }
    (names, errors)
}

#[test]
fn values_have_the_names_of_their_fields() {
    let dir = trace("values", METADATA, &[("s", STREAM)]);
    let session = Session::open(&dir).unwrap();
    let records: Vec<_> = session.records().map(Result::unwrap).collect();
    let first = &records[0];
    assert_eq!((first.name(), first.cycles), ("shop:order", 250_000_000));
    assert_eq!(first.nanoseconds, Some(1_700_000_000_250_000_000));
    assert_eq!(first.get("number"), Some(Value::Unsigned(7)));
    assert_eq!(first.get("paid"), Some(Value::Enumeration(1, Some("CASH"))));
    assert_eq!(first.get("cpu_id"), Some(Value::Unsigned(3)));
    let Some(Value::Array(prices)) = first.payload().get("prices") else { panic!("no array") };
    assert!(prices.iter().eq([300, 450].map(Value::Unsigned)));
    assert_eq!(first.payload().iter().count(), 5);
    assert_eq!(first.packet_context().iter().count(), 1);
    assert!(first.common_context().is_empty() && first.specific_context().is_empty());
}

#[test]
fn small_packets_one_after_the_other_and_in_several_files() {
    let three = STREAM.repeat(3);
    let dir =
        trace("small", METADATA, &[("a", &three), ("b", STREAM), (".hidden", b"x"), ("c", b"")]);
    let (names, errors) = events(&dir);
    assert_eq!((names.len(), errors.len()), (8, 0));
}

/// A packet whose header is longer than the first read, followed by another packet.
#[test]
fn large_headers_and_packets() {
    let metadata = "trace { major = 1; minor = 8; byte_order = be;
        packet.header := struct { integer { size = 8; } pad[10000]; }; };
        stream { packet.context := struct { integer { size = 32; } packet_size; integer { size = 32; } content_size; }; };
        event { name = e; fields := struct { integer { size = 8; } x[100]; }; };";
    let content: u32 = 10_000 + 8 + 300;
    let mut packet = vec![7; 10_000];
    packet.extend(((content + 50) * 8).to_be_bytes());
    packet.extend((content * 8).to_be_bytes());
    packet.extend([5; 350]);
    let compiled = Trace::from_metadata(metadata.as_bytes()).unwrap();
    assert!(Packet::size(&compiled, &packet[..9_999]).unwrap_err().is_short());
    assert_eq!(Packet::size(&compiled, &packet[..10_008]), Ok(Some(u64::from(content) + 50)));
    let dir = trace("large", metadata.as_bytes(), &[("s", &packet.repeat(2))]);
    let (names, errors) = events(&dir);
    assert_eq!((names.len(), errors.len()), (6, 0));
}

#[test]
fn errors_cost_the_file_and_name_it() {
    let cut = [STREAM, &STREAM[..STREAM.len() - 1]].concat();
    let mut magic = STREAM.to_vec();
    magic[0] ^= 1;
    let dir = trace("errors", METADATA, &[("cut", &cut), ("magic", &magic), ("sound", STREAM)]);
    let (names, errors) = events(&dir);
    assert_eq!(names.len(), 4);
    let found: Vec<(&str, Violation)> = errors
        .iter()
        .map(|error| {
            let Error::Packet { path, error } = error else { panic!("{error}") };
            (path.file_name().unwrap().to_str().unwrap(), error.violation)
        })
        .collect();
    assert_eq!(found.len(), 2);
    assert!(found.contains(&("magic", Violation::Magic(0xc1fc_1fc0))));
    let bits = 8 * STREAM.len() as u64;
    assert!(found.contains(&("cut", Violation::Size { got: bits, max: bits - 8 })));
}

#[test]
fn directories_that_are_no_traces() {
    let dir = directory("none");
    assert!(matches!(Session::open(&dir), Err(Error::NoTrace { .. })));
    assert!(matches!(Session::open(dir.join("missing")), Err(Error::Io { .. })));
    let cut = trace("cut-metadata", &METADATA[..METADATA.len() - 3], &[]);
    let error = Session::open(&cut).unwrap_err();
    assert!(error.to_string().ends_with("metadata: metadata ends within a declaration"), "{error}");
    let (session, errors) = Session::open_all(&[cut, trace("whole", METADATA, &[])]).unwrap();
    assert_eq!((session.traces().len(), errors.len()), (1, 1));
}

/// What was lent is what is cloned, in the same order, and errors come where they are.
#[test]
fn records_are_lent_and_cloned() {
    let mut faulty = STREAM.to_vec();
    // The id of the second event.
    let at = faulty.len() - 13;
    faulty[at] = 9;
    let three = [STREAM, &faulty, STREAM].concat();
    let dir = trace("lent", METADATA, &[("s", &three)]);
    let session = Session::open(&dir).unwrap();
    let text = |record: Result<String, Error>| record.unwrap_or_else(|error| error.to_string());
    let cloned: Vec<String> =
        session.records().map(|record| text(record.map(|record| record.to_string()))).collect();
    let mut records = session.records();
    let mut lent = Vec::new();
    while let Some(next) = records.read().map(|record| record.map(ToString::to_string)).transpose()
    {
        lent.push(text(next));
    }
    assert_eq!(lent, cloned);
    let names: Vec<&str> = lent.iter().map(|line| line.split(':').nth(1).unwrap().trim()).collect();
    assert_eq!(names[..3], ["order", "closed", "order"]);
    assert!(lent[3].contains("stream.event.header"), "{}", lent[3]);
    assert_eq!(names[4..], ["order", "closed"]);
}

/// Copies of large events, more than are read at once, and small ones after them.
#[test]
fn large_events_one_by_one() {
    let metadata = "trace { major = 1; minor = 8; byte_order = le; };
        stream { event.header := struct { integer { size = 8; } id; }; };
        event { id = 0; name = large; fields := struct { integer { size = 16; } n; struct { integer { size = 8; } a; string s; } x[n]; }; };
        event { id = 1; name = small; fields := struct { integer { size = 8; signed = true; } x; }; };";
    let large = [&[0, 0xe8, 3][..], &[7, b'y', 0].repeat(1000)].concat();
    let packet = [large.repeat(150), [1, 0xff].repeat(200)].concat();
    let dir = trace("large-events", metadata.as_bytes(), &[("s", &packet)]);
    let session = Session::open(&dir).unwrap();
    let mut records = session.records();
    let mut count = [0, 0];
    while let Some(record) = records.read().unwrap() {
        count[record.class.index] += 1;
        let Some(Value::Array(items)) = record.get("x") else {
            assert_eq!(record.get("x"), Some(Value::Signed(-1)));
            continue;
        };
        let mut length = 0;
        for item in items.iter() {
            let Value::Structure(item) = item else { panic!("{item}") };
            assert_eq!(item.get("a"), Some(Value::Unsigned(7)));
            assert_eq!(item.get("s"), Some(Value::String("y")));
            length += 1;
        }
        assert_eq!(length, 1000);
    }
    assert_eq!(count, [150, 200]);
}
