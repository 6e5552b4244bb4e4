//! Bounds on everything that an agent can cause, each with its reason.

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

/// Symbols of one session (docs/protocols/zorka.md 8). Agents number at most 2^21 of them and have some thousand.
pub const SYMBOLS: usize = 1 << 20;
/// Bytes of one symbol that are kept (docs/protocols/zorka.md 8).
pub const SYMBOL_TEXT: usize = 64 << 10;
/// Bytes of the texts of one session: the 2^20 symbols may have 64 bytes each, more than agents use
/// on average.
pub const SYMBOL_BYTES: usize = 64 << 20;
/// Methods of one session: the agent's numbers have at most 21 bits.
pub const METHODS: usize = 1 << 21;

/// Bytes of a body whose encodings are undone (docs/protocols/zorka.md 10.3).
pub const UNWRAPPED: usize = 64 << 20;
/// Largest ratio of these bytes to those on the wire: definitions and traces reach 10, deflate
/// 1,030, LZ4 255.
pub const RATIO: usize = 100;
/// Bytes before the ratio counts.
pub const RATIO_FROM: usize = 1 << 20;
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
/// Classes of exceptions of one agent with a row of their own.
pub const CLASSES: usize = 1000;
/// Statements of one agent with a row of their own. When there are more, all rows are bound anew:
/// statements that programs compose have no end.
pub const STATEMENTS: usize = 2000;
