//! Sums over all processes of a program, which go on when a process ends and another one starts.

use crate::contract::Peer;
use crate::model::RowItem;
use crate::sources::mono::metrics as m;
use crate::sources::mono::process::{Sum, Tally};

/// The sums, in the order of their positions, and which of them other ways have a part of.
const ITEMS: [(RowItem, Option<Sum>); 6] = [
    (m::PROGRAM_GC_COUNT, Some(Sum::Collections)),
    (m::PROGRAM_PAUSE_COUNT, None),
    (m::PROGRAM_PAUSE_TOTAL, None),
    (m::PROGRAM_EXCEPTIONS, Some(Sum::Exceptions)),
    (m::PROGRAM_CONTENTION_COUNT, None),
    (m::PROGRAM_CONTENTION_TIME, None),
];

/// Sums of this process.
#[derive(Debug, Default)]
pub(super) struct Program {
    /// Slot of the program's row; `None`: the program is not known.
    slot: Option<u32>,
    /// `None`: the process is seen by this stream only.
    tally: Option<Tally>,
    sums: [u64; ITEMS.len()],
    reported: [u64; ITEMS.len()],
}

impl Program {
    /// The program is known.
    pub(super) fn is(&mut self, slot: u32, tally: Option<Tally>) {
        (self.slot, self.tally) = (Some(slot), tally);
    }

    /// Adds to a sum.
    pub(super) fn add(&mut self, item: RowItem, more: u64) {
        let at = ITEMS.iter().position(|(of, _)| *of == item);
        if let Some(sum) = at.and_then(|at| self.sums.get_mut(at)) {
            *sum = sum.wrapping_add(more);
        }
    }

    /// Reports the sums since the last report.
    pub(super) fn report(&mut self, peer: &mut Peer) {
        let Some(slot) = self.slot else { return };
        for ((item, shared), (sum, reported)) in
            ITEMS.into_iter().zip(self.sums.iter().zip(&mut self.reported))
        {
            let before = std::mem::replace(reported, *sum);
            let more = match self.tally.as_ref().zip(shared) {
                _ if before == *sum => continue,
                Some((tally, shared)) => tally.of_stream(shared, *sum),
                None => sum.wrapping_sub(before),
            };
            if more > 0 {
                peer.row_add(slot, item, more);
            }
        }
    }
}
