//! Evaluation of a filter on packed records.

use std::cell::{Cell, RefCell};

use super::compiled::Filter;
use super::expression::Comparison;
use super::program::{KEEP, PASS, Question, Side};
use crate::glob::Glob;
use crate::layout::{HighRes, PARAM_HEADER, Resolution, padded};
use crate::types::ids::ValueType;

/// Up to this number of parameters a filter compares them one by one.
const FEW: usize = 8;
/// Bytes of text that count as one step.
const STEP_BYTES: usize = 64;

/// The position of a slot's value in a record; `word` is 0 if the record has no such parameter.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    at: usize,
    /// Type and length, as in the parameter's header; never 0 there.
    word: u32,
}

/// A filter applied to the records of one instance. Counts evaluation steps.
#[derive(Debug)]
pub struct RecordMatcher<'f> {
    filter: &'f Filter,
    instance: &'f str,
    places: RefCell<Vec<Place>>,
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
        let places = RefCell::new(vec![Place::default(); self.names.len()]);
        RecordMatcher { filter: self, instance, places, steps: Cell::new(0) }
    }
}

impl RecordMatcher<'_> {
    /// Steps since the last call; a step takes a few nanoseconds.
    pub fn take_steps(&self) -> u64 {
        self.steps.take()
    }

    /// Whether `record` (packed, high resolution) matches the filter.
    pub fn matches(&self, record: &[u8]) -> bool {
        let mut places = self.places.borrow_mut();
        let mut steps = 1;
        if !places.is_empty() {
            places.fill(Place::default());
            steps += self.find(record, &mut places);
        }
        let subject = Subject { record, instance: self.instance, places: &places };
        let program = &self.filter.program;
        let mut next = program.start;
        while let Some(step) = program.steps.get(usize::from(next)) {
            steps += 1;
            next = if subject.answer(&step.question, &mut steps) { step.yes } else { step.no };
        }
        debug_assert!(next == KEEP || next == PASS);
        self.steps.set(self.steps.get() + steps);
        next == KEEP
    }

    /// Finds the value of each slot in one pass over the parameters; the first parameter of a slot
    /// counts. Returns the number of examined parameters.
    fn find(&self, record: &[u8], places: &mut [Place]) -> u64 {
        let wanted = self.filter.parameters.as_slice();
        let (mut at, mut missing, mut passed) = (HighRes::RECORD_HEADER, places.len(), 0);
        while let Some(header) =
            record.get(at..).and_then(|rest| rest.first_chunk::<PARAM_HEADER>())
        {
            let [a, b, c, d, word @ ..] = *header;
            let (pmid, word) = (u32::from_ne_bytes([a, b, c, d]), u32::from_ne_bytes(word));
            let value = at + PARAM_HEADER;
            passed += 1;
            let from = if wanted.len() <= FEW {
                0
            } else {
                wanted.partition_point(|(other, _)| *other < pmid)
            };
            for (other, slot) in wanted.get(from..).unwrap_or_default() {
                if *other > pmid {
                    break;
                }
                if *other == pmid
                    && let Some(place) = places.get_mut(usize::from(*slot))
                    && place.word == 0
                {
                    *place = Place { at: value, word };
                    missing -= 1;
                }
            }
            if missing == 0 {
                break;
            }
            at = value + padded(((word & 0x00ff_ffff) as usize).saturating_sub(4));
        }
        passed
    }
}

struct Subject<'r> {
    record: &'r [u8],
    instance: &'r str,
    places: &'r [Place],
}

impl<'r> Subject<'r> {
    fn answer(&self, question: &'r Question, steps: &mut u64) -> bool {
        match question {
            Question::Number(slot, how, n) => match self.integer(*slot) {
                Some(value) => how.of(Some(value.cmp(&i128::from(*n)))),
                None => match self.slot(*slot) {
                    Some(value) => compare(&value, *how, &Value::Integer((*n).into()), steps),
                    None => false,
                },
            },
            Question::Compare(left, how, right) => match (self.value(left), self.value(right)) {
                (Some(left), Some(right)) => compare(&left, *how, &right, steps),
                _ => false,
            },
            Question::True(side) => match self.value(side) {
                Some(Value::Integer(n)) => n != 0,
                Some(Value::Float(n)) => n != 0.0,
                Some(Value::Text(text)) => !text.is_empty(),
                Some(Value::Glob(_)) | None => false,
            },
        }
    }

    /// Bytes and type of a slot's value.
    #[inline]
    fn raw(&self, slot: u16) -> Option<(u32, &'r [u8])> {
        let place = self.places.get(usize::from(slot)).filter(|p| p.word != 0)?;
        let length = ((place.word & 0x00ff_ffff) as usize).checked_sub(4)?;
        Some((place.word >> 24, self.record.get(place.at..place.at.checked_add(length)?)?))
    }

    /// The value in a slot, if it is an integer.
    #[inline]
    fn integer(&self, slot: u16) -> Option<i128> {
        const I32: u32 = ValueType::I32 as u32;
        const U32: u32 = ValueType::U32 as u32;
        const I64: u32 = ValueType::I64 as u32;
        const U64: u32 = ValueType::U64 as u32;
        let (ty, raw) = self.raw(slot)?;
        Some(match ty {
            I32 => i32::from_ne_bytes(raw.try_into().ok()?).into(),
            U32 => u32::from_ne_bytes(raw.try_into().ok()?).into(),
            I64 => i64::from_ne_bytes(raw.try_into().ok()?).into(),
            U64 => u64::from_ne_bytes(raw.try_into().ok()?).into(),
            _ => return None,
        })
    }

    fn slot(&self, slot: u16) -> Option<Value<'r>> {
        const F32: u32 = ValueType::F32 as u32;
        const F64: u32 = ValueType::F64 as u32;
        const TEXT: u32 = ValueType::Text as u32;
        const AGGREGATE: u32 = ValueType::Aggregate as u32;
        let (ty, raw) = self.raw(slot)?;
        Some(match ty {
            F32 => Value::Float(f32::from_ne_bytes(raw.try_into().ok()?).into()),
            F64 => Value::Float(f64::from_ne_bytes(raw.try_into().ok()?)),
            TEXT | AGGREGATE => Value::Text(raw),
            _ => Value::Integer(self.integer(slot)?),
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

fn compare(left: &Value<'_>, how: Comparison, right: &Value<'_>, steps: &mut u64) -> bool {
    use Value::{Float, Glob, Integer, Text};
    match (left, right) {
        (Text(text), Glob(glob)) | (Glob(glob), Text(text)) => {
            *steps += (text.len() / STEP_BYTES) as u64;
            how.of_equal(glob.matches(text))
        }
        (Text(a), Text(b)) => {
            *steps += (a.len().min(b.len()) / STEP_BYTES) as u64;
            how.of_equal(a == b)
        }
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
    }
}
