//! Sums over all processes of a program, which go on when a process ends and another one starts.

use crate::model::{RowItem, Update};
use crate::sources::Sink;
use crate::sources::mono::metrics as m;

/// The sums, in the order of their positions.
const ITEMS: [RowItem; 6] = [
    m::PROGRAM_GC_COUNT,
    m::PROGRAM_PAUSE_COUNT,
    m::PROGRAM_PAUSE_TOTAL,
    m::PROGRAM_EXCEPTIONS,
    m::PROGRAM_CONTENTION_COUNT,
    m::PROGRAM_CONTENTION_TIME,
];

/// Unreported sums of this process.
#[derive(Debug, Default)]
pub(super) struct Program {
    /// Slot of the program's row; `None`: the program is not known.
    pub(super) slot: Option<u32>,
    sums: [u64; ITEMS.len()],
}

impl Program {
    /// Adds to a sum.
    pub(super) fn add(&mut self, item: RowItem, more: u64) {
        let at = ITEMS.iter().position(|of| *of == item);
        if let Some(sum) = at.and_then(|at| self.sums.get_mut(at)) {
            *sum = sum.wrapping_add(more);
        }
    }

    /// Reports the sums since the last report.
    pub(super) fn report(&mut self, sink: &mut dyn Sink) {
        let Some(slot) = self.slot else { return };
        for (item, sum) in ITEMS.into_iter().zip(&mut self.sums) {
            let more = std::mem::take(sum);
            if more > 0 {
                sink.update(Update::RowCount { slot, item, more });
            }
        }
    }
}
