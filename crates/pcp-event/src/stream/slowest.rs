//! Copies of the slowest records of the last minutes, which stay when the ring drops them.
//!
//! The minutes are periods. Each has a heap of its slowest records; the least of a full heap is the
//! threshold that nearly all records are below, so that a record usually costs the search for its
//! duration and a comparison.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use crate::batch::Batch;
use crate::check::{Records, Scalar};
use crate::layout::{HighRes, PARAM_HEADER, Resolution, after, header_at, padded, param_header};
use crate::types::ids::{Pmid, ValueType};

/// Most records of a period and of an answer.
pub const SLOWEST: usize = 50;
/// Records of this time are kept, and those of the rest of the period in which it begins.
pub const SLOWEST_WINDOW: Duration = Duration::from_secs(300);
/// Length of a period.
const PERIOD: Duration = Duration::from_secs(30);
/// Longer records are shortened: a table shows less of a text.
const RECORD: usize = 16 << 10;
/// Most bytes of a text in a shortened record.
const TEXT: usize = 5 << 10;

/// A record with its rank.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Slow {
    duration: u64,
    seq: u64,
    record: Box<[u8]>,
}

impl Slow {
    const fn memory(&self) -> usize {
        size_of::<Self>() + self.record.len()
    }
}

#[derive(Debug)]
struct Period {
    /// Its start, in periods.
    number: u64,
    slow: BinaryHeap<Reverse<Slow>>,
}

impl Period {
    /// The least duration.
    fn least(&self) -> Option<u64> {
        self.slow.peek().map(|slow| slow.0.duration)
    }
}

/// The slowest records of a stream.
#[derive(Debug)]
pub(super) struct Slowest {
    /// The parameter with the duration, of type U64.
    duration: Pmid,
    /// Oldest first.
    periods: VecDeque<Period>,
    /// Durations up to this one are not kept in the newest period.
    threshold: Option<u64>,
    bytes: usize,
    changes: u64,
}

impl Slowest {
    pub(super) const fn new(duration: Pmid) -> Self {
        Self { duration, periods: VecDeque::new(), threshold: None, bytes: 0, changes: 0 }
    }

    /// Bytes of the records kept.
    pub(super) const fn held(&self) -> usize {
        self.bytes
    }

    /// Grows whenever the records change.
    pub(super) const fn changes(&self) -> u64 {
        self.changes
    }

    /// Looks at the records of a sealed batch; the first has number `seq`. `share`: most bytes.
    pub(super) fn take(&mut self, batch: &Batch, seq: u64, now: Duration, share: usize) {
        let number = period(now);
        if self.periods.back().is_none_or(|newest| newest.number < number) {
            self.begin(number);
        }
        let wanted = duration_header(self.duration);
        let ends = batch.starts.get(1..).unwrap_or_default().iter();
        let (mut seq, mut start) = (seq, 0);
        let mut offer = |end: usize| {
            let record = batch.bytes.get(start..end).unwrap_or_default();
            if let Some(duration) = number_of(record, wanted)
                && self.threshold.is_none_or(|least| duration > least)
            {
                self.keep(duration, seq, record, share);
            }
            (seq, start) = (seq + 1, end);
        };
        ends.for_each(|end| offer(*end));
        offer(batch.bytes.len());
    }

    /// Keeps a record that is slower than the threshold.
    #[cold]
    fn keep(&mut self, duration: u64, seq: u64, record: &[u8], share: usize) {
        let record: Box<[u8]> = match record.len() {
            0..RECORD => record.into(),
            _ => shortened(record, self.duration).into(),
        };
        let slow = Slow { duration, seq, record };
        let Some(newest) = self.periods.back_mut().filter(|_| slow.memory() <= share) else {
            return;
        };
        self.bytes += slow.memory();
        self.changes += 1;
        newest.slow.push(Reverse(slow));
        if newest.slow.len() > SLOWEST
            && let Some(least) = newest.slow.pop()
        {
            self.bytes -= least.0.memory();
        }
        self.threshold = newest.least().filter(|_| newest.slow.len() >= SLOWEST);
        self.fit(share);
    }

    /// Drops the least slow records until `share` bytes are enough.
    pub(super) fn fit(&mut self, share: usize) {
        while self.bytes > share {
            let of = self.periods.iter_mut().filter(|p| !p.slow.is_empty());
            let Some(period) = of.min_by_key(|p| p.least()) else { return };
            if let Some(Reverse(least)) = period.slow.pop() {
                self.bytes -= least.memory();
                self.changes += 1;
                // The next one that is as fast would be dropped at once.
                self.threshold = self.threshold.max(Some(least.duration));
            }
        }
    }

