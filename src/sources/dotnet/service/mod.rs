//! What a process adds to its program (`apm.dotnet.service.*`).

#[cfg(feature = "agent")]
mod serving;

#[cfg(feature = "agent")]
pub(super) use serving::Serving;

use super::metrics as m;
use crate::contract::Sink;
use crate::contract::Update;
use crate::meter::MergedLatency;
use crate::model::Now;

/// Slot of the program's row.
const SLOT: u32 = 0;

/// The program of an instance `program:pid`.
#[must_use]
pub(super) fn program(instance: &str) -> &str {
    instance.rsplit_once(':').map_or(instance, |(program, _)| program)
}

/// A second has passed: the process is one of its program, whose percentiles of pauses are reported.
pub(super) fn tick(now: Now, pauses: &MergedLatency, sink: &mut dyn Sink) {
    sink.update(Update::RowMember { table: m::SERVICES, slot: SLOT });
    let items =
        [m::SERVICE_PAUSE_P50, m::SERVICE_PAUSE_P95, m::SERVICE_PAUSE_P99, m::SERVICE_PAUSE_MAX];
    pauses.report(now.monotonic, (SLOT, items), 1000, |update| sink.update(update));
}
