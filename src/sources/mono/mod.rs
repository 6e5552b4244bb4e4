//! The Mono counters-agent protocol, inspector side, in every dialect that was ever written
//! (docs/protocols/mono-counters.md; the public note by luhenry, gist 9900756; mono/mono
//! mono/utils/mono-counters-agent.c of March 2014; ludovic-henry/counters-sampler).
//!
//! The agent is in the Mono process and connects; it sends first. All integers are in the byte
//! order of its host.
//!
//! | agent → inspector | note and C | B | A |
//! |---|---|---|---|
//! | first | | Headers | Headers |
//! | Hello | 00, version short = 1, Headers | the same, with the same headers again | |
//! | List response | 01, pairs of strings, null string | 01, Headers of the sampled counters | |
//! | Add response | 02, status, and a header if it is 0 (OK) | as C | |
//! | Remove response | 03, status | as C | |
//! | Sampling | 04, time long, values, short -1 | as C | time, values, -1 |
//!
//! | inspector → agent | note | C and B | A |
//! |---|---|---|---|
//! | List, Add, Remove | 01, 02 name category, 03 index | 00, 01 category name, 02 index | reads nothing |
//! | `GoodBye` | 7F | 7F (B: not known) | |
//!
//! The crate `mono_counters` has the layouts and numbers. The numbers in a header have three spaces
//! ([`mono_counters::numbers`]): E3 means an agent of today, which takes the note's requests; E1
//! and E2 one of 2014, which some requests crash (`agent::requests`). A sample has only the
//! counters that have changed.
//!
//! The way of the bytes: `agent::detect` → `agent::tokens` → [`agent`] → [`counters`] →
//! [`counters::updates`] → peer; and back: `agent::selection` → [`agent::queue`] →
//! `agent::requests`.

mod agent;
#[cfg_attr(
    not(feature = "agent"),
    allow(dead_code, unused_imports, reason = "for tasks of the agent")
)]
mod area;
mod config;
mod counters;
mod events;
#[cfg(any(feature = "agent", test))]
mod front;
#[cfg(feature = "agent")]
mod io;
#[cfg_attr(
    not(feature = "agent"),
    allow(dead_code, unused_imports, reason = "for tasks of the agent")
)]
mod limits;
mod metrics;
pub mod mlpd;
#[cfg_attr(
    not(feature = "agent"),
    allow(dead_code, unused_imports, reason = "for tasks of the agent")
)]
mod process;
mod stream;
#[cfg(test)]
mod test_kit;

pub use agent::{Inspector, Settings};
#[cfg(fuzzing)]
pub use area::fuzzing;
pub use config::Config;
pub use counters::identity::Origin;
pub use counters::pattern::Pattern;
pub use stream::Stream;

#[cfg(feature = "agent")]
use super::{Context, Running};
use super::{Source, SourceTable};
use crate::catalogue::{Dynamic, Totals};
use crate::model::{Listening, Place};
use counters::spec;

/// The Mono counters inspector.
pub struct Mono;

impl Source for Mono {
    type Config = Config;

    const OPENED: &'static [&'static str] = &["shm/mono.#"];

    const TABLE: SourceTable = SourceTable {
        example: "gcpressure.exe:1234",
        metrics: metrics::METRICS,
        not_logged: &["skew", "interval", "alloc.by_type", "heap.live"],
        stacks: &["profile.stacks", "profile.methods", "program.stack"],
        row_metrics: metrics::ROW_METRICS,
        tables: metrics::TABLES,
        totals: Some(Totals {
            table: metrics::PROGRAMS,
            starts: metrics::PROGRAM_STARTS,
            of: spec::total,
        }),
        controls: metrics::CONTROLS,
        events: metrics::EVENTS,
        params: metrics::PARAMS,
        dynamic: Some(Dynamic {
            places: &[
                (Place::Sampled(spec::NODE), "Counters of the Mono runtime, by category"),
                (spec::TOTALS, "Sums of counters over all processes of a program, by category"),
            ],
            restore: spec::restore,
            initial: counters::watched::watched,
        }),
        runtime: metrics::RUNTIME,
        service: metrics::SERVICE,
        runtime_label: "mono",
        ..SourceTable::new("mono", metrics::CLUSTER, metrics::INDOM)
    };

    fn describe(config: &Config) -> Vec<String> {
        config.describe()
    }

    fn listens(config: &Config) -> Vec<(&'static str, Listening)> {
        Listening::of(config.listen, None)
    }

    #[cfg(feature = "agent")]
    fn start(config: Config, context: Context) -> std::io::Result<Box<dyn Running<Config>>> {
        io::start(config, context)
    }
}
