//! The peers of one source in the store.

use std::sync::Arc;

use crate::contract::{self, PeerMaker};
use crate::model::{Memory, SourceId};
use crate::store::{ControlQueue, Limits, Peer, RequestQueue, Store};

/// Access of one source to its peers, the limits and the memory budget.
#[derive(Clone, Debug)]
pub struct Peers {
    store: Arc<Store>,
    source: SourceId,
    name: &'static str,
}

impl Peers {
    /// `name`: the source's name, for the log.
    #[must_use]
    pub fn new(store: &Arc<Store>, source: SourceId, name: &'static str) -> Self {
        Self { store: Arc::clone(store), source, name }
    }

    /// Name of the source.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The store.
    #[must_use]
    pub const fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// The limits in force now.
    #[must_use]
    pub fn limits(&self) -> Arc<Limits> {
        self.store.limits()
    }

    /// The memory budget that peers are charged to.
    #[must_use]
    pub fn memory(&self) -> &Arc<Memory> {
        &self.store.memory
    }

    /// A new peer; `requests` queues the requests to it.
    #[must_use]
    pub fn peer(&self, requests: &Arc<RequestQueue>) -> contract::Peer {
        self.store.peer_of(self.source, requests)
    }

    /// See [`Store::peer_maker`].
    #[must_use]
    pub fn maker(&self, counted: bool) -> PeerMaker {
        self.store.peer_maker(self.source, counted)
    }

    /// All peers of the source, connected or not.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<Peer>> {
        let mut peers = self.store.peers();
        peers.retain(|peer| peer.source == self.source);
        peers
    }

    /// Requests to the source as a whole.
    #[must_use]
    pub fn control_queue(&self) -> Arc<ControlQueue> {
        self.store.control_queue(self.source).cloned().unwrap_or_default()
    }
}
