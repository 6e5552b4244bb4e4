//! Series of instruments: metrics and rows, sums of counters, values that end.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::time::Duration;

use foldhash::fast::RandomState;

use super::published::{Figure, Instrument, Series, row_name};
use super::spec::{Description, Facet, Names};
use crate::contract::Peer;
use crate::model::{HeapSize, Value};
use crate::sources::dotnet::limits;
use crate::sources::dotnet::metrics::{SERIES, SERIES_UPDATES};
use crate::sources::dotnet::wire::Utf16;

/// Counters of the runtime that are levels (docs/protocols/dotnet.md 7).
const LEVELS: [&str; 2] = ["dotnet.thread_pool.thread.count", "dotnet.thread_pool.queue.length"];
/// Quantiles that are metrics.
const QUANTILES: [(&str, Facet); 3] =
    [("0.5", Facet::P50), ("0.95", Facet::P95), ("0.99", Facet::P99)];

/// What there is no room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Full;

/// The series of a process.
#[derive(Debug, Default)]
pub(super) struct AllSeries {
    hasher: RandomState,
    /// Name of the process.
    process: Box<str>,
    /// By the hash of instrument, its number, and tags as they come.
    series: HashMap<u64, One, RandomState>,
    /// By the hash of an instrument and its kind.
    instruments: HashMap<u64, u32, RandomState>,
    metrics: Vec<Metrics>,
    /// By the hash of sorted tags.
    rows: HashMap<u64, u32, RandomState>,
    /// By row: the interval of its last report.
    reported: Vec<u32>,
    /// By instrument and row.
    cells: HashMap<(u32, u32), u32, RandomState>,
    values: Vec<Cell>,
    /// Descriptions of instruments without values so far, by the hash of the instrument.
    about: HashMap<u64, Box<str>, RandomState>,
    /// Number of the stream.
    stream: u32,
    /// Number of the interval.
    interval: u32,
    /// Series with values of this interval that are not applied yet, by their hash.
    waiting: Vec<u64>,
    name: String,
    raw: String,
}

impl HeapSize for AllSeries {
    fn heap_size(&self) -> usize {
        self.process.heap_size()
            + self.series.heap_size()
            + self.instruments.heap_size()
            + self.metrics.heap_size()
            + self.rows.heap_size()
            + self.reported.heap_size()
            + self.cells.heap_size()
            + self.values.heap_size()
            + self.about.heap_size()
            + self.about.values().map(Box::heap_size).sum::<usize>()
            + self.waiting.heap_size()
            + self.name.heap_size()
            + self.raw.heap_size()
    }
}

/// A series, as the process tells it apart.
#[derive(Clone, Copy, Debug)]
struct One {
    cell: u32,
    /// The last value of a counter.
    last: f64,
    /// What the cell had when the counter began anew.
    base: f64,
    /// The stream that it came in.
    stream: u32,
    /// Reported in this interval: sums, since several sets of tags can have one text. The runtime
    /// escapes neither `,` nor `=`.
    sum: Option<Sum>,
}

/// What an interval reports of a counter.
#[derive(Clone, Copy, Debug)]
struct Sum {
    rate: Option<f64>,
    value: Option<f64>,
    /// Its value ends then.
    until: Duration,
}

/// The metrics of an instrument.
#[derive(Clone, Copy, Debug)]
struct Metrics {
    kind: Kind,
    /// Slots: the value; or number, sum and quantiles of a histogram.
    slots: [Option<u32>; 5],
    factor: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Counter,
    Level,
    Histogram,
}

/// The value of an instrument in a row.
#[derive(Clone, Copy, Debug)]
struct Cell {
    metrics: Metrics,
    row: u32,
    /// Sum of a counter, or of a level that only its changes tell.
    total: f64,
    /// Instruments of one name add to it, each with its own value.
    shared: bool,
    /// It has a value that ends at this time.
    until: Option<Duration>,
}

