//! What a process adds to its service (`apm.jvm.service.*`).

use super::metrics as m;
use super::state::Figures;
use crate::contract::Sink;
use crate::contract::Update;
use crate::model::RowItem;

/// Slot of the service's row.
const SLOT: u32 = 0;

/// A counter of the service, and that of a process.
type Sum = (RowItem, fn(&Figures) -> Option<u64>);

/// Counters of a process that are summed.
const SUMS: [Sum; 7] = [
    (m::SERVICE_GC_COUNT, |f| {
        let counts = f.collections.iter().flatten().map(|one| one.count);
        counts.fold(None, |sum, count| Some(sum.unwrap_or(0_u64).saturating_add(count)))
    }),
    (m::SERVICE_PAUSE_COUNT, |f| f.pauses.count),
    (m::SERVICE_PAUSE_TOTAL, |f| f.pauses.total),
    (m::SERVICE_SAFEPOINT, |f| f.safepoint_time),
    (m::SERVICE_CLASSES, |f| f.classes_loaded),
    (m::SERVICE_JIT, |f| f.jit_time),
    (m::SERVICE_LOCKS, |f| f.contentions),
];

/// What the service has of one process.
#[derive(Debug)]
pub(super) struct Service {
    is_new: bool,
    /// Its start has been counted.
    counted: bool,
    /// Of each counter the highest value that was counted; `None`: the first one counts nothing.
    sums: [Option<u64>; SUMS.len()],
    /// Processor time that was counted, or that is of the program before.
    pub(super) cpu: Option<u64>,
}

impl Service {
    /// `is_new`: the program began while this PMDA ran, and all that it has counted counts. `before`:
    /// processor time of the process that is another program's.
    pub(super) fn new(is_new: bool, before: Option<u64>) -> Self {
        let zero = is_new.then_some(0);
        Self { is_new, counted: false, sums: [zero; SUMS.len()], cpu: before.or(zero) }
    }

    /// The row of this name.
    pub(super) fn start(&mut self, name: &str, sink: &mut dyn Sink) {
        let (table, slot) = (m::SERVICES, SLOT);
        sink.update(Update::Row { table, slot, key: Some(name) });
        sink.update(Update::RowLabels { table, slot, labels: &[("service", name)] });
        for (item, _) in SUMS {
            sink.update(Update::RowCount { slot, item, more: 0 });
        }
        sink.update(Update::RowCount { slot, item: m::SERVICE_CPU, more: 0 });
        let more = u64::from(self.is_new && !std::mem::replace(&mut self.counted, true));
        sink.update(Update::RowCount { slot, item: m::SERVICE_STARTS, more });
    }

    /// A second has passed: the process is one of its service.
    pub(super) fn tick(&self, sink: &mut dyn Sink) {
        sink.update(Update::RowMember { table: m::SERVICES, slot: SLOT });
    }

    pub(super) fn read(&mut self, figures: &Figures, sink: &mut dyn Sink) {
        for ((item, figure), known) in SUMS.into_iter().zip(&mut self.sums) {
            count(item, known, figure(figures), sink);
        }
    }

    /// Processor time of the process so far.
    pub(super) fn processor_time(&mut self, time: u64, sink: &mut dyn Sink) {
        count(m::SERVICE_CPU, &mut self.cpu, Some(time), sink);
    }
}

fn count(item: RowItem, known: &mut Option<u64>, now: Option<u64>, sink: &mut dyn Sink) {
    let Some(now) = now else { return };
    let more = now.saturating_sub(known.unwrap_or(now));
    *known = Some(known.unwrap_or(now).max(now));
    if more > 0 {
        sink.update(Update::RowCount { slot: SLOT, item, more });
    }
}
