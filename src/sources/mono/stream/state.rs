//! The state of one stream beside its decoder: what each event is for, and what of it reaches the
//! metrics when.

use std::time::Duration;

use super::clock::Clock;
use super::counters::{Feeds, StreamCounters};
use crate::contract::Peer;
use crate::heap_size;
use crate::model::{Now, Value};
use crate::sources::mono::counters::updates::Updates;
use crate::sources::mono::events::{Names, Profile, Runtime};
use crate::sources::mono::limits;
use crate::sources::mono::metrics as m;
use crate::sources::mono::mlpd::{Act, BadBuffer, Buffer, Decoder, Event, Header, Visitor};
use crate::sources::mono::process::{Said, Seat, Share};

/// The state of one stream.
#[derive(Debug)]
pub(super) struct State {
    pub(super) names: Names,
    pub(super) counters: StreamCounters,
    pub(super) updates: Updates,
    pub(super) clock: Clock,
    pub(super) runtime: Runtime,
    pub(super) profile: Profile,
    /// Once it is read.
    pub(super) header: Option<Header>,
    /// It has been said who the peer is.
    pub(super) introduced: bool,
    /// Thread of the open buffer.
    pub(super) thread: u64,
    /// Time of the open sample, and whether all its values have come.
    pub(super) sample: Option<u64>,
    pub(super) whole: bool,
    /// The open sample has values that are to be shown.
    pub(super) shown: bool,
    /// Time of the newest event since the last report.
    pub(super) newest: Option<u64>,
    /// Why the rest of the last bad buffer since the last report is lost.
    lost: Option<BadBuffer>,
    /// A part of the stream is missing.
    damaged: bool,
    /// Threads that have ended since the last tick, and since the one before: records that wait for
    /// the end of a flush still need their names.
    pub(super) ended: Vec<u64>,
    ended_before: Vec<u64>,
    /// Events that are counted.
    events: u64,
}

heap_size!(State { names, counters, updates, runtime, profile, header, ended, ended_before });

impl State {
    pub(super) fn new(counters: StreamCounters, updates: Updates) -> Self {
        Self {
            names: Names::default(),
            counters,
            updates,
            clock: Clock::default(),
            runtime: Runtime::default(),
            profile: Profile::default(),
            header: None,
            introduced: false,
            thread: 0,
            sample: None,
            whole: false,
            shown: false,
            newest: None,
            lost: None,
            damaged: false,
            ended: Vec::new(),
            ended_before: Vec::new(),
            events: 0,
        }
    }

    /// Looks for the process on this host, until it is found or its peer is introduced.
    pub(super) fn join(&mut self) {
        let Some(header) = self.header.as_ref().filter(|_| !self.introduced) else { return };
        let started = Some(Duration::from_millis(header.start_ms));
        self.updates.join(&Said { pid: header.pid, command: None, started });
    }

    /// Reports who the peer is, once its program is known: this host knows its own processes, for
    /// others it is the name of the first domain, which comes with the first flush. `late`: without
    /// it.
    pub(super) fn introduce(&mut self, late: bool, peer: &mut Peer) {
        if self.introduced || self.header.is_none() {
            return;
        }
        if self.names.program().is_some() || late {
            self.join();
        }
        let Some(header) = &self.header else { return };
        let program = self.names.program();
        let seated = self.updates.seat().is_some();
        if program.is_none() && !seated && !late {
            return;
        }
        self.introduced = true;
        if let Some(program) = program {
            self.updates.process(program, header.pid);
        }
        self.updates.introduce(&mut self.counters.counters, peer);
        // The seat reports all ways to its process.
        let via = (!seated).then_some((m::VIA, "stream"));
        for (item, text) in via.into_iter().chain([(m::OPTIONS, header.options.as_str())]) {
            peer.set(item, Value::text(text));
        }
        peer.set(m::PORT, Value::U32(header.port.into()));
        for item in [m::BYTES, m::STREAM_EVENTS, m::BAD, m::UNKNOWN] {
            peer.add(item, 0);
        }
        self.runtime.start(self.updates.name(), peer);
        let program = self.updates.program();
        self.profile.start(self.updates.name(), program.unwrap_or_default());
        if program.is_some() {
            self.runtime.of_program(self.updates.seat().map(Seat::tally));
        }
    }

    /// The open sample is complete: all counters of a moment come in two events of one time.
    pub(super) fn end_sample(&mut self, now: Now, peer: &mut Peer) {
        if self.sample.take().is_some() {
            self.introduce(true, peer);
            self.counters.settle();
            self.updates.refresh(&mut self.counters.counters, peer);
            if !std::mem::take(&mut self.shown) && self.counters.duplicates > 0 {
                drop(self.counters.counters.take_named());
                return self.updates.drop_sample();
            }
            let wall = self.clock.is_shared();
            self.updates.sample_ends(now, wall, &mut self.counters.counters, peer);
        }
    }

