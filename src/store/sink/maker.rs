//! Opens sinks, for connections that report several peers.

use std::sync::Arc;

use super::PeerSink;
use crate::contract::{OwnSink, Sinks};
use crate::model::SourceId;
use crate::store::{RequestQueue, Store};

/// Sinks of peers of one source that do not take requests.
#[derive(Debug)]
struct StoreSinks {
    store: Arc<Store>,
    source: SourceId,
    counted: bool,
}

impl Store {
    /// Opens sinks for peers of a source that do not take requests. `counted`: the bytes that the source
    /// counts for a peer are in `apm.self.ingest.bytes` already, as those of HTTP requests are.
    #[must_use]
    pub fn sinks(self: &Arc<Self>, source: SourceId, counted: bool) -> Arc<dyn Sinks> {
        Arc::new(StoreSinks { store: Arc::clone(self), source, counted })
    }
}

impl Sinks for StoreSinks {
    fn open(&self) -> Box<dyn OwnSink> {
        let requests = Arc::new(RequestQueue::new(|| ()));
        let mut sink = PeerSink::new(&self.store, self.source, &requests);
        sink.set_ingest_counted(self.counted);
        Box::new(sink)
    }
}
