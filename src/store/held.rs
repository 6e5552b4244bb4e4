//! The dynamic metrics that a peer has brought, or a connection whose peer is not known yet.

use std::sync::{Arc, PoisonError};

use super::dynamic_metric::DynamicMetric;
use super::sync::Mutex;

/// A peer may bring this share of the names that are left, so that none takes all;
const SHARE: usize = 4;
/// and this many, however few are left.
const FREE: usize = 64;

/// The dynamic metrics of a source by id. They stay here when their names are dropped.
#[derive(Debug, Default)]
pub(super) struct ById(Mutex<Vec<Option<Arc<DynamicMetric>>>>);

impl ById {
    pub(super) fn insert(&self, metric: &Arc<DynamicMetric>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let id = usize::from(metric.id);
        if all.len() <= id {
            all.resize(id + 1, None);
        }
        if let Some(place) = all.get_mut(id) {
            *place = Some(Arc::clone(metric));
        }
    }

    /// Calls `f` with those whose bits are set.
    fn each(&self, bits: &[u64], mut f: impl FnMut(&DynamicMetric)) {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (metrics, word) in all.chunks(BITS).zip(bits) {
            let of_word = metrics.iter().enumerate().filter(|(bit, _)| word & 1 << bit != 0);
            of_word.filter_map(|(_, metric)| metric.as_deref()).for_each(&mut f);
        }
    }
}

const BITS: usize = u64::BITS as usize;

/// Metrics of one source that have somebody who brings them. Those that a client has fetched stay anyway, and are not
/// kept here.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// A bit for each id: thousands of peers bring some hundred metrics each.
    bits: Vec<u64>,
    of: Option<Arc<ById>>,
    /// Names that were new with them.
    brought: usize,
}

impl Held {
    /// Adds a metric, whose bringers were counted by one. `of`: the metrics of its source.
    pub(super) fn add(&mut self, metric: &DynamicMetric, new: bool, of: &Arc<ById>) {
        self.brought += usize::from(new);
        self.of.get_or_insert_with(|| Arc::clone(of));
        self.hold(metric);
    }

    fn hold(&mut self, metric: &DynamicMetric) {
        let (word, bit) = (usize::from(metric.id) / BITS, 1 << (usize::from(metric.id) % BITS));
        if metric.is_seen() || self.bits.get(word).is_some_and(|known| known & bit != 0) {
            return metric.released();
        }
        if self.bits.len() <= word {
            self.bits.resize(word + 1, 0);
        }
        if let Some(known) = self.bits.get_mut(word) {
            *known |= bit;
        }
    }

    /// Takes what a connection has brought before its peer was known.
    pub(super) fn take_over(&mut self, mut from: Self) {
        self.brought += from.brought;
        let bits = std::mem::take(&mut from.bits);
        let Some(of) = from.of.take() else { return };
        of.each(&bits, |metric| self.hold(metric));
        self.of.get_or_insert(of);
    }

    /// Names that were new with this peer.
    pub(super) const fn brought(&self) -> usize {
        self.brought
    }

    fn each(&self, f: impl FnMut(&DynamicMetric)) {
        if let Some(of) = &self.of {
            of.each(&self.bits, f);
        }
    }

    /// Clients have got records of the peer: they may know the parameters.
    pub(super) fn were_in_records(&self) {
        self.each(|metric| {
            if metric.spec.place.has_param() {
                metric.seen();
            }
        });
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.each(DynamicMetric::released);
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
