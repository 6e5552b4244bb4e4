//! One report of an EventCounter: the fields of an event `EventCounters`.

use crate::sources::dotnet::nettrace::{Field, FieldType, Value, Values};
use crate::sources::dotnet::utf16::Utf16;

/// Objects around the fields: an unnamed one and `Payload` (docs/protocols/dotnet.md 7).
const AROUND: usize = 4;

/// What a report says. Fields that it lacks are empty or 0.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reading<'a> {
    pub(super) name: Utf16<'a>,
    pub(super) display: Utf16<'a>,
    pub(super) units: Utf16<'a>,
    /// Seconds that it covers.
    pub(super) interval: f64,
    pub(super) figure: Figure,
}

/// The figures of the two kinds of counters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Figure {
    /// Growth in the interval.
    Increment(f64),
    /// Values of the interval; those of an interval without values are not finite or 0.
    Mean { mean: f64, min: f64, max: f64, count: u64 },
}

impl Default for Figure {
    fn default() -> Self {
        Self::Increment(f64::NAN)
    }
}

impl<'a> Reading<'a> {
    /// The report of a payload; `None` if it has no name or no figure.
    pub(super) fn of(fields: &'a [Field], payload: &'a [u8]) -> Option<Self> {
        let mut reading = Self::default();
        let (mut increment, mut mean) = (None, None);
        let (mut min, mut max, mut count) = (f64::NAN, f64::NAN, 0);
        for (field, value) in Values::new(inner(fields), payload) {
            match (&*field.name, value) {
                ("Name", Value::Text(text)) => reading.name = text,
                ("DisplayName", Value::Text(text)) => reading.display = text,
                ("DisplayUnits", Value::Text(text)) => reading.units = text,
                ("IntervalSec", Value::F64(value)) => reading.interval = value,
                ("Increment", Value::F64(value)) => increment = Some(value),
                ("Mean", Value::F64(value)) => mean = Some(value),
                ("Min", Value::F64(value)) => min = value,
                ("Max", Value::F64(value)) => max = value,
                ("Count", Value::I64(value)) => count = u64::try_from(value).unwrap_or(0),
                _ => {}
            }
        }
        reading.figure = match (increment, mean) {
            (Some(increment), _) => Figure::Increment(increment),
            (None, Some(mean)) => Figure::Mean { mean, min, max, count },
            (None, None) => return None,
        };
        (!reading.name.is_empty()).then_some(reading)
    }
}

/// The fields within the objects. An object has no bytes of its own, so those of the first one
/// begin where it begins.
fn inner(mut fields: &[Field]) -> &[Field] {
    for _ in 0..AROUND {
        match fields.first().map(|field| &field.kind) {
            Some(FieldType::Object(within)) => fields = within,
            _ => break,
        }
    }
    fields
}