impl AllSeries {
    /// The identity is known; slots are numbered anew.
    pub(super) fn start(&mut self, process: &str) {
        *self = Self { process: process.into(), stream: self.stream, ..Self::default() };
    }

    /// Another stream begins.
    pub(super) const fn stream(&mut self) {
        self.stream = self.stream.wrapping_add(1);
    }

    /// Another interval begins.
    pub(super) fn interval(&mut self, peer: &mut Peer) {
        self.settle(peer);
        self.interval = self.interval.wrapping_add(1);
    }

    /// The interval's values have all come.
    pub(super) fn settle(&mut self, peer: &mut Peer) {
        for hash in self.waiting.drain(..) {
            let Some(one) = self.series.get_mut(&hash) else { continue };
            let Some(Sum { rate, value, until }) = one.sum.take() else { continue };
            let Some(cell) = self.values.get_mut(one.cell as usize) else { continue };
            if cell.metrics.kind == Kind::Level {
                cell.total += rate.unwrap_or_default();
                cell.level(until, value.or(Some(cell.total)), peer);
            } else {
                *one = one.counted(rate, value, self.stream, cell);
                cell.show(0, Some(cell.total), peer);
            }
        }
    }

    /// Keeps the description of an instrument until its first value.
    pub(super) fn begin(&mut self, instrument: &Instrument<'_>, about: Utf16<'_>) {
        if self.about.len() < limits::INSTRUMENTS && !about.is_empty() {
            let text = about.to_string_within(limits::NAME).into();
            self.about.insert(self.hasher.hash_one(instrument), text);
        }
    }

    /// Applies a value; that of a counter when the interval has ended. It is withheld at `until` if no other one comes.
    ///
    /// # Errors
    /// The process has too many series.
    pub(super) fn value(
        &mut self,
        until: Duration,
        series: &Series<'_>,
        names: &mut Names,
        peer: &mut Peer,
    ) -> Result<(), Full> {
        let kind = kind(series);
        let hash = self.hasher.hash_one((&series.instrument, series.id, series.tags, kind));
        let one = match self.series.get(&hash) {
            Some(one) => *one,
            None => self.add(hash, kind, series, names, peer)?,
        };
        self.updated(one.cell, peer);
        let Some(cell) = self.values.get_mut(one.cell as usize) else { return Ok(()) };
        match series.figure {
            Figure::Histogram { quantiles, count, sum } => {
                cell.histogram(until, quantiles, (count, sum), &mut self.raw, peer);
            }
            Figure::Gauge(value) => {
                let value = number(value, &mut self.raw);
                cell.level(until, value, peer);
            }
            Figure::Counter { rate, value } | Figure::UpDown { rate, value } => {
                let rate = number(rate, &mut self.raw);
                let value = value.and_then(|value| number(value, &mut self.raw));
                let Some(one) = self.series.get_mut(&hash) else { return Ok(()) };
                match &mut one.sum {
                    Some(sum) => {
                        sum.rate = plus(sum.rate, rate);
                        sum.value = plus(sum.value, value);
                    }
                    None => {
                        one.sum = Some(Sum { rate, value, until });
                        self.waiting.push(hash);
                    }
                }
            }
        }
        Ok(())
    }

    /// A new series.
    fn add(
        &mut self,
        hash: u64,
        kind: Kind,
        series: &Series<'_>,
        names: &mut Names,
        peer: &mut Peer,
    ) -> Result<One, Full> {
        if self.series.len() >= limits::SERIES {
            return Err(Full);
        }
        let row = self.row(series.tags, peer)?;
        let instrument = self.instrument(&series.instrument, kind, names, peer)?;
        let metrics = *self.metrics.get(instrument as usize).ok_or(Full)?;
        let next = u32::try_from(self.values.len()).map_err(|_| Full)?;
        let cell = *self.cells.entry((instrument, row)).or_insert(next);
        if cell == next {
            self.values.push(Cell { metrics, row, total: 0.0, shared: false, until: None });
            if kind == Kind::Histogram {
                for slot in metrics.slots.into_iter().take(2).flatten() {
                    peer.add_slot(slot, Some(row), Value::F64(0.0));
                }
            }
        }
        if let Some(known) = self.values.get_mut(cell as usize) {
            known.shared = cell != next;
        }
        let one = One { cell, last: 0.0, base: 0.0, stream: self.stream, sum: None };
        self.series.insert(hash, one);
        Ok(one)
    }

