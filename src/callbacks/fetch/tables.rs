//! The tables of event records of each stream. A text is kept until there are new records, or names
//! for parameters that had none. It is kept as the value that answers point to, so that streams
//! without news cost nothing.

use std::collections::HashMap;

use pmda::{Results, TextValue};

use super::scope::{FetchScope, World};
use crate::catalogue::PARAM_CLUSTER;
use crate::events::Stream;
use crate::model::{EventLeaf, ParamItem, Pmid, StreamKind};
use crate::store::{CsvTable, Peer};

/// Most bytes of kept texts, in two halves: tables of 1,000 streams.
const KEPT: usize = 32 << 20;

/// A table of a stream.
type Key = (u64, EventLeaf);

/// The state of a stream that a text shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Version {
    /// A number that changes with its records.
    records: u64,
    /// Number of names known, if one is missing.
    names: Option<usize>,
}

#[derive(Clone, Debug)]
struct Kept {
    version: Version,
    text: TextValue,
}

/// Texts by stream.
#[derive(Debug, Default)]
pub(super) struct Tables {
    newer: HashMap<Key, Kept>,
    /// Texts that were not asked for since `newer` began.
    older: HashMap<Key, Kept>,
    /// Bytes of `newer`.
    bytes: usize,
}

impl Tables {
    /// The text of a stream if it is up to date.
    fn get(&mut self, key: Key, records: u64, names: usize) -> Option<TextValue> {
        let current = |kept: &Kept| {
            let of = kept.version;
            of.records == records && of.names.is_none_or(|known| known == names)
        };
        if let Some(kept) = self.newer.get(&key) {
            return current(kept).then(|| kept.text.clone());
        }
        let kept = self.older.remove(&key).filter(current)?;
        let text = kept.text.clone();
        self.put(key, kept);
        Some(text)
    }

    /// Keeps a text. When half of the room is taken, the texts not used since are dropped.
    fn put(&mut self, key: Key, kept: Kept) {
        if self.bytes + kept.text.len() > KEPT / 2 {
            self.older = std::mem::take(&mut self.newer);
            self.bytes = 0;
        }
        self.bytes += kept.text.len();
        if let Some(old) = self.newer.insert(key, kept) {
            self.bytes -= old.text.len();
        }
    }
}

/// Adds the text of one of the tables of a peer's stream.
pub(super) fn answer(
    (inst, peer, stream): (u32, &Peer, &Stream),
    (kind, leaf): (StreamKind, EventLeaf),
    world: &World<'_>,
    scope: &mut FetchScope,
    results: &mut Results,
) {
    stream.watch();
    let records = match leaf {
        EventLeaf::Slowest => stream.slowest_changes(scope.now),
        _ => Some(stream.stats().count),
    };
    let source = world.store.catalogue().source(kind.source);
    let of = source.and_then(|s| Some((s, s.events.get(kind.kind.index())?)));
    let (Some(records), Some((source, event))) = (records, of) else { return };
    let (key, names) = ((stream.id(), leaf), world.entries.rows().len());
    if let Some(text) = scope.tables.get(key, records, names) {
        return results.text_value(inst, &text);
    }
    let domain = world.store.domain();
    let pmid = |item: ParamItem| Pmid::new(domain, source.cluster + PARAM_CLUSTER, item.get());
    let prefix = format!("apm.{}.param.", source.name);
    let name = |p: Pmid| world.entries.by_pmid(p.0)?.name.strip_prefix(&prefix);
    let table = CsvTable::new(event.table, &peer.name, &pmid, &name);
    let (records, text) = match leaf {
        EventLeaf::Slowest => match stream.slowest(scope.now) {
            Some((changes, packed)) => (changes, table.records(&packed)),
            None => return,
        },
        _ => (records, table.newest(stream)),
    };
    // Making a text takes longer than copying it.
    results.budget.step(64 + text.len() as u64 / 8);
    let version = Version { records, names: table.unnamed().then_some(names) };
    let text = TextValue::new(&text);
    results.text_value(inst, &text);
    scope.tables.put(key, Kept { version, text });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_kept_while_nothing_is_new() {
        let (mut tables, text) = (Tables::default(), TextValue::new(&"a".repeat(KEPT / 8)));
        let key = |stream| (stream, EventLeaf::Table);
        let kept =
            |records, names| Kept { version: Version { records, names }, text: text.clone() };
        tables.put(key(1), kept(5, Some(7)));
        assert!(tables.get(key(1), 5, 7).is_some_and(|kept| kept == text));
        assert_eq!((tables.get(key(1), 6, 7), tables.get(key(1), 5, 8)), (None, None));
        assert_eq!(
            (tables.get(key(2), 5, 7), tables.get((1, EventLeaf::Slowest), 5, 7)),
            (None, None)
        );
        tables.put(key(1), kept(6, None));
        assert!(tables.get(key(1), 6, 8).is_some(), "all parameters have names");
        assert_eq!((tables.bytes, tables.newer.len()), (text.len(), 1));
        // Streams that are asked for stay, others go.
        for stream in 2..40 {
            tables.put(key(stream), kept(1, None));
            assert!(tables.get(key(1), 6, 8).is_some() && tables.get(key(stream), 1, 8).is_some());
            assert!(tables.newer.len() + tables.older.len() <= 8);
        }
        assert_eq!(tables.get(key(3), 1, 8), None);
    }
}
