//! The metrics, tables, events, parameters and controls of .NET processes (docs/metrics.md,
//! `apm.dotnet.*`). Archives contain the ids, so these never change.

mod dynamic;
mod events;
mod process;
mod request;
mod tables;

pub(crate) use dynamic::*;
pub(crate) use events::*;
pub(crate) use process::*;
#[cfg(feature = "agent")]
pub(super) use request::Request;
pub(crate) use tables::*;

use crate::catalogue::InDomDef;

/// First PMID cluster of this source: its static metrics.
pub(crate) const CLUSTER: u16 = 320;

/// The instance domain of processes.
pub(crate) const INDOM: InDomDef = InDomDef {
    serial: 5,
    oneline: ".NET processes",
    help: "One instance for each .NET process of the host and of its containers, also for those that may not be read: NAME:PID, the name of \
     the entry assembly (or of the program) and the process id as the host sees it. A process that is gone stays for a while \
     (limits.forget).",
};
