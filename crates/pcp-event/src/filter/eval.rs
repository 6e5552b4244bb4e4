//! Evaluation of a filter on packed records.

use std::cell::{Cell, RefCell};

use super::compiled::Filter;
use super::expression::{Comparison, Orders};
use super::find::{Finder, Shape};
use super::program::{KEEP, PASS, Question, Side};
use crate::glob::Glob;
use crate::layout::{HighRes, Resolution, length_word};
use crate::types::ids::ValueType;

const I32: u32 = ValueType::I32 as u32;
const U32: u32 = ValueType::U32 as u32;
const I64: u32 = ValueType::I64 as u32;
const U64: u32 = ValueType::U64 as u32;
const F32: u32 = ValueType::F32 as u32;
const F64: u32 = ValueType::F64 as u32;
const TEXT: u32 = ValueType::Text as u32;
const AGGREGATE: u32 = ValueType::Aggregate as u32;
/// The words of integers' headers.
const WORD_I32: u32 = length_word(8, ValueType::I32);
const WORD_U32: u32 = length_word(8, ValueType::U32);
const WORD_I64: u32 = length_word(12, ValueType::I64);
const WORD_U64: u32 = length_word(12, ValueType::U64);

/// Bytes of text that count as one step.
const STEP_BYTES: usize = 64;

/// A filter applied to the records of one instance. Counts evaluation steps.
#[derive(Debug)]
pub struct RecordMatcher<'f> {
    filter: &'f Filter,
    instance: &'f str,
    finder: RefCell<Finder>,
    steps: Cell<u64>,
}

enum Value<'r> {
    Integer(i128),
    Float(f64),
    Text(&'r [u8]),
    Glob(&'r Glob),
}

impl Filter {
    /// A matcher for the records of `instance`.
    #[must_use]
    pub fn matcher<'f>(&'f self, instance: &'f str) -> RecordMatcher<'f> {
        let finder = RefCell::new(Finder::new(self.names.len()));
        RecordMatcher { filter: self, instance, finder, steps: Cell::new(0) }
    }
}

impl RecordMatcher<'_> {
    /// Steps since the last call; a step takes a few nanoseconds.
    pub fn take_steps(&self) -> u64 {
        self.steps.take()
    }

    /// Whether `record` (packed, high resolution) matches the filter.
    pub fn matches(&self, record: &[u8]) -> bool {
        let finder = &mut *self.finder.borrow_mut();
        let (shape, passed) = finder.find(record, &self.filter.parameters);
        let mut steps = 1 + passed;
        let subject = Subject { record, instance: self.instance, shape };
        let program = &self.filter.program;
        let mut next = program.start;
        while let Some(step) = program.steps.get(usize::from(next)) {
            let (yes, took) = subject.answer(&step.question);
            steps += 1 + took;
            next = if yes { step.yes } else { step.no };
        }
        debug_assert!(next == KEEP || next == PASS);
        self.steps.set(self.steps.get() + steps);
        next == KEEP
    }
}

struct Subject<'r> {
    record: &'r [u8],
    instance: &'r str,
    shape: &'r Shape,
}

impl<'r> Subject<'r> {
    /// The answer, and the steps that its bytes of text count as.
    #[inline(always)]
    fn answer(&self, question: &'r Question) -> (bool, u64) {
        match question {
            Question::Number(slot, orders, n) => match self.integer(*slot) {
                Some(value) => (orders.has(value.cmp(n)), 0),
                None => (self.other_number(*slot, *orders, *n), 0),
            },
            Question::Text(slot, equal, glob) => match self.raw(*slot) {
                Some((TEXT | AGGREGATE, text)) => {
                    (glob.matches(text) == *equal, (text.len() / STEP_BYTES) as u64)
                }
                _ => (false, 0),
            },
            Question::Compare(of) => self.compare(of),
            Question::True(side) => (self.is_true(side), 0),
        }
    }

    #[inline(never)]
    fn compare(&self, (left, how, right): &(Side, Comparison, Side)) -> (bool, u64) {
        match (self.value(left), self.value(right)) {
            (Some(left), Some(right)) => compare(&left, *how, &right),
            _ => (false, 0),
        }
    }

    #[inline(never)]
    fn is_true(&self, side: &Side) -> bool {
        match self.value(side) {
            Some(Value::Integer(n)) => n != 0,
            Some(Value::Float(n)) => n != 0.0,
            Some(Value::Text(text)) => !text.is_empty(),
            Some(Value::Glob(_)) | None => false,
        }
    }

