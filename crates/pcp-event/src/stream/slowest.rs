//! Copies of the slowest records of the last minutes, which stay when the ring drops them.
//!
//! The minutes are periods. Each has a heap of its slowest records; the least of a full heap is the
//! threshold that nearly all records are below, so that a record usually costs the search for its
//! duration and a comparison.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use super::resting::Compressed;
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
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Slow {
    duration: u64,
    seq: u64,
    record: Box<[u8]>,
}

impl Slow {
    const fn memory(&self) -> usize {
        size_of::<Self>() + self.record.len()
    }

    /// Appends duration, sequence number, length and record.
    fn write(&self, out: &mut Vec<u8>) {
        for number in [self.duration, self.seq, self.record.len() as u64] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&self.record);
    }

    /// Takes what [`Self::write`] has appended.
    fn read(bytes: &mut &[u8]) -> Option<Self> {
        let (duration, seq) = (read_number(bytes)?, read_number(bytes)?);
        let record = usize::try_from(read_number(bytes)?).ok()?;
        let record = bytes.split_off(..record)?.into();
        Some(Self { duration, seq, record })
    }
}

fn read_number(bytes: &mut &[u8]) -> Option<u64> {
    let (number, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u64::from_le_bytes(*number))
}

#[derive(Clone, Debug)]
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

    /// Appends number, count and records.
    fn write(&self, out: &mut Vec<u8>) {
        for number in [self.number, self.slow.len() as u64] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        self.slow.iter().for_each(|Reverse(slow)| slow.write(out));
    }

    /// Takes what [`Self::write`] has appended.
    fn read(bytes: &mut &[u8]) -> Option<Self> {
        let (number, count) = (read_number(bytes)?, read_number(bytes)?);
        let slow = (0..count).map_while(|_| Slow::read(bytes)).map(Reverse).collect();
        Some(Self { number, slow })
    }
}

/// The periods of a stream at rest, compressed.
#[derive(Debug)]
struct Resting {
    /// Number of the oldest period.
    oldest: u64,
    compressed: Compressed,
}

impl Resting {
    fn periods(&self) -> VecDeque<Period> {
        let plain = self.compressed.plain();
        let mut bytes = &*plain;
        std::iter::from_fn(|| Period::read(&mut bytes)).collect()
    }
}

/// The slowest records of a stream.
#[derive(Debug)]
pub(super) struct Slowest {
    /// The parameter with the duration, of type U64.
    duration: Pmid,
    /// Oldest first; empty while they rest.
    periods: VecDeque<Period>,
    resting: Option<Resting>,
    /// Compression was tried, and they have not been used since.
    rested: bool,
    /// Durations up to this one are not kept in the newest period.
    threshold: Option<u64>,
    /// Memory of the records, when they do not rest.
    bytes: usize,
    changes: u64,
}

impl Slowest {
    pub(super) const fn new(duration: Pmid) -> Self {
        Self {
            duration,
            periods: VecDeque::new(),
            resting: None,
            rested: false,
            threshold: None,
            bytes: 0,
            changes: 0,
        }
    }

    /// Memory of the records kept.
    pub(super) fn held(&self) -> usize {
        self.resting.as_ref().map_or(self.bytes, |resting| resting.compressed.held())
    }

    /// Grows whenever the records change.
    pub(super) const fn changes(&self) -> u64 {
        self.changes
    }

    /// Looks at the records of a sealed batch; the first has number `seq`. `share`: most bytes.
    pub(super) fn take(&mut self, batch: &Batch, seq: u64, now: Duration, share: usize) {
        self.wake();
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
        if self.held() > share {
            self.wake();
        }
        while self.resting.is_none() && self.bytes > share {
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

    /// Compresses the records until they change, once. Returns their memory; 0 if that does not
    /// pay, or they are.
    pub(super) fn rest(&mut self) -> usize {
        if std::mem::replace(&mut self.rested, true) {
            return 0;
        }
        let oldest = self.periods.front().map_or(0, |oldest| oldest.number);
        let compressed = Compressed::of(self.bytes, |plain| {
            self.periods.iter().for_each(|period| period.write(plain));
        });
        let Some(compressed) = compressed else {
            self.periods.iter_mut().for_each(|period| period.slow.shrink_to_fit());
            self.periods.shrink_to_fit();
            return 0;
        };
        self.resting = Some(Resting { oldest, compressed });
        self.periods = VecDeque::new();
        self.bytes
    }

    /// The records are there again.
    fn wake(&mut self) {
        self.rested = false;
        if let Some(resting) = self.resting.take() {
            self.periods = resting.periods();
        }
    }

    /// Drops the periods that ended before the window began, at period `now`.
    fn expire(&mut self, now: u64) {
        let old = |number| number + SLOWEST_WINDOW.as_secs() / PERIOD.as_secs() < now;
        if self.resting.as_ref().is_some_and(|resting| old(resting.oldest)) {
            self.wake();
        }
        while self.periods.front().is_some_and(|oldest| old(oldest.number))
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
        let periods = match &self.resting {
            None => Cow::Borrowed(&self.periods),
            Some(resting) => Cow::Owned(resting.periods()),
        };
        let mut all: Vec<&Slow> =
            periods.iter().flat_map(|p| &p.slow).map(|Reverse(slow)| slow).collect();
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
mod tests;
