//! The Java profiler's protocol (Netcracker, now Qubership), collector side: TCP 1715
//! (docs/protocols/java-profiler.md; agent github.com/Netcracker/qubership-profiler-agent c77a8408,
//! collector qubership-profiler-backend b0da97c7).
//!
//! The agent connects and speaks first; all integers are big-endian. A `field` is an int length, 0
//! to 1024, and that many bytes; a `string` is a field in UTF-8.
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
//! An ack is one byte 00; acks come in the order of the commands. The byte counts the diagnostic
//! commands that follow, so this collector never sends another value. FF in place of an ack means:
//! start over. FF is also the last byte of every connection that this side closes: agents treat the
//! plain end of a connection as a pause and read for another 30 s, but start over 10 s after FF. If
//! the first bytes are `1f 8b`, all requests are one gzip member (`wire::dialogue`).
//!
//! The payloads of a stream, one behind the other, are a file; opening the same name again begins
//! the next file.
//!
//! | stream | content | decoder |
//! |---|---|---|
//! | `dictionary`, `posDictionary` | phrases of words; the second with ids | `streams::phrases` |
//! | `params` | phrases: definitions of parameters | `streams::phrases` |
//! | `suspend` | phrases: pauses of the JVM | `streams::phrases` |
//! | `calls` | finished root calls | `streams::calls` |
//! | `trace` | ENTER, EXIT, TAG by thread | `streams::trace` |
//! | `xml`, `sql` | values that the trace refers to | `streams::phrases` |
//! | `gc` | text of the JVM's log | `streams::gc` |
//! | others | counted | |
//!
//! Word ids belong to the JVM. An agent that starts over opens the dictionary with reset = 1 and
//! sends all of it. An agent whose connection breaks while a rotation is due resumes that rotation
//! on a new connection: it opens trace, calls, xml, sql and suspend, and sends neither dictionary
//! nor params again. Therefore the dictionary of a lost connection is kept for the next connection
//! of the same JVM (`dictionary::shared`). Calls without any dictionary are answered with FF.
//!
//! # The way of a call
//!
//! From the socket to the store a call passes these files of this folder.
//!
//! 1. `session`: [`AgentSession`] takes the bytes of one read; [`Connection`] passes them on;
//! 2. `wire/dialogue`: [`Dialogue`] takes whole commands from the front and replies; it inflates the
//!    requests of a compressed connection;
//! 3. `wire`: parses one command; RCV_DATA carries a piece of the stream `calls`;
//! 4. `streams`: [`Streams`] gives the piece to the decoder of the open file;
//! 5. `streams/scan`: joins a token that the piece before cut off; reads numbers and strings;
//! 6. `streams/calls`: assembles the call;
//! 7. `streams/record`: the [`Call`] itself, handed to the [`Observer`];
//! 8. `meter`: the observer of one pod: counts the call and emits its event record;
//! 9. `meter/accounting`: counters, histogram, percentiles and root methods;
//! 10. `meter/pack` and `meter/roles`: encode the event record, with names looked up in
//! 11. `dictionary`, whose words `dictionary/shared` shares among pods;
//! 12. `meter/pending`: a call whose names have not arrived waits here, at most 11 s.
//!
//! The store is what 9, 10 and 12 tell of the pod, through its `Peer`. The trace takes the same way up to 8,
//! then `meter/stacks` and `crate::meter`. A corrupt file ends only its own stream, and only until the agent
//! opens that stream again.

mod config;
mod dictionary;
#[cfg(feature = "agent")]
mod io;
pub mod limits;
mod meter;
mod metrics;
mod session;
mod streams;
#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "test")]
mod test_kit;
mod wire;

pub use config::Config;
pub use dictionary::shared::{Interner, Jvm};
pub use dictionary::{Dictionary, KnownWord, Text};
pub use meter::{PARAMETER_NAME_MAX, PARAMETERS_MAX, is_parameter_name};
pub use session::{AgentSession, Connection, Options, SharedState};
pub use streams::gc::{GcPause, Heap};
pub use streams::record::{
    BigValue, Block, Call, Chunk, Definition, File, Observer, Param, Params, Pause, Pointer,
    Reference, TagValue, TraceEvent, TraceKind,
};
pub use streams::scan::DecodeError;
pub use streams::trace::{EventPlace, ShortEvents, StepCounts, StepVisitor};
pub use streams::{Counts, Stream, Streams};
pub use wire::dialogue::Dialogue;
pub use wire::{
    Event, Hello, Opened, PodName, ProtocolError, Settings, StreamKind, Uuid, Violation,
};

#[cfg(feature = "agent")]
use super::{Context, Running};
use super::{Source, SourceTable};
use crate::catalogue::Dynamic;
use crate::model::{Listening, Place};

/// The collector of Java profiler agents.
pub struct Profiler;

impl Source for Profiler {
    type Config = Config;

    const TABLE: SourceTable = SourceTable {
        example: "default/shop/shop-0",
        metrics: metrics::METRICS,
        // Rarely used, or as large as all other metrics together.
        not_logged: &[
            "dictionary",
            "trace",
            "value",
            "flushes",
            "event.pause.count",
            "event.pause.lost",
            "event.chunk",
        ],
        stacks: &["stack", "service.stack"],
        row_metrics: metrics::ROW_METRICS,
        events: metrics::EVENTS,
        dynamic: Some(Dynamic {
            places: &[(
                Place::Param,
                "Indexed parameters that profiler.parameters asks for (tag.*)",
            )],
            restore: meter::restore,
            initial: Vec::new,
        }),
        tables: metrics::TABLES,
        params: metrics::PARAMS,
        restarts: Some(metrics::RESTARTS),
        keeps_values: true,
        dictionary_help: Some(
            "Names of methods and parameters that Java profiler agents have sent, each kept once; \
             bounded by profiler.dictionary.",
        ),
        runtime: metrics::RUNTIME,
        service: metrics::SERVICE,
        runtime_label: "java",
        agents_of: Some("jvm"),
        ..SourceTable::new("profiler", metrics::CLUSTER, metrics::INDOM)
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
