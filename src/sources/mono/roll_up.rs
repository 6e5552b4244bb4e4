//! What the metrics of Mono are called in every source.

use super::metrics as m;
use crate::catalogue::{Part, RollUp, ServiceOf, Services};
use crate::model::Leaf;

/// `apm.runtime`.
pub(super) const RUNTIME: &[RollUp] = &[
    RollUp {
        leaf: Leaf::CpuTime,
        parts: &[Part::Dynamic(&["System/User Time", "System/System Time"])],
    },
    RollUp { leaf: Leaf::CpuUser, parts: &[Part::Dynamic(&["System/User Time"])] },
    RollUp { leaf: Leaf::CpuSystem, parts: &[Part::Dynamic(&["System/System Time"])] },
    RollUp { leaf: Leaf::MemoryResident, parts: &[Part::Dynamic(&["System/Working Set"])] },
    RollUp { leaf: Leaf::HeapCommitted, parts: &[Part::Metrics(&[m::HEAP_TOTAL])] },
    RollUp { leaf: Leaf::Threads, parts: &[Part::Metrics(&[m::THREADS])] },
    RollUp {
        leaf: Leaf::GcCount,
        parts: &[
            Part::Metrics(&[m::RUNTIME_GC0, m::RUNTIME_GC1]),
            Part::Dynamic(&["GC/Minor GC collections", "GC/Major GC collections"]),
            Part::Rows(m::GC_COUNT),
        ],
    },
    RollUp { leaf: Leaf::GcTime, parts: &[Part::Rows(m::GC_TIME)] },
    RollUp { leaf: Leaf::PauseCount, parts: &[Part::Rows(m::PAUSE_COUNT)] },
    RollUp { leaf: Leaf::PauseTime, parts: &[Part::Rows(m::PAUSE_TOTAL)] },
    RollUp { leaf: Leaf::PauseMax, parts: &[Part::Metrics(&[m::PAUSE_MAX])] },
    RollUp { leaf: Leaf::AllocBytes, parts: &[Part::Metrics(&[m::ALLOC_BYTES])] },
    RollUp { leaf: Leaf::Exceptions, parts: &[Part::Metrics(&[m::EXCEPTIONS])] },
    RollUp { leaf: Leaf::LockCount, parts: &[Part::Metrics(&[m::CONTENTION_COUNT])] },
    RollUp { leaf: Leaf::LockTime, parts: &[Part::Metrics(&[m::CONTENTION_TIME])] },
    RollUp { leaf: Leaf::JitTime, parts: &[Part::Metrics(&[m::JIT_TIME])] },
];

/// `apm.service`.
pub(super) const SERVICE: Option<Services> = Some(Services {
    table: m::PROGRAMS,
    of_peer: ServiceOf::Label("program"),
    leaves: LEAVES,
    sums: &[],
    rows: &[],
});

const LEAVES: &[RollUp] = &[
    RollUp { leaf: Leaf::Restarts, parts: &[Part::Rows(m::PROGRAM_STARTS)] },
    RollUp { leaf: Leaf::Instances, parts: &[Part::Members] },
    RollUp {
        leaf: Leaf::CpuTime,
        parts: &[Part::Dynamic(&["total System/User Time", "total System/System Time"])],
    },
    RollUp { leaf: Leaf::CpuUser, parts: &[Part::Dynamic(&["total System/User Time"])] },
    RollUp { leaf: Leaf::CpuSystem, parts: &[Part::Dynamic(&["total System/System Time"])] },
    RollUp { leaf: Leaf::GcCount, parts: &[Part::Rows(m::PROGRAM_GC_COUNT)] },
    RollUp { leaf: Leaf::PauseCount, parts: &[Part::Rows(m::PROGRAM_PAUSE_COUNT)] },
    RollUp { leaf: Leaf::PauseTime, parts: &[Part::Rows(m::PROGRAM_PAUSE_TOTAL)] },
    RollUp { leaf: Leaf::Exceptions, parts: &[Part::Rows(m::PROGRAM_EXCEPTIONS)] },
    RollUp { leaf: Leaf::LockCount, parts: &[Part::Rows(m::PROGRAM_CONTENTION_COUNT)] },
    RollUp { leaf: Leaf::LockTime, parts: &[Part::Rows(m::PROGRAM_CONTENTION_TIME)] },
];
