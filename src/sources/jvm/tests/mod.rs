//! The captures of the corpus, hostile regions, damaged ones, ones that grow.

#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "test")]

mod build;
mod captures;
mod damage;
mod growth;
mod hostile;
#[cfg(feature = "agent")]
pub(crate) mod library;
mod sequences;

use std::collections::btree_map::{BTreeMap, Entry as Slot};
use std::io::Read;
use std::path::PathBuf;

use serde_json::{Map, Value as Json, json};

use crate::model::MetricItem;
use crate::read::{Cursor, Order};
use crate::sources::jvm::metrics as m;
use crate::sources::jvm::state::{Figures, Reader, Reading, Who};
use crate::sources::jvm::wire::{Place, Prologue, Refusal, Walk};

/// A file of the corpus, unpacked.
fn unpacked(name: &str) -> Vec<u8> {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/qa/corpus/jvm")).join(name);
    let packed = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(packed.as_slice()).read_to_end(&mut bytes).unwrap();
    bytes
}

/// All captures: name, region, what must come out.
pub(crate) fn captures() -> Vec<(String, Vec<u8>, Json)> {
    let expected: Map<String, Json> =
        serde_json::from_slice(&unpacked("expected.json.gz")).unwrap();
    let all: Vec<_> =
        expected.into_iter().map(|(name, want)| (name.clone(), unpacked(&name), want)).collect();
    assert_eq!(all.len(), 105);
    all
}

/// Any counter of a region.
fn value(region: &[u8], order: Order, place: Place) -> Json {
    let bytes = &region[place.at as usize..];
    if place.length == 0 {
        return json!(Cursor::new(bytes, order).i64().unwrap());
    }
    let text = bytes[..place.length as usize].split(|&b| b == 0).next().unwrap();
    json!(String::from_utf8_lossy(text))
}

/// All counters, the first of each name; and how many entries were skipped.
fn counters(region: &[u8]) -> Result<(BTreeMap<String, Json>, u32), Refusal> {
    let prologue = Prologue::parse(region)?;
    let (mut all, mut skipped) = (BTreeMap::new(), 0);
    for entry in Walk::new(region, prologue) {
        let Some(entry) = entry else {
            skipped += 1;
            continue;
        };
        let name = String::from_utf8(entry.name.to_vec()).unwrap();
        match all.entry(name) {
            Slot::Occupied(_) => skipped += 1,
            Slot::Vacant(free) => drop(free.insert(value(region, prologue.order, entry.place))),
        }
    }
    Ok((all, skipped))
}

/// A figure that is shown as it is.
fn figure(figures: &Figures, item: MetricItem) -> Option<u64> {
    figures.metrics().find(|one| one.0 == item).unwrap().1
}

/// A region read once.
fn read<T>(region: &[u8], then: impl FnOnce(Reading<'_>) -> T) -> Result<T, Refusal> {
    let mut reader = Reader::new(Who::default());
    reader.read(region).map(then)
}

/// A reading in the form of expect.py of the captures' tools.
fn metrics(reading: &Reading<'_>) -> Json {
    let (facts, figures) = (reading.facts, &reading.figures);
    let mut all = Map::new();
    let mut put = |name: &str, value: Json| {
        if !value.is_null() {
            all.insert(name.into(), value);
        }
    };
    put("name", json!(facts.names.shown()));
    put("process.version", json!(facts.version));
    put(
        "process.collector",
        json!(facts.collector.map_or("", crate::sources::jvm::state::Collector::name)),
    );
    put("process.command", json!(facts.command));
    for (item, value) in figures.metrics() {
        let metric = m::METRICS.iter().find(|metric| metric.item == item.get()).unwrap();
        put(metric.name, json!(value));
    }
    put("gc.last_cause", json!(reading.last_cause));
    let mut rows: BTreeMap<&str, Map<String, Json>> = BTreeMap::new();
    let mut row = |metric, row: &str, value: Option<u64>| {
        if let Some(value) = value {
            let twice = rows.entry(metric).or_default().insert(row.into(), json!(value));
            assert_eq!(twice, None, "{metric} {row}");
        }
    };
    for one in figures.collections.iter().flatten() {
        row("gc.count", one.row, Some(one.count));
        row("gc.time", one.row, one.time);
    }
    for pool in figures.pools.iter().flatten() {
        let (name, [used, committed, max]) = *pool;
        row("memory.pool.used", name, used);
        row("memory.pool.committed", name, committed);
        row("memory.pool.max", name, max);
    }
    all.extend(rows.into_iter().map(|(metric, rows)| (metric.into(), Json::Object(rows))));
    Json::Object(all)
}
