//! Where a source's updates and records go: one [`Sink`] per peer. The store implements it.

use crate::events::Batch;
use crate::model::{
    EventKindId, InDom, MetricDef, MetricItem, Now, ParamId, Pmid, Semantics, Update, ValueType,
};

/// Bytes that a session holds, by the capacities of what it is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Only for this session.
    pub own: usize,
    /// Also for others, which is accounted for elsewhere: for the limit of one peer.
    pub shared: usize,
}

/// Takes what sessions tell. The store implements it; tests collect into a `Vec`.
pub trait Sink {
    /// One thing that happened. Never blocks on a peer or on PCP.
    fn update(&mut self, update: Update<'_>);

    /// The metric of a parameter of event records and its type, for records that the source packs
    /// itself; `None` if there is no room for such a metric, or no peer yet.
    fn param(&self, _: ParamId) -> Option<(Pmid, ValueType)> {
        None
    }

    /// Records that the source has packed, for the event stream `kind`; they are gone from the
    /// batch.
    fn append(&mut self, _: EventKindId, records: &mut Batch) {
        records.clear();
    }
}

/// The sink of a peer whose driver is the source itself: where one connection tells of several
/// peers.
pub trait OwnSink: Sink + Send {
    /// The moment for what follows.
    fn at(&mut self, now: Now);

    /// Bytes of its own that were read.
    fn read(&mut self, bytes: usize);

    /// Bytes that the sink itself holds, and as `shared` those that its peer has in the store.
    fn held(&self) -> Held {
        Held::default()
    }

    /// It is gone, in an orderly way.
    fn end(&mut self);
}

/// Makes a sink for each peer that connections tell of.
pub trait Sinks: Send + Sync {
    /// For one more.
    fn open(&self) -> Box<dyn OwnSink>;
}

/// Starts all counters of a peer at 0: a counter without a value would look like an unknown one.
pub fn start_counters(metrics: &[MetricDef], sink: &mut dyn Sink) {
    for metric in metrics.iter().filter(|m| m.sem == Semantics::Counter) {
        debug_assert_eq!(metric.indom, InDom::Peers, "{}", metric.name);
        sink.update(Update::Count { item: MetricItem::new(metric.item), more: 0 });
    }
}
