//! Sums of the static metrics of one peer.

use super::Peer;
use crate::model::{MetricItem, STATIC_ITEMS};

/// Sums by item since the last report, of items below so many: updates go to the store once a batch of
/// events or a request.
#[derive(Debug)]
pub struct Counters<const ITEMS: usize = { STATIC_ITEMS as usize }> {
    sums: [u64; ITEMS],
    /// A bit for each item with an unreported sum.
    touched: u128,
}

impl<const ITEMS: usize> Default for Counters<ITEMS> {
    fn default() -> Self {
        Self { sums: [0; ITEMS], touched: 0 }
    }
}

impl<const ITEMS: usize> Counters<ITEMS> {
    /// Adds to a counter.
    #[inline]
    pub fn add(&mut self, item: MetricItem, more: u64) {
        if more > 0
            && let Some(sum) = self.sums.get_mut(usize::from(item.get()))
        {
            *sum = sum.wrapping_add(more);
            self.touched |= 1 << item.get();
        }
    }

    /// Reports the sums and clears them.
    pub fn report(&mut self, peer: &mut Peer) {
        let mut left = std::mem::take(&mut self.touched);
        while left != 0 {
            let item = left.trailing_zeros();
            left &= left - 1;
            if let (Ok(number), Some(sum)) = (u16::try_from(item), self.sums.get_mut(item as usize))
            {
                let more = std::mem::take(sum);
                peer.add(MetricItem::new(number), more);
            }
        }
    }
}
