//! The metrics, tables, events, parameters and controls of Mono processes (docs/metrics.md,
//! `apm.mono.*`) beside those of their counters. Archives contain the ids, so these never change.

mod events;
mod process;
mod tables;

pub(super) use events::*;
pub(super) use process::*;
pub(super) use tables::*;

use crate::catalogue::InDomDef;

/// First PMID cluster of this source: its static metrics.
pub(super) const CLUSTER: u16 = 64;

/// The instance domain of processes.
pub(super) const INDOM: InDomDef = InDomDef {
    serial: 1,
    oneline: "Mono processes",
    help: "One instance for each Mono process of this host that is seen in any way (the apm agent module, the log profiler, the shared area \
     in /dev/shm), and for each of another host that connects, called PROGRAM:PID, with @ADDRESS behind it when it is on another host. \
     A process whose agent does not say who it is has the address of its connection or the name of its file instead. An instance stays \
     for a while after its process has gone (limits.forget).",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_has_help() {
        let metrics = METRICS.iter().chain(ROW_METRICS).map(|m| (m.name, m.oneline, m.help));
        let controls = CONTROLS.iter().map(|c| (c.name, c.oneline, c.help));
        for (name, oneline, help) in metrics.chain(controls) {
            assert!(
                (10..80).contains(&oneline.len()) && help.len() > 20 && !oneline.ends_with('.'),
                "{name}"
            );
            assert!(help.ends_with('.'), "{name}");
        }
    }
}
