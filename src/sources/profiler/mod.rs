//! The Java profiler's protocol (Netcracker, now Qubership), collector side: TCP 1715
//! (specs/profiler.md; agent github.com/Netcracker/qubership-profiler-agent c77a8408, collector
//! qubership-profiler-backend b0da97c7).
//!
//! The agent connects and speaks first; all integers are big-endian. A `field` is an int length, 0
//! to 1024, and as many bytes; a `string` is a field in UTF-8.
//!
//! | byte | agent → collector | body | reply |
//! |---|---|---|---|
//! | 14 | GET_PROTOCOL_VERSION_V2 | long version, string pod, service, namespace | long version |
//! | 15 | INIT_STREAM_V2 | string name, int sequence, int reset | uuid handle, long period ms, long size, int sequence; or null uuid |
//! | 02 | RCV_DATA | uuid handle, field | ack |
//! | 11 | REQUEST_ACK_FLUSH | | ack |
//! | 13 | REPORT_COMMAND_RESULT | uuid, byte 'K' or FF | |
//! | 12 | KEEP_ALIVE (no agent) | | |
//! | 04 | CLOSE | | |
//! | 08 | GET_PROTOCOL_VERSION (no agent) | | long 100505 |
//! | 01 | INIT_STREAM (no agent) | string namespace, service, pod, then as 15 | as 15 |
//!
//! An ack is one byte 00, in the order of the commands. It is the count of diagnostic commands that
//! follow: never another. In its place FF says: start over. It is also the last byte before we
//! close, whyever we do: agents take a mere end of the connection for a pause and read on for 30 s,
//! but start over 10 s after FF. `1f 8b` as the first bytes: all requests are one gzip member
//! ([`inflate`]).
//!
//! The payloads of a stream, one behind the other, are a file; opening its name again begins the
//! next.
//!
//! | stream | content | file |
//! |---|---|---|
//! | `dictionary`, `posDictionary` | phrases of words; the second with ids | [`dictionary`] |
//! | `params` | phrases: what is known of parameters | [`params`] |
//! | `suspend` | phrases: when the JVM stood still | [`suspend`] |
//! | `calls` | finished root calls | [`calls`] |
//! | `trace` | ENTER, EXIT, TAG by thread | [`trace`] |
//! | `xml`, `sql` | values that the trace refers to | [`values`] |
//! | `gc` | text of the JVM's log | [`gc`] |
//! | others | counted | |
//!
//! Ids of words are those of the JVM. An agent that starts over opens the dictionary with reset = 1
//! and sends all of it. But one that finds its connection broken when a rotation is due goes on in
//! a new one with that rotation: it opens trace, calls, xml, sql and suspend, and sends neither
//! dictionary nor params again. So the words of a connection stay for the next of the same
//! JVM ([`kept`], [`shared`]); where they are not known, calls are answered with FF.
//!
//! [`collector`] is the session; [`meter`] makes metrics ([`numbers`], [`totals`], [`methods`],
//! [`latency`], [`stacks`] with [`call_tree`] and [`call_thread`], [`metrics`]) and events
//! ([`entry`], [`waiting`], [`call_record`]) of calls, but for those that are none
//! ([`loss_report`]). The way of the bytes: [`transport`] ([`inflate`], [`wire`]) → [`pod`] →
//! [`decode`]: [`resume`] → [`phrases`] → one of the above ([`scan`], [`text`]) → [`observer`]. A
//! corrupt stream costs only itself, and only until it is opened again.

mod config;
mod dictionary;
#[cfg(feature = "agent")]
mod io;
pub mod limits;
mod meter;
mod metrics;
mod records;
mod session;
mod streams;
#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "test")]
mod testkit;
mod wire;

pub use config::Config;
pub use dictionary::cache::Jvm;
pub use dictionary::interner::Interner;
pub use dictionary::{Dictionary, KnownWord};
pub use records::call_record::{PARAMETER_NAME_MAX, PARAMETERS_MAX, is_name as is_parameter_name};
pub use session::{AgentSession, Connection, Options, SharedState};
pub use streams::decode::{Counts, Stream, Streams};
pub use streams::error::DecodeError;
pub use streams::gc::{GcPause, Heap};
pub use streams::record::{
    BigValue, Block, Call, Chunk, Definition, File, Observer, Param, Params, Pause, Pointer,
    Reference, TagValue, TraceEvent, TraceKind,
};
pub use streams::scan::Text;
pub use wire::command::{
    Event, Hello, Opened, ProtocolError, Settings, StreamKind, Uuid, Violation,
};
pub use wire::dialogue::Dialogue;
pub use wire::identity::PodName;

#[cfg(feature = "agent")]
use super::{Context, Running};
use super::{Dynamic, Source, SourceTable};

/// The collector of Java profiler agents.
pub struct Profiler;

impl Source for Profiler {
    type Config = Config;

    const TABLE: SourceTable = SourceTable {
        name: "profiler",
        cluster: metrics::CLUSTER,
        indom: 2,
        indom_help: metrics::INDOM_HELP,
        metrics: metrics::metrics,
        events: metrics::EVENTS,
        dynamic: Some(Dynamic {
            node: None,
            what: "Indexed parameters that profiler.parameters asks for (tag.*)",
            restore: records::call_record::restore,
            initial: Vec::new,
        }),
        tables: metrics::TABLES,
        params: metrics::PARAMS,
        restarts: Some(metrics::RESTARTS),
        keeps_values: true,
    };

    fn describe(config: &Config) -> Vec<String> {
        config.describe()
    }

    #[cfg(feature = "agent")]
    fn start(config: Config, context: Context) -> std::io::Result<Box<dyn Running<Config>>> {
        io::start(config, context)
    }
}
