//! A small source that has one of each: a peer connects over TCP and sends lines. Copy this folder to
//! start a new source, and leave out what it does not need.
//!
//! | line | effect | shows |
//! |---|---|---|
//! | `hello NAME [FLEET]` | the first line: the peer is the instance NAME; `apm.toy.fleet.lines` has the sum over FLEET | a service |
//! | `speed NUMBER` | `apm.toy.speed` is NUMBER | a static metric |
//! | `lap TRACK` | adds 1 to `apm.toy.track.laps` of `NAME::TRACK` | rows of a peer, with a label |
//! | anything else | an event record with the line, ten a second | records with a limit |
//!
//! A process of this host whose name is `toy.program` is the instance `PROGRAM:PID` while it runs.
//!
//! To try it: `cargo run --features toy -- --check` lists what the source does, and
//! `printf 'hello car\nspeed 88\n' | nc 127.0.0.1 PORT` is a peer (`qa/061` does the same).
//! `cargo test --no-default-features --features agent,toy --lib toy::` runs the tests.
//!
//! A source is a folder and one line:
//!
//! 1. `config.rs`: the section of `apm.toml` as a table of keys ([`section!`](crate::section)), with the
//!    values of [`units`](crate::config::units). `qa/generate` makes `docs/configuration.md` from it.
//! 2. `metrics.rs`: a [`SourceTable`] in PCP's terms, made with the macros
//!    [`peer_metrics!`](crate::peer_metrics), [`row_metrics!`](crate::row_metrics),
//!    [`event_params!`](crate::event_params) and [`listed!`](crate::listed). The source's first cluster is a
//!    multiple of 64 that no other source has; serial numbers of instance domains are unique.
//!    [`Catalogue`](crate::catalogue::Catalogue) checks them at the start. Names, help, labels,
//!    `docs/metrics.md` and the groups of pmlogconf(1) are made from the table.
//! 3. `session.rs`: the protocol, pure. A [`Session`](crate::contract::Session) receives bytes and the
//!    time, and says to a [`Peer`](crate::contract::Peer) what it has read; it sees no socket and no
//!    clock, so a test feeds it byte by byte and looks at a [`Recorded`](crate::contract::Recorded).
//! 4. `io.rs`: sockets, clocks and tasks, and nothing else has them (`tests/imports.rs`).
//!    [`Net`](crate::net::Net) listens and follows files; [`Host`](crate::host::Host) finds processes; a
//!    source that connects or polls spawns its own tasks.
//! 5. The line in `src/sources/registry.rs`, with a cargo feature of the source's name.

mod config;
#[cfg(feature = "agent")]
mod io;
mod metrics;
#[cfg(any(feature = "agent", test))]
mod session;

pub use config::Config;

use crate::model::Listening;
#[cfg(feature = "agent")]
use crate::sources::{Context, Running};
use crate::sources::{Source, SourceTable};

/// The toy protocol.
pub struct Toy;

impl Source for Toy {
    type Config = Config;

    const TABLE: SourceTable = metrics::TABLE;

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
