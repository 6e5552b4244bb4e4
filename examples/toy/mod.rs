//! The smallest complete source: a peer connects over TCP and sends lines. Copy this folder to
//! start a new source.
//!
//! | line | effect |
//! |---|---|
//! | `hello NAME` | the first line: the peer is the instance NAME |
//! | `speed NUMBER` | `apm.toy.speed` is NUMBER |
//! | anything else | an event record with the line |
//!
//! To try it: `cargo run --features toy -- --check` lists what the source does, and
//! `printf 'hello car\nspeed 88\n' | nc 127.0.0.1 PORT` is a peer (`qa/061` does the same).
//!
//! A source is a folder and one line:
//!
//! 1. `config.rs`: the section of `apm.toml` as a table of keys ([`section!`](crate::section)).
//!    `qa/generate` makes `docs/configuration.md` from it.
//! 2. A table in PCP's terms (here: below). The source's first cluster is a multiple of 64 that no
//!    other source has; serial numbers of instance domains are unique. Archives contain both, so
//!    they never change. [`Catalogue`](crate::catalogue::Catalogue) checks them at the start.
//!    Names, help, labels, `docs/metrics.md` and the groups of pmlogconf(1) are made from the
//!    table.
//! 3. `session.rs`: the protocol, pure. A [`Session`](super::super::Session) receives bytes and the
//!    time, and says what it knows to a [`Peer`](crate::contract::Peer), and reply bytes; it sees no socket and no
//!    clock, so a test feeds it byte by byte.
//! 4. `start`: the I/O. [`Net`](crate::net::Net) listens and follows files; a source that connects
//!    or polls spawns its own tasks.
//! 5. The line in `src/sources/registry.rs`, with a cargo feature of the source's name.

mod config;
mod session;

pub use config::Config;

use crate::catalogue::{InDomDef, SourceTable};
use crate::model::{EventKind, EventKindId, EventTable, TableCell};
use crate::sources::Source;
#[cfg(feature = "agent")]
use crate::sources::{Context, Running};

/// First PMID cluster.
const CLUSTER: u16 = 1024;

crate::peer_metrics! {
    SPEED 0 "speed" I64 Instant None Cell
        "The newest speed that the peer sent"
        "The number of its newest line \"speed NUMBER\".";
    LINES 1 "lines" U64 Counter Count Cell
        "Lines of the peer"
        "Lines read from the peer, hello included. A peer that connects again goes on from its old value.";
}

crate::event_params! {
    TEXT 1 "text" Text None "the line";
}

crate::listed! {
    /// Kinds of events.
    EVENTS: EventKind as EventKindId;
    /// Lines.
    LINE = EventKind {
        name: "line",
        cluster: CLUSTER + 1,
        what: "one line of a peer that is no command",
        help: "The line is in the parameter text.",
        table: EventTable { columns: &[("text", TableCell::Param(TEXT))], duration: None },
    };
}

/// The toy protocol.
pub struct Toy;

impl Source for Toy {
    type Config = Config;

    const TABLE: SourceTable = SourceTable {
        example: "car",
        metrics: METRICS,
        events: EVENTS,
        params: PARAMS,
        ..SourceTable::new(
            "toy",
            CLUSTER,
            InDomDef {
                serial: 1000,
                oneline: "Toys",
                help: "One instance for each name that a peer gave in its first line.",
            },
        )
    };

    fn describe(config: &Config) -> Vec<String> {
        vec![crate::config::units::listens(config.listen)]
    }

    #[cfg(feature = "agent")]
    fn start(config: Config, context: Context) -> std::io::Result<Box<dyn Running<Config>>> {
        use std::sync::Arc;

        use crate::net::{Caller, Listen};

        if let Some(address) = config.listen {
            context.net.listen(Listen {
                address,
                peers: context.peers,
                factory: Arc::new(|caller: Caller| Box::new(session::Toy::new(caller.address))),
                reset: false,
            });
        }
        Ok(Box::new(RunningToy(config)))
    }
}

/// The configuration at the start of the source.
#[cfg(feature = "agent")]
struct RunningToy(Config);

#[cfg(feature = "agent")]
impl Running<Config> for RunningToy {
    fn reconfigure(&self, new: &Config) -> Vec<&'static str> {
        if self.0.listen == new.listen { Vec::new() } else { vec!["listen"] }
    }
}
