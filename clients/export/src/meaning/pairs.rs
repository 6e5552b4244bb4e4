//! Two records that say where something starts and ends, as one: events of LTTng by the names of their
//! classes, activities of .NET by their ids.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};

use crate::model::{Flags, Record};

/// Starts that wait for their ends. Of more the oldest has none.
const MOST_OPEN: usize = 1024;

/// Starts that wait for their ends.
#[derive(Debug, Default)]
pub struct Pairs {
    hasher: RandomState,
    /// By what an end has in common with its start: its number, and the start.
    open: HashMap<u64, Vec<(u64, Record)>>,
    /// The numbers of starts in the order in which they came, with that under which they are open.
    order: VecDeque<(u64, u64)>,
    number: u64,
    waiting: usize,
}

impl Pairs {
    /// Gives a record to `emit` unless it waits for its other half; an end comes with its start as one record.
    pub fn add(&mut self, record: Record, emit: &mut impl FnMut(Record)) {
        let (starts, ends) = (record.flags.has(Flags::START), record.flags.has(Flags::END));
        if starts == ends {
            return emit(record);
        }
        let Some(key) = self.key(&record) else { return emit(record) };
        if starts {
            self.number += 1;
            self.order.push_back((self.number, key));
            self.open.entry(key).or_default().push((self.number, record));
            self.waiting += 1;
            if self.waiting > MOST_OPEN {
                self.give_up(emit);
            }
            return;
        }
        let start = self.open.get_mut(&key).and_then(Vec::pop);
        if self.open.get(&key).is_some_and(Vec::is_empty) {
            self.open.remove(&key);
        }
        match start {
            Some((_, start)) if start.time <= record.time => {
                self.waiting -= 1;
                emit(joined(start, record));
            }
            Some((_, start)) => {
                self.waiting -= 1;
                emit(start);
                emit(record);
            }
            None => emit(record),
        }
        // Numbers of starts that have found their ends, at the front or where there are many.
        if self.order.len() > 2 * MOST_OPEN {
            let open = &self.open;
            self.order.retain(|(number, key)| {
                open.get(key)
                    .is_some_and(|waiting| waiting.iter().any(|(known, _)| known == number))
            });
        }
    }

    /// Gives all starts that have no end, as instants.
    pub fn finish(&mut self, emit: &mut impl FnMut(Record)) {
        while self.waiting > 0 {
            self.give_up(emit);
        }
        self.order.clear();
    }

    /// The oldest start has no end.
    fn give_up(&mut self, emit: &mut impl FnMut(Record)) {
        while let Some((number, key)) = self.order.pop_front() {
            let Some(waiting) = self.open.get_mut(&key) else { continue };
            let Some(place) = waiting.iter().position(|(known, _)| *known == number) else {
                continue;
            };
            let (_, record) = waiting.remove(place);
            if waiting.is_empty() {
                self.open.remove(&key);
            }
            self.waiting -= 1;
            return emit(record);
        }
    }

    /// What an end has in common with its start. `None`: nothing says so.
    fn key(&self, record: &Record) -> Option<u64> {
        let origin = &record.origin;
        let instance = &*origin.instance.name;
        match &*origin.full {
            "lttng.record" => {
                let event = record.text("event");
                let class = event.rsplit_once('_').map_or(&*event, |(class, _)| class);
                let thread = record.first(&["ctx.vtid", "cpu"]);
                Some(self.hasher.hash_one((instance, class, thread, record.text("stream"))))
            }
            "dotnet.application" => {
                let id = record.text("id");
                (!id.is_empty()).then(|| self.hasher.hash_one((instance, id)))
            }
            _ => None,
        }
    }
}

/// One record of two: the start, with what only the end says.
fn joined(mut start: Record, end: Record) -> Record {
    start.paired = Some(end.time.abs_diff(start.time));
    start.missed += end.missed;
    let own = start.parameters.len();
    let known = |parameters: &[(std::sync::Arc<str>, _)], name: &str| {
        parameters.iter().take(own).any(|(known, _)| **known == *name)
    };
    for (name, value) in end.parameters {
        if !known(&start.parameters, &name) {
            start.parameters.push((name, value));
        }
    }
    start
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::{Instance, Origin, Value};

    fn record(time: i64, event: &str, thread: i64) -> Record {
        let flags = if event.ends_with("_begin") {
            Flags::START
        } else if event.ends_with("_end") {
            Flags::END
        } else {
            Flags::POINT
        };
        let origin = Arc::new(Origin::new("lttng", "record", Arc::new(Instance::default())));
        let parameters = vec![
            ("event".into(), Value::Text(event.into())),
            ("ctx.vtid".into(), Value::Int(thread)),
            (format!("of.{event}").into(), Value::Int(time)),
        ];
        Record { time, origin, flags, missed: 0, paired: None, parameters }
    }

    fn paired(records: impl IntoIterator<Item = Record>) -> Vec<(i64, Option<u64>)> {
        let (mut pairs, mut found) = (Pairs::default(), Vec::new());
        for record in records {
            pairs.add(record, &mut |record: Record| found.push((record.time, record.paired)));
        }
        pairs.finish(&mut |record| found.push((record.time, record.paired)));
        found
    }

    #[test]
    fn threads_and_levels_are_told_apart() {
        let found = paired([
            record(1, "a_begin", 1),
            record(2, "a_begin", 2),
            record(3, "a_begin", 1),
            record(4, "x", 1),
            record(5, "a_end", 1),
            record(6, "a_end", 1),
            record(9, "a_end", 2),
            record(10, "b_end", 1),
            record(11, "c_begin", 1),
        ]);
        let expected =
            [(4, None), (3, Some(2)), (1, Some(5)), (2, Some(7)), (10, None), (11, None)];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_only_the_end_says_is_kept() {
        let mut pairs = Pairs::default();
        let mut found = Vec::new();
        pairs.add(record(1, "a_begin", 1), &mut |record| found.push(record));
        pairs.add(record(5, "a_end", 1), &mut |record| found.push(record));
        let names: Vec<&str> =
            found.iter().flat_map(|one| &one.parameters).map(|(name, _)| &**name).collect();
        assert_eq!(names, ["event", "ctx.vtid", "of.a_begin", "of.a_end"]);
    }

    #[test]
    fn of_too_many_starts_the_oldest_has_no_end() {
        let most = i64::try_from(MOST_OPEN).unwrap();
        let begins = (0..=most).map(|n| record(n, "a_begin", n));
        let ends = (0..=most).map(|n| record(n + 10_000, "a_end", n));
        let found = paired(begins.chain(ends));
        assert_eq!(found.len(), MOST_OPEN + 2);
        assert_eq!(found.first(), Some(&(0, None)));
        assert_eq!(found.get(1), Some(&(10_000, None)));
        assert!(found.iter().skip(2).all(|(_, length)| *length == Some(10_000)));
    }

    #[test]
    fn a_year_of_pairs_takes_no_room() {
        let mut pairs = Pairs::default();
        let mut number = 0;
        for n in 0..100_000 {
            pairs.add(record(2 * n, "a_begin", n % 7), &mut |_| number += 1);
            pairs.add(record(2 * n + 1, "a_end", n % 7), &mut |_| number += 1);
        }
        assert_eq!((number, pairs.waiting, pairs.open.len()), (100_000, 0, 0));
        assert!(pairs.order.len() <= 2 * MOST_OPEN + 1);
    }
}
