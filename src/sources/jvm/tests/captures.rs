//! Every capture equals what jstat and two independent tools made of it.

use serde_json::{Value as Json, json};

use super::{build, captures, counters, figure, metrics, read};
use crate::read::Order;
use crate::sources::jvm::metrics as m;
use crate::sources::jvm::state::{Reader, Who};
use crate::sources::jvm::wire::Prologue;

/// All counters of all captures: their number, and a CRC-32 of all lines as jstat prints them.
#[test]
fn all_counters_are_those_of_jstat() {
    let mut entries = 0;
    for (name, region, want) in captures() {
        let (counters, skipped) = counters(&region).unwrap();
        let lines = counters.iter().map(|(name, value)| match value {
            Json::String(text) => format!("{name}=\"{text}\""),
            value => format!("{name}={value}"),
        });
        let mut lines: Vec<_> = lines.collect();
        lines.sort();
        let mut crc = flate2::Crc::new();
        crc.update(lines.join("\n").as_bytes());
        assert_eq!(
            (json!(lines.len()), json!(crc.sum())),
            (want["counters"].clone(), want["crc"].clone()),
            "{name}"
        );
        let head = &want["head"];
        let prologue = Prologue::parse(&region).unwrap();
        let order = if prologue.order == Order::Little { "little" } else { "big" };
        let told = json!({
            "order": order, "minor": 0, "used": prologue.used, "overflow": prologue.overflow,
            "mod_timestamp": prologue.changed, "entry_offset": prologue.first,
            "entries": prologue.entries, "skipped": skipped,
        });
        assert_eq!(&told, head, "{name}");
        entries += lines.len();
    }
    println!("{entries} counters");
}

#[test]
fn metrics_are_those_of_the_specification() {
    for (name, region, want) in captures() {
        read(&region, |reading| assert_eq!(metrics(&reading), want["metrics"], "{name}")).unwrap();
    }
}

/// Only the bytes in use, as one pread has them.
#[test]
fn bytes_behind_those_in_use_are_not_needed() {
    for (name, region, want) in captures() {
        let used = want["head"]["used"].as_u64().unwrap() as usize;
        let whole = read(&region, |reading| metrics(&reading)).unwrap();
        assert_eq!(read(&region[..used], |reading| metrics(&reading)).unwrap(), whole, "{name}");
    }
}

#[test]
fn both_byte_orders_say_the_same() {
    for (name, region, _) in captures() {
        let big = build::big_endian(&region);
        assert_eq!(Prologue::parse(&big).unwrap().order, Order::Big);
        assert_eq!(counters(&big), counters(&region), "{name}");
        let (mut one, mut two) = (Reader::new(Who::default()), Reader::new(Who::default()));
        let (one, two) = (one.read(&region).unwrap(), two.read(&big).unwrap());
        assert_eq!((one.facts, one.figures), (two.facts, two.figures), "{name}");
    }
}

/// What is in no metric of expect.py.
#[test]
fn facts() {
    for (name, region, want) in captures() {
        let release = want["jdk"].as_u64().unwrap();
        read(&region, |reading| {
            let facts = reading.facts;
            if name != "variants/overflow.hsperf.gz" {
                assert_eq!(facts.release, Some(release as u32), "{name}");
                assert!(facts.vm.as_deref().unwrap().starts_with("OpenJDK 64-Bit Server VM "));
                assert!(facts.vendor.is_some());
            }
        })
        .unwrap();
    }
}

#[test]
fn a_full_region_shows_no_sums_of_a_part() {
    let overflow =
        captures().into_iter().find(|one| one.0 == "variants/overflow.hsperf.gz").unwrap();
    read(&overflow.1, |reading| {
        assert_eq!((reading.overflow, reading.entries, reading.used), (8096, 67, 4088));
        for item in [m::HEAP_TOTAL, m::HEAP_COMMITTED, m::HEAP_MAX] {
            assert_eq!(figure(&reading.figures, item), None);
        }
        assert_eq!(
            crate::sources::jvm::meter::missing(reading.used, reading.overflow),
            "its region was full: 8096 bytes of counters are missing (-XX:PerfDataMemorySize=65536)"
        );
    })
    .unwrap();
    // A region that is cut anywhere: a sum is right or is not there.
    let (_, region, want) =
        captures().into_iter().find(|one| one.0.contains("jdk17-g1-loaded")).unwrap();
    let want = &want["metrics"];
    let used = Prologue::parse(&region).unwrap().used;
    for end in (40..used).step_by(8) {
        let mut region = region.clone();
        region[8..12].copy_from_slice(&(end as u32).to_le_bytes());
        region[12..16].copy_from_slice(&96_u32.to_le_bytes());
        read(&region, |reading| {
            let metrics = metrics(&reading);
            for sum in ["gc.heap.total", "gc.heap.committed", "gc.heap.max", "memory.pool.used"] {
                if let Some(got) = metrics.get(sum).filter(|got| !got.is_object()) {
                    assert_eq!(got, &want[sum], "{sum} at {end}");
                }
                for (row, got) in metrics.get(sum).and_then(Json::as_object).into_iter().flatten() {
                    assert_eq!(got, &want[sum][row], "{sum} {row} at {end}");
                }
            }
        })
        .unwrap();
    }
}
