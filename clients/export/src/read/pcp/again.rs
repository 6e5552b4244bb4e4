//! After pmcd was away, the PMDA takes this program for another one, and gives all that it has in memory once more.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, Hash, Hasher, RandomState};

use crate::model::{Record, Value};

/// Records that are remembered: more than the PMDA has in memory by default.
const MOST: usize = 524_288;

/// Which records have been seen.
#[derive(Debug, Default)]
pub(super) struct Again {
    hashes: RandomState,
    seen: VecDeque<u64>,
    /// Records that may come again, and how often.
    expected: HashMap<u64, u32>,
}

impl Again {
    /// What was seen may come again, once.
    pub(super) fn expect(&mut self) {
        self.expected.clear();
        for hash in &self.seen {
            *self.expected.entry(*hash).or_insert(0) += 1;
        }
    }

    /// Takes those out that come again. The first fetches bring what is in memory.
    pub(super) fn pass(&mut self, records: &mut Vec<Record>) {
        records.retain(|record| {
            let hash = self.hash(record);
            if let Some(times) = self.expected.get_mut(&hash)
                && *times > 0
            {
                *times -= 1;
                return false;
            }
            if self.seen.len() == MOST {
                self.seen.pop_front();
            }
            self.seen.push_back(hash);
            true
        });
    }

    fn hash(&self, record: &Record) -> u64 {
        let mut hash = self.hashes.build_hasher();
        let origin = &record.origin;
        (record.time, &*origin.full, &*origin.instance.name).hash(&mut hash);
        (record.flags.0, record.missed, record.parameters.len()).hash(&mut hash);
        for (name, value) in &record.parameters {
            name.hash(&mut hash);
            match value {
                Value::Int(n) => n.hash(&mut hash),
                Value::Uint(n) => n.hash(&mut hash),
                Value::Float(n) => n.to_bits().hash(&mut hash),
                Value::Text(text) => text.hash(&mut hash),
            }
        }
        hash.finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::{Flags, Instance, Origin};

    #[test]
    fn what_comes_again_is_passed_over_once() {
        let origin = Arc::new(Origin::new("zorka", "span", Arc::new(Instance::default())));
        let record = |time| {
            let (flags, parameters) = (Flags::default(), Vec::new());
            Record { time, origin: origin.clone(), flags, missed: 0, paired: None, parameters }
        };
        let mut again = Again::default();
        let left = |again: &mut Again, times: &[i64]| {
            let mut records: Vec<_> = times.iter().map(|time| record(*time)).collect();
            again.pass(&mut records);
            records.iter().map(|record| record.time).collect::<Vec<_>>()
        };
        assert_eq!(left(&mut again, &[1, 2, 2]), [1, 2, 2]);
        again.expect();
        assert_eq!(left(&mut again, &[2, 2, 2, 3]), [2, 3]);
        assert_eq!(left(&mut again, &[3]), [3]);
    }
}
