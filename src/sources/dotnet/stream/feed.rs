//! Processes whose events another source receives (docs/protocols/dotnet.md 5).
//!
//! ```text
//!  events of a trace, packet by packet ─▶ feed ─▶ hub ─▶ process: sorted by time ─▶ clr ─▶ meter, records
//! ```
//!
//! Only the process id in events tells processes apart, so they are instances of their own:
//! `dotnet:PID@HOST`.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Parts;
use crate::contract::{Identity, Peer, PeerMaker};
use crate::model::{Departure, Now, Stamp, Value};
use crate::sources::dotnet::meter::{At, Settings};
use crate::sources::dotnet::records::Origin;
use crate::sources::dotnet::session::State;
use crate::sources::dotnet::wire::clr;
use crate::sources::dotnet::wire::clr::Decoded;
use crate::sources::dotnet::{Config, limits, metrics as m};
use crate::sources::foreign::{ForeignEvent, ForeignFeed, ForeignReader};

/// The provider of the runtime's events in traces.
pub const PROVIDER: &str = "DotNETRuntime";

/// Reads the runtime's events of all traces.
pub struct Hub {
    maker: PeerMaker,
    /// Name of this host.
    host: Box<str>,
    inner: Mutex<Inner>,
}

struct Inner {
    config: Arc<Config>,
    processes: HashMap<(Arc<str>, u64), Fed>,
    /// Processes of this host that are read otherwise, by their own process ids.
    streamed: HashMap<u64, u32>,
    feeds: u64,
    /// Events without a process, or of processes beyond the limit.
    unattributed: u64,
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hub").field("host", &self.host).finish_non_exhaustive()
    }
}

impl Hub {
    /// A hub without processes. `host`: the name of this host.
    #[must_use]
    pub fn new(config: Arc<Config>, host: &str, maker: PeerMaker) -> Arc<Self> {
        let inner = Inner {
            config,
            processes: HashMap::new(),
            streamed: HashMap::new(),
            feeds: 0,
            unattributed: 0,
        };
        Arc::new(Self { maker, host: host.into(), inner: Mutex::new(inner) })
    }

    /// The provider's reader of events.
    #[must_use]
    pub fn reader(self: &Arc<Self>) -> Arc<dyn ForeignReader> {
        Arc::new(Reader(Arc::clone(self)))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Processes that begin from now on have these settings.
    pub fn configure(&self, config: Arc<Config>) {
        self.lock().config = config;
    }

    /// A process of this host, by its own process id, is read otherwise: it is not fed until the
    /// value is dropped.
    #[must_use]
    pub fn streamed(this: &Arc<Self>, process: u64) -> Streamed {
        let mut inner = this.lock();
        *inner.streamed.entry(process).or_default() += 1;
        if let Some(fed) = inner.processes.remove(&(Arc::from(&*this.host), process)) {
            fed.end("it is read otherwise now");
        }
        drop(inner);
        Streamed { hub: Arc::clone(this), process }
    }

    /// A second has passed: events that have waited long enough are counted.
    pub fn tick(&self, now: Now) {
        for fed in self.lock().processes.values_mut() {
            fed.tick(now);
        }
    }

    /// Processes that are fed.
    #[must_use]
    pub fn processes(&self) -> usize {
        self.lock().processes.len()
    }

    /// Events that belong to no known process.
    #[must_use]
    pub fn unattributed(&self) -> u64 {
        self.lock().unattributed
    }

    fn event(&self, feed: u64, host: &Arc<str>, now: Now, event: &ForeignEvent<'_>) {
        let mut inner = self.lock();
        let Some(process) = event.process else {
            inner.unattributed += 1;
            return;
        };
        if **host == *self.host && inner.streamed.contains_key(&process) {
            return;
        }
        let Inner { processes, config, unattributed, .. } = &mut *inner;
        let room = processes.len() < limits::FED;
        let fed = match processes.entry((Arc::clone(host), process)) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) if room => {
                entry.insert(Fed::new(host, process, config, self.maker.make(), now))
            }
            Entry::Vacant(_) => {
                *unattributed += 1;
                return;
            }
        };
        fed.event(feed, now, event);
    }

    /// A trace has ended: processes without another one end with it.
    fn close(&self, feed: u64) {
        let mut inner = self.lock();
        let ended: Vec<_> = inner
            .processes
            .iter_mut()
            .filter_map(|(key, fed)| fed.leave(feed).then(|| key.clone()))
            .collect();
        for key in ended {
            if let Some(fed) = inner.processes.remove(&key) {
                fed.end("its trace of LTTng has ended");
            }
        }
        if inner.unattributed > 0 {
            log::info!(
                "dotnet: {} events of traces belong to no process so far",
                inner.unattributed
            );
        }
    }
}

struct Reader(Arc<Hub>);

impl ForeignReader for Reader {
    fn open(&self, host: &str) -> Box<dyn ForeignFeed> {
        let mut inner = self.0.lock();
        inner.feeds += 1;
        let number = inner.feeds;
        drop(inner);
        Box::new(Feed { hub: Arc::clone(&self.0), host: host.into(), number })
    }
}

/// The events of one trace.
struct Feed {
    hub: Arc<Hub>,
    host: Arc<str>,
    number: u64,
}

/// Versions are below this; ids are above it in the number of a class.
pub(super) const VERSIONS: u32 = 256;

impl ForeignFeed for Feed {
    fn class(&mut self, name: &str) -> Option<u32> {
        let (id, version) = clr::by_lttng_name(name)?;
        (version < VERSIONS).then_some(id * VERSIONS + version)
    }

    fn event(&mut self, now: Now, event: &ForeignEvent<'_>) {
        self.hub.event(self.number, &self.host, now, event);
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.hub.close(self.number);
    }
}

/// A process that is read otherwise.
#[derive(Debug)]
pub struct Streamed {
    hub: Arc<Hub>,
    process: u64,
}

impl Drop for Streamed {
    fn drop(&mut self) {
        if let Entry::Occupied(mut entry) = self.hub.lock().streamed.entry(self.process) {
            *entry.get_mut() -= 1;
            if *entry.get() == 0 {
                entry.remove();
            }
        }
    }
}

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
        peer.is(Identity {
            name: name.clone(),
            peer: host.to_owned(),
            host: Some(host.to_owned()),
            labels: vec![("pid", process.to_string())],
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
        peer.add(m::EVENTS, due as u64);
        peer.add(m::BYTES, bytes as u64);
        self.parts.quiet(peer);
    }

    fn one(&mut self, waiting: &Waiting, payload: &[u8]) {
        let (id, version) = (waiting.class / VERSIONS, waiting.class % VERSIONS);
        let decoded = match clr::decode(id, version, POINTER, payload) {
            Ok(Decoded::Known) => return,
            Ok(Decoded::Unknown) => return self.peer.add(m::UNKNOWN, 1),
            Err(_) => return self.peer.add(m::BAD, 1),
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

#[cfg(test)]
#[path = "feed_tests.rs"]
mod tests;
