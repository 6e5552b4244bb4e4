//! The metrics, tables, events and parameters of Zorka agents (docs/metrics.md, apm.zorka.*).

use crate::catalogue::InDomDef;
use crate::peer_metrics;

/// First PMID cluster of this source: its static metrics.
pub(super) const CLUSTER: u16 = 256;

peer_metrics! {
    TRACES 0 "trace.count" U64 Counter Count Cell "Traces received" "Trace bodies that were accepted.";
}

/// The instance domain of agents.
pub(super) const INDOM: InDomDef = InDomDef {
    serial: 4,
    oneline: "Zorka agents",
    help: "One instance for each Zorka agent that sends traces.",
};
