//! Records in the order of their times, for producers that make them in another order.

use super::{Batch, COUNT};
use crate::layout::{HighRes, Resolution};
use crate::types::stamp::Stamp;

/// The time of a packed record.
fn stamp(record: &[u8]) -> Stamp {
    HighRes::get_stamp(record).unwrap_or_default()
}

impl Batch {
    /// Moves the records of a time up to `until`, or all, to the end of `to`, sorted by time;
    /// records of one time stay in their order. Usually the records are in order already, and all
    /// are moved: then nothing is copied if `to` is empty.
    ///
    /// ```
    /// use pcp_event::{Batch, Stamp};
    ///
    /// let at = |sec| Stamp { sec, nsec: 0 };
    /// let (mut batch, mut sorted) = (Batch::default(), Batch::default());
    /// [3, 1, 5, 2].into_iter().for_each(|sec| batch.record(at(sec), 1));
    /// batch.move_sorted(Some(at(3)), &mut sorted);
    /// assert_eq!((batch.len(), sorted.len()), (1, 3));
    /// ```
    pub fn move_sorted(&mut self, until: Option<Stamp>, to: &mut Self) {
        if self.is_empty() {
            return;
        }
        self.seal();
        to.seal();
        let moved = |time: Stamp| until.is_none_or(|until| time <= until);
        let (mut sorted, mut whole, mut last) = (true, true, None);
        for record in self.records() {
            let time = stamp(record);
            sorted &= last.is_none_or(|last| last <= time);
            whole &= moved(time);
            last = Some(time);
        }
        if sorted && whole && to.is_empty() {
            return std::mem::swap(self, to);
        }
        let mut order: Vec<_> = self.records().map(|record| (stamp(record), record)).collect();
        order.sort_by_key(|(time, _)| *time);
        let mut rest = Self::default();
        for (time, record) in order {
            if moved(time) {
                to.push_record(record);
            } else {
                rest.push_record(record);
            }
        }
        to.truncated += self.truncated;
        if rest.is_empty() {
            self.clear();
        } else {
            *self = rest;
        }
    }

    /// The packed records.
    fn records(&self) -> impl Iterator<Item = &[u8]> {
        let ends = self.starts.iter().skip(1).copied().chain([self.bytes.len()]);
        self.starts.iter().zip(ends).map(|(from, to)| self.bytes.get(*from..to).unwrap_or_default())
    }

    /// Appends a complete record; the newest one must be complete.
    fn push_record(&mut self, record: &[u8]) {
        self.start = self.bytes.len();
        let count = record.get(COUNT..).and_then(<[u8]>::first_chunk);
        self.nparams = count.map_or(0, |count| i32::from_ne_bytes(*count));
        self.starts.push(self.start);
        self.bytes.extend_from_slice(record);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::ids::{Pmid, ValueType};
    use crate::{Records, Scalar};

    fn batch(seconds: &[i64]) -> Batch {
        let mut batch = Batch::default();
        for (n, sec) in (0..).zip(seconds) {
            batch.record(Stamp { sec: *sec, nsec: 0 }, 1);
            batch.number(Pmid(1), ValueType::U64, n);
            (0..n).for_each(|_| batch.text(Pmid(2), "x"));
        }
        batch
    }

    fn shown(batch: &mut Batch) -> Vec<(i64, u64, usize)> {
        batch.seal();
        let records = Records::<HighRes>::packed(&batch.bytes);
        let records: Vec<_> = records.collect::<Result<_, _>>().expect("sound");
        assert_eq!(records.len(), batch.len());
        let number = |value: &Scalar<'_>| match value {
            Scalar::U64(n) => *n,
            other => panic!("{other:?}"),
        };
        records
            .iter()
            .map(|r| (r.stamp.sec, number(&r.params[0].value), r.params.len() - 1))
            .collect()
    }

    #[test]
    fn records_are_sorted_and_those_behind_stay() {
        let (mut all, mut to) = (batch(&[4, 2, 9, 2, 7]), Batch::default());
        all.truncated = 3;
        all.move_sorted(Some(Stamp { sec: 4, nsec: 0 }), &mut to);
        assert_eq!(shown(&mut to), [(2, 1, 1), (2, 3, 3), (4, 0, 0)]);
        assert_eq!((shown(&mut all), to.truncated), (vec![(7, 4, 4), (9, 2, 2)], 3));
        all.record(Stamp { sec: 1, nsec: 0 }, 1);
        all.number(Pmid(1), ValueType::U64, 0);
        all.move_sorted(None, &mut to);
        assert_eq!(shown(&mut to)[3..], [(1, 0, 0), (7, 4, 4), (9, 2, 2)]);
        assert!(all.is_empty() && all.size() == 0);
    }

    #[test]
    fn sorted_records_move_without_a_copy() {
        let (mut all, mut to) = (batch(&[1, 1, 2]), Batch::default());
        let place = all.bytes.as_ptr();
        all.move_sorted(None, &mut to);
        assert_eq!((to.bytes.as_ptr(), to.len(), all.len()), (place, 3, 0));
        all.move_sorted(None, &mut to);
        assert_eq!(to.len(), 3);
        to.number(Pmid(1), ValueType::U64, 5);
        assert_eq!(to.nparams, 4);
    }
}
