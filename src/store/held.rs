//! The dynamic metrics that a peer has brought, or a connection whose peer is not known yet.

use std::sync::Arc;

use super::dynamic_metric::DynamicMetric;

/// A peer may bring this share of the names that are left, so that none takes all;
const SHARE: usize = 4;
/// and this many, however few are left.
const FREE: usize = 64;

/// Metrics that have somebody who brings them, by id. Those that a client has fetched stay anyway, and are not kept here.
#[derive(Debug, Default)]
pub(super) struct Held {
    metrics: Vec<Arc<DynamicMetric>>,
    /// Names that were new with them.
    brought: usize,
}

impl Held {
    /// Adds a metric, whose bringers were counted by one.
    pub(super) fn add(&mut self, metric: &Arc<DynamicMetric>, new: bool) {
        self.brought += usize::from(new);
        match self.metrics.binary_search_by_key(&metric.id, |known| known.id) {
            Err(at) if !metric.is_seen() => self.metrics.insert(at, Arc::clone(metric)),
            _ => metric.released(),
        }
    }

    /// Takes what a connection has brought before its peer was known.
    pub(super) fn take_over(&mut self, mut from: Self) {
        self.brought += from.brought;
        std::mem::take(&mut from.metrics).iter().for_each(|metric| self.add(metric, false));
    }

    /// Names that were new with this peer.
    pub(super) const fn brought(&self) -> usize {
        self.brought
    }

    /// Clients have got records of the peer: they may know the parameters.
    pub(super) fn were_in_records(&self) {
        for metric in self.metrics.iter().filter(|m| m.spec.place.has_param()) {
            metric.seen();
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.metrics.iter().for_each(|metric| metric.released());
    }
}

/// Whether a peer that has brought so many names may bring one more, while so many are left.
pub(super) const fn has_share(brought: usize, left: usize) -> bool {
    left > 0 && (brought < FREE || brought < left.saturating_add(brought) / SHARE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_takes_more_than_a_quarter_of_what_is_left() {
        let mut left = 4096;
        let mut takes = || {
            let mut brought = 0;
            while has_share(brought, left) {
                (brought, left) = (brought + 1, left - 1);
            }
            brought
        };
        assert_eq!((takes(), takes(), takes()), (1024, 768, 576));
        let rest: Vec<usize> = std::iter::repeat_with(takes).take_while(|n| *n > 0).collect();
        assert!(rest.len() > 8 && rest.iter().all(|n| *n <= 432), "{rest:?}");
        assert!(has_share(63, 1) && !has_share(64, 1) && !has_share(0, 0));
    }
}
