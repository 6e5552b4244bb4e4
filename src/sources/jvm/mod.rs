//! Every Java virtual machine of this host and of its containers, without an agent and without a restart, by the
//! performance data that HotSpot keeps in a mapped file, or in its memory alone (docs/protocols/jvm-hsperfdata.md).
//!
//! ```text
//!  maps, command line, environment ─▶ locate: the region, or why there is none
//!  libjvm.so in the memory of one without a file ─▶ memory: where the region is
//!  bytes ─▶ wire: prologue, directory ─▶ state: facts (once), figures (each reading) ─▶ meter, rows ─▶ Peer
//! ```
//!
//! Everything that is read is hostile: nothing here panics, and what is kept of a process is bounded by
//! [`limits`]. Nothing is sent to a process, and its file is neither mapped nor locked: it goes on as
//! if nobody looked. Only with `jvm.attach`, and when a user asks, one is asked for more ([`request`]).

// Without the agent nobody reads a region.
#![cfg_attr(
    not(feature = "agent"),
    allow(dead_code, unused_imports, reason = "for tasks of the agent")
)]

mod command;
mod config;
#[cfg(feature = "agent")]
mod io;
mod limits;
mod meter;
mod metrics;
mod request;
mod rows;
mod state;
#[cfg(fuzzing)]
#[path = "tests/fuzzing.rs"]
pub mod test_kit;
#[cfg(test)]
mod tests;
mod wire;

pub use config::Config;

#[cfg(feature = "agent")]
use super::{Context, Running};
use super::{Source, SourceTable};
use crate::model::{Grants, Listening};

/// Java virtual machines.
pub struct Jvm;

impl Source for Jvm {
    type Config = Config;

    const OPENED: &'static [&'static str] = &["hsperfdata_*/#"];

    fn grants(config: &Config) -> Grants {
        Grants { memory: config.memory, others: config.attach, ..Grants::default() }
    }

    #[cfg(feature = "agent")]
    const ERRAND: Option<crate::host::opener::Errand> = Some(io::ERRAND);

    const TABLE: SourceTable = SourceTable {
        example: "shop:1234",
        metrics: metrics::METRICS,
        row_metrics: metrics::ROW_METRICS,
        controls: metrics::CONTROLS,
        events: metrics::EVENT_KINDS,
        tables: metrics::TABLES,
        params: metrics::PARAMS,
        not_logged: &["histogram", "threads.by_state"],
        stacks: &["profile.stacks", "profile.methods"],
        runtime: metrics::RUNTIME,
        service: metrics::SERVICE,
        runtime_label: "jvm",
        ..SourceTable::new("jvm", metrics::CLUSTER, metrics::INDOM)
    };

    fn describe(config: &Config) -> Vec<String> {
        config.describe()
    }

    fn listens(_: &Config) -> Vec<(&'static str, Listening)> {
        Vec::new()
    }

    #[cfg(feature = "agent")]
    fn start(config: Config, context: Context) -> std::io::Result<Box<dyn Running<Config>>> {
        io::start(config, context)
    }
}
