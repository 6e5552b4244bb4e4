//! The Mono counters-agent protocol, inspector side, in every dialect that was ever written
//! (specs/mono-counters.md; the public note by luhenry, gist 9900756; mono/mono
//! mono/utils/mono-counters-agent.c of March 2014; ludovic-henry/counters-sampler).
//!
//! The agent is in the Mono process and connects; it speaks first. All integers are in the byte
//! order of its host.
//!
//! | agent → inspector | note and C | B | A |
//! |---|---|---|---|
//! | first | | Headers | Headers |
//! | Hello | 00, version short = 1, Headers | the same, with the same headers again | |
//! | List response | 01, pairs of strings, null string | 01, Headers of what it samples | |
//! | Add response | 02, status, and a header if it is 0 (OK) | as C | |
//! | Remove response | 03, status | as C | |
//! | Sampling | 04, time long, values, short -1 | as C | time, values, -1 |
//!
//! | inspector → agent | note | C and B | A |
//! |---|---|---|---|
//! | List, Add, Remove | 01, 02 name category, 03 index | 00, 01 category name, 02 index | reads nothing |
//! | `GoodBye` | 7F | 7F (B: not known) | |
//!
//! | element | layout |
//! |---|---|
//! | string | length int, bytes; -1 is null |
//! | Headers | count short, headers |
//! | header | category int, name string, type int, unit int, variance int, index short |
//! | value | index short, size short, bytes |
//! | status | char: 0 OK, 1 NOK, 2 NOTFOUND, 3 EXISTING |
//!
//! The numbers in a header have three spaces ([`numbers`]); E3 means an agent of today, which takes
//! the note's requests, E1 and E2 one of 2014, which some requests crash ([`requests`]). A sample
//! has only the counters that have changed.
//!
//! The way of the bytes: [`detect`] → [`wire`] → [`session`] → [`counters`] ([`mapping`],
//! [`values`], [`spec`]) → [`report`] → sink; and back: [`steering`] → [`dialogue`] → [`requests`].

mod batches;
mod counters;
mod detect;
mod dialogue;
mod identity;
mod known;
mod limits;
mod mapping;
mod metrics;
mod numbers;
mod report;
mod requests;
mod selection;
mod session;
mod spec;
mod steering;
#[cfg(test)]
mod testkit;
mod values;
mod watched;
mod wire;

pub use selection::Pattern;
pub use session::Inspector;

use super::{Dynamic, SourceTable};

/// The row of `SOURCES`.
pub const SOURCE: SourceTable = SourceTable {
    name: "mono",
    cluster: metrics::CLUSTER,
    indom: 1,
    indom_help: metrics::INDOM_HELP,
    metrics: metrics::metrics,
    events: metrics::EVENTS,
    dynamic: Some(Dynamic {
        node: Some("counter"),
        what: "Counters of the Mono runtime, by category",
        restore: spec::restore,
        initial: watched::watched,
    }),
    tables: &[],
    params: &[],
    restarts: None,
    keeps_values: false,
};

/// What is known of a peer before it says anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Peer {
    /// Where it is, as `apm.agent.peer` shows it: `127.0.0.1:50123`, `file:/path`.
    pub address: String,
    /// Instance name when nobody tells which process it is.
    pub fallback: String,
    /// Its address when it is on another host: goes into the instance name.
    pub host: Option<String>,
    /// Program and process id, when the operating system told.
    pub process: Option<(String, u32)>,
}

/// How to inspect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Which counters; empty: what the agent announces.
    pub select: Vec<Pattern>,
    /// Probe agents that announce no counters, to tell those of 2014 from others. Strict ones may
    /// hang up.
    pub probe: bool,
    /// Longest name of a counter, in bytes.
    pub name_length: usize,
    /// Most counters of one connection that are kept: more cannot be shown.
    pub names: usize,
    /// There is no way back: a file. Nothing is ever sent, and no time is too long.
    pub one_way: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { select: Vec::new(), probe: false, name_length: 200, names: 4096, one_way: false }
    }
}
