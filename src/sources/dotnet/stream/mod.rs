//! One stream of a session, from its bytes to updates, and what a process has over all its sessions.
//!
//! ```text
//!  bytes ─▶ nettrace::Reader ─▶ visit (routes by type) ─┬─▶ clr ─▶ meter ─▶ records
//!                                                       └─▶ counters
//! ```

pub mod feed;
mod frames;
mod visit;

pub use crate::meter::MergedLatencies;
pub use visit::Ticks;

use std::fmt;
use std::sync::Arc;

use bytes::BytesMut;

use super::counters::Counters;
use super::meter::{Meter, Settings};
use super::records::{Lookup, Records};
use super::wire::nettrace::Reader;
use super::{Config, metrics as m, records};
use crate::contract::Peer;
use crate::meter::MergedLatency;
use crate::model::{MetricItem, Now};
use frames::Frames;
use visit::{State, Visit};

/// The stream of one CollectTracing session.
#[derive(Debug, Default)]
pub struct Stream {
    reader: Reader,
    state: State,
    /// Events, bytes and losses that were reported.
    events: u64,
    bytes: u64,
    lost: u64,
}

crate::heap_size!(Stream { reader, state });

impl Stream {
    /// Decodes bytes of the stream; leaves a partial token. `ticks`: the host's clock at `now`.
    ///
    /// # Errors
    /// In words: the stream cannot be decoded any further.
    pub fn feed(
        &mut self,
        now: Now,
        ticks: Ticks,
        input: &mut BytesMut,
        parts: &mut Parts,
        peer: &mut Peer,
    ) -> Result<(), String> {
        self.state.clock.at(now, ticks);
        let mut visit = Visit { state: &mut self.state, parts, peer, now };
        self.reader.feed(input, &mut visit).map_err(|error| error.to_string())
    }

    /// Its first bytes were read.
    #[must_use]
    pub const fn began(&self) -> bool {
        self.reader.offset() > 0
    }

    /// Its end tag was read.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.reader.ended()
    }

    /// EventCounters came since the last call.
    pub const fn take_counted(&mut self) -> bool {
        std::mem::replace(&mut self.state.counted, false)
    }

    /// Events of the runtime itself came since the last call.
    pub const fn take_heard(&mut self) -> bool {
        std::mem::replace(&mut self.state.heard, false)
    }

    /// Ends a batch: counts what came since the last one, and releases records.
    pub fn report(&mut self, parts: &mut Parts, peer: &mut Peer) {
        let bytes = self.reader.offset();
        let lost = self.reader.losses().lost();
        let count = |item: MetricItem, more: u64, peer: &mut Peer| {
            if more > 0 {
                peer.add(item, more);
            }
        };
        count(m::BYTES, bytes - std::mem::replace(&mut self.bytes, bytes), peer);
        count(m::LOST, lost - std::mem::replace(&mut self.lost, lost), peer);
        let events = self.reader.events();
        let events = events - std::mem::replace(&mut self.events, events);
        count(m::EVENTS, events, peer);
        let newest = std::mem::take(&mut self.state.newest);
        if events > 0
            && let Some(lag) = self.state.clock.age(newest)
        {
            peer.set(m::LAG, lag);
        }
        while let Some(report) = parts.counters.report() {
            parts.records.session_report(self.state.clock.stamp(report.time), &report.text, peer);
        }
        parts.records.release_sorted(peer);
    }
}

/// The sums and records of one process: they go on when another session begins.
pub struct Parts {
    /// Its metrics.
    pub meter: Meter,
    /// Its EventCounters and meters.
    pub counters: Counters,
    /// Its event records.
    pub records: Records,
    /// Finds names for them.
    pub lookup: Box<dyn Lookup + Send>,
    /// Pauses of the programs of this host.
    latencies: Option<Arc<MergedLatencies>>,
    /// Pauses of its program.
    service: Option<Arc<MergedLatency>>,
    /// Stacks and methods, if stacks are asked for.
    frames: Option<Box<Frames>>,
}

crate::heap_size!(Parts { meter, counters, records, frames });

/// How a process tells of itself over its socket.
const fn settings(counters: bool) -> Settings {
    Settings { runtime_events: true, no_counters: !counters, from_start: false }
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts").field("meter", &self.meter).finish_non_exhaustive()
    }
}

impl Parts {
    /// A process without events.
    #[must_use]
    pub fn new(config: &Config, lookup: Box<dyn Lookup + Send>) -> Self {
        Self {
            meter: Meter::new(settings(true)),
            counters: Counters::default(),
            records: Records::new(records::Settings::new(config)),
            lookup,
            latencies: None,
            service: None,
            frames: (config.stacks || config.locks).then(Box::default),
        }
    }

    /// Its pauses are added to those of its program.
    #[must_use]
    pub fn serving(mut self, latencies: &Arc<MergedLatencies>) -> Self {
        self.latencies = Some(Arc::clone(latencies));
        self
    }

    /// The process is an instance of this name.
    pub fn start(&mut self, name: &str, peer: &mut Peer) {
        self.service = self.latencies.as_ref().and_then(|all| all.of(m::program(name)));
        self.meter.start(name, peer);
        self.counters.start(name);
    }

    /// The configuration has changed.
    pub fn configure(&mut self, config: &Config) {
        self.records.configure(records::Settings::new(config));
    }

    /// Another stream begins. `session` and `client`: the ids that it asked meters with.
    /// `counters`: EventCounters will come.
    pub fn stream(&mut self, session: &str, client: &str, counters: bool, peer: &mut Peer) {
        self.counters.stream(session, client);
        self.meter.stream(settings(counters), peer);
        self.records.restart(peer);
        if let Some(frames) = &mut self.frames {
            frames.stream();
        }
    }

    /// The stream has ended.
    pub fn end(&mut self, peer: &mut Peer) {
        self.meter.end(peer);
        self.counters.end(peer);
        self.records.release(peer);
    }

    /// Nothing more comes for now.
    pub fn quiet(&mut self, peer: &mut Peer) {
        self.records.release(peer);
    }

    /// A second has passed.
    pub fn tick(&mut self, now: Now, peer: &mut Peer) {
        self.meter.tick(now.monotonic, self.service.as_deref(), peer);
        self.counters.tick(now.monotonic, peer);
        if let Some(pauses) = &self.service {
            m::tick(now, pauses, peer);
        }
    }
}
