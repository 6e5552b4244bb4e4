//! The collector of Zorka agents: HTTP, TCP 8640 (docs/protocols/zorka.md).
//!
//! # The way of a span
//!
//! From the HTTP server (`crate::net`) to its `Peer` a span passes these files of this folder.
//!
//! 1. `collector`: the [`Collector`](collector::Collector) takes a request and finds its endpoint;
//! 2. `collector/submit`: decodes the body, decides on the answer, and only then counts;
//! 3. `collector/agents`: the session of the request and its agent, which is there;
//! 4. `wire/unwrap`: undoes base64 and compression;
//! 5. `wire/trace`: the walk over the body, item by item, by
//! 6. `wire/items`: CBOR as the agents write it;
//! 7. `wire/body`: the decoded body, with its open records and spans;
//! 8. `session`: the agent: whether the request is a copy, and the name of its instance;
//! 9. `shape`: which records are copies, and where spans are within each other;
//! 10. `meter`: the metrics of the agent, from all records but copies, by
//! 11. `meter/methods` and
//! 12. `meter/rows`: their sums, with names looked up in
//! 13. `names`: what the agent has defined;
//! 14. `records`: the event record of each span, from
//! 15. `records/attributes`: its attributes.

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
mod shape;
mod trees;
pub mod wire;

pub use config::Config;

#[cfg(feature = "agent")]
use super::{Context, Running};
use super::{Source, SourceTable};
use crate::model::Listening;

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
        agents_of: Some("jvm"),
        ..SourceTable::new("zorka", metrics::CLUSTER, metrics::INDOM)
    };

    fn describe(config: &Config) -> Vec<String> {
        config.describe()
    }

    fn listens(config: &Config) -> Vec<(&'static str, Listening)> {
        Listening::of(config.listen, config.tls_listen)
    }

    #[cfg(feature = "agent")]
    fn start(config: Config, context: Context) -> std::io::Result<Box<dyn Running<Config>>> {
        io::start(config, context)
    }
}
