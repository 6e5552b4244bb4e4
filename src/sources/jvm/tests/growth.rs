//! A directory is parsed once, and again when entries came.

use super::build::{self, Is, entry, region};
use super::{captures, figure};
use crate::sources::jvm::state::{Reader, Who};
use crate::sources::jvm::wire::Prologue;
use crate::sources::jvm::{limits, metrics as m};

fn threads(reader: &mut Reader, region: &[u8]) -> (bool, Option<u64>) {
    let reading = reader.read(region).unwrap();
    (reading.fresh, figure(&reading.figures, m::THREADS))
}

fn set(region: &mut [u8], at: usize, value: i64) {
    region[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

#[test]
fn values_are_read_where_they_were() {
    let entries = [entry("java.threads.live", Is::Long(7)), entry("a.b", Is::Long(1))];
    let mut bytes = region(&entries, 5);
    let mut reader = Reader::new(Who::default());
    assert_eq!(threads(&mut reader, &bytes), (true, Some(7)));
    let at = 32 + 40;
    set(&mut bytes, at, 8);
    assert_eq!(threads(&mut reader, &bytes), (false, Some(8)));
    // A name that changes is not seen: offsets never move.
    bytes[32 + 20] = b'x';
    assert_eq!(threads(&mut reader, &bytes), (false, Some(8)));
    // Until the prologue says that something came.
    set(&mut bytes, 16, 6);
    assert_eq!(threads(&mut reader, &bytes), (true, None));
}

#[test]
fn entries_that_come_are_found() {
    let mut entries = vec![entry("a.b", Is::Long(1))];
    let mut reader = Reader::new(Who { comm: "python3".into(), ..Who::default() });
    assert_eq!(threads(&mut reader, &region(&entries, 5)), (true, None));
    assert_eq!(&*reader.facts().unwrap().names.program, "python3");
    entries.push(entry("java.threads.live", Is::Long(7)));
    assert_eq!(threads(&mut reader, &region(&entries, 5)), (true, Some(7)));
    entries.push(entry("sun.rt.javaCommand", Is::Text(b"shop.Main --password x\0")));
    entries.push(entry("java.rt.vmArgs", Is::Text(b"-Dotel.service.name=orders\0")));
    assert_eq!(threads(&mut reader, &region(&entries, 5)), (true, Some(7)));
    let names = &reader.facts().unwrap().names;
    assert_eq!((&*names.program, names.shown()), ("Main", "orders"));
}

#[test]
fn the_first_reading_has_the_whole_region() {
    for (file, bytes, want) in captures() {
        if want.get("metrics").is_none() {
            continue;
        }
        let mut reader = Reader::new(Who::default());
        let begin = |want: usize| &bytes[..want.min(bytes.len())];
        let first = begin(reader.want());
        let whole = Prologue::parse(first).is_ok();
        assert_eq!(reader.needs_more(first), !whole, "{file}");
        let second = begin(reader.want());
        assert!(!reader.needs_more(second), "{file}");
        assert!(reader.read(second).unwrap().fresh, "{file}");
        assert!(!reader.read(second).unwrap().fresh, "{file}: all entries were met");
    }
}

/// The JVM counts an entry before it fills it in.
#[test]
fn a_half_made_entry_is_looked_at_again() {
    let whole = region(&[entry("a.b", Is::Long(1)), entry("java.threads.live", Is::Long(7))], 5);
    let mut half = whole.clone();
    half[64..].fill(0);
    let mut reader = Reader::new(Who::default());
    assert_eq!(threads(&mut reader, &half), (true, None));
    assert_eq!(threads(&mut reader, &half), (true, None));
    assert_eq!(threads(&mut reader, &whole), (true, Some(7)));
    assert_eq!(threads(&mut reader, &whole), (false, Some(7)));
    // But not for ever.
    let mut reader = Reader::new(Who::default());
    let parsed = (0..100).filter(|_| threads(&mut reader, &half).0).count();
    assert_eq!(parsed, 1 + usize::from(limits::RETRIES));
    let mut later = whole;
    set(&mut later, 16, 6);
    assert_eq!(threads(&mut reader, &later), (true, Some(7)));
}

/// io reads as much as the reader wants; more is in use than it knew.
#[test]
fn a_region_that_grows_is_read_again() {
    let many: Vec<_> = (0..300).map(|i| entry(&format!("a.{i}"), Is::Long(i))).collect();
    let bytes = region(&many, 5);
    let mut reader = Reader::new(Who::default());
    assert_eq!(reader.want(), 4096);
    assert!(reader.needs_more(&bytes[..4096]));
    let want = reader.want().min(bytes.len());
    assert_eq!(reader.read(&bytes[..want]).unwrap().entries, 300);
    // What lies is bounded.
    let mut lie = bytes.clone();
    lie[8..12].copy_from_slice(&i32::MAX.to_le_bytes());
    assert!(reader.needs_more(&lie) && reader.read(&lie).is_err());
    assert_eq!(reader.want(), limits::REGION);
    // And what was known stays.
    assert!(!reader.read(&bytes).unwrap().fresh);
    let used = reader.read(&bytes).unwrap().used;
    assert_eq!(reader.want(), used.next_multiple_of(4096));
}

#[test]
fn duplicates_and_types_of_known_names() {
    let bytes = region(
        &[
            entry("java.threads.live", Is::Long(7)),
            entry("java.threads.live", Is::Long(99)),
            entry("sun.rt.javaCommand", Is::Long(3)),
            entry("java.threads.daemon", Is::Text(b"3\0")),
        ],
        1,
    );
    let mut reader = Reader::new(Who::default());
    let reading = reader.read(&bytes).unwrap();
    let figures = [m::THREADS, m::THREADS_DAEMON].map(|item| figure(&reading.figures, item));
    assert_eq!(figures, [Some(7), None]);
    assert_eq!((&reading.facts.command, reading.entries), (&None, 3));
    assert_eq!(Prologue::parse(&build::big_endian(&bytes)).unwrap().entries, 4);
}

#[test]
fn a_service_of_the_environment_comes_last() {
    let who = Who { service: Some(" shop ü\n".into()), ..Who::default() };
    let named = |args: &[u8]| {
        let bytes = region(&[entry("java.rt.vmArgs", Is::Text(args))], 1);
        let mut reader = Reader::new(who.clone());
        reader.read(&bytes).unwrap().facts.names.shown().to_owned()
    };
    assert_eq!(named(b"-Xmx1g\0"), "shop_ü");
    assert_eq!(named(b"-Dspring.application.name=orders -Dotel.service.name=x\0"), "orders");
}