    /// Ends a flush, or what has arrived of it: sums reach the metrics. `ticks`: `CLOCK_MONOTONIC`
    /// of this host at `now`.
    pub(super) fn report(&mut self, now: Now, ticks: u64, decoder: &Decoder, peer: &mut Peer) {
        self.clock.arrived(now, ticks, self.newest);
        self.introduce(false, peer);
        if !self.introduced {
            return;
        }
        if self.whole {
            self.end_sample(now, peer);
        }
        self.updates.refresh(&mut self.counters.counters, peer);
        let events = decoder.events();
        if events > 0 {
            self.updates.reads(peer);
        }
        if let Some(seat) = self.updates.seat().filter(|_| self.damaged) {
            seat.damaged();
        }
        let Self { runtime, names, clock, updates, counters, .. } = self;
        runtime.count(m::STREAM_EVENTS, events - std::mem::replace(&mut self.events, events));
        runtime.count(m::DUPLICATE, std::mem::take(&mut counters.duplicates));
        if let Some(reason) = self.lost.take() {
            peer.error(&format!("the rest of a buffer is lost: {reason}"));
        }
        if let Some(age) = self.newest.take().and_then(|newest| clock.age(ticks, newest)) {
            peer.set(m::LAG, age);
        }
        let exceptions = runtime.counts_exceptions() && updates.feeds(Share::Exceptions);
        runtime.feeds(exceptions, counters.feeds_methods());
        runtime.settle(false, names, &|time| clock.stamp(time), peer);
        self.profile.settle(names, peer);
    }

    /// A second has passed.
    pub(super) fn tick(&mut self, peer: &mut Peer) {
        self.updates.belong(peer);
        let Self { runtime, names, clock, .. } = self;
        runtime.tick(names, &|time| clock.stamp(time), peer);
        self.forget_ended();
    }

    /// The stream has ended.
    pub(super) fn end(&mut self, peer: &mut Peer) {
        let Self { runtime, names, clock, .. } = self;
        runtime.settle(true, names, &|time| clock.stamp(time), peer);
        self.profile.settle(names, peer);
    }

    /// A part of the stream is missing.
    fn lose(&mut self) {
        self.damaged = true;
        self.counters.lose();
        self.runtime.lost();
    }

    /// Forgets the names of threads that have ended.
    pub(super) fn forget_ended(&mut self) {
        let ended = std::mem::take(&mut self.ended);
        for thread in std::mem::replace(&mut self.ended_before, ended) {
            self.names.forget_thread(thread);
        }
    }
}

/// The visitor of one piece of the stream.
pub(super) struct Visit<'a> {
    pub(super) state: &'a mut State,
    pub(super) peer: &'a mut Peer,
    pub(super) now: Now,
    /// `CLOCK_MONOTONIC` of this host in ns.
    pub(super) ticks: u64,
    /// The bytes arrive as they are made.
    pub(super) live: bool,
}

impl Visitor for Visit<'_> {
    fn header(&mut self, header: &Header) {
        let state = &mut *self.state;
        state.clock.begin(header, self.now, self.ticks, self.live);
        state.updates.dialect(format!("log profiler {}", header.version), self.peer);
        state.runtime.header(header);
        state.profile.header(header);
        state.header = Some(header.clone());
        state.join();
    }

    fn buffer(&mut self, buffer: &Buffer) {
        self.state.thread = buffer.thread;
        self.state.updates.message(self.peer);
    }

    #[inline]
    fn event(&mut self, time: u64, event: Event<'_>) {
        let state = &mut *self.state;
        state.newest = state.newest.max(Some(time));
        state.runtime.event(state.thread, time, &event);
        match event {
            Event::Method { method, name, .. } => state.names.name_method(method, name),
            Event::Class { act: Act::Load, id, name, .. } => state.names.name_class(id, name),
            Event::Vtable { act: Act::Load, id, class, .. } => state.names.vtable(id, class),
            Event::Thread { act: Act::Name, id, name } => {
                state.ended.retain(|ended| *ended != id);
                state.names.name_thread(id, name);
            }
            Event::Thread { act: Act::Unload, id, .. } => {
                if state.ended.len() >= limits::THREADS {
                    state.forget_ended();
                }
                state.ended.push(id);
            }
            Event::Domain { act: Act::Name, name, .. } => state.names.name_domain(name),
            Event::Counter(counter) => state.counters.describe(&counter),
            Event::Sample => {
                if state.sample.is_some_and(|before| before != time) {
                    self.state.end_sample(self.now, self.peer);
                }
                let state = &mut *self.state;
                state.whole = false;
                let runtime = state.updates.feeds(Share::Counters);
                let methods = runtime && state.updates.feeds(Share::Methods);
                let user = state.updates.feeds(Share::Categories);
                state.counters.begin(Feeds { runtime, user, methods });
                if state.sample.replace(time).is_none() {
                    state.updates.sample(state.clock.ticks(time));
                }
            }
            Event::Value { index, value, .. } => {
                if let Some((index, read)) = state.counters.value(index, value, &mut state.runtime)
                {
                    state.shown = true;
                    state.updates.value(index, read);
                }
            }
            Event::Hit { thread, frames, .. } => state.profile.hit(thread, frames, &state.names),
            Event::SampleEnd => state.whole = true,
            _ => {}
        }
    }

    fn bad(&mut self, reason: BadBuffer, _: u64) {
        self.state.end_sample(self.now, self.peer);
        let state = &mut *self.state;
        state.runtime.count(m::BAD, 1);
        if matches!(reason, BadBuffer::UnknownEvent(_) | BadBuffer::UnknownMetadata(_)) {
            state.runtime.count(m::UNKNOWN, 1);
        }
        state.lost = Some(reason);
        state.lose();
        state.whole = true;
    }

    fn hole(&mut self, _: u64) {
        // What came before is shown first, or it would stay when its counters are withdrawn.
        self.state.end_sample(self.now, self.peer);
        self.state.runtime.count(m::HOLES, 1);
        self.state.lose();
    }
}
