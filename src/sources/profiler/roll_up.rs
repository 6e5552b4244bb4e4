//! What the metrics of the Java profiler are called in every source.

use super::metrics as m;
use crate::catalogue::{Part, RollUp, ServiceOf, ServiceRows, ServiceSum, Services};
use crate::model::Leaf;

/// `apm.runtime`.
pub(super) const RUNTIME: &[RollUp] = &[
    RollUp { leaf: Leaf::Restarts, parts: &[Part::Metrics(&[m::RESTARTS])] },
    RollUp { leaf: Leaf::GcCount, parts: &[Part::Metrics(&[m::GC_COUNT])] },
    RollUp { leaf: Leaf::GcTime, parts: &[Part::Metrics(&[m::GC_TIME])] },
    RollUp { leaf: Leaf::PauseCount, parts: &[Part::Metrics(&[m::GC_COUNT])] },
    RollUp { leaf: Leaf::PauseTime, parts: &[Part::Metrics(&[m::GC_TIME])] },
    RollUp { leaf: Leaf::LockTime, parts: &[Part::Metrics(&[m::WAIT])] },
    RollUp { leaf: Leaf::Calls, parts: &[Part::Metrics(&[m::CALLS])] },
    RollUp { leaf: Leaf::CallErrors, parts: &[Part::Metrics(&[m::ERRORS])] },
    RollUp { leaf: Leaf::CallTime, parts: &[Part::Metrics(&[m::TIME])] },
];

/// `apm.service`.
pub(super) const SERVICE: Option<Services> = Some(Services {
    table: m::SERVICES,
    of_peer: ServiceOf::Label("service"),
    leaves: LEAVES,
    sums: SUMS,
    rows: ROWS,
});

const SUMS: &[ServiceSum] = &[
    ServiceSum::Of(m::TIME, m::SERVICE_TIME),
    ServiceSum::Of(m::CALLS, m::SERVICE_COUNT),
    ServiceSum::Of(m::ERRORS, m::SERVICE_ERRORS),
    ServiceSum::Of(m::CPU, m::SERVICE_CPU),
    ServiceSum::Of(m::WAIT, m::SERVICE_WAIT),
    ServiceSum::Of(m::MEMORY, m::SERVICE_MEMORY),
    ServiceSum::Of(m::SUSPENDS, m::SERVICE_SUSPENDS),
    ServiceSum::Of(m::SUSPEND_TIME, m::SERVICE_SUSPEND_TIME),
    ServiceSum::Of(m::GC_COUNT, m::SERVICE_GC_COUNT),
    ServiceSum::Of(m::GC_TIME, m::SERVICE_GC_TIME),
];

const ROWS: &[ServiceRows] = &[
    ServiceRows { sums: &[(m::BUCKET_CALLS, m::SERVICE_HISTOGRAM)], label: Some("bucket") },
    ServiceRows {
        sums: &[
            (m::METHOD_TIME, m::SERVICE_METHOD_TIME),
            (m::METHOD_COUNT, m::SERVICE_METHOD_COUNT),
            (m::METHOD_ERRORS, m::SERVICE_METHOD_ERRORS),
        ],
        label: Some("method"),
    },
    ServiceRows { sums: &[(m::STACK_TIME, m::SERVICE_STACK_TIME)], label: None },
];

const LEAVES: &[RollUp] = &[
    RollUp { leaf: Leaf::Instances, parts: &[Part::Members] },
    RollUp { leaf: Leaf::GcCount, parts: &[Part::Rows(m::SERVICE_GC_COUNT)] },
    RollUp { leaf: Leaf::GcTime, parts: &[Part::Rows(m::SERVICE_GC_TIME)] },
    RollUp { leaf: Leaf::PauseCount, parts: &[Part::Rows(m::SERVICE_GC_COUNT)] },
    RollUp { leaf: Leaf::PauseTime, parts: &[Part::Rows(m::SERVICE_GC_TIME)] },
    RollUp { leaf: Leaf::LockTime, parts: &[Part::Rows(m::SERVICE_WAIT)] },
    RollUp { leaf: Leaf::Calls, parts: &[Part::Rows(m::SERVICE_COUNT)] },
    RollUp { leaf: Leaf::CallErrors, parts: &[Part::Rows(m::SERVICE_ERRORS)] },
    RollUp { leaf: Leaf::CallTime, parts: &[Part::Rows(m::SERVICE_TIME)] },
    RollUp { leaf: Leaf::LatencyP50, parts: &[Part::Rows(m::SERVICE_P50)] },
    RollUp { leaf: Leaf::LatencyP95, parts: &[Part::Rows(m::SERVICE_P95)] },
    RollUp { leaf: Leaf::LatencyP99, parts: &[Part::Rows(m::SERVICE_P99)] },
    RollUp { leaf: Leaf::LatencyMax, parts: &[Part::Rows(m::SERVICE_MAX)] },
];
