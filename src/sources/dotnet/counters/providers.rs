//! EventCounters: those of System.Runtime go to the static metrics, others to metrics of their own.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::time::Duration;

use foldhash::fast::RandomState;

use super::spec::{Description, Facet, Names};
use crate::contract::Peer;
use crate::model;
use crate::sources::dotnet::limits;
use crate::sources::dotnet::meter::{Counter, Meter};
use crate::sources::dotnet::wire::Utf16;
use crate::sources::dotnet::wire::nettrace::{Field, FieldType, Value, Values};
use crate::sources::dotnet::wire::wanted::SYSTEM_RUNTIME;

/// A report of a shorter time is a double, as 3.1 sends them, unless such ones come in a row.
const SHORT: f64 = 0.1;
/// A value is withheld after so many intervals without a report.
pub(super) const SILENT_INTERVALS: u32 = 3;
/// The shortest interval for that.
pub(super) const LEAST_INTERVAL: Duration = Duration::from_secs(1);

/// The EventCounters of a process.
#[derive(Debug, Default)]
pub(super) struct Providers {
    hasher: RandomState,
    /// By the hash of provider, name, kind and unit.
    by_hash: HashMap<u64, u32, RandomState>,
    counters: Vec<Known>,
    text: Text,
}

crate::heap_size!(Providers { by_hash, counters, text });

/// An EventCounter that was reported.
#[derive(Debug)]
struct Known {
    to: To,
    /// The last report covered less than [`SHORT`].
    short: bool,
}

#[derive(Debug)]
enum To {
    /// A static metric.
    Runtime(Counter),
    /// Metrics of its own.
    Own(Own),
    /// Nothing: the process has too many.
    Nowhere,
}

/// The metrics of an EventCounter.
#[derive(Debug)]
struct Own {
    /// Sum or mean.
    slot: u32,
    factor: f64,
    /// A mean has a value, which ends at this time.
    until: Option<Duration>,
    /// Number of values before the counter had [`Own::more`].
    count: u64,
    more: More,
}

/// Least and greatest value and number of values: of counters that are not just polled.
#[derive(Debug)]
enum More {
    /// Each interval had one value so far.
    NotYet,
    /// Slots.
    Shown { min: u32, max: u32, count: u32 },
    /// The process has too many metrics.
    Never,
}

impl Providers {
    /// Applies a reading.
    pub(super) fn read(
        &mut self,
        now: Duration,
        provider: &str,
        reading: &Reading<'_>,
        names: &mut Names,
        meter: &mut Meter,
        peer: &mut Peer,
    ) {
        let at = self.find(provider, reading, names, peer);
        let Some(known) = at.and_then(|at| self.counters.get_mut(at)) else { return };
        let short = reading.interval < SHORT;
        let double = short && !std::mem::replace(&mut known.short, short);
        match &mut known.to {
            To::Runtime(counter) => {
                let value = match reading.figure {
                    Figure::Increment(increment) => increment,
                    Figure::Mean { mean, .. } if !double => mean,
                    Figure::Mean { .. } => return,
                };
                if value.is_finite() {
                    meter.counter(now, *counter, value, reading.interval, peer);
                }
            }
            To::Own(own) => match reading.figure {
                Figure::Increment(increment) if increment.is_finite() => {
                    let more = model::Value::F64(increment * own.factor);
                    peer.add_slot(own.slot, None, more);
                }
                Figure::Increment(_) => {}
                Figure::Mean { .. } => {
                    own.mean(now, provider, reading, double, &mut self.text, names, peer);
                }
            },
            To::Nowhere => {}
        }
    }

