//! Captures of real runtimes, and a sink with values by name.

use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use bytes::BytesMut;

use super::Counters;
use crate::contract::Sink;
use crate::contract::Update;
use crate::model::{MetricSpec, Value, ValueType};
use crate::sources::dotnet::meter::{Meter, Settings};
use crate::sources::dotnet::metrics::{METER_LIMITED, METER_OWNER, SERIES, SERIES_UPDATES};
use crate::sources::dotnet::nettrace::{Event, Header, Reader, Visitor};

/// The nettrace stream of a capture.
pub(super) fn capture(name: &str) -> BytesMut {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("qa/corpus/dotnet");
    let file = std::fs::File::open(path.join(format!("{name}.s2c.gz"))).unwrap();
    let mut all = Vec::new();
    flate2::read::GzDecoder::new(file).read_to_end(&mut all).unwrap();
    let start = all.windows(8).position(|w| w == b"Nettrace").unwrap();
    BytesMut::from(&all[start..])
}

/// The facts of a capture.
pub(super) fn facts(name: &str) -> serde_json::Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("qa/corpus/dotnet");
    let text = std::fs::read_to_string(path.join(format!("{name}.facts.json"))).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Calls `each` with the events of a capture and their time in the stream.
pub(super) fn events(name: &str, each: impl FnMut(Duration, &Event<'_>)) {
    struct Events<F> {
        header: Option<(u64, u64)>,
        each: F,
    }
    impl<F: FnMut(Duration, &Event<'_>)> Visitor for Events<F> {
        fn header(&mut self, header: &Header) {
            self.header = Some((header.ticks, header.frequency));
        }

        fn event(&mut self, event: &Event<'_>) {
            let (start, frequency) = self.header.unwrap();
            assert_eq!(frequency, 1_000_000_000);
            (self.each)(Duration::from_nanos(event.time.saturating_sub(start)), event);
        }
    }
    let mut input = capture(name);
    Reader::default().feed(&mut input, &mut Events { header: None, each }).unwrap();
}

/// Values by name.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) specs: BTreeMap<u32, MetricSpec>,
    rows: HashMap<u32, String>,
    /// By path and row.
    pub(super) values: BTreeMap<(String, String), f64>,
    pub(super) limited: Option<Value>,
    pub(super) owner: Option<Value>,
    pub(super) unshown: u64,
    pub(super) bad: u64,
    pub(super) reports: BTreeMap<String, u64>,
}

impl Seen {
    /// The value of a metric of the process.
    pub(super) fn own(&self, path: &str) -> Option<f64> {
        self.row(path, "")
    }

    /// The value of a metric in a row.
    pub(super) fn row(&self, path: &str, row: &str) -> Option<f64> {
        self.values.get(&(path.to_owned(), row.to_owned())).copied()
    }

    /// The metric of a path.
    pub(super) fn spec(&self, path: &str) -> &MetricSpec {
        self.specs.values().find(|spec| spec.path == path).unwrap()
    }

    fn place(&self, slot: u32, row: Option<u32>) -> (String, String) {
        let row = row.map_or_else(String::new, |row| self.rows[&row].clone());
        (self.specs[&slot].path.clone(), row)
    }
}

fn real(value: &Value) -> f64 {
    f64::from_bits(value.to_bits(ValueType::F64).unwrap())
}

impl Sink for Seen {
    fn update(&mut self, update: Update<'_>) {
        match update {
            Update::Define { slot, spec } => {
                assert_eq!(slot % 2, 0);
                assert_eq!(self.specs.insert(slot, spec.clone()), None);
            }
            Update::Row { table, slot, key } => {
                assert_eq!(table, SERIES);
                assert_eq!(self.rows.insert(slot, key.unwrap().to_owned()), None);
            }
            Update::RowCount { slot, item, more } => {
                assert_eq!(item, SERIES_UPDATES);
                *self.reports.entry(self.rows[&slot].clone()).or_default() += more;
            }
            Update::Value { slot, row, value } => {
                self.values.insert(self.place(slot, row), real(&value));
            }
            Update::Add { slot, row, more } => {
                *self.values.entry(self.place(slot, row)).or_default() += real(&more);
            }
            Update::NoValue { slot, row } => {
                self.values.remove(&self.place(slot, row));
            }
            Update::Set { item, value } if item == METER_LIMITED => self.limited = Some(value),
            Update::Set { item, value } if item == METER_OWNER => self.owner = Some(value),
            Update::Unshown(more) => self.unshown += more,
            // System.Runtime's counters, which have tests of their own.
            Update::Count { .. } | Update::Set { .. } | Update::Unset { .. } => {}
            other => panic!("{other:?}"),
        }
    }
}

/// All of a capture, and the time after it.
pub(super) fn replay(name: &str, counters: &mut Counters, seen: &mut Seen) -> Duration {
    let mut meter = Meter::new(Settings::default());
    let mut last = Duration::ZERO;
    events(name, |now, event| {
        if Counters::takes(event.event_type) {
            seen.bad += u64::from(!counters.event(now, event, &mut meter, seen));
        }
        last = now;
    });
    last
}
