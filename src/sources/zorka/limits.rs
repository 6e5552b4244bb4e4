//! Bounds on everything that an agent can cause, each with its reason.

use std::time::Duration;

/// Open records, one inside the other. The local tracer's deepest stack in the captures has 24; a
/// JVM's stack of 1 MiB ends at about 10,000 frames (docs/protocols/zorka.md 8). The record beyond
/// ends the body: what precedes it is kept.
pub const OPEN_RECORDS: usize = 10_000;
/// Arrays, maps and tags, one inside the other, in an attribute or in an item that is skipped
/// (docs/protocols/zorka.md 8).
pub const NESTING: usize = 32;
/// Records of one body: 64 times what an agent sends by default (docs/protocols/zorka.md 8), 12 MiB
/// of memory.
pub const RECORDS: usize = 1 << 18;
/// Bytes of a decoded body's lists that are kept for the next body: four bodies of 4096 records.
pub const KEPT: usize = 1 << 20;
/// Begins of spans in one body.
pub const SPANS: usize = 1 << 16;
/// Attributes of one body.
pub const ATTRIBUTES: usize = 1 << 18;
/// Exceptions of one body.
pub const EXCEPTIONS: usize = 1 << 16;
/// Enclosing spans among which the target of an upward attribute is searched, so that such
/// attributes cost no more than others.
pub const UPWARD: usize = 64;

/// Symbols of one session (docs/protocols/zorka.md 8). Agents number at most 2^21 of them and have
/// some thousand.
pub const SYMBOLS: usize = 1 << 20;
/// Bytes of one symbol that are kept (docs/protocols/zorka.md 8).
pub const SYMBOL_TEXT: usize = 64 << 10;
/// Bytes of the texts of one session: the 2^20 symbols may have 64 bytes each, more than agents use
/// on average.
pub const SYMBOL_BYTES: usize = 64 << 20;
/// Methods of one session: the agent's numbers have at most 21 bits.
pub const METHODS: usize = 1 << 21;

/// Bytes of a body whose encodings are undone (docs/protocols/zorka.md 10.3): as long as raw bodies
/// may be (8). The memory of two such buffers is not charged before they exist.
pub const UNWRAPPED: usize = 16 << 20;
/// Largest ratio of these bytes to those on the wire: definitions and traces reach 10, deflate
/// 1,030, LZ4 255.
pub const RATIO: usize = 100;
/// Bytes before the ratio counts.
pub const RATIO_FROM: usize = 1 << 20;
/// Bytes of a body whose compression has no header and is found by trial: no agent compresses, so
/// little time is spent on it. It may become [`RATIO_FROM`] bytes.
pub const GUESSED: usize = 256 << 10;
/// Encodings, one inside the other: form, content encoding, base64, compression.
pub const ENCODINGS: usize = 4;

/// Types of spans of one agent with a row of their own. A configuration names a handful.
pub const TYPES: usize = 100;
/// Kinds of databases of one agent with a row of their own.
pub const DB_KINDS: usize = 20;
/// Methods of one agent with a row of their own.
pub const METHOD_ROWS: usize = 30_000;
/// Methods of a stack; the time of further ones counts for the last of them.
pub const STACK_DEPTH: usize = 128;
/// Methods of a silent agent whose negative self time is kept.
pub const CARRIED: usize = 1024;

/// Sessions of all agents together. An agent has one, and a store of 10,000 instances is large.
pub const SESSIONS: usize = 10_000;
/// Sessions of one registered agent: JVMs that share its id. The newest stay.
pub const AGENT_SESSIONS: usize = 16;
/// Sessions that one agent opens in [`OPENING`] before it has to wait: 1.90.1 and 1.90.2 retry in a
/// tight loop (docs/protocols/zorka.md 7).
pub const OPENED: u32 = 10;
/// The time in which openings are counted.
pub const OPENING: Duration = Duration::from_secs(10);
/// How long a request that will be repeated at once is left without its answer.
pub const PAUSE: Duration = Duration::from_secs(1);
/// A session is valid for this time after its last request: an idle agent is silent
/// (docs/protocols/zorka.md 7).
pub const SESSION_AGE: Duration = Duration::from_secs(86_400);
/// Bytes of a session id. Agents choose 16, and get 36.
pub const SESSION_ID: usize = 64;
/// Registered agents.
pub const REGISTERED: usize = 10_000;
/// Bytes of the name, the application or the environment of an agent, and of a part of its name.
pub const NAME: usize = 100;
/// Characters of an unknown name in `Host` that are told.
pub const HOST_SHOWN: usize = 100;
/// Bytes of the JSON of a registration or of a request for a session.
pub const JSON: usize = 64 << 10;
/// Bytes of the file of registered agents: [`REGISTERED`] agents with names of full length have 5
/// MiB.
pub const STATE: usize = 16 << 20;
/// Requests of an agent of which a copy is recognised.
pub const REQUESTS: usize = 64;
/// Traces of an agent of which a copy is recognised, also if it has other ids.
pub const TRACES: usize = 256;
/// Traces of an agent that wait for one with its name.
pub const WAITING: usize = 8;
/// Bytes of these traces.
pub const WAITING_BYTES: usize = 256 << 10;
/// Connections of one agent that are counted, to see it leave. An agent has one.
pub const CONNECTIONS: usize = 64;
/// A refused agent is tried again after this time: with the tick of a second it has its instance at
/// most 10 s after there is room.
pub const REFUSED: Duration = Duration::from_secs(9);
/// Agents of one connection that are remembered, to tell them of its end: an HTTP proxy may share
/// it. If there were more, all agents are looked at.
pub const CONNECTION_AGENTS: usize = 1024;
/// Bytes of buffers that a thread keeps from body to body.
pub const SCRATCH: usize = 1 << 20;
/// Bytes of a body from which on its decoding is charged to the budget.
pub const CHARGED_BODY: usize = 256 << 10;
/// Bytes that decoding takes for each byte of a body.
pub const DECODING: usize = 6;

/// Bytes of a name, of an attribute's value, of a statement, of an exception's message and of all
/// other attributes together in an event record: agents send up to 8,192 characters of each.
pub const RECORD_NAME: usize = 512;
/// See [`RECORD_NAME`].
pub const RECORD_VALUE: usize = 1024;
/// See [`RECORD_NAME`].
pub const RECORD_STATEMENT: usize = 4096;
/// See [`RECORD_NAME`].
pub const RECORD_MESSAGE: usize = 2048;
/// See [`RECORD_NAME`].
pub const RECORD_ATTRIBUTES: usize = 4096;
