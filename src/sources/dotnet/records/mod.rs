//! From the events of one process to event records in its streams.
//!
//! ```text
//!  meter::Occurrence ─▶ writer ──────┐
//!  EventSource events ─▶ application ┼▶ waiting (a batch for each kind) ─▶ sorted by time ─▶ stream
//!  reports ──────────────────────────┘
//! ```

mod application;
mod parameter;
#[cfg(test)]
mod tests;
mod text;
mod threads;
mod waiting;
mod writer;

pub(super) use parameter::restore;
pub use threads::{Lookup, Origin};

use super::limits::{RECORD_MESSAGE, RECORD_STACK};
use super::meter::{At, Occurrence};
use super::wire::nettrace::Event;
use super::{Config, metrics as m};
use crate::contract::{Peer, Rate};
use crate::events::flags::POINT;
use crate::model::{EventKindId, Stamp, cut};
use application::{Buffers, Class, Definitions, is_message, message, pack};
use threads::ThreadNames;
use waiting::Waiting;

/// Makes the records of one process. Records reach their streams with [`Self::release_sorted`] and
/// [`Self::release`].
#[derive(Debug)]
pub struct Records {
    settings: Settings,
    rates: [Rate; m::EVENT_KINDS.len()],
    waiting: Waiting,
    threads: ThreadNames,
    /// Types of application events, by their index in the stream.
    classes: Vec<Option<Box<Class>>>,
    definitions: Definitions,
    buffers: Buffers,
}

crate::heap_size!(Records { waiting, threads, definitions, buffers, each classes });

