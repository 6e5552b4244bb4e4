//! EventCounters and meters of a process (docs/protocols/dotnet.md 7).
//!
//! ```text
//!  EventCounters ─▶ reading ─▶ providers ─┬─▶ meter::Meter (System.Runtime)
//!                                         └─▶ apm.dotnet.counter.PROVIDER.NAME
//!  meters ─▶ published ─┬─▶ series ─▶ apm.dotnet.meter.METER.INSTRUMENT
//!                       └─▶ trouble ─▶ meter.limited, meter.owner, reports
//! ```

mod known;
mod names;
mod providers;
mod published;
mod reading;
mod series;
mod spec;
mod tags;
mod text;
mod trouble;
mod unit;

pub(super) use known::known;
pub(super) use spec::restore;
pub use trouble::Report;

use std::time::Duration;

use names::Names;
use providers::{LEAST_INTERVAL, Providers, SILENT_INTERVALS};
use published::Published;
use reading::Reading;
use series::AllSeries;
use trouble::Trouble;

use super::meter::Meter;
use super::nettrace::{Event, EventType};
use super::wanted::METERS;
use crate::contract::Peer;

/// The name of events that report a counter.
const EVENT_COUNTERS: &str = "EventCounters";

/// EventCounters and meters of one process. Sums go on when another session with it begins.
#[derive(Debug, Default)]
pub struct Counters {
    names: Names,
    providers: Providers,
    series: AllSeries,
    trouble: Trouble,
    /// Time between two reports of meters.
    interval: Duration,
    /// Nothing ends before this time.
    next: Duration,
    /// The first and the last event of meters in this stream, also of those that another tool asked
    /// for.
    published: Option<(Duration, Duration)>,
}

impl Counters {
    /// The peer is identified: metrics and rows are defined anew. `name`: the instance name.
    pub fn start(&mut self, name: &str) {
        self.names = Names::default();
        self.providers = Providers::default();
        self.series.start(name);
    }

    /// Another stream begins. `session`: [`Wanted::meter_session`], `client`: the name that
    /// [`wanted`] got.
    ///
    /// [`Wanted::meter_session`]: super::wanted::Wanted::meter_session
    /// [`wanted`]: super::wanted::wanted
    pub fn stream(&mut self, session: &str, client: &str) {
        self.series.stream();
        self.trouble.stream(session, client);
        self.interval = LEAST_INTERVAL;
        self.published = None;
    }

    /// The stream has ended.
    pub fn end(&mut self, peer: &mut Peer) {
        self.series.settle(peer);
    }

    /// Whether events of a type are to be handed to [`Self::event`].
    #[must_use]
    pub fn takes(event_type: &EventType) -> bool {
        *event_type.name == *EVENT_COUNTERS || *event_type.provider == *METERS && event_type.id != 0
    }

    /// Applies an event of a type that is taken. `now`: the monotonic clock. False: its payload
    /// cannot be read.
    pub fn event(
        &mut self,
        now: Duration,
        event: &Event<'_>,
        meter: &mut Meter,
        peer: &mut Peer,
    ) -> bool {
        let read = if *event.event_type.provider == *METERS {
            self.published(now, event, peer)
        } else {
            self.reading(now, event, meter, peer)
        };
        read.is_some()
    }

    /// `None`: the payload cannot be read.
    fn reading(
        &mut self,
        now: Duration,
        event: &Event<'_>,
        meter: &mut Meter,
        peer: &mut Peer,
    ) -> Option<()> {
        let reading = Reading::of(&event.event_type.fields, event.payload)?;
        let provider = &event.event_type.provider;
        self.providers.report(now, provider, &reading, &mut self.names, meter, peer);
        Some(())
    }

    /// `None`: the payload cannot be read.
    fn published(&mut self, now: Duration, event: &Event<'_>, peer: &mut Peer) -> Option<()> {
        self.published = Some((self.published.map_or(now, |(first, _)| first), now));
        let Some(published) = Published::of(event).ok()? else { return Some(()) };
        match published {
            Published::Interval(interval) => {
                self.interval = interval.clamp(LEAST_INTERVAL, super::limits::METER_INTERVAL);
                self.series.interval(peer);
            }
            Published::IntervalEnd => self.series.settle(peer),
            Published::Value(series) => {
                self.trouble.value(series.session, peer);
                let until = now + SILENT_INTERVALS * self.interval;
                if self.series.value(until, &series, &mut self.names, peer).is_err() {
                    let what = "the process has more series than are shown";
                    self.trouble.limit(event.time, what, peer);
                }
            }
            Published::Begin { instrument, description } => {
                self.series.begin(&instrument, description);
            }
            other => self.trouble.event(event.time, &other, peer),
        }
        Some(())
    }

    /// Withholds what is no longer reported: each second. `now`: the monotonic clock.
    pub fn tick(&mut self, now: Duration, peer: &mut Peer) {
        if now < self.next {
            return;
        }
        let next = self.providers.tick(now, peer).min(self.series.tick(now, peer));
        // A value that comes later ends later.
        self.next = next.min(now + SILENT_INTERVALS * LEAST_INTERVAL);
    }

    /// The oldest report about meters, for a session record.
    pub fn report(&mut self) -> Option<Report> {
        self.trouble.take()
    }

    /// Another tool has or had the meters, and another session may get them: nothing comes any more,
    /// or the other tool has had time to end. A runtime keeps the other tool's choice as long as any
    /// client is there. `now`: the monotonic clock.
    #[must_use]
    pub fn asks_again(&self, now: Duration) -> bool {
        let silence = SILENT_INTERVALS * self.interval + super::limits::SILENCE;
        self.owner().is_some()
            && self.published.is_some_and(|(first, last)| {
                let patient = self.trouble.is_shared() && now > first + super::limits::METER_RETRY;
                now > last + silence || patient
            })
    }

    /// Who has the meters of the process if not this session.
    #[must_use]
    pub fn owner(&self) -> Option<&str> {
        self.trouble.owner()
    }

    /// Allocated bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        size_of::<Self>() + self.providers.memory() + self.series.memory() + self.trouble.memory()
    }
}

#[cfg(test)]
mod series_tests;
#[cfg(test)]
mod testkit;
#[cfg(test)]
mod tests;
