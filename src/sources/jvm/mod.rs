//! Every Java virtual machine of this host and of its containers, without an agent and without a restart, by the
//! performance data that HotSpot keeps in a mapped file (docs/protocols/jvm-hsperfdata.md).
//!
//! ```text
//!  maps ─▶ locate: the region ─┐       command line, environment ─▶ reason: why there is none
//!  bytes ─▶ wire: prologue, directory ─▶ state: facts (once), figures (each reading) ─▶ meter ─▶ Updates
//!                                              └─▶ name: service and program
//! ```
//!
//! Everything that is read is hostile: nothing here panics, and what is kept of a process is bounded by
//! [`limits`]. Nothing is sent to a process, and its file is neither mapped nor locked: it goes on as
//! if nobody looked.

// Without the agent nobody reads a region.
#![cfg_attr(
    not(feature = "agent"),
    allow(dead_code, unused_imports, reason = "for tasks of the agent")
)]

mod config;
#[cfg(fuzzing)]
pub mod fuzzing;
#[cfg(feature = "agent")]
mod io;
mod limits;
mod locate;
mod meter;
mod metrics;
mod name;
mod process;
mod reader;
mod reason;
mod roll_up;
mod rows;
mod state;
#[cfg(test)]
mod tests;
mod wire;

pub use config::Config;
#[cfg(test)]
use reader::{Hints, Reader, Reading};
#[cfg(test)]
use state::{Collections, Collector, Figures, Heap, Longest};

#[cfg(feature = "agent")]
use super::{Context, Running};
use super::{Source, SourceTable};

/// Java virtual machines.
pub struct Jvm;

impl Source for Jvm {
    type Config = Config;

    const TABLE: SourceTable = SourceTable {
        example: "shop:1234",
        metrics: metrics::METRICS,
        row_metrics: metrics::ROW_METRICS,
        tables: metrics::TABLES,
        runtime: roll_up::RUNTIME,
        service: roll_up::SERVICE,
        runtime_label: "jvm",
        ..SourceTable::new("jvm", metrics::CLUSTER, metrics::INDOM)
    };

    fn describe(config: &Config) -> Vec<String> {
        config.describe()
    }

    #[cfg(feature = "agent")]
    fn start(config: Config, context: Context) -> std::io::Result<Box<dyn Running<Config>>> {
        io::start(config, context)
    }
}