    /// The position of a counter, new or known.
    fn find(
        &mut self,
        provider: &str,
        reading: &Reading<'_>,
        names: &mut Names,
        peer: &mut Peer,
    ) -> Option<usize> {
        let sum = matches!(reading.figure, Figure::Increment(_));
        let hash = self.hasher.hash_one((provider, reading.name, sum, reading.units));
        if let Some(at) = self.by_hash.get(&hash) {
            return Some(*at as usize);
        }
        if self.counters.len() >= limits::EVENT_COUNTERS {
            // As many more are known by name, so that each counts once.
            if self.by_hash.len() < 2 * limits::EVENT_COUNTERS {
                self.by_hash.insert(hash, u32::MAX);
                peer.unshown(1);
            }
            return None;
        }
        let facet = if sum { Facet::Sum } else { Facet::Mean };
        let to = self.text.with(provider, reading, facet, |facts| {
            let runtime = (provider == SYSTEM_RUNTIME).then(|| Counter::by_name(facts.name));
            if let Some(counter) = runtime.flatten() {
                return To::Runtime(counter);
            }
            let Some(slot) = names.define(facts, peer) else { return To::Nowhere };
            if sum {
                peer.add_slot(slot, None, model::Value::F64(0.0));
            }
            let factor = facts.unit().factor;
            To::Own(Own { slot, factor, until: None, count: 0, more: More::NotYet })
        });
        let at = self.counters.len();
        self.counters.push(Known { to, short: false });
        self.by_hash.insert(hash, u32::try_from(at).unwrap_or(u32::MAX));
        Some(at)
    }

    /// Withholds means that are no longer reported. Returns the time of the next end.
    pub(super) fn tick(&mut self, now: Duration, peer: &mut Peer) -> Duration {
        let mut next = Duration::MAX;
        for known in &mut self.counters {
            let To::Own(own) = &mut known.to else { continue };
            match own.until {
                Some(until) if until <= now => own.withhold(peer),
                Some(until) => next = next.min(until),
                None => {}
            }
        }
        next
    }
}

impl Own {
    #[expect(clippy::too_many_arguments, reason = "a step of Providers::report")]
    fn mean(
        &mut self,
        now: Duration,
        provider: &str,
        reading: &Reading<'_>,
        double: bool,
        text: &mut Text,
        names: &mut Names,
        peer: &mut Peer,
    ) {
        let Figure::Mean { mean, min, max, count } = reading.figure else { return };
        if count != 1 && matches!(self.more, More::NotYet) {
            let mut define =
                |facet| text.with(provider, reading, facet, |facts| names.define(facts, peer));
            let slots = (define(Facet::Min), define(Facet::Max), define(Facet::Count));
            self.more = match slots {
                (Some(min), Some(max), Some(count)) => More::Shown { min, max, count },
                _ => More::Never,
            };
        }
        self.count += count;
        if let More::Shown { count, .. } = self.more {
            let more = model::Value::U64(std::mem::take(&mut self.count));
            peer.add_slot(count, None, more);
        }
        if double {
            return;
        }
        if count == 0 || !mean.is_finite() {
            return self.withhold(peer);
        }
        let interval = Duration::try_from_secs_f64(reading.interval).unwrap_or_default();
        self.until = Some(now + SILENT_INTERVALS * interval.max(LEAST_INTERVAL));
        let mut set = |slot, value: f64| {
            if value.is_finite() {
                peer.set_slot(slot, None, model::Value::F64(value * self.factor));
            } else {
                peer.unset_slot(slot, None);
            }
        };
        set(self.slot, mean);
        if let More::Shown { min: least, max: greatest, .. } = self.more {
            set(least, min);
            set(greatest, max);
        }
    }

    /// Removes the values of means.
    fn withhold(&mut self, peer: &mut Peer) {
        if self.until.take().is_none() {
            return;
        }
        let mut unset = |slot| peer.unset_slot(slot, None);
        unset(self.slot);
        if let More::Shown { min, max, .. } = self.more {
            unset(min);
            unset(max);
        }
    }
}

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

/// Texts in UTF-8.
#[derive(Debug, Default)]
pub(super) struct Text {
    name: String,
    unit: String,
    about: String,
}

crate::heap_size!(Text { name, unit, about });

impl Text {
    /// Calls `with` with the facts of an EventCounter.
    pub(super) fn with<R>(
        &mut self,
        group: &str,
        reading: &Reading<'_>,
        facet: Facet,
        with: impl FnOnce(&Description<'_>) -> R,
    ) -> R {
        let Self { name, unit, about } = self;
        for (text, raw) in [
            (&mut *name, reading.name),
            (&mut *unit, reading.units),
            (&mut *about, reading.display),
        ] {
            text.clear();
            raw.push_to(text, limits::NAME);
        }
        with(&Description { facet, unit, group, name, text: about })
    }
}
