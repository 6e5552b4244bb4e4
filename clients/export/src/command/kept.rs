//! What waits until all was read: the slowest calls, and stops of the processes that calls were chosen of.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet, VecDeque};

use crate::meaning::{Identity, Ids, Item, SpanId, TraceId};
use crate::model::Record;
use crate::otlp::process;
use crate::say;
use crate::tree;

/// Calls that wait until it is known which of them have trees: the slowest.
const MOST_CALLS: usize = 10_000;
/// Stops that wait: the newest.
const MOST_STOPS: usize = 65_536;

/// Records that wait.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// So many calls are chosen of those that have trees; `None`: all that come.
    slowest: Option<usize>,
    trees: Vec<Record>,
    calls: Vec<Record>,
    stops: VecDeque<Record>,
    /// Stops that had no room.
    dropped: usize,
    /// When the first chosen call of a process began and the last one ended.
    times: HashMap<Box<str>, (i64, i64)>,
}

impl Kept {
    pub(super) fn new(slowest: Option<usize>) -> Self {
        Self { slowest, ..Self::default() }
    }

    /// Takes a record; gives back one that need not wait.
    pub(super) fn add(&mut self, record: Record) -> Option<Record> {
        let item = Item::new(&record);
        if item.is_stop() || &*record.origin.kind == "contention" {
            if self.stops.len() == MOST_STOPS {
                self.stops.pop_front();
                self.dropped += 1;
            }
            self.stops.push_back(record);
            return None;
        }
        let Some(most) = self.slowest else {
            self.chosen(&record);
            return Some(record);
        };
        if &*record.origin.kind == "tree" {
            add(&mut self.trees, record, most);
        } else if item.is_call() {
            add(&mut self.calls, record, MOST_CALLS);
        }
        None
    }

    fn chosen(&mut self, record: &Record) {
        let item = Item::new(record);
        let (start, end) = (item.start, item.end());
        let times = self.times.entry(process(record)).or_insert((start, end));
        *times = (times.0.min(start), times.1.max(end));
    }

    /// What was chosen of what waited.
    pub(super) fn finish(mut self) -> Vec<Record> {
        let mut slow = std::mem::take(&mut self.calls);
        cut(&mut self.trees, self.slowest.unwrap_or(0));
        let id = |Identity { trace, span, .. }: Identity| (trace, span);
        let whose: HashSet<(TraceId, SpanId)> =
            self.trees.iter().map(|tree| id(tree::call(tree))).collect();
        slow.retain(|call| whose.contains(&id(Ids::default().of(&Item::new(call)))));
        cut(&mut slow, MOST_CALLS);
        slow.append(&mut self.trees);
        if self.slowest.is_some() && slow.is_empty() {
            say("no trees of slow calls: pmdaapm makes them while somebody reads them");
        }
        if self.dropped > 0 {
            let dropped = self.dropped;
            say(&format!(
                "the {dropped} oldest pauses and waits were not looked at: -S and -T choose a part"
            ));
        }
        slow.iter().for_each(|record| self.chosen(record));
        let Self { times, stops, .. } = self;
        let mut found: Vec<Record> = stops.into();
        found.retain(|stop| {
            let (item, times) = (Item::new(stop), times.get(&process(stop)));
            times.is_some_and(|(start, end)| item.start <= *end && item.end() >= *start)
        });
        found.append(&mut slow);
        found
    }
}

fn add(records: &mut Vec<Record>, record: Record, most: usize) {
    records.push(record);
    if records.len() >= 2 * most {
        cut(records, most);
    }
}

/// Only the slowest ones stay, the first ones of those that took as long.
fn cut(records: &mut Vec<Record>, most: usize) {
    records.sort_by_key(|record| (Reverse(Item::new(record).length), record.time));
    records.truncate(most);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::{Flags, Instance, Origin, Value};

    fn record(kind: &str, pod: &str, time: i64, duration: u64) -> Record {
        let instance = Instance { name: format!("shop/a/{pod}").into(), ..Instance::default() };
        let origin = Arc::new(Origin::new("profiler", kind, Arc::new(instance)));
        let tree = ("tree".into(), Value::Text(format!("0,{duration},,,1,A.a").into()));
        let parameters = vec![("duration".into(), Value::Uint(duration)), tree];
        Record { time, origin, flags: Flags::default(), missed: 0, paired: None, parameters }
    }

    fn said(records: &[Record]) -> Vec<(&str, i64)> {
        records.iter().map(|one| (&*one.origin.kind, one.time)).collect()
    }

    #[test]
    fn the_slowest_calls_are_those_with_trees() {
        let mut kept = Kept::new(Some(2));
        for n in 1..100 {
            let at = i64::try_from(n).unwrap() * 1000;
            assert_eq!(kept.add(record("call", "1", at, n)), None);
            // The last ones were there before trees were made.
            if n < 90 {
                kept.add(record("tree", "1", at, n));
            }
        }
        for (pod, end) in [("1", 87_000), ("1", 88_010), ("2", 89_001), ("1", 89_500)] {
            kept.add(record("pause", pod, end, 20));
        }
        kept.add(record("chunk", "1", 89_000, 1));
        let expected = [
            ("pause", 88_010),
            ("call", 89_000),
            ("call", 88_000),
            ("tree", 89_000),
            ("tree", 88_000),
        ];
        assert_eq!(said(&kept.finish()), expected);
    }

    #[test]
    fn stops_of_a_trace_are_those_of_its_processes_and_time() {
        let mut kept = Kept::new(None);
        for (pod, end) in [("1", 900), ("1", 1010), ("2", 1020), ("1", 1300)] {
            assert_eq!(kept.add(record("pause", pod, end, 20)), None);
        }
        assert!(kept.add(record("call", "1", 1000, 100)).is_some());
        assert_eq!(kept.add(record("pause", "1", 1110, 20)), None);
        assert_eq!(said(&kept.finish()), [("pause", 1010), ("pause", 1110)]);
    }

    #[test]
    fn memory_is_bounded() {
        let mut kept = Kept::new(Some(1));
        for n in 0..70_000 {
            kept.add(record("call", "1", n, 1));
            kept.add(record("tree", "1", n, 1));
            kept.add(record("pause", "1", n, 1));
        }
        let Kept { trees, calls, stops, .. } = &kept;
        assert!(trees.len() < 2 && calls.len() < 2 * MOST_CALLS && stops.len() <= MOST_STOPS);
    }
}
