//! Captures of real runtimes, and the values of a program's own counters by name.

use std::io::Read;
use std::path::Path;
use std::time::Duration;

use bytes::BytesMut;

use super::Counters;
use crate::contract::Recorded;
use crate::model::{MetricSpec, Value, ValueType};
use crate::sources::Source;
use crate::sources::dotnet::Dotnet;
use crate::sources::dotnet::meter::{Meter, Settings};
use crate::sources::dotnet::wire::nettrace::{Event, Header, Reader, Visitor};
use crate::sources::dotnet::wire::wanted::METERS;

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

/// A process that keeps what is said of it.
pub(super) fn recorded() -> Recorded {
    Recorded::new(&Dotnet::TABLE)
}

/// The metrics that a program has of its own.
pub(super) trait OwnMetrics {
    fn at(&self, path: &str, row: Option<String>) -> Option<f64>;
    fn spec(&self, path: &str) -> MetricSpec;
    fn values(&self) -> Vec<f64>;

    /// The value of a metric of the process.
    fn own(&self, path: &str) -> Option<f64> {
        self.at(path, None)
    }

    /// The value of a metric in a row.
    fn in_row(&self, path: &str, row: &str) -> Option<f64> {
        self.at(path, Some(row.strip_prefix("app:1::").unwrap_or(row).to_owned()))
    }
}

impl OwnMetrics for Recorded {
    fn at(&self, path: &str, row: Option<String>) -> Option<f64> {
        self.log().metrics.get(&(path.to_owned(), row)).map(real)
    }

    fn spec(&self, path: &str) -> MetricSpec {
        self.log().specs.values().find(|spec| spec.path == path).unwrap().clone()
    }

    fn values(&self) -> Vec<f64> {
        self.log().metrics.values().map(real).collect()
    }
}

fn real(value: &Value) -> f64 {
    f64::from_bits(value.to_bits(ValueType::F64).unwrap())
}

/// All of a capture, and the time after it.
pub(super) fn replay(name: &str, counters: &mut Counters, seen: &mut Recorded) -> Duration {
    let mut meter = Meter::new(Settings::default());
    let mut last = Duration::ZERO;
    events(name, |now, event| {
        let of = event.event_type;
        if *of.name == *"EventCounters" || *of.provider == *METERS && of.id != 0 {
            assert!(counters.event(now, event, &mut meter, seen), "a bad report");
        }
        last = now;
    });
    last
}
