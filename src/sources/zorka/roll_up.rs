//! What the metrics of Zorka are called in every source.

use super::metrics as m;
use crate::catalogue::{Part, RollUp, ServiceOf, ServiceRows, ServiceSum, Services};
use crate::model::Leaf;

/// `apm.runtime`.
pub(super) const RUNTIME: &[RollUp] = &[
    RollUp { leaf: Leaf::Restarts, parts: &[Part::Metrics(&[m::RESTARTS])] },
    RollUp { leaf: Leaf::Exceptions, parts: &[Part::Metrics(&[m::EXCEPTIONS])] },
    RollUp { leaf: Leaf::Calls, parts: &[Part::Metrics(&[m::SPANS])] },
    RollUp { leaf: Leaf::CallErrors, parts: &[Part::Metrics(&[m::SPAN_ERRORS])] },
    RollUp { leaf: Leaf::CallTime, parts: &[Part::Metrics(&[m::SPAN_TIME])] },
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
    ServiceSum::Of(m::SPAN_TIME, m::SERVICE_TIME),
    ServiceSum::Of(m::SPANS, m::SERVICE_COUNT),
    ServiceSum::Of(m::SPAN_ERRORS, m::SERVICE_ERRORS),
    ServiceSum::Of(m::EXCEPTIONS, m::SERVICE_EXCEPTIONS),
];

const ROWS: &[ServiceRows] = &[
    ServiceRows { sums: &[(m::TYPE_HISTOGRAM, m::SERVICE_HISTOGRAM)], label: Some("bucket") },
    ServiceRows {
        sums: &[
            (m::METHOD_SELF_TIME, m::SERVICE_METHOD_SELF_TIME),
            (m::METHOD_COUNT, m::SERVICE_METHOD_COUNT),
            (m::METHOD_ERRORS, m::SERVICE_METHOD_ERRORS),
            (m::METHOD_TIME, m::SERVICE_METHOD_TIME),
        ],
        label: Some("method"),
    },
    ServiceRows { sums: &[(m::STACK_TIME, m::SERVICE_STACK_TIME)], label: None },
];

const LEAVES: &[RollUp] = &[
    RollUp { leaf: Leaf::Instances, parts: &[Part::Members] },
    RollUp { leaf: Leaf::Exceptions, parts: &[Part::Rows(m::SERVICE_EXCEPTIONS)] },
    RollUp { leaf: Leaf::Calls, parts: &[Part::Rows(m::SERVICE_COUNT)] },
    RollUp { leaf: Leaf::CallErrors, parts: &[Part::Rows(m::SERVICE_ERRORS)] },
    RollUp { leaf: Leaf::CallTime, parts: &[Part::Rows(m::SERVICE_TIME)] },
    RollUp { leaf: Leaf::LatencyP50, parts: &[Part::Rows(m::SERVICE_P50)] },
    RollUp { leaf: Leaf::LatencyP95, parts: &[Part::Rows(m::SERVICE_P95)] },
    RollUp { leaf: Leaf::LatencyP99, parts: &[Part::Rows(m::SERVICE_P99)] },
    RollUp { leaf: Leaf::LatencyMax, parts: &[Part::Rows(m::SERVICE_MAX)] },
];