    /// Bytes and type of a slot's value.
    #[inline(always)]
    fn raw(&self, slot: u16) -> Option<(u32, &'r [u8])> {
        let place = self.shape.place(slot)?;
        let (at, word) = (place.value(), place.word());
        let length = ((word & 0x00ff_ffff) as usize).checked_sub(4)?;
        Some((word >> 24, self.record.get(at..)?.get(..length)?))
    }

    /// The value in a slot, if it is an integer of at most 63 bits.
    #[inline(always)]
    fn integer(&self, slot: u16) -> Option<i64> {
        let place = self.shape.place(slot)?;
        let raw = self.record.get(place.value()..)?;
        match place.word() {
            WORD_U32 => Some(u32::from_ne_bytes(*raw.first_chunk()?).into()),
            WORD_U64 => i64::try_from(u64::from_ne_bytes(*raw.first_chunk()?)).ok(),
            WORD_I64 => Some(i64::from_ne_bytes(*raw.first_chunk()?)),
            WORD_I32 => Some(i32::from_ne_bytes(*raw.first_chunk()?).into()),
            _ => None,
        }
    }

    /// As [`Question::Number`] for a value that is no such integer.
    #[cold]
    #[inline(never)]
    fn other_number(&self, slot: u16, orders: Orders, number: i64) -> bool {
        match self.slot(slot) {
            Some(Value::Integer(value)) => orders.has(value.cmp(&number.into())),
            #[expect(clippy::cast_precision_loss, reason = "one side is a float already")]
            Some(Value::Float(value)) => orders.of(value.partial_cmp(&(number as f64))),
            _ => false,
        }
    }

    fn slot(&self, slot: u16) -> Option<Value<'r>> {
        let (ty, raw) = self.raw(slot)?;
        Some(match ty {
            I32 => Value::Integer(i32::from_ne_bytes(raw.try_into().ok()?).into()),
            U32 => Value::Integer(u32::from_ne_bytes(raw.try_into().ok()?).into()),
            I64 => Value::Integer(i64::from_ne_bytes(raw.try_into().ok()?).into()),
            U64 => Value::Integer(u64::from_ne_bytes(raw.try_into().ok()?).into()),
            F32 => Value::Float(f32::from_ne_bytes(raw.try_into().ok()?).into()),
            F64 => Value::Float(f64::from_ne_bytes(raw.try_into().ok()?)),
            TEXT | AGGREGATE => Value::Text(raw),
            _ => return None,
        })
    }

    fn value(&self, side: &'r Side) -> Option<Value<'r>> {
        Some(match side {
            Side::Integer(n) => Value::Integer(*n),
            Side::Float(n) => Value::Float(*n),
            Side::Glob(glob) => Value::Glob(glob),
            Side::Slot(slot) => self.slot(*slot)?,
            Side::Instance => Value::Text(self.instance.as_bytes()),
            Side::Flags => {
                let flags = self.record.get(HighRes::RECORD_HEADER - 8..)?.first_chunk()?;
                Value::Integer(u32::from_ne_bytes(*flags).into())
            }
            Side::Timestamp => {
                let stamp = HighRes::get_stamp(self.record)?;
                if stamp.nsec == 0 {
                    Value::Integer(stamp.sec.into())
                } else {
                    #[expect(
                        clippy::cast_precision_loss,
                        reason = "a quarter of a microsecond today"
                    )]
                    let seconds = stamp.sec as f64 + f64::from(stamp.nsec) / 1e9;
                    Value::Float(seconds)
                }
            }
        })
    }
}

/// As [`Subject::answer`].
fn compare(left: &Value<'_>, how: Comparison, right: &Value<'_>) -> (bool, u64) {
    use Value::{Float, Glob, Integer, Text};
    let steps = |bytes: usize| (bytes / STEP_BYTES) as u64;
    let holds = match (left, right) {
        (Text(text), Glob(glob)) | (Glob(glob), Text(text)) => {
            return (how.of_equal(glob.matches(text)), steps(text.len()));
        }
        (Text(a), Text(b)) => return (how.of_equal(a == b), steps(a.len().min(b.len()))),
        (Glob(a), Glob(b)) => how.of_equal(a == b),
        (Integer(a), Integer(b)) => how.of(Some(a.cmp(b))),
        #[expect(clippy::cast_precision_loss, reason = "one side is a float already")]
        (Integer(a), Float(b)) => how.of((*a as f64).partial_cmp(b)),
        #[expect(clippy::cast_precision_loss, reason = "one side is a float already")]
        (Float(a), Integer(b)) => how.of(a.partial_cmp(&(*b as f64))),
        (Float(a), Float(b)) => how.of(a.partial_cmp(b)),
        // A short name can refer to texts and to numbers: a comparison with the other kind is
        // false.
        _ => false,
    };
    (holds, 0)
}
