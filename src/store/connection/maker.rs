//! Makes peers, for connections that report several.

use std::sync::Arc;

use super::Connection;
use crate::contract::{Peer, PeerMaker};
use crate::model::SourceId;
use crate::store::{RequestQueue, Store};

impl Store {
    /// A peer of a source; `requests` queues the requests to it.
    ///
    /// # Panics
    /// The source is of another catalogue than the store's.
    #[must_use]
    pub fn peer_of(self: &Arc<Self>, source: SourceId, requests: &Arc<RequestQueue>) -> Peer {
        Peer::new(Connection::new(self, source, requests))
    }

    /// Makes peers of a source that do not take requests. `counted`: the bytes that the source counts for a
    /// peer are in `apm.self.ingest.bytes` already, as those of HTTP requests are.
    #[must_use]
    pub fn peer_maker(self: &Arc<Self>, source: SourceId, counted: bool) -> PeerMaker {
        let store = Arc::clone(self);
        PeerMaker::new(move || {
            let requests = Arc::new(RequestQueue::new(|| ()));
            let mut connection = Connection::new(&store, source, &requests);
            connection.set_ingest_counted(counted);
            Peer::new(connection)
        })
    }
}
