//! One process of traces.

use std::ops::Range;

use super::hub::VERSIONS;
use crate::contract::{Identity, Peer};
use crate::model::{Departure, Now, Stamp, Value};
use crate::sources::dotnet::clr::{self, Decoded};
use crate::sources::dotnet::meter::{At, Settings};
use crate::sources::dotnet::records::Origin;
use crate::sources::dotnet::session::State;
use crate::sources::dotnet::stream::Parts;
use crate::sources::dotnet::{Config, limits, metrics as m};
use crate::sources::foreign::ForeignEvent;

/// Bytes of a pointer: the tracer exists for 64-bit runtimes only.
const POINTER: u32 = 8;

/// A process, its sums and its events that wait for older ones of other processors.
pub(super) struct Fed {
    peer: Peer,
    parts: Parts,
    /// Traces that have events of it.
    feeds: Vec<u64>,
    waiting: Vec<Waiting>,
    payloads: Vec<u8>,
    /// Newest times at the last two ticks: what is older was received two seconds ago.
    newest: Stamp,
    marks: [Stamp; 2],
    unknown: u64,
    bad: u64,
}

/// An event that waits.
struct Waiting {
    stamp: Stamp,
    thread: u64,
    class: u32,
    payload: Range<usize>,
}

impl Fed {
    pub(super) fn new(host: &str, process: u64, config: &Config, mut peer: Peer, now: Now) -> Self {
        let name = format!("dotnet:{process}@{host}");
        peer.at(now);
        let labels = vec![("host", host.to_owned()), ("pid", process.to_string())];
        peer.is(Identity {
            name: name.clone(),
            peer: host.to_owned(),
            labels,
            resumes: true,
            ..Identity::default()
        });
        let mut parts = Parts::new(config, Box::new(()));
        parts.start(&name, &mut peer);
        let settings = Settings { runtime_events: true, no_counters: true, from_start: true };
        parts.meter.stream(settings, &mut peer);
        let texts = [(m::VIA, "lttng"), (m::REASON, "events come with a trace of LTTng")];
        for (item, text) in texts {
            peer.set(item, Value::Text(text.into()));
        }
        peer.set(m::STATE, State::Streaming as u32);
        Self {
            peer,
            parts,
            feeds: Vec::new(),
            waiting: Vec::new(),
            payloads: Vec::new(),
            newest: Stamp::default(),
            marks: [Stamp::default(); 2],
            unknown: 0,
            bad: 0,
        }
    }

    pub(super) fn event(&mut self, feed: u64, now: Now, event: &ForeignEvent<'_>) {
        if !self.feeds.contains(&feed) {
            self.feeds.push(feed);
        }
        if self.payloads.len() + event.payload.len() > limits::FED_BYTES
            || self.waiting.len() >= limits::FED_EVENTS
        {
            self.release(now, self.newest);
        }
        let start = self.payloads.len();
        self.payloads.extend_from_slice(event.payload);
        self.newest = self.newest.max(event.stamp);
        self.waiting.push(Waiting {
            stamp: event.stamp,
            thread: event.thread,
            class: event.class,
            payload: start..self.payloads.len(),
        });
    }

    /// The trace has ended. True: it was the last one.
    pub(super) fn leave(&mut self, feed: u64) -> bool {
        self.feeds.retain(|other| *other != feed);
        self.feeds.is_empty()
    }

    pub(super) fn tick(&mut self, now: Now) {
        let [old, young] = self.marks;
        self.marks = [young, self.newest];
        self.release(now, old);
        self.parts.tick(now, &mut self.peer);
        self.peer.flush();
    }

    /// Counts all that waits; the process is gone.
    pub(super) fn end(mut self, why: &'static str) {
        self.count(self.newest);
        self.peer.flush();
        self.peer.end(Departure::regular(why));
    }

    fn release(&mut self, now: Now, until: Stamp) {
        self.peer.at(now);
        self.count(until);
    }

    /// Counts the events up to a time, in the order of time.
    fn count(&mut self, until: Stamp) {
        // Stable: events of one time stay in the order of their packet.
        self.waiting.sort_by_key(|waiting| waiting.stamp);
        let due = self.waiting.partition_point(|waiting| waiting.stamp <= until);
        if due == 0 {
            return;
        }
        let rest = self.waiting.split_off(due);
        let all = std::mem::replace(&mut self.waiting, rest);
        let payloads = std::mem::take(&mut self.payloads);
        for waiting in &mut self.waiting {
            let start = self.payloads.len();
            let payload = payloads.get(waiting.payload.clone()).unwrap_or_default();
            self.payloads.extend_from_slice(payload);
            waiting.payload = start..self.payloads.len();
        }
        let bytes: usize = all.iter().map(|waiting| waiting.payload.len()).sum();
        for waiting in &all {
            let payload = payloads.get(waiting.payload.clone()).unwrap_or_default();
            self.one(waiting, payload);
        }
        let peer = &mut self.peer;
        peer.count_io(bytes, 0);
        peer.message();
        let counts = [
            (m::EVENTS, due as u64),
            (m::BYTES, bytes as u64),
            (m::UNKNOWN, std::mem::take(&mut self.unknown)),
            (m::BAD, std::mem::take(&mut self.bad)),
        ];
        for (item, more) in counts.into_iter().filter(|(_, more)| *more > 0) {
            peer.add(item, more);
        }
        self.parts.meter.report(peer);
        self.parts.quiet(peer);
    }

    fn one(&mut self, waiting: &Waiting, payload: &[u8]) {
        let (id, version) = (waiting.class / VERSIONS, waiting.class % VERSIONS);
        let decoded = match clr::decode(id, version, POINTER, payload) {
            Ok(Decoded::Known) => return,
            Ok(Decoded::Unknown) => return self.unknown += 1,
            Err(_) => return self.bad += 1,
            Ok(decoded) => decoded,
        };
        let at = At {
            time: u64::try_from(waiting.stamp.as_nanos()).unwrap_or(0),
            stamp: waiting.stamp,
            thread: waiting.thread,
            capture_thread: waiting.thread,
            method: None,
        };
        let Parts { meter, records, .. } = &mut self.parts;
        let peer = &mut self.peer;
        if let Some(occurrence) = meter.clr(&at, &decoded, peer) {
            records.occurrence(&at, &Origin::default(), &occurrence, &mut (), peer);
        }
    }
}
