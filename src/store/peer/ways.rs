//! The connections of one peer: one for each way that its process is seen by.

use std::sync::Arc;

use super::RequestQueue;
use crate::contract::Control;

/// How a new connection stands to others of the same process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) enum Beside {
    /// There are none.
    Alone,
    /// It is at least as good as any of them.
    Better,
    /// There is a better one.
    Worse,
}

/// The queues of the connections that take requests, the best way first.
#[derive(Debug, Default)]
pub(super) struct Ways(Vec<(u8, Arc<RequestQueue>)>);

impl Ways {
    /// A connection replaces an older one of the same way; `all`: those of all ways, which are of
    /// another process.
    pub(super) fn enter(&mut self, way: u8, all: bool, requests: &Arc<RequestQueue>) {
        self.0.retain(|(other, old)| {
            let stays = *other != way && !all;
            if !stays {
                old.post(Control::Replaced);
            }
            stays
        });
        let at = self.0.partition_point(|(other, _)| *other < way);
        self.0.insert(at, (way, Arc::clone(requests)));
    }

    pub(super) fn leave(&mut self, requests: &Arc<RequestQueue>) {
        self.0.retain(|(_, queue)| !Arc::ptr_eq(queue, requests));
    }

    pub(super) fn best(&self) -> Option<Arc<RequestQueue>> {
        self.0.first().map(|(_, queue)| Arc::clone(queue))
    }

    pub(super) fn best_way(&self) -> Option<u8> {
        self.0.first().map(|(way, _)| *way)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<RequestQueue>> {
        self.0.iter().map(|(_, queue)| queue)
    }
}
