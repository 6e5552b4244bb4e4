//! The metrics of one process.

use std::time::Duration;

use super::counter::Counter;
use super::occurrence::{At, Occurrence};
use crate::sources::dotnet::clr::Decoded;
use crate::sources::dotnet::metrics as m;
use crate::sources::{Sink, start_counters};

/// The way in which the events come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Events of the runtime come: figures that exist as events and as counters are made of events.
    pub runtime_events: bool,
    /// No counters will come: figures that only counters have are estimated from events.
    pub no_counters: bool,
}

/// The metrics of one process. They go on when another session with it begins.
#[derive(Debug)]
pub struct Meter {
    settings: Settings,
    name: Box<str>,
}

impl Meter {
    /// A meter without values.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self { settings, name: Box::default() }
    }

    /// The identity is known: the sink's updates before were
    /// [`Update::Identity`](crate::model::Update::Identity). `name`: the instance name.
    pub fn start(&mut self, name: &str, sink: &mut dyn Sink) {
        self.name = name.into();
        start_counters(m::METRICS, sink);
    }

    /// Another stream begins: what the one before left open will not end. Sums go on.
    pub fn stream(&mut self, settings: Settings) {
        self.settings = settings;
    }

    /// Counts an event of the runtime.
    pub fn clr<'a>(
        &mut self,
        _at: &At<'_>,
        _event: &Decoded<'a>,
        _sink: &mut dyn Sink,
    ) -> Option<Occurrence<'a>> {
        None
    }

    /// A counter of System.Runtime was reported: `value` is its mean, or its increment since its
    /// last report. `interval`: seconds that it covers.
    pub fn counter(
        &mut self,
        _now: Duration,
        _counter: Counter,
        _value: f64,
        _interval: f64,
        _sink: &mut dyn Sink,
    ) {
    }

    /// Reports the sums since the last report: at the end of a batch of events.
    pub fn report(&mut self, _sink: &mut dyn Sink) {}

    /// A second has passed. `now`: the monotonic clock.
    pub fn tick(&mut self, _now: Duration, _sink: &mut dyn Sink) {}

    /// Allocated bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        size_of::<Self>() + self.name.len()
    }
}
