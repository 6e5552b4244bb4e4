//! Takes what the reader of a stream finds to those who want it, by the types of events, and says when an
//! event happened (docs/protocols/dotnet.md 3).

use super::Parts;
use super::frames::Named;
use crate::contract::Peer;
use crate::model::{Now, Stamp};
use crate::sources::dotnet::meter::{At, Occurrence};
use crate::sources::dotnet::metrics as m;
use crate::sources::dotnet::records::Origin;
use crate::sources::dotnet::wire::clr;
use crate::sources::dotnet::wire::clr::Decoded;
use crate::sources::dotnet::wire::nettrace::{Event, EventType, Header, Ips, Visitor};
use crate::sources::dotnet::wire::wanted::METERS;

/// What one stream has beside its reader.
#[derive(Debug, Default)]
pub(super) struct State {
    routes: Vec<Route>,
    pub(super) clock: Clock,
    pointer_size: u32,
    /// Ticks of the newest event.
    pub(super) newest: u64,
    /// EventCounters came.
    pub(super) counted: bool,
    /// Events of the runtime came.
    pub(super) heard: bool,
}

crate::heap_size!(State { routes });

/// The visitor of one piece of the stream.
pub(super) struct Visit<'a> {
    pub(super) state: &'a mut State,
    pub(super) parts: &'a mut Parts,
    pub(super) peer: &'a mut Peer,
    pub(super) now: Now,
}

impl Visitor for Visit<'_> {
    fn header(&mut self, header: &Header) {
        self.state.clock.begin(header);
        self.state.pointer_size = u32::from(header.pointer_size);
    }

    fn event_type(&mut self, event_type: &EventType) {
        // Indexes have no gaps, and the reader has a limit for them.
        let index = event_type.index as usize;
        if self.state.routes.len() <= index {
            self.state.routes.resize(index + 1, Route::Nowhere);
        }
        if let Some(route) = self.state.routes.get_mut(index) {
            *route = Route::of(event_type);
        }
    }

    fn stack(&mut self, id: u32, ips: Ips<'_>) {
        if let Some(frames) = &mut self.parts.frames {
            frames.stack(id, ips);
        }
    }

    fn point(&mut self) {
        if let Some(frames) = &mut self.parts.frames {
            frames.point();
        }
    }

    #[inline]
    fn event(&mut self, event: &Event<'_>) {
        self.state.newest = self.state.newest.max(event.time);
        let index = event.event_type.index as usize;
        match self.state.routes.get(index).copied().unwrap_or_default() {
            Route::Nowhere => {}
            Route::Runtime => self.runtime(event),
            Route::Unknown => self.peer.add(m::UNKNOWN, 1),
            Route::Counters => {
                self.state.counted = true;
                self.counters(event);
            }
            Route::Meters => self.counters(event),
            Route::Message | Route::Application => self.application(event),
        }
        if event.sorted {
            self.sorted(event);
        }
    }
}

impl Visit<'_> {
    #[inline(never)]
    fn application(&mut self, event: &Event<'_>) {
        let stamp = self.state.clock.stamp(event.time);
        let Parts { records, lookup, frames, .. } = &mut *self.parts;
        let mut named = Named { frames: frames.as_deref(), beside: &mut **lookup };
        records.application(event, stamp, &mut named, self.peer);
    }

    /// All that follows is younger.
    #[inline(never)]
    fn sorted(&mut self, event: &Event<'_>) {
        self.parts.records.sorted(self.state.clock.stamp(event.time));
    }

    #[inline(never)]
    fn counters(&mut self, event: &Event<'_>) {
        let Parts { counters, meter, .. } = &mut *self.parts;
        if !counters.event(self.now.monotonic, event, meter, self.peer) {
            self.peer.add(m::BAD, 1);
        }
    }

    #[inline(never)]
    fn runtime(&mut self, event: &Event<'_>) {
        let EventType { id, version, .. } = *event.event_type;
        self.state.heard = true;
        match &clr::decode(id, version, self.state.pointer_size, event.payload) {
            Ok(Decoded::Known) => {}
            Ok(Decoded::Unknown) => self.peer.add(m::UNKNOWN, 1),
            Ok(decoded) => {
                let Event { mut stack, activity, related, capture_thread, .. } = *event;
                let Parts { meter, records, lookup, frames, .. } = &mut *self.parts;
                if let Some(frames) = frames {
                    stack = frames.event(decoded, capture_thread, stack);
                }
                let frames = frames.as_deref();
                let ends_wait = matches!(decoded, Decoded::ContentionStop { .. });
                // Sums do without the wall clock.
                let mut at = At {
                    time: self.state.clock.nanos(event.time),
                    stamp: Stamp::default(),
                    thread: event.thread,
                    capture_thread,
                    method: frames.filter(|_| ends_wait).and_then(|of| of.waiting(stack)),
                };
                if let Some(occurrence) = meter.clr(&at, decoded, self.peer) {
                    // A collection is complete with any of its events, in any order of threads.
                    let since = match &occurrence {
                        Occurrence::Gc(gc) => at.time.wrapping_sub(gc.ended).cast_signed(),
                        _ => 0,
                    };
                    let wall = self.state.clock.wall(event.time);
                    at.stamp = Stamp::from_nanos(wall.wrapping_sub(since).into());
                    let origin = Origin { stack, activity, related };
                    let mut named = Named { frames, beside: &mut **lookup };
                    records.occurrence(&at, &origin, &occurrence, &mut named, self.peer);
                }
            }
            Err(_) => self.peer.add(m::BAD, 1),
        }
    }
}

