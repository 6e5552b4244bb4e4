//! What the metrics of JVMs are called in every source.

use super::metrics as m;
use crate::catalogue::{Part, RollUp, ServiceOf, ServiceSum, Services};
use crate::model::Leaf;

/// `apm.runtime`.
pub(super) const RUNTIME: &[RollUp] = &[
    RollUp { leaf: Leaf::CpuTime, parts: &[Part::Rows(m::CPU_TIME)] },
    RollUp { leaf: Leaf::CpuUser, parts: &[Part::Row(m::CPU_TIME, "user")] },
    RollUp { leaf: Leaf::CpuSystem, parts: &[Part::Row(m::CPU_TIME, "system")] },
    RollUp { leaf: Leaf::MemoryResident, parts: &[Part::Metrics(&[m::WORKING_SET])] },
    RollUp { leaf: Leaf::MemoryLimit, parts: &[Part::Metrics(&[m::MEMORY_LIMIT])] },
    RollUp { leaf: Leaf::HeapUsed, parts: &[Part::Metrics(&[m::HEAP_TOTAL])] },
    RollUp { leaf: Leaf::HeapCommitted, parts: &[Part::Metrics(&[m::HEAP_COMMITTED])] },
    RollUp { leaf: Leaf::HeapLimit, parts: &[Part::Metrics(&[m::HEAP_MAX])] },
    RollUp { leaf: Leaf::Threads, parts: &[Part::Metrics(&[m::THREADS])] },
    RollUp { leaf: Leaf::GcCount, parts: &[Part::Rows(m::GC_COUNT)] },
    RollUp { leaf: Leaf::GcTime, parts: &[Part::Rows(m::GC_TIME)] },
    RollUp { leaf: Leaf::PauseCount, parts: &[Part::Metrics(&[m::PAUSE_COUNT])] },
    RollUp { leaf: Leaf::PauseTime, parts: &[Part::Metrics(&[m::PAUSE_TOTAL])] },
    RollUp { leaf: Leaf::PauseMax, parts: &[Part::Metrics(&[m::PAUSE_MAX])] },
    RollUp { leaf: Leaf::LockCount, parts: &[Part::Metrics(&[m::LOCK_COUNT])] },
    RollUp { leaf: Leaf::JitTime, parts: &[Part::Metrics(&[m::JIT_TIME])] },
];

/// `apm.service`.
pub(super) const SERVICE: Option<Services> = Some(Services {
    table: m::SERVICES,
    of_peer: ServiceOf::Label("service"),
    leaves: LEAVES,
    sums: SUMS,
    rows: &[],
});

const SUMS: &[ServiceSum] = &[
    ServiceSum::OfRows(m::GC_COUNT, None, m::SERVICE_GC_COUNT),
    ServiceSum::OfRows(m::CPU_TIME, None, m::SERVICE_CPU),
    ServiceSum::Of(m::PAUSE_COUNT, m::SERVICE_PAUSE_COUNT),
    ServiceSum::Of(m::PAUSE_TOTAL, m::SERVICE_PAUSE_TOTAL),
    ServiceSum::Of(m::SAFEPOINT_TIME, m::SERVICE_SAFEPOINT),
    ServiceSum::Of(m::CLASS_LOADED, m::SERVICE_CLASSES),
    ServiceSum::Of(m::JIT_TIME, m::SERVICE_JIT),
    ServiceSum::Of(m::LOCK_COUNT, m::SERVICE_LOCKS),
];

const LEAVES: &[RollUp] = &[
    RollUp { leaf: Leaf::Restarts, parts: &[Part::Rows(m::SERVICE_STARTS)] },
    RollUp { leaf: Leaf::Instances, parts: &[Part::Members] },
    RollUp { leaf: Leaf::CpuTime, parts: &[Part::Rows(m::SERVICE_CPU)] },
    RollUp { leaf: Leaf::GcCount, parts: &[Part::Rows(m::SERVICE_GC_COUNT)] },
    RollUp { leaf: Leaf::PauseCount, parts: &[Part::Rows(m::SERVICE_PAUSE_COUNT)] },
    RollUp { leaf: Leaf::PauseTime, parts: &[Part::Rows(m::SERVICE_PAUSE_TOTAL)] },
    RollUp { leaf: Leaf::LockCount, parts: &[Part::Rows(m::SERVICE_LOCKS)] },
    RollUp { leaf: Leaf::JitTime, parts: &[Part::Rows(m::SERVICE_JIT)] },
];
