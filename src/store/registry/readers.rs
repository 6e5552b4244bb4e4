//! Client contexts that read the records of a kind, whoever has them: they were there before the
//! streams that are made from now on, so each record of these is delivered to them or missed.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use super::{Store, lock};
use crate::catalogue::{PARAM_CLUSTER, SourceTable};
use crate::events::Stream;
use crate::model::{EventKindId, ParamItem, Pmid, StreamKind};
use crate::store::peer::Peer;

/// The contexts of each kind; pmcd bounds their number.
#[derive(Debug, Default)]
pub(super) struct Readers(HashMap<StreamKind, BTreeSet<u32>>);

/// The parameter with the duration of a record.
pub(in crate::store) fn duration(source: &SourceTable, kind: EventKindId) -> Option<ParamItem> {
    source.events.get(kind.index())?.table.duration
}

impl Store {
    /// The stream of a peer's kind, made at the first call: its readers have their cursors before its
    /// first record. `None`: the source has no such kind.
    pub fn stream<'p>(
        &self,
        peer: &'p Peer,
        kind: EventKindId,
        now: Duration,
    ) -> Option<&'p Stream> {
        if let Some(stream) = peer.existing_stream(kind) {
            return Some(stream);
        }
        // Locked until the stream is there: a context that ends finds it.
        let readers = lock(&self.readers);
        peer.stream(kind, || {
            let stream = self.new_stream(peer, kind);
            let of = readers.0.get(&StreamKind { source: peer.source, kind });
            of.into_iter().flatten().for_each(|ctx| stream.admit(*ctx, now));
            stream
        })
    }

    /// A stream of a kind; if its records have durations, the slowest are kept.
    fn new_stream(&self, peer: &Peer, kind: EventKindId) -> Stream {
        let source = self.catalogue.source(peer.source);
        match source.and_then(|source| Some((source, duration(source, kind)?))) {
            None => Stream::new(&self.budget),
            Some((source, item)) => {
                let cluster = source.cluster + PARAM_CLUSTER;
                let duration = Pmid::new(self.domain, cluster, item.get());
                Stream::with_slowest(&self.budget, duration)
            }
        }
    }

    /// A context reads the records of all peers of a source, also of those that come: from now on it
    /// has a cursor in each of their streams.
    pub fn reads(&self, ctx: u32, kind: StreamKind, now: Duration) {
        let mut readers = lock(&self.readers);
        if readers.0.entry(kind).or_default().insert(ctx) {
            // Peers that have no instance number yet are among them.
            let peers = self.table(kind.source).map(|t| t.peers.values().cloned().collect());
            let peers: Vec<Arc<Peer>> = peers.unwrap_or_default();
            peers
                .iter()
                .filter_map(|p| p.existing_stream(kind.kind))
                .for_each(|s| s.admit(ctx, now));
        }
    }

    /// A context reads the records of some peers only.
    pub fn reads_some(&self, ctx: u32, kind: StreamKind) {
        if let Some(of) = lock(&self.readers).0.get_mut(&kind) {
            of.remove(&ctx);
        }
    }

    /// Removes a context that has ended from all streams.
    pub fn forget_reader(&self, ctx: u32) {
        for of in lock(&self.readers).0.values_mut() {
            of.remove(&ctx);
        }
        for peer in self.peers() {
            peer.streams().for_each(|stream| stream.forget(ctx));
        }
    }
}