    /// The slot of the row of tags.
    fn row(&mut self, raw: Utf16<'_>, peer: &mut Peer) -> Result<u32, Full> {
        self.raw.clear();
        raw.push_to(&mut self.raw, limits::TAGS);
        row_name(&self.raw, &mut self.name);
        let hash = self.hasher.hash_one(&*self.name);
        if let Some(row) = self.rows.get(&hash) {
            return Ok(*row);
        }
        if self.rows.len() >= limits::SERIES_ROWS {
            return Err(Full);
        }
        let slot = u32::try_from(self.reported.len()).map_err(|_| Full)?;
        let key = format!("{}::{}", self.process, self.name);
        peer.row(SERIES, slot, Some(&key));
        peer.row_add(slot, SERIES_UPDATES, 0);
        self.reported.push(self.interval.wrapping_sub(1));
        self.rows.insert(hash, slot);
        Ok(slot)
    }

    /// The metrics of an instrument.
    fn instrument(
        &mut self,
        instrument: &Instrument<'_>,
        kind: Kind,
        names: &mut Names,
        peer: &mut Peer,
    ) -> Result<u32, Full> {
        let hash = self.hasher.hash_one((instrument, kind));
        if let Some(at) = self.instruments.get(&hash) {
            return Ok(*at);
        }
        if self.metrics.len() >= limits::INSTRUMENTS {
            return Err(Full);
        }
        let about = self.about.remove(&self.hasher.hash_one(instrument)).unwrap_or_default();
        let [group, name, unit] = [instrument.meter, instrument.name, instrument.unit]
            .map(|text| text.to_string_within(limits::NAME));
        let facets = match kind {
            Kind::Counter => [Some(Facet::Total), None, None, None, None],
            Kind::Level => [Some(Facet::Level), None, None, None, None],
            Kind::Histogram => [
                Some(Facet::Values),
                Some(Facet::ValueSum),
                Some(Facet::P50),
                Some(Facet::P95),
                Some(Facet::P99),
            ],
        };
        let facts =
            |facet| Description { facet, unit: &unit, group: &group, name: &name, text: &about };
        let slots = facets.map(|facet| facet.and_then(|facet| names.define(&facts(facet), peer)));
        // Number of values apart, all facets have the same factor.
        let factor = match kind {
            Kind::Counter => facts(Facet::Total),
            Kind::Level => facts(Facet::Level),
            Kind::Histogram => facts(Facet::ValueSum),
        };
        let factor = factor.unit().factor;
        let at = u32::try_from(self.metrics.len()).map_err(|_| Full)?;
        self.metrics.push(Metrics { kind, slots, factor });
        self.instruments.insert(hash, at);
        Ok(at)
    }

    /// Counts the interval for the row of a cell.
    fn updated(&mut self, cell: u32, peer: &mut Peer) {
        let Some(row) = self.values.get(cell as usize).map(|cell| cell.row) else { return };
        if let Some(last) = self.reported.get_mut(row as usize)
            && *last != self.interval
        {
            *last = self.interval;
            peer.row_add(row, SERIES_UPDATES, 1);
        }
    }

    /// Withholds values that are no longer reported. Returns the time of the next end.
    pub(super) fn tick(&mut self, now: Duration, peer: &mut Peer) -> Duration {
        let mut next = Duration::MAX;
        for cell in &mut self.values {
            match cell.until {
                Some(until) if until <= now => cell.withhold(peer),
                Some(until) => next = next.min(until),
                None => {}
            }
        }
        next
    }
}

