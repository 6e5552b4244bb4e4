//! The metrics and tables of JVMs (docs/metrics.md, `apm.jvm.*`). Archives contain the ids, so these never change.

mod process;
mod tables;

pub(super) use process::*;
pub(super) use tables::*;

use crate::catalogue::InDomDef;

/// First PMID cluster of this source: its static metrics.
pub(super) const CLUSTER: u16 = 384;

/// The instance domain of processes.
pub(super) const INDOM: InDomDef = InDomDef {
    serial: 90,
    oneline: "Java virtual machines",
    help: "One instance for each running JVM of this host and of its containers, called NAME:PID: the service that it was told to be \
     (-Dspring.application.name, -Dotel.service.name, OTEL_SERVICE_NAME), else its jar without the version, or its main class \
     without the package. An instance stays for a while after its process has gone (limits.forget).",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_has_help() {
        for m in METRICS.iter().chain(ROW_METRICS) {
            let (name, oneline, help) = (m.name, m.oneline, m.help);
            assert!(
                (10..80).contains(&oneline.len()) && help.len() > 20 && !oneline.ends_with('.'),
                "{name}"
            );
            assert!(help.ends_with('.'), "{name}");
        }
    }
}