/// The provider of events about sessions.
const EVENTPIPE: &str = "Microsoft-DotNETCore-EventPipe";

/// Who reads events of a type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Route {
    /// Nobody.
    #[default]
    Nowhere,
    /// An event of the runtime.
    Runtime,
    /// An event of the runtime that is not in the table of layouts.
    Unknown,
    /// EventCounters of a provider.
    Counters,
    /// Values of meters.
    Meters,
    /// An event source reports that it is broken.
    Message,
    /// An event of a configured provider.
    Application,
}

impl Route {
    pub(super) fn of(event_type: &EventType) -> Self {
        match (&*event_type.provider, &*event_type.name, event_type.id) {
            (clr::RUNTIME, _, id) => match clr::decode(id, event_type.version, 8, &[]) {
                // These do not depend on the payload.
                Ok(Decoded::Known) => Self::Nowhere,
                Ok(Decoded::Unknown) => Self::Unknown,
                _ => Self::Runtime,
            },
            (clr::RUNDOWN | EVENTPIPE, ..) => Self::Nowhere,
            (_, "EventCounters", _) => Self::Counters,
            (METERS, _, 1..) => Self::Meters,
            (_, "EventSourceMessage", 0) => Self::Message,
            _ => Self::Application,
        }
    }
}

const SECOND: u64 = 1_000_000_000;
/// Most that the header's clock can differ from ours, in ns: the header is made when the session
/// begins, and a suspended process may begin late. Another clock differs by the host's uptime.
const NEAR: u64 = 600 * SECOND;

/// CLOCK_MONOTONIC of the host, in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ticks(pub u64);

/// The two clocks of the host are read one after the other: below this difference in ns the map
/// between them stays as it is, so that times of events keep their order.
const STEP: i64 = 1_000_000;

/// Maps ticks of a stream to time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    ticks: u64,
    /// Wall clock less ticks of the host, in ns.
    offset: i64,
    frequency: u64,
    /// The stream's clock is the host's: its ticks tell the time exactly.
    shared: bool,
    /// Wall clock of the header in ns since 1970, and its ticks in ns.
    base: (i64, u64),
}

impl Clock {
    /// The clocks of the host now.
    pub(super) fn at(&mut self, now: Now, ticks: Ticks) {
        let offset = nanos(now.wall).wrapping_sub_unsigned(ticks.0);
        if offset.abs_diff(self.offset) > STEP.unsigned_abs() {
            self.offset = offset;
        }
        self.ticks = ticks.0;
    }

    /// The header of the stream.
    pub(super) fn begin(&mut self, header: &Header) {
        self.frequency = header.frequency;
        self.shared = header.frequency == SECOND && self.ticks.abs_diff(header.ticks) < NEAR;
        self.base = (nanos(header.utc), self.nanos(header.ticks));
    }

    /// Ticks as ns since the same start.
    pub(super) fn nanos(&self, ticks: u64) -> u64 {
        if self.frequency == SECOND || self.frequency == 0 {
            return ticks;
        }
        let nanos = u128::from(ticks) * u128::from(SECOND) / u128::from(self.frequency);
        u64::try_from(nanos).unwrap_or(u64::MAX)
    }

    /// Wall clock of an event in ns since 1970.
    #[inline]
    fn wall(&self, ticks: u64) -> i64 {
        // Wrapping: negative before the base.
        if self.shared {
            self.offset.wrapping_add_unsigned(ticks)
        } else {
            self.base.0.wrapping_add_unsigned(self.nanos(ticks).wrapping_sub(self.base.1))
        }
    }

    /// Wall clock of an event.
    #[inline]
    pub(super) fn stamp(&self, ticks: u64) -> Stamp {
        Stamp::from_nanos(self.wall(ticks).into())
    }

    /// Time since an event, in ns; `None` if its clock is another one.
    pub(super) const fn age(&self, ticks: u64) -> Option<u64> {
        if self.shared { Some(self.ticks.saturating_sub(ticks)) } else { None }
    }
}

/// ns since 1970, until the year 2262.
fn nanos(stamp: Stamp) -> i64 {
    stamp.sec.saturating_mul(SECOND.cast_signed()).saturating_add(stamp.nsec.into())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    #[test]
    fn a_shared_clock_is_exact_and_another_one_counts_from_the_header() {
        let now = Now { wall: Stamp { sec: 1_000, nsec: 500 }, monotonic: Duration::ZERO };
        let utc = Stamp { sec: 900, nsec: 7_000_000 };
        let header = Header { utc, ticks: 50 * SECOND, frequency: SECOND, ..Header::default() };
        let mut clock = Clock::default();
        clock.at(now, Ticks(51 * SECOND));
        clock.begin(&header);
        assert_eq!(clock.stamp(51 * SECOND - 600), Stamp { sec: 999, nsec: 999_999_900 });
        assert_eq!(clock.age(51 * SECOND - 600), Some(600));
        // Read somewhat later than the wall clock.
        clock.at(now, Ticks(51 * SECOND + 9_000));
        assert_eq!(clock.stamp(51 * SECOND - 600), Stamp { sec: 999, nsec: 999_999_900 });
        clock.at(now, Ticks(9_000 * SECOND));
        clock.begin(&Header { frequency: 1_000, ticks: 10_000, ..header });
        assert_eq!(clock.stamp(10_001), Stamp { sec: 900, nsec: 8_000_000 });
        assert_eq!(clock.stamp(0), Stamp { sec: 890, nsec: 7_000_000 });
        assert_eq!(clock.age(10_001), None);
    }
}
