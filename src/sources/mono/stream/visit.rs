//! Routes what the decoder finds.

use super::counters::Feeds;
use super::state::State;
use crate::contract::Peer;
use crate::model::Now;
use crate::sources::mono::limits;
use crate::sources::mono::mlpd::{Act, BadBuffer, Buffer, Event, Header, Visitor};
use crate::sources::mono::process::Share;

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
            Event::Counter(counter) => {
                state.counters.describe(&counter);
            }
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
        state.lost.bad += 1;
        let unknown = matches!(reason, BadBuffer::UnknownEvent(_) | BadBuffer::UnknownMetadata(_));
        state.lost.unknown += u64::from(unknown);
        state.lost.reason = Some(reason);
        state.counters.lose();
        state.runtime.lost();
        state.whole = true;
    }

    fn hole(&mut self, _: u64) {
        // What came before is shown first, or it would stay when its counters are withdrawn.
        self.state.end_sample(self.now, self.peer);
        self.state.lost.holes += 1;
        self.state.counters.lose();
        self.state.runtime.lost();
    }
}
