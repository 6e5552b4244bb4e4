//! Takes what the reader of a stream finds to those who want it.

use super::clock::Clock;
use super::frames::Named;
use super::parts::Parts;
use super::route::Route;
use crate::contract::Peer;
use crate::model::{Now, Stamp};
use crate::sources::dotnet::clr::{self, Decoded};
use crate::sources::dotnet::meter::At;
use crate::sources::dotnet::nettrace::{Event, EventType, Header, Ips, Visitor};
use crate::sources::dotnet::records::Origin;

/// What one stream has beside its reader.
#[derive(Debug, Default)]
pub(super) struct State {
    routes: Vec<Route>,
    pub(super) clock: Clock,
    pointer_size: u32,
    /// Since the last report.
    pub(super) unknown: u64,
    pub(super) bad: u64,
    /// Ticks of the newest event.
    pub(super) newest: u64,
    /// EventCounters came.
    pub(super) counted: bool,
    /// Events of the runtime came.
    pub(super) heard: bool,
}

impl State {
    pub(super) fn held(&self) -> usize {
        self.routes.capacity() * size_of::<Route>()
    }
}

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
            Route::Unknown => self.state.unknown += 1,
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
            self.state.bad += 1;
        }
    }

    #[inline(never)]
    fn runtime(&mut self, event: &Event<'_>) {
        let EventType { id, version, .. } = *event.event_type;
        self.state.heard = true;
        match &clr::decode(id, version, self.state.pointer_size, event.payload) {
            Ok(Decoded::Known) => {}
            Ok(Decoded::Unknown) => self.state.unknown += 1,
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
                    at.stamp = self.state.clock.stamp(event.time);
                    let origin = Origin { stack, activity, related };
                    let mut named = Named { frames, beside: &mut **lookup };
                    records.occurrence(&at, &origin, &occurrence, &mut named, self.peer);
                }
            }
            Err(_) => self.state.bad += 1,
        }
    }
}
