//! EventCounters and meters of a process (docs/protocols/dotnet.md 7).
//!
//! ```text
//!  EventCounters ─▶ providers ─┬─▶ meter::Meter (System.Runtime)
//!                              └─▶ apm.dotnet.counter.PROVIDER.NAME
//!  meters ─▶ published ─┬─▶ series ─▶ apm.dotnet.meter.METER.INSTRUMENT
//!                       └─▶ Trouble ─▶ meter.limited, meter.owner, reports
//! ```

mod providers;
mod published;
mod series;
mod spec;

#[cfg(test)]
mod series_tests;
#[cfg(test)]
mod test_kit;
#[cfg(test)]
mod tests;

pub(super) use spec::{known, restore};

use std::collections::VecDeque;
use std::time::Duration;

use super::limits;
use super::meter::Meter;
use super::metrics::{METER_LIMITED, METER_OWNER};
use super::wire::Utf16;
use super::wire::nettrace::Event;
use super::wire::wanted::{METERS, SHARED};
use crate::contract::Peer;
use crate::model::{HeapSize, Value};
use providers::{LEAST_INTERVAL, Providers, Reading, SILENT_INTERVALS};
use published::Published;
use series::AllSeries;
use spec::{Names, clean};

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

crate::heap_size!(Counters { providers, series, trouble });

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
    /// [`Wanted::meter_session`]: super::wire::wanted::Wanted::meter_session
    /// [`wanted`]: super::wire::wanted::wanted
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

    /// Applies an event `EventCounters`, or one of the provider of meters. `now`: the monotonic clock. False: its payload
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
        self.providers.read(now, provider, &reading, &mut self.names, meter, peer);
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
        self.trouble.reports.pop_front()
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
}

/// A report for a session record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Ticks of its event.
    pub time: u64,
    /// What is the matter.
    pub text: String,
}

crate::heap_size!(Report { text });

/// What is the matter with the meters of a process.
#[derive(Debug, Default)]
struct Trouble {
    /// The id of the session that was asked for; empty: no meters were.
    session: String,
    /// The name of this client.
    client: String,
    /// Whose the meters are, as reported.
    owner: Option<Owner>,
    limited: bool,
    reports: VecDeque<Report>,
}

crate::heap_size!(Trouble { session, client, owner, each reports });

#[derive(Clone, Debug, PartialEq, Eq)]
enum Owner {
    /// The session that was asked for.
    Ours,
    /// Another one, or ours with other settings.
    Other(String),
}

impl HeapSize for Owner {
    fn heap_size(&self) -> usize {
        match self {
            Self::Ours => 0,
            Self::Other(text) => text.heap_size(),
        }
    }
}

impl Trouble {
    /// Another stream begins.
    fn stream(&mut self, session: &str, client: &str) {
        session.clone_into(&mut self.session);
        client.clone_into(&mut self.client);
        (self.owner, self.limited) = (None, false);
    }

    /// A value came from a session.
    fn value(&mut self, session: Utf16<'_>, peer: &mut Peer) {
        if self.owner.is_some() {
            return;
        }
        let owner = if session == *self.session {
            Owner::Ours
        } else {
            Owner::Other(format!("session {}", text(session)))
        };
        self.own(owner, peer);
        if !self.limited {
            peer.set(METER_LIMITED, Value::U32(0));
        }
    }

    fn own(&mut self, owner: Owner, peer: &mut Peer) {
        self.owner = Some(owner);
        peer.set(METER_OWNER, Value::text(self.owner().unwrap_or_default()));
    }

    /// Another session has the meters.
    fn lose(&mut self, time: u64, other: String, peer: &mut Peer) {
        let what = "its choice of meters is what comes";
        self.note(time, format!("meters: another tool has them ({other}); {what}"));
        self.own(Owner::Other(other), peer);
    }

    /// Some series are missing.
    fn limit(&mut self, time: u64, what: &str, peer: &mut Peer) {
        if !std::mem::replace(&mut self.limited, true) {
            peer.set(METER_LIMITED, Value::U32(1));
            self.note(time, format!("meters: {what}"));
        }
    }

    /// An event that brings no values.
    fn event(&mut self, time: u64, event: &Published<'_>, peer: &mut Peer) {
        match event {
            Published::Limited => {
                let what = "the process has more series or histograms than a session may have";
                self.limit(time, what, peer);
            }
            Published::Error(error) => self.note(time, format!("meters: {}", text(*error))),
            Published::Refused(running) if *running != *self.session => {
                self.lose(time, format!("session {}", text(*running)), peer);
            }
            Published::Differs { client, has } if *client == *self.client => {
                let [histograms, series, seconds] = has.map(text);
                let other = format!(
                    "shared session with MaxHistograms {histograms}, MaxTimeSeries {series}, RefreshInterval {seconds}"
                );
                self.lose(time, other, peer);
            }
            _ => {}
        }
    }

    fn note(&mut self, time: u64, text: String) {
        if self.reports.len() < limits::METER_REPORTS {
            self.reports.push_back(Report { time, text });
        }
    }

    /// Whose the meters are if not this session's.
    fn owner(&self) -> Option<&str> {
        match &self.owner {
            Some(Owner::Other(text)) => Some(text),
            _ => None,
        }
    }

    /// Sessions are shared: .NET 8 and later. Before, the end of one can stop the counters of all
    /// (docs/protocols/dotnet.md 7).
    fn is_shared(&self) -> bool {
        self.session == SHARED
    }
}

/// At most some hundred bytes without control characters.
fn text(raw: Utf16<'_>) -> String {
    clean(&raw.to_string_within(limits::NAME), limits::NAME)
}
