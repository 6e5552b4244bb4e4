//! What the metrics of .NET are called in every source, what a program is, and what the store does not add up
//! for it by itself (`apm.dotnet.service.*`).

use crate::catalogue::{Part, RollUp, ServiceOf, ServiceRows, ServiceSum, Services};
use crate::contract::Peer;
use crate::meter::MergedLatency;
use crate::model::{Leaf, Now};
use crate::sources::dotnet::metrics as m;

/// `apm.runtime`.
pub(crate) const RUNTIME: &[RollUp] = &[
    RollUp { leaf: Leaf::CpuTime, parts: &[Part::Rows(m::CPU_TIME)] },
    RollUp { leaf: Leaf::CpuUser, parts: &[Part::Row(m::CPU_TIME, "user")] },
    RollUp { leaf: Leaf::CpuSystem, parts: &[Part::Row(m::CPU_TIME, "system")] },
    RollUp { leaf: Leaf::MemoryResident, parts: &[Part::Metrics(&[m::WORKING_SET])] },
    RollUp { leaf: Leaf::HeapUsed, parts: &[Part::Metrics(&[m::HEAP_TOTAL])] },
    RollUp { leaf: Leaf::HeapCommitted, parts: &[Part::Metrics(&[m::HEAP_COMMITTED])] },
    RollUp { leaf: Leaf::GcCount, parts: &[Part::Row(m::GC_COUNT, "gen0")] },
    RollUp { leaf: Leaf::GcTime, parts: &[Part::Rows(m::GC_TIME)] },
    RollUp { leaf: Leaf::PauseCount, parts: &[Part::Metrics(&[m::PAUSE_COUNT])] },
    RollUp { leaf: Leaf::PauseTime, parts: &[Part::Metrics(&[m::PAUSE_TOTAL])] },
    RollUp { leaf: Leaf::PauseMax, parts: &[Part::Metrics(&[m::PAUSE_MAX])] },
    RollUp { leaf: Leaf::AllocBytes, parts: &[Part::Metrics(&[m::ALLOC_BYTES])] },
    RollUp { leaf: Leaf::Exceptions, parts: &[Part::Metrics(&[m::EXCEPTIONS])] },
    RollUp { leaf: Leaf::LockCount, parts: &[Part::Metrics(&[m::CONTENTION_COUNT])] },
    RollUp { leaf: Leaf::LockTime, parts: &[Part::Metrics(&[m::CONTENTION_TIME])] },
    RollUp { leaf: Leaf::JitTime, parts: &[Part::Metrics(&[m::JIT_TIME])] },
];

/// `apm.service`.
pub(crate) const SERVICE: Option<Services> = Some(Services {
    table: m::SERVICES,
    of_peer: ServiceOf::Name(program),
    leaves: LEAVES,
    sums: SUMS,
    rows: ROWS,
});

/// Slot of the youngest generation, whose collections are all there are.
const GEN0: u32 = 0;

const SUMS: &[ServiceSum] = &[
    ServiceSum::Of(m::PAUSE_COUNT, m::SERVICE_PAUSE_COUNT),
    ServiceSum::Of(m::PAUSE_TOTAL, m::SERVICE_PAUSE_TOTAL),
    ServiceSum::Of(m::EXCEPTIONS, m::SERVICE_EXCEPTIONS),
    ServiceSum::Of(m::CONTENTION_COUNT, m::SERVICE_CONTENTION_COUNT),
    ServiceSum::Of(m::CONTENTION_TIME, m::SERVICE_CONTENTION_TIME),
    ServiceSum::Of(m::ALLOC_BYTES, m::SERVICE_ALLOC),
    ServiceSum::OfRows(m::GC_COUNT, Some(GEN0), m::SERVICE_GC_COUNT),
    ServiceSum::OfRows(m::CPU_TIME, None, m::SERVICE_CPU),
];

const ROWS: &[ServiceRows] = &[
    ServiceRows { sums: &[(m::PAUSES, m::SERVICE_PAUSE_HISTOGRAM)], label: Some("bucket") },
    ServiceRows { sums: &[(m::EXCEPTION_TYPE, m::SERVICE_EXCEPTION_TYPE)], label: Some("type") },
    ServiceRows { sums: &[(m::STACK_SAMPLES, m::SERVICE_STACK_TIME)], label: None },
];

const LEAVES: &[RollUp] = &[
    RollUp { leaf: Leaf::Instances, parts: &[Part::Members] },
    RollUp { leaf: Leaf::CpuTime, parts: &[Part::Rows(m::SERVICE_CPU)] },
    RollUp { leaf: Leaf::GcCount, parts: &[Part::Rows(m::SERVICE_GC_COUNT)] },
    RollUp { leaf: Leaf::PauseCount, parts: &[Part::Rows(m::SERVICE_PAUSE_COUNT)] },
    RollUp { leaf: Leaf::PauseTime, parts: &[Part::Rows(m::SERVICE_PAUSE_TOTAL)] },
    RollUp { leaf: Leaf::PauseMax, parts: &[Part::Rows(m::SERVICE_PAUSE_MAX)] },
    RollUp { leaf: Leaf::PauseP50, parts: &[Part::Rows(m::SERVICE_PAUSE_P50)] },
    RollUp { leaf: Leaf::PauseP95, parts: &[Part::Rows(m::SERVICE_PAUSE_P95)] },
    RollUp { leaf: Leaf::PauseP99, parts: &[Part::Rows(m::SERVICE_PAUSE_P99)] },
    RollUp { leaf: Leaf::AllocBytes, parts: &[Part::Rows(m::SERVICE_ALLOC)] },
    RollUp { leaf: Leaf::Exceptions, parts: &[Part::Rows(m::SERVICE_EXCEPTIONS)] },
    RollUp { leaf: Leaf::LockCount, parts: &[Part::Rows(m::SERVICE_CONTENTION_COUNT)] },
    RollUp { leaf: Leaf::LockTime, parts: &[Part::Rows(m::SERVICE_CONTENTION_TIME)] },
];

/// Slot of the program's row.
const SLOT: u32 = 0;

/// The program of an instance `program:pid`.
#[must_use]
pub(crate) fn program(instance: &str) -> &str {
    instance.rsplit_once(':').map_or(instance, |(program, _)| program)
}

/// A second has passed: the percentiles of pauses of the program are reported.
pub(crate) fn tick(now: Now, pauses: &MergedLatency, peer: &mut Peer) {
    let items =
        [m::SERVICE_PAUSE_P50, m::SERVICE_PAUSE_P95, m::SERVICE_PAUSE_P99, m::SERVICE_PAUSE_MAX];
    pauses.report(now.monotonic, (SLOT, items), 1000, peer);
}
