//! .NET processes over EventPipe (docs/protocols/dotnet.md).
//!
//! ```text
//!  /tmp, /proc ─▶ io::discovery ─▶ discovery (which processes there are, who may read them)
//!  diagnostics socket ◀─▶ io ◀─▶ session (when to ask what) ─▶ wire::ipc (messages)
//!                          └─▶ stream ─▶ wire::nettrace (blocks, events, losses)
//!                                  ├─▶ wire::clr (layouts of runtime events) ─▶ meter ─▶ records
//!                                  ├─▶ counters (EventCounters, meters)
//!                                  └─▶ profile (samples of stacks)
//!  LTTng's DotNETRuntime events ─▶ stream::feed ─▶ wire::clr ─▶ meter ─▶ records
//! ```

mod config;
pub mod counters;
#[cfg(feature = "agent")]
mod discovery;
#[cfg(feature = "agent")]
mod io;
pub mod limits;
pub mod meter;
mod metrics;
pub mod profile;
pub mod records;
pub mod session;
pub mod stream;
pub mod wire;

pub use config::Config;

use crate::catalogue::Dynamic;
use crate::model::{Grants, Listening, MetricSpec};
#[cfg(feature = "agent")]
use crate::sources::{Context, Running};
use crate::sources::{Source, SourceTable};

/// The metric that [`MetricSpec::persist`] was made from.
fn restore(line: &str) -> Option<MetricSpec> {
    counters::restore(line).or_else(|| records::restore(line))
}

/// The reader of .NET processes.
pub struct Dotnet;

impl Source for Dotnet {
    type Config = Config;

    const OPENED: &'static [&'static str] = &["*/dotnet-diagnostic-#-#-socket"];

    fn grants(config: &Config) -> Grants {
        Grants { connect: config.discover, ..Grants::default() }
    }

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
        runtime: metrics::RUNTIME,
        service: metrics::SERVICE,
        runtime_label: "dotnet",
        ..SourceTable::new("dotnet", metrics::CLUSTER, metrics::INDOM)
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
