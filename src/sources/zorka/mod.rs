//! The collector of Zorka agents: HTTP, TCP 8640 (docs/protocols/zorka.md).

pub mod collector;
mod config;
#[cfg(feature = "agent")]
mod io;
pub mod limits;
mod meter;
mod metrics;
mod names;
mod records;
mod roll_up;
mod session;
pub mod wire;

pub use config::Config;

#[cfg(feature = "agent")]
use super::{Context, Running};
use super::{Source, SourceTable};

/// The collector of Zorka agents.
pub struct Zorka;

impl Source for Zorka {
    type Config = Config;

    const TABLE: SourceTable = SourceTable {
        example: "shop/web1",
        metrics: metrics::METRICS,
        row_metrics: metrics::ROW_METRICS,
        events: metrics::EVENTS,
        tables: metrics::TABLES,
        params: metrics::PARAMS,
        restarts: Some(metrics::RESTARTS),
        keeps_values: true,
        // Rarely used, or as large as all other metrics together.
        not_logged: &[
            "definition",
            "record.modern",
            "record.legacy",
            "record.other",
            "event.exception",
        ],
        stacks: &["stack", "service.stack"],
        runtime: roll_up::RUNTIME,
        service: roll_up::SERVICE,
        runtime_label: "zorka",
        ..SourceTable::new("zorka", metrics::CLUSTER, metrics::INDOM)
    };

    fn describe(config: &Config) -> Vec<String> {
        config.describe()
    }

    #[cfg(feature = "agent")]
    fn start(config: Config, context: Context) -> std::io::Result<Box<dyn Running<Config>>> {
        io::start(config, context)
    }
}
