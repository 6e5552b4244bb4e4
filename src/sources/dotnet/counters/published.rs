//! Events of the provider System.Diagnostics.Metrics (docs/protocols/dotnet.md 7), and the tags of a
//! series as a name.

use std::time::Duration;

use crate::sources::dotnet::wire::Utf16;
use crate::sources::dotnet::wire::nettrace::{Event, Value, Values};

/// What an event says.
#[derive(Clone, Copy, Debug)]
pub(super) enum Published<'a> {
    /// An interval's values follow; its length.
    Interval(Duration),
    /// They have come.
    IntervalEnd,
    /// A value of a series.
    Value(Series<'a>),
    /// An instrument will be reported.
    Begin {
        instrument: Instrument<'a>,
        /// What it measures.
        description: Utf16<'a>,
    },
    /// There are more series or histograms than the session may have.
    Limited,
    /// The reader of the arguments, or a callback of an instrument, failed.
    Error(Utf16<'a>),
    /// Another session reads meters already: its id.
    Refused(Utf16<'a>),
    /// The session is shared and its settings are not those that the client asked for.
    Differs {
        /// Who asked.
        client: Utf16<'a>,
        /// Histograms, series and seconds of the session: what the event calls expected.
        has: [Utf16<'a>; 3],
    },
}

/// An instrument.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Instrument<'a> {
    pub(super) meter: Utf16<'a>,
    pub(super) name: Utf16<'a>,
    pub(super) unit: Utf16<'a>,
}

/// A value of a series.
#[derive(Clone, Copy, Debug)]
pub(super) struct Series<'a> {
    /// The session that the meters of the process have.
    pub(super) session: Utf16<'a>,
    pub(super) instrument: Instrument<'a>,
    pub(super) tags: Utf16<'a>,
    /// The instrument's number in the process (version 2 and later).
    pub(super) id: u64,
    pub(super) figure: Figure<'a>,
}

/// The figures, as texts.
#[derive(Clone, Copy, Debug)]
pub(super) enum Figure<'a> {
    /// Growth since the report before (may be empty), and the value (version 1 and later).
    Counter { rate: Utf16<'a>, value: Option<Utf16<'a>> },
    /// The same of what also goes down.
    UpDown { rate: Utf16<'a>, value: Option<Utf16<'a>> },
    /// The last value.
    Gauge(Utf16<'a>),
    /// Quantiles, number and sum of values of the interval (those of version 1 and later).
    Histogram { quantiles: Utf16<'a>, count: u64, sum: f64 },
}

/// The fields that matter; the others are empty.
#[derive(Default)]
struct Fields<'a> {
    session: Utf16<'a>,
    instrument: Instrument<'a>,
    tags: Utf16<'a>,
    id: u64,
    rate: Utf16<'a>,
    value: Option<Utf16<'a>>,
    quantiles: Utf16<'a>,
    count: u64,
    sum: f64,
    description: Utf16<'a>,
    error: Utf16<'a>,
    running: Utf16<'a>,
    client: Utf16<'a>,
    has: [Utf16<'a>; 3],
    start: u64,
    end: u64,
}

impl<'a> Fields<'a> {
    /// The fields, and whether the payload has all of them.
    fn of(event: &Event<'a>) -> (Self, bool) {
        let mut fields = Self::default();
        let mut values = Values::new(&event.event_type.fields, event.payload);
        for (field, value) in &mut values {
            let name = &*field.name;
            match value {
                Value::Text(text) => fields.text(name, text),
                Value::I64(value) => match name {
                    "count" => fields.count = u64::try_from(value).unwrap_or(0),
                    "instrumentId" => fields.id = value.cast_unsigned(),
                    _ => {}
                },
                Value::F64(value) if name == "sum" => fields.sum = value,
                Value::Time(time) => match name {
                    "intervalStartTime" => fields.start = time,
                    "intervalEndTime" => fields.end = time,
                    _ => {}
                },
                _ => {}
            }
        }
        (fields, values.missing() == 0)
    }

    fn text(&mut self, name: &str, text: Utf16<'a>) {
        match name {
            "sessionId" => self.session = text,
            "meterName" => self.instrument.meter = text,
            "instrumentName" => self.instrument.name = text,
            "unit" => self.instrument.unit = text,
            "tags" => self.tags = text,
            "rate" => self.rate = text,
            "value" | "lastValue" => self.value = Some(text),
            "quantiles" => self.quantiles = text,
            "description" => self.description = text,
            "errorMessage" => self.error = text,
            "runningSessionId" => self.running = text,
            "clientId" => self.client = text,
            "expectedMaxHistograms" => self.has[0] = text,
            "expectedMaxTimeSeries" => self.has[1] = text,
            "expectedRefreshInterval" => self.has[2] = text,
            _ => {}
        }
    }
}

impl<'a> Published<'a> {
    /// What an event says. `Ok(None)`: nothing of use.
    ///
    /// # Errors
    /// The payload ends before its fields.
    pub(super) fn of(event: &Event<'a>) -> Result<Option<Self>, ()> {
        let id = event.event_type.id;
        if !matches!(id, 2..=7 | 9 | 12..=17) {
            return Ok(None);
        }
        let (f, whole) = Fields::of(event);
        if !whole {
            return Err(());
        }
        let figure = match id {
            4 => Figure::Counter { rate: f.rate, value: f.value },
            5 => Figure::Gauge(f.value.unwrap_or_default()),
            6 => Figure::Histogram { quantiles: f.quantiles, count: f.count, sum: f.sum },
            16 => Figure::UpDown { rate: f.rate, value: f.value },
            2 => {
                let ticks = f.end.saturating_sub(f.start);
                return Ok(Some(Self::Interval(Duration::from_nanos(ticks.saturating_mul(100)))));
            }
            7 => {
                let (instrument, description) = (f.instrument, f.description);
                return Ok(Some(Self::Begin { instrument, description }));
            }
            3 => return Ok(Some(Self::IntervalEnd)),
            12 | 13 => return Ok(Some(Self::Limited)),
            15 => return Ok(Some(Self::Refused(f.running))),
            17 => return Ok(Some(Self::Differs { client: f.client, has: f.has })),
            _ => return Ok(Some(Self::Error(f.error))),
        };
        let Fields { session, instrument, tags, id, .. } = f;
        Ok(Some(Self::Value(Series { session, instrument, tags, id, figure })))
    }
}

/// Bytes of the name, at most.
const ROW_NAME: usize = 200;

/// The tags in the order of their keys, as `KEY=VALUE,KEY=VALUE` without blanks; `-` without tags.
///
/// Runtimes write `key=value,key=value` without escapes and in the order of each call
/// (docs/protocols/dotnet.md 7). A comma is a separator only if a key and `=` follow; where the
/// text does not begin with those, it stays as it is.
pub(super) fn row_name(raw: &str, out: &mut String) {
    out.clear();
    if raw.is_empty() {
        return out.push('-');
    }
    match split(raw) {
        Some(mut pairs) => {
            pairs.sort_by(|a, b| key(a).cmp(key(b)));
            for (n, pair) in pairs.iter().enumerate() {
                if n > 0 {
                    push(",", out);
                }
                push(pair, out);
            }
        }
        None => push(raw, out),
    }
}

/// The pairs; `None`: the text does not begin with a key.
fn split(raw: &str) -> Option<Vec<&str>> {
    let mut starts: Vec<_> = vec![0];
    starts.extend(raw.match_indices(',').map(|(at, _)| at + 1));
    starts.retain(|&at| raw.get(at..).is_some_and(begins));
    if starts.first() != Some(&0) {
        return None;
    }
    let ends = starts.iter().skip(1).map(|at| at - 1).chain([raw.len()]);
    starts.iter().zip(ends).map(|(&start, end)| raw.get(start..end)).collect()
}

/// A key and `=` are next.
fn begins(text: &str) -> bool {
    let key = key(text);
    key.len() < text.len()
        && !key.is_empty()
        && !key.contains(|c: char| c == ',' || c.is_whitespace())
}

fn key(pair: &str) -> &str {
    pair.split_once('=').map_or(pair, |(key, _)| key)
}

/// Appends a text without blanks and control characters.
fn push(text: &str, out: &mut String) {
    for c in text.chars() {
        let c = if c.is_whitespace() || c.is_control() { '_' } else { c };
        if out.len() + c.len_utf8() > ROW_NAME {
            return;
        }
        out.push(c);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn tags_are_sorted_where_they_can_be_split() {
        for (raw, expected) in [
            ("", "-"),
            ("a=1", "a=1"),
            ("b=2,a=1", "a=1,b=2"),
            ("status=500,route=/odd,=x", "route=/odd,=x,status=500"),
            ("route=/odd,=x,status=500", "route=/odd,=x,status=500"),
            ("q=a, b,c=", "c=,q=a,_b"),
            ("x,y,a=1", "x,y,a=1"),
            ("=1,a=2", "=1,a=2"),
            (",", ","),
            ("text with\tblanks", "text_with_blanks"),
            ("k=1=2,j==", "j==,k=1=2"),
            ("z=1,z=0", "z=1,z=0"),
        ] {
            let mut out = String::from("old");
            row_name(raw, &mut out);
            assert_eq!(out, expected, "{raw}");
        }
        let mut out = String::new();
        row_name(&"é".repeat(500), &mut out);
        assert_eq!(out.len(), ROW_NAME);
    }
}
