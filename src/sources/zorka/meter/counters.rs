//! Sums of the static metrics of one agent.

use crate::contract::Sink;
use crate::contract::Update;
use crate::model::MetricItem;

/// Items of this source's metrics: a bit for each.
const ITEMS: usize = u64::BITS as usize;

/// Sums by item since the last report: updates go to the store once a request.
#[derive(Debug)]
pub(crate) struct Counters {
    sums: [u64; ITEMS],
    /// A bit for each item with an unreported sum.
    touched: u64,
}

impl Default for Counters {
    fn default() -> Self {
        Self { sums: [0; ITEMS], touched: 0 }
    }
}

impl Counters {
    pub(crate) fn add(&mut self, item: MetricItem, more: u64) {
        if more > 0
            && let Some(sum) = self.sums.get_mut(usize::from(item.get()))
        {
            *sum = sum.wrapping_add(more);
            self.touched |= 1 << item.get();
        }
    }

    /// Reports the sums and clears them.
    pub(crate) fn report(&mut self, sink: &mut dyn Sink) {
        let mut left = std::mem::take(&mut self.touched);
        while left != 0 {
            let item = left.trailing_zeros();
            left &= left - 1;
            if let (Ok(number), Some(sum)) = (u16::try_from(item), self.sums.get_mut(item as usize))
            {
                let more = std::mem::take(sum);
                sink.update(Update::Count { item: MetricItem::new(number), more });
            }
        }
    }
}
