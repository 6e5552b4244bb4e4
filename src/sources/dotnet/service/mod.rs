//! The program of a process: what the store does not add by itself (`apm.dotnet.service.*`).

use super::metrics as m;
use crate::contract::Peer;
use crate::meter::MergedLatency;
use crate::model::Now;

/// Slot of the program's row.
const SLOT: u32 = 0;

/// The program of an instance `program:pid`.
#[must_use]
pub(super) fn program(instance: &str) -> &str {
    instance.rsplit_once(':').map_or(instance, |(program, _)| program)
}

/// A second has passed: the percentiles of pauses of the program are reported.
pub(super) fn tick(now: Now, pauses: &MergedLatency, peer: &mut Peer) {
    let items =
        [m::SERVICE_PAUSE_P50, m::SERVICE_PAUSE_P95, m::SERVICE_PAUSE_P99, m::SERVICE_PAUSE_MAX];
    pauses.report(now.monotonic, (SLOT, items), 1000, peer);
}