impl One {
    /// Adds a report of a counter to its cell.
    ///
    /// A counter that is observed goes on from stream to stream. Others start at 0 with a session;
    /// their first report has a rate that is their value.
    fn counted(self, rate: Option<f64>, value: Option<f64>, stream: u32, cell: &mut Cell) -> Self {
        let Some(value) = value else {
            cell.total += rate.unwrap_or_default().max(0.0);
            return Self { stream, ..self };
        };
        let anew = value < self.last || self.stream != stream && rate == Some(value);
        let (base, last) = if anew { (cell.total, 0.0) } else { (self.base, self.last) };
        // Differences of fractions would add up their errors.
        cell.total = if cell.shared { cell.total + value - last } else { base + value };
        Self { last: value, base, stream, ..self }
    }
}

impl Cell {
    fn level(&mut self, until: Duration, value: Option<f64>, peer: &mut Peer) {
        self.until = Some(until);
        self.show(0, value, peer);
    }

    fn histogram(
        &mut self,
        until: Duration,
        quantiles: Utf16<'_>,
        (count, sum): (u64, f64),
        raw: &mut String,
        peer: &mut Peer,
    ) {
        let row = Some(self.row);
        let [values, sums, ..] = self.metrics.slots;
        if let Some(slot) = values.filter(|_| count > 0) {
            peer.add_slot(slot, row, Value::U64(count));
        }
        if let Some(slot) = sums.filter(|_| sum.is_finite() && sum != 0.0) {
            let more = Value::F64(sum * self.metrics.factor);
            peer.add_slot(slot, row, more);
        }
        if quantiles.is_empty() {
            return self.withhold(peer);
        }
        self.until = Some(until);
        raw.clear();
        quantiles.push_to(raw, limits::TAGS);
        for (at, (quantile, _)) in (2..).zip(QUANTILES) {
            let of =
                |part: &str| part.split_once('=').filter(|(q, _)| *q == quantile)?.1.parse().ok();
            self.show(at, raw.split(';').find_map(of), peer);
        }
    }

    /// Sets or withholds the metric of a slot.
    fn show(&self, at: usize, value: Option<f64>, peer: &mut Peer) {
        let Some(slot) = self.metrics.slots.get(at).copied().flatten() else { return };
        let row = Some(self.row);
        match value.filter(|value| value.is_finite()) {
            Some(value) => peer.set_slot(slot, row, Value::F64(value * self.metrics.factor)),
            None => peer.unset_slot(slot, row),
        }
    }

    /// Removes the values that are no counters.
    fn withhold(&mut self, peer: &mut Peer) {
        if self.until.take().is_none() {
            return;
        }
        match self.metrics.kind {
            Kind::Counter => {}
            Kind::Level => self.show(0, None, peer),
            Kind::Histogram => (2..5).for_each(|at| self.show(at, None, peer)),
        }
    }
}

fn plus(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    a.zip(b).map(|(a, b)| a + b).or(a).or(b)
}

fn kind(series: &Series<'_>) -> Kind {
    let Instrument { meter, name, .. } = series.instrument;
    match series.figure {
        Figure::Histogram { .. } => Kind::Histogram,
        Figure::Gauge(_) | Figure::UpDown { .. } => Kind::Level,
        Figure::Counter { .. } => {
            let level = meter == *"System.Runtime" && LEVELS.iter().any(|level| name == **level);
            if level { Kind::Level } else { Kind::Counter }
        }
    }
}

/// A number as the runtime writes it, in the invariant culture.
fn number(text: Utf16<'_>, raw: &mut String) -> Option<f64> {
    raw.clear();
    text.push_to(raw, limits::NUMBER);
    raw.parse().ok().filter(|value: &f64| value.is_finite())
}
