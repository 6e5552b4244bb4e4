//! LTTng: a live viewer of traces, and the control of recording sessions
//! (docs/protocols/lttng.md; the viewer protocol is that of lttng-tools 2.4 to 2.16,
//! `src/bin/lttng-relayd/lttng-viewer-abi.h`).
//!
//! ```text
//!  relay daemon ─TCP─▶ io ─▶ viewer (protocol) ─▶ relay (sessions) ─▶ record (CTF) ─▶ store
//!                                                    │ SessionWatch
//!  session daemon ◀─ lttng program ◀─ io ◀─ control ◀┘
//! ```
//!
//! A relay daemon (`lttng-relayd`, TCP 5344) collects traces of this and other hosts and serves
//! them to viewers. The PMDA is a viewer: it connects, and the relay daemon sends nothing but
//! replies. All integers are big-endian and nothing is padded. A request is a header of 16 bytes
//! (length of the body u64, command u32, version u32 = 0) and a body. A reply has no header, so a
//! viewer must keep its requests in order to parse the replies.
//!
//! | command | request body | reply |
//! |---|---|---|
//! | 1 CONNECT | viewer session u64, major u32, minor u32, type u32 | the same |
//! | 2 `LIST_SESSIONS` | | count u32, sessions |
//! | 3 `ATTACH_SESSION` | session u64, offset u64, seek u32 | status u32, count u32, streams |
//! | 4 `GET_NEXT_INDEX` | stream u64 | seven u64 ([`viewer::Index`]), status u32, flags u32 |
//! | 5 `GET_PACKET` | stream u64, offset u64, length u32 | status u32, length u32, flags u32, bytes if status is 1 |
//! | 6 `GET_METADATA` | stream u64 | length u64, status u32, bytes |
//! | 7 `GET_NEW_STREAMS` | session u64 | status u32, count u32, streams |
//! | 8 `CREATE_SESSION` | | status u32 |
//! | 9 `DETACH_SESSION` (2.8 on) | session u64 | status u32 |
//!
//! | element | layout |
//! |---|---|
//! | session, minor ≤ 14 | id u64, live timer u32 (µs), clients u32, streams u32, host name 64 bytes, name 255 bytes |
//! | session, minor ≥ 15 | id u64, live timer u32, clients u32, streams u32, two lengths u32, format u32, host name, name |
//! | stream | id u64, CTF trace u64, is metadata u32, path 4096 bytes, channel 255 bytes |
//!
//! | status of | 1 | 2 | 3 | 4 | 5 | 6 |
//! |---|---|---|---|---|---|---|
//! | ATTACH | ok | attached by another viewer | unknown | not live | bad seek | no CREATE before |
//! | INDEX | ok | retry | hung up | error | inactive: a beacon | end of file |
//! | PACKET | ok | retry | error | end of file | | |
//! | METADATA | ok | nothing new | error | | | |
//! | `NEW_STREAMS` | ok | none | error | session over | | |
//!
//! Flags: 1 = new metadata, to be read before the packet is decoded; 2 = new streams. On any other
//! command a relay daemon closes the connection, and one crashed; [`viewer`] cannot send one.

mod config;
pub mod control;
#[cfg(feature = "agent")]
pub mod io;
mod limits;
mod metrics;
mod record;
mod relay;
pub mod viewer;

pub use config::Config;
pub use record::{FIELD_SIZE, RecordFilter};
pub use relay::{Collector, OwnViewers, Protocol, Reader};

#[cfg(feature = "agent")]
use super::{Context, Running};
use super::{Source, SourceTable};
use crate::catalogue::Dynamic;
use crate::model::{Listening, Place};

/// Viewer and controller of LTTng live sessions.
pub struct Lttng;

impl Source for Lttng {
    type Config = Config;

    const TABLE: SourceTable = SourceTable {
        example: "host/session",
        metrics: metrics::METRICS,
        row_metrics: metrics::ROW_METRICS,
        controls: metrics::CONTROLS,
        events: metrics::KINDS,
        dynamic: Some(Dynamic {
            places: &[(
                Place::Param,
                "Contexts (ctx.*) and fields (PROVIDER.EVENT.FIELD) of events, as parameters of records",
            )],
            restore: metrics::restore,
            initial: Vec::new,
        }),
        tables: metrics::TABLES,
        params: metrics::PARAMS,
        keeps_values: true,
        always_admitted: true,
        truncated_help: Some(
            "of LTTng also texts of arrays and structures that were cut at lttng.field_size",
        ),
        ..SourceTable::new("lttng", metrics::CLUSTER, metrics::INDOM)
    };

    fn describe(config: &Config) -> Vec<String> {
        config.describe()
    }

    fn listens(_: &Config) -> Vec<(&'static str, Listening)> {
        Vec::new()
    }

    #[cfg(feature = "agent")]
    fn start(config: Config, context: Context) -> std::io::Result<Box<dyn Running<Config>>> {
        Ok(io::start(config, context))
    }
}
