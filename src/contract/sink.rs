//! The destination of a source's updates and records: one [`Sink`] per peer, implemented by the
//! store.

use crate::contract::{Control, ParamId, Update};
use crate::events::{Batch, Later};
use crate::model::{
    Departure, EventKindId, InDom, MetricDef, MetricItem, Now, Pmid, Semantics, ValueType,
};

/// Bytes that a session uses, counted by the capacities of its collections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Bytes of this session alone.
    pub own: usize,
    /// Bytes shared with other sessions. They are charged elsewhere and count here for the limit of
    /// one peer only.
    pub shared: usize,
}

/// Receives the updates of a session. The store implements it; tests collect into a `Vec`.
pub trait Sink {
    /// Applies one update. Never blocks on a peer or on PCP.
    fn update(&mut self, update: Update<'_>);

    /// The parameter metric and its type, for records that the source packs itself; `None` if there
    /// is no room for such a metric, or no peer yet.
    fn param(&self, _: ParamId) -> Option<(Pmid, ValueType)> {
        None
    }

    /// The records of a kind that wait for the end of the session's call, for one more that the
    /// source packs itself; `None`: the sink takes them as updates only.
    fn batch(&mut self, _: EventKindId) -> Option<&mut Batch> {
        None
    }

    /// Appends records that the source has packed to the event stream `kind`; the batch is then
    /// empty.
    fn append(&mut self, _: EventKindId, records: &mut Batch) {
        records.clear();
    }

    /// Whether [`Self::append_later`] takes records of a kind for which `own` bytes are kept, and
    /// `shared` bytes that other records may need too.
    fn keeps(&self, _kind: EventKindId, _own: usize, _shared: usize) -> bool {
        false
    }

    /// Appends records that are packed when somebody reads them to the event stream `kind`.
    fn append_later(&mut self, _: EventKindId, _: Later) {}

    /// Whether somebody reads the records of a kind, for records that are made only then. The first
    /// one is made in any case: a reader comes to a stream that is there.
    fn is_watched(&self, _: EventKindId) -> bool {
        true
    }
}

/// The sink of a peer that the source drives itself: for connections that report several peers.
pub trait OwnSink: Sink + Send {
    /// Sets the time of the updates that follow; those before have ended one piece of work.
    fn at(&mut self, now: Now);

    /// Counts bytes read for this peer.
    fn read(&mut self, bytes: usize);

    /// Counts bytes sent to this peer.
    fn wrote(&mut self, _: usize) {}

    /// Bytes that the sink uses, and as `shared` those of its peer in the store.
    fn held(&self) -> Held {
        Held::default()
    }

    /// A limit turned the peer away: what is reported is dropped. The identity may be said again.
    fn refused(&self) -> bool {
        false
    }

    /// Requests of users to this peer since the last call, oldest first.
    fn requests(&mut self) -> Vec<Control> {
        Vec::new()
    }

    /// Ends the session's call: the records of [`Update::Event`] reach their streams.
    fn flush(&mut self) {}

    /// Ends the peer's connection without a fault.
    fn end(&mut self, departure: Departure);
}

/// Makes a sink for each peer that a connection reports.
pub trait Sinks: Send + Sync {
    /// A sink for one more peer.
    fn open(&self) -> Box<dyn OwnSink>;
}

/// Starts all counters of a peer at 0: a counter without a value would look like an unknown one.
pub fn start_counters(metrics: &[MetricDef], sink: &mut dyn Sink) {
    for metric in metrics.iter().filter(|m| m.sem == Semantics::Counter) {
        debug_assert_eq!(metric.indom, InDom::Peers, "{}", metric.name);
        sink.update(Update::Count { item: MetricItem::new(metric.item), more: 0 });
    }
}
