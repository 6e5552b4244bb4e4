//! .NET processes over EventPipe (docs/protocols/dotnet.md).
//!
//! ```text
//!  /tmp, /proc ─▶ io::discovery ─▶ discovery (which processes there are, who may read them)
//!  diagnostics socket ◀─▶ io ◀─▶ session (when to ask what) ─▶ ipc (messages)
//!                          └─▶ stream ─▶ nettrace (blocks, events, losses)
//!                                  ├─▶ clr (layouts of runtime events) ─▶ meter ─▶ records
//!                                  ├─▶ counters (EventCounters, meters)
//!                                  └─▶ profile (samples of stacks)
//!  LTTng's DotNETRuntime events ─▶ feed ─▶ clr ─▶ meter ─▶ records
//! ```

pub mod clr;
mod config;
pub mod counters;
#[cfg(feature = "agent")]
mod discovery;
pub mod feed;
#[cfg(feature = "agent")]
mod io;
pub mod ipc;
pub mod limits;
pub mod meter;
mod metrics;
pub mod nettrace;
pub mod profile;
pub mod records;
mod roll_up;
mod service;
pub mod session;
pub mod stream;
#[cfg(feature = "agent")]
mod target;
pub mod utf16;
pub mod wanted;

pub use config::Config;

#[cfg(feature = "agent")]
use super::{Context, Running};
use super::{Source, SourceTable};
use crate::catalogue::Dynamic;
use crate::model::MetricSpec;

/// The metric that [`MetricSpec::persist`] was made from.
fn restore(line: &str) -> Option<MetricSpec> {
    counters::restore(line).or_else(|| records::restore(line))
}

/// The reader of .NET processes.
pub struct Dotnet;

impl Source for Dotnet {
    type Config = Config;

    const TABLE: SourceTable = SourceTable {
        example: "workload:1234",
        metrics: metrics::METRICS,
        row_metrics: metrics::ROW_METRICS,
        controls: metrics::CONTROLS,
        events: metrics::EVENT_KINDS,
        tables: metrics::TABLES,
        params: metrics::PARAMS,
        dynamic: Some(Dynamic { places: metrics::PLACES, restore, initial: counters::known }),
        keeps_values: true,
        not_logged: &["alloc.by_type"],
        stacks: &["profile.stacks", "profile.methods", "service.stack"],
        runtime: roll_up::RUNTIME,
        service: roll_up::SERVICE,
        runtime_label: "dotnet",
        ..SourceTable::new("dotnet", metrics::CLUSTER, metrics::INDOM)
    };

    fn describe(config: &Config) -> Vec<String> {
        config.describe()
    }

    #[cfg(feature = "agent")]
    fn start(config: Config, context: Context) -> std::io::Result<Box<dyn Running<Config>>> {
        io::start(config, context)
    }
}