impl Records {
    /// No event yet.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            rates: Default::default(),
            waiting: Waiting::default(),
            threads: ThreadNames::default(),
            classes: Vec::new(),
            definitions: Definitions::default(),
            buffers: Buffers::default(),
        }
    }

    /// The configuration has changed.
    pub const fn configure(&mut self, settings: Settings) {
        self.settings = settings;
    }

    /// A new stream of the process begins, with the same peer: event types have new numbers.
    pub fn restart(&mut self, peer: &mut Peer) {
        self.waiting.restart(peer);
        self.classes = Vec::new();
    }

    /// An event of the runtime, as the meter sees it.
    pub fn occurrence(
        &mut self,
        at: &At<'_>,
        origin: &Origin<'_>,
        occurrence: &Occurrence<'_>,
        lookup: &mut dyn Lookup,
        peer: &mut Peer,
    ) {
        let Some(kind) = writer::kind(occurrence, &self.settings) else { return };
        if !self.allows(kind, at.stamp, peer) {
            return;
        }
        let Some(batch) = self.waiting.batch(kind) else { return };
        let mut to = writer::begin(batch, peer, at.stamp, POINT, origin);
        to.number(m::P_THREAD, at.thread);
        to.text(m::P_THREAD_NAME, self.threads.get(at.thread, at.stamp, lookup));
        writer::write(occurrence, at.method, &mut to);
        if origin.stack != 0 && writer::has_stack(occurrence) {
            let mut stack = String::new();
            lookup.stack(origin.stack, &mut stack);
            to.text(m::P_STACK, cut(&stack, RECORD_STACK));
        }
        self.waiting.complete(kind, peer);
    }

    /// An event of a provider whose events become records.
    pub fn application(
        &mut self,
        event: &Event<'_>,
        stamp: Stamp,
        lookup: &mut dyn Lookup,
        peer: &mut Peer,
    ) {
        if is_message(event.event_type) {
            return self.source_message(event, stamp, peer);
        }
        if !self.allows(m::APPLICATION, stamp, peer) {
            return;
        }
        let at = event.event_type.index as usize;
        if !matches!(self.classes.get(at), Some(Some(class)) if class.is_of(event.event_type)) {
            self.define(event, peer);
        }
        let Some(Some(class)) = self.classes.get(at) else { return };
        let Some(batch) = self.waiting.batch(m::APPLICATION) else { return };
        class.begin(event, stamp, batch, |batch, flags| {
            let Event { stack, activity, related, .. } = *event;
            writer::begin(batch, peer, stamp, flags, &Origin { stack, activity, related });
        });
        let name = self.threads.get(event.thread, stamp, lookup);
        peer.newest(batch).text(m::P_THREAD_NAME, name);
        if !pack(event, class, &mut self.buffers, batch, peer) {
            peer.add(m::BAD, 1);
        }
        self.waiting.complete(m::APPLICATION, peer);
    }

    #[cold]
    fn define(&mut self, event: &Event<'_>, peer: &mut Peer) {
        let at = event.event_type.index as usize;
        // The number of types of a stream is limited (limits::EVENT_TYPES).
        if self.classes.len() <= at {
            self.classes.resize_with(at + 1, || None);
        }
        let class = self.definitions.class(event.event_type, peer);
        if let Some(place) = self.classes.get_mut(at) {
            *place = Some(Box::new(class));
        }
    }

    /// An EventSource of the process reports an error of its own.
    #[cold]
    fn source_message(&mut self, event: &Event<'_>, stamp: Stamp, peer: &mut Peer) {
        let text = message(event.event_type, event.payload, RECORD_MESSAGE);
        // The log has no texts of programs.
        peer.error(
            "an EventSource reports an error of its own: the records of the session have it",
        );
        self.session_report(stamp, &text, peer);
    }

    /// A report about reading the process, in words.
    pub fn session_report(&mut self, stamp: Stamp, message: &str, peer: &mut Peer) {
        if !self.allows(m::SESSION, stamp, peer) {
            return;
        }
        let Some(batch) = self.waiting.batch(m::SESSION) else { return };
        batch.record(stamp, POINT);
        peer.newest(batch).text(m::P_MESSAGE, cut(message, RECORD_MESSAGE));
        self.waiting.complete(m::SESSION, peer);
    }

    /// An event has the flag *sorted*: none that follows it in the stream is older.
    #[inline]
    pub fn sorted(&mut self, stamp: Stamp) {
        self.waiting.sorted(stamp);
    }

    /// Appends the records that no older one can follow: after each piece of the stream.
    pub fn release_sorted(&mut self, peer: &mut Peer) {
        self.waiting.release(false, peer);
    }

    /// Appends all records: at the end of a batch, when the process has nothing more to send for
    /// now, and at the end of the session. After a call without records the memory is freed.
    pub fn release(&mut self, peer: &mut Peer) {
        if self.waiting.is_empty() {
            self.threads.release();
            self.buffers = Buffers::default();
        }
        self.waiting.release(true, peer);
    }

    /// Whether an event of this kind and time has a record; one that is over the rate counts as
    /// missed.
    #[inline]
    fn allows(&mut self, kind: EventKindId, stamp: Stamp, peer: &mut Peer) -> bool {
        if !self.settings.has(kind) {
            return false;
        }
        let Some(rate) = self.rates.get_mut(kind.index()) else { return false };
        let allowed = rate.allows(stamp, self.settings.step);
        if !allowed {
            peer.add(m::MISSED, 1);
        }
        allowed
    }
}

/// Kinds that `dotnet.records` turns on, by their names there.
const KINDS: [(&str, EventKindId); 7] = [
    ("gc", m::GC),
    ("exception", m::EXCEPTION),
    ("contention", m::CONTENTION),
    ("starvation", m::POOL),
    ("assembly", m::ASSEMBLY),
    ("method", m::METHOD),
    ("allocation", m::ALLOCATION),
];

/// Which records are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Kinds that are on: a bit for each.
    on: u32,
    /// Nanoseconds from record to record of one kind at its most records a second.
    step: i64,
    /// Shortest wait for a lock that has a record, in nanoseconds.
    contention: u64,
}

impl Settings {
    /// From apm.toml. Application events and reports are always on: their providers are
    /// configured.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        let asked = |name: &str| config.records.iter().any(|kind| kind == name);
        let on = KINDS.iter().filter(|(name, _)| asked(name)).map(|(_, kind)| *kind);
        Self {
            on: on.chain([m::APPLICATION, m::SESSION]).map(bit).fold(0, |all, bit| all | bit),
            step: Rate::step(config.records_rate),
            contention: config.contention_record.saturating_mul(1_000_000),
        }
    }

    /// Records of this kind are made.
    #[must_use]
    pub fn has(&self, kind: EventKindId) -> bool {
        self.on & bit(kind) != 0
    }
}

const fn bit(kind: EventKindId) -> u32 {
    1 << kind.index()
}

const _: () = assert!(m::EVENT_KINDS.len() < u32::BITS as usize, "a bit for each kind");