    /// Begins a period. Of the periods before, only records that can be among the slowest are kept.
    fn begin(&mut self, number: u64) {
        self.expire(number);
        let mut slower = BinaryHeap::new();
        for period in self.periods.iter_mut().rev() {
            let full = slower.len() >= SLOWEST;
            let least = slower.peek().map(|Reverse(least)| *least).filter(|_| full);
            let bytes = &mut self.bytes;
            period.slow.retain(|Reverse(slow)| {
                let stays = least.is_none_or(|least| slow.duration > least);
                *bytes -= if stays { 0 } else { slow.memory() };
                stays
            });
            for Reverse(slow) in &period.slow {
                slower.push(Reverse(slow.duration));
                if slower.len() > SLOWEST {
                    slower.pop();
                }
            }
        }
        self.periods.retain(|period| !period.slow.is_empty());
        self.periods.push_back(Period { number, slow: BinaryHeap::new() });
        self.threshold = None;
    }

    /// Frees reserved memory.
    pub(super) fn shrink(&mut self) {
        self.periods.iter_mut().for_each(|period| period.slow.shrink_to_fit());
        self.periods.shrink_to_fit();
    }

    /// Drops the periods that ended before the window began, at period `now`.
    fn expire(&mut self, now: u64) {
        let window = SLOWEST_WINDOW.as_secs() / PERIOD.as_secs();
        while self.periods.front().is_some_and(|oldest| oldest.number + window < now)
            && let Some(oldest) = self.periods.pop_front()
        {
            self.changes += u64::from(!oldest.slow.is_empty());
            self.bytes -= oldest.slow.iter().map(|Reverse(slow)| slow.memory()).sum::<usize>();
        }
    }

    /// Drops the records that have become too old.
    pub(super) fn expire_at(&mut self, now: Duration) {
        self.expire(period(now));
    }

    /// The slowest records, packed, the slowest first.
    pub(super) fn packed(&self) -> Vec<u8> {
        let mut all: Vec<&Slow> =
            self.periods.iter().flat_map(|p| &p.slow).map(|Reverse(slow)| slow).collect();
        all.sort_unstable_by(|a, b| b.cmp(a));
        all.iter().take(SLOWEST).flat_map(|slow| &*slow.record).copied().collect()
    }
}

const fn period(now: Duration) -> u64 {
    now.as_secs() / PERIOD.as_secs()
}

/// The header of a parameter of type U64, as one number: compared at once.
fn duration_header(pmid: Pmid) -> u64 {
    u64::from_ne_bytes(param_header(pmid.0, ValueType::U64, 8))
}

/// The value of the parameter with this header in a packed record.
#[inline(always)]
fn number_of(record: &[u8], wanted: u64) -> Option<u64> {
    // One comparison for each parameter finds whether there is another header.
    let last = record.len().checked_sub(PARAM_HEADER)?;
    let mut at = HighRes::RECORD_HEADER;
    while at <= last {
        let header = header_at(record, at)?;
        if header == wanted {
            return record.get(at + PARAM_HEADER..)?.first_chunk().map(|n| u64::from_ne_bytes(*n));
        }
        at = after(at, header);
    }
    None
}

/// The record with at most [`RECORD`] bytes: texts are cut, and the last parameters are left out,
/// but for the duration.
fn shortened(record: &[u8], duration: Pmid) -> Vec<u8> {
    let mut batch = Batch::default();
    let Some(Ok(record)) = Records::<HighRes>::packed(record).next() else { return Vec::new() };
    batch.record(record.stamp, record.flags);
    for param in &record.params {
        let fits = |len: usize| batch.size() + PARAM_HEADER + padded(len) <= RECORD - 16;
        match (param.value, number(param.value)) {
            (Scalar::Text(text), _) => {
                let text = start(text, TEXT);
                if fits(text.len()) {
                    batch.utf8(param.pmid, text);
                }
            }
            (_, Some((ty, bits))) if fits(8) || param.pmid == duration => {
                batch.number(param.pmid, ty, bits);
            }
            _ => {}
        }
    }
    batch.packed().to_vec()
}

/// Type and bits of a number.
fn number(value: Scalar<'_>) -> Option<(ValueType, u64)> {
    Some(match value {
        Scalar::U64(number) => (ValueType::U64, number),
        Scalar::I64(number) => (ValueType::I64, number.cast_unsigned()),
        Scalar::U32(number) => (ValueType::U32, number.into()),
        Scalar::I32(number) => (ValueType::I32, number.cast_unsigned().into()),
        Scalar::F32(number) => (ValueType::F32, number.to_bits().into()),
        Scalar::F64(number) => (ValueType::F64, number.to_bits()),
        Scalar::Text(_) | Scalar::Aggregate(_) => return None,
    })
}

