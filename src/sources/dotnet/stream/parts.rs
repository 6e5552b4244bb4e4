//! What a process has over all its sessions.

use std::fmt;
use std::sync::Arc;

use super::frames::Frames;
use crate::contract::Peer;
pub use crate::meter::MergedLatencies;
use crate::meter::MergedLatency;
use crate::model::Now;
use crate::sources::dotnet::counters::Counters;
use crate::sources::dotnet::meter::{Meter, Settings};
use crate::sources::dotnet::records::{self, Lookup, Records};
use crate::sources::dotnet::{Config, service};

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
    pub(super) frames: Option<Box<Frames>>,
}

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
        self.service = self.latencies.as_ref().and_then(|all| all.of(service::program(name)));
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

    /// The end of a batch.
    pub fn report(&mut self, _: Now, peer: &mut Peer) {
        self.meter.report(peer);
        self.records.release_sorted(peer);
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
            service::tick(now, pauses, peer);
        }
    }

    /// Bytes in use.
    #[must_use]
    pub fn held(&self) -> usize {
        let frames = self.frames.as_ref().map_or(0, |frames| frames.held());
        self.meter.memory() + self.counters.memory() + self.records.memory() + frames
    }
}