/// At most `max` bytes of a text in UTF-8, whole characters.
fn start(text: &[u8], max: usize) -> &[u8] {
    let boundary = |end: &usize| text.get(*end).is_none_or(|byte| byte & 0xc0 != 0x80);
    let end = (0..=max.min(text.len())).rev().find(boundary).unwrap_or_default();
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Budget, Stamp, Stream};

    const DURATION: Pmid = Pmid(7);
    const TITLE: Pmid = Pmid(8);

    /// Appends a record of each duration at a time in seconds.
    fn append(stream: &Stream, at: u64, durations: impl IntoIterator<Item = u64>) {
        let mut batch = Batch::default();
        for duration in durations {
            batch.record(Stamp::default(), 1);
            batch.text(TITLE, "GET /");
            batch.number(DURATION, ValueType::U64, duration);
        }
        stream.append_at(&mut batch, Duration::from_secs(at));
    }

    fn durations(stream: &Stream, at: u64) -> Vec<u64> {
        let (_, packed) = stream.slowest(Duration::from_secs(at)).expect("kept");
        Records::<HighRes>::packed(&packed)
            .map(|record| match record.expect("whole").params.as_slice() {
                [_, duration] => match duration.value {
                    Scalar::U64(duration) => duration,
                    other => panic!("{other:?}"),
                },
                other => panic!("{other:?}"),
            })
            .collect()
    }

    /// The numbers 0 to `n`, mixed.
    fn mixed(n: u64) -> impl Iterator<Item = u64> {
        (0..n).map(move |i| i * 7919 % n)
    }

    #[test]
    fn the_slowest_stay_when_the_ring_has_dropped_them() {
        let stream = Stream::with_slowest(&Budget::new(100_000), DURATION);
        append(&stream, 1000, mixed(20_011));
        append(&stream, 1001, mixed(1000));
        let slowest: Vec<u64> = (0..20_011).rev().take(SLOWEST).collect();
        assert_eq!(durations(&stream, 1002), slowest);
        let stats = stream.stats();
        assert!((95_000..=100_000).contains(&stats.memory), "{stats:?}");
        assert_eq!(Stream::new(&Budget::new(100)).slowest(Duration::ZERO), None);
    }

    #[test]
    fn they_are_those_of_the_last_minutes() {
        let stream = Stream::with_slowest(&Budget::new(1 << 20), DURATION);
        // Each half minute has durations of its own, first ever fewer, then ever more.
        let of = |n: u64| mixed(997).map(move |d| 10 * d + (n * 37) % 10 + 1000 * (n % 3));
        for n in 0..40 {
            append(&stream, 30 * n, of(n));
            append(&stream, 30 * n + 29, of(n + 1));
            let kept = n.saturating_sub(10)..=n;
            let mut all: Vec<u64> = kept.flat_map(|n| of(n).chain(of(n + 1))).collect();
            all.sort_unstable_by(|a, b| b.cmp(a));
            all.truncate(SLOWEST);
            assert_eq!(durations(&stream, 30 * n + 29), all, "{n}");
        }
        let (changes, _) = stream.slowest(Duration::from_secs(1200)).expect("kept");
        assert_eq!(durations(&stream, 1499).len(), SLOWEST);
        assert_eq!(durations(&stream, 30 * 40 + 300), [], "none is 5 minutes old");
        assert_ne!(stream.slowest_changes(Duration::from_secs(1501)), Some(changes));
        stream.trim(Duration::from_secs(1501));
        append(&stream, 2000, [5]);
        assert_eq!(durations(&stream, 2000), [5]);
    }

    #[test]
    fn few_bytes_have_the_slowest_that_fit() {
        let budget = Budget::new(8 << 10);
        let stream = Stream::with_slowest(&budget, DURATION);
        append(&stream, 10, mixed(5003));
        append(&stream, 40, mixed(5003));
        let kept = durations(&stream, 41);
        assert!((10..SLOWEST).contains(&kept.len()), "{}", kept.len());
        assert!(kept.is_sorted_by(|a, b| a >= b) && *kept.last().expect("some") > 4950, "{kept:?}");
        assert!(budget.held() <= 8 << 10, "{}", budget.held());
        drop(stream);
        assert_eq!(budget.held(), 0);
    }

    #[test]
    fn a_large_record_is_shortened() {
        let stream = Stream::with_slowest(&Budget::new(1 << 20), DURATION);
        let mut batch = Batch::default();
        batch.record(Stamp { sec: 5, nsec: 6 }, 3);
        (0..5).for_each(|_| batch.text(TITLE, &"é".repeat(40_000)));
        batch.number(DURATION, ValueType::U64, 77);
        stream.append_at(&mut batch, Duration::ZERO);
        let (_, packed) = stream.slowest(Duration::ZERO).expect("kept");
        let record = Records::<HighRes>::packed(&packed).next().expect("one").expect("whole");
        assert_eq!((record.stamp, record.flags), (Stamp { sec: 5, nsec: 6 }, 3));
        assert!(packed.len() <= RECORD && record.params.len() == 4, "{}", packed.len());
        assert_eq!(record.params[0].value, Scalar::Text("é".repeat(TEXT / 2).as_bytes()));
        assert_eq!(record.params[3].value, Scalar::U64(77));
        // A record without a duration is not ranked; a cut one is not read beyond its end.
        batch.record(Stamp::default(), 1);
        batch.text(TITLE, "a");
        stream.append_at(&mut batch, Duration::ZERO);
        assert_eq!(stream.slowest(Duration::ZERO).expect("kept").1, packed);
        (0..packed.len() - 12)
            .for_each(|n| assert_eq!(number_of(&packed[..n], duration_header(DURATION)), None));
    }
}
