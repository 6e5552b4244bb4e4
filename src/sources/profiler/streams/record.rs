//! The records in the streams, and the [`Observer`] that receives them. Ids of methods and
//! parameters refer to the pod's dictionary ([`Dictionary`]). Times are milliseconds since 1970 by
//! the clock of the JVM.

use std::sync::Arc;

use super::gc::GcPause;
use super::scan::DecodeError;
use super::trace::ShortEvents;
use crate::sources::profiler::dictionary::{Dictionary, Text};
use crate::sources::profiler::wire::{Hello, Opened, StreamKind, Uuid};

/// Position of a call in the trace (docs/protocols/java-profiler.md B.5). The file can be older
/// than the open one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Pointer {
    /// Sequence of the trace file + 1.
    pub file: u32,
    /// Offset of the block in that file, its header included: the first block is at 8.
    pub offset: u32,
    /// Index of the root's ENTER among the events of the block.
    pub index: u32,
}

/// One finished root call (docs/protocols/java-profiler.md B.5). Numbers that a format older than
/// version 4 lacks are 0.
///
/// The agent samples CPU and memory at most every 100 ms per thread: sums over many calls are
/// right, the numbers of a single short call are not.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// Start. Not monotonic: records have the order of the ends of calls.
    pub start_ms: i64,
    /// Duration.
    pub duration_ms: u64,
    /// Id of the root method. Its word may come later (docs/protocols/java-profiler.md B.2).
    pub method: u32,
    /// Instrumented methods that were entered, the root included.
    pub calls: u32,
    /// Index of the thread in this file of calls; starts again with every file.
    pub thread: u32,
    /// Name of the thread; `None` if a limit rejected it.
    pub thread_name: Option<&'a Arc<str>>,
    /// Characters logged.
    pub logs_written: u32,
    /// Characters formatted for logs, with those that a log level suppressed.
    pub logs_generated: u64,
    /// Position of the root's ENTER.
    pub pointer: Pointer,
    /// CPU time; 0 if the agent measured a negative time.
    pub cpu_ms: u64,
    /// Time waited for monitors; 0 unless the agent is configured to measure it.
    pub wait_ms: u64,
    /// Bytes allocated by the thread.
    pub memory: u64,
    /// Bytes read from files.
    pub file_read: u64,
    /// Bytes written to files.
    pub file_written: u64,
    /// Bytes read from sockets.
    pub net_read: u64,
    /// Bytes written to sockets.
    pub net_written: u64,
    /// Number of transactions.
    pub transactions: u64,
    /// Time waited in a queue before the start.
    pub queue_wait_ms: u32,
    /// Indexed parameters.
    pub params: Params<'a>,
}

impl Call<'_> {
    /// A call before its numbers are read.
    pub(crate) const EMPTY: Self = Self {
        start_ms: 0,
        duration_ms: 0,
        method: 0,
        calls: 0,
        thread: 0,
        thread_name: None,
        logs_written: 0,
        logs_generated: 0,
        pointer: Pointer { file: 0, offset: 0, index: 0 },
        cpu_ms: 0,
        wait_ms: 0,
        memory: 0,
        file_read: 0,
        file_written: 0,
        net_read: 0,
        net_written: 0,
        transactions: 0,
        queue_wait_ms: 0,
        params: Params { pieces: &[], text: &[], count: 0, values: 0 },
    };

    /// Whether all ids of the call have words. Missing words arrive within one flush cycle
    /// (docs/protocols/java-profiler.md B.2), and may change the results of the other methods.
    #[must_use]
    pub fn is_named(&self, words: &Dictionary) -> bool {
        words.get(self.method).is_some() && self.params.ids().all(|id| words.get(id).is_some())
    }

    /// A copy without thread name and parameters.
    pub(crate) fn numbers(&self) -> Call<'static> {
        Call { thread_name: None, params: Params::default(), ..*self }
    }
}

/// One value of a parameter of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param<'a> {
    /// Id of the parameter's name.
    pub id: u32,
    /// The value; empty if the parameter has none.
    pub value: Text<'a>,
}

/// Position of a value in `Params::text`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub(crate) id: u32,
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) units: u32,
}

/// The parameters of a call, in the order of the agent. The order of the values of one parameter
/// has no meaning.
#[derive(Clone, Copy, Default)]
pub struct Params<'a> {
    pub(crate) pieces: &'a [Piece],
    pub(crate) text: &'a [u8],
    pub(crate) count: u32,
    pub(crate) values: u32,
}

impl<'a> Params<'a> {
    /// Number of parameters that the agent sent.
    #[must_use]
    pub const fn count(self) -> u32 {
        self.count
    }

    /// Number of values that the agent sent, of all parameters.
    #[must_use]
    pub const fn values(self) -> u32 {
        self.values
    }

    /// The kept values: at most `limits::CALL_VALUES` and `limits::CALL_TEXT` bytes.
    pub fn iter(self) -> impl Iterator<Item = Param<'a>> + Clone {
        let Self { pieces, text, .. } = self;
        let value = |p: &Piece| Text::new(text.get(p.from..p.to).unwrap_or_default(), p.units);
        pieces.iter().map(move |p| Param { id: p.id, value: value(p) })
    }

    /// The ids of the kept values, in their order.
    pub(crate) fn ids(self) -> impl Iterator<Item = u32> + Clone + 'a {
        self.pieces.iter().map(|p| p.id)
    }

    /// Whether a parameter has this id.
    #[must_use]
    pub fn has(self, id: u32) -> bool {
        self.pieces.iter().any(|p| p.id == id)
    }
}

impl std::fmt::Debug for Params<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.iter().map(|p| (p.id, p.value))).finish()
    }
}

/// A time when the JVM was not scheduled (docs/protocols/java-profiler.md B.4): garbage collection,
/// safepoints, starvation, swapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// End of the pause.
    pub end_ms: i64,
    /// Duration.
    pub duration_ms: u32,
}

/// A buffer of one thread's events (docs/protocols/java-profiler.md B.6). A call can continue in
/// the next block of its thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Sequence of the trace file + 1, as in [`Pointer`].
    pub file: u32,
    /// Offset in the file, as in [`Pointer`].
    pub offset: u64,
    /// Id of the Java thread.
    pub thread: u64,
    /// Start of the buffer; informative only.
    pub start_ms: i64,
}

/// One event of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceEvent<'a> {
    /// Index in the block, as in [`Pointer`].
    pub index: u32,
    /// Time of the event.
    pub time_ms: i64,
    /// ENTER, EXIT or TAG.
    pub kind: TraceKind<'a>,
}

/// The kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceKind<'a> {
    /// ENTER: the thread entered a method.
    Enter {
        /// Id of the method.
        method: u32,
    },
    /// EXIT: the thread left the innermost method.
    Exit,
    /// TAG: a parameter of the innermost method.
    Tag {
        /// Id of the parameter's name.
        param: u32,
        /// The value.
        value: TagValue<'a>,
    },
}

/// Value of a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TagValue<'a> {
    /// In place (type 0).
    Inline(Text<'a>),
    /// In place, and also a parameter of the call record (type 2).
    Indexed(Text<'a>),
    /// In the stream `xml` (type 1): big values.
    Xml(Reference),
    /// In the stream `sql` (type 3): big values that occur often.
    Sql(Reference),
}

/// Position of a value in the stream `xml` or `sql`. The value may come before or after its
/// references.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reference {
    /// Sequence of the file + 1.
    pub file: u32,
    /// Offset in the file.
    pub offset: u32,
}

/// A value of the stream `xml` or `sql` (docs/protocols/java-profiler.md B.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BigValue<'a> {
    /// Sequence of the file + 1, as in [`Reference`].
    pub file: u32,
    /// Offset in the file, as in [`Reference`].
    pub offset: u64,
    /// The value.
    pub text: Text<'a>,
}

/// Definition of a parameter (docs/protocols/java-profiler.md B.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Definition<'a> {
    /// The name, which is also a word of the dictionary.
    pub name: Text<'a>,
    /// Call records contain the values, too.
    pub indexed: bool,
    /// The parameter can have several values.
    pub list: bool,
    /// Order of display: 100 for declared parameters, 1000 otherwise.
    pub order: u32,
    /// Type of display: `sql`; usually empty.
    pub signature: Text<'a>,
}

/// A file of a stream: the payloads between two openings of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File<'a> {
    /// Index among the streams of the connection.
    pub stream: usize,
    /// Name of the stream.
    pub name: &'a str,
    /// Content of the stream.
    pub kind: StreamKind,
    /// Sequence of the file. A [`Reference`] and a [`Pointer`] have sequence + 1.
    pub sequence: i32,
}

/// The payload of one RCV_DATA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// Its file.
    pub file: File<'a>,
    /// Index in the file, from 0.
    pub number: u64,
    /// Bytes of the file before it.
    pub offset: u64,
    /// Length in bytes: 0 to 1024.
    pub size: usize,
}

/// Receives the records of one connection, in their order. Every method does nothing by default.
///
/// * [`hello`](Self::hello) comes at most once, before any stream; [`closed`](Self::closed) comes
///   once and last.
/// * A stream is [`opened`](Self::opened). Then its [`chunk`](Self::chunk)s come, each before the
///   records that it completes. A new opening of the same name, or the end of the connection, makes
///   the file [`ended`](Self::ended).
/// * Records are borrowed. Their content is checked only as far as the format requires; texts and
///   names are as the agent sent them, cut to [`limits`](crate::sources::profiler::limits).
/// * Ids of methods and parameters refer to `words`, and stay the same until a
///   [`dictionary_reset`](Self::dictionary_reset). Agents send trace and calls before the
///   dictionary, so a [`word`](Self::word) can come after the records that use its id, by one flush
///   cycle (5 s) at most. An id without a word after that never gets one: a limit rejected it, or
///   the dictionary is corrupt.
/// * [`corrupt`](Self::corrupt): the rest of the file is not decoded. Its chunks still come, its
///   records do not. Other streams are not affected.
/// * After a reconnect an agent opens all streams again: the new
///   [`Connection`](crate::sources::profiler::Connection) has a new observer. The agent
///   usually sends its whole dictionary again. If it does not, the new connection
///   [adopts](crate::sources::profiler::Connection::adopt) the dictionary of the old one, and
///   reports each word again.
pub trait Observer {
    /// The agent is identified.
    fn hello(&mut self, hello: &Hello<'_>) {
        let _ = hello;
    }

    /// A stream was opened for the first time, or again by a rotation.
    fn opened(&mut self, opened: &Opened<'_>) {
        let _ = opened;
    }

    /// A payload of a stream has arrived.
    fn chunk(&mut self, chunk: &Chunk<'_>) {
        let _ = chunk;
    }

    /// A call has finished. Calls arrive within 10 s after their end, in no order of time.
    fn call(&mut self, call: &Call<'_>, words: &Dictionary) {
        let _ = (call, words);
    }

    /// The JVM paused. The agent sends a pause only when the next one has occurred.
    fn pause(&mut self, pause: &Pause) {
        let _ = pause;
    }

    /// A block of one thread's events begins. A call can continue in a later block of its thread.
    fn trace_block(&mut self, block: &Block) {
        let _ = block;
    }

    /// An event of the block.
    fn trace_event(&mut self, block: &Block, event: &TraceEvent<'_>, words: &Dictionary) {
        let _ = (block, event, words);
    }

    /// Whether [`trace_event`](Self::trace_event) shall get every event. If not, most events come
    /// as [`short_events`](Self::short_events), which takes a third of the time.
    fn wants_trace_events(&self) -> bool {
        true
    }

    /// Events of the block that follow one another, unless
    /// [`wants_trace_events`](Self::wants_trace_events). Those that are not read come as
    /// [`trace_event`](Self::trace_event).
    fn short_events(&mut self, block: &Block, events: &mut ShortEvents<'_>) {
        let _ = (block, events);
    }

    /// The block ends.
    fn trace_block_end(&mut self, block: &Block, events: u32) {
        let _ = (block, events);
    }

    /// The agent lost this many calls (docs/protocols/java-profiler.md B.6).
    fn calls_lost(&mut self, calls: u64) {
        let _ = calls;
    }

    /// The word of an id. `None`: a limit rejected the word, and the id never gets one.
    fn word(&mut self, id: u32, word: Option<&Arc<str>>, words: &Dictionary) {
        let _ = (id, word, words);
    }

    /// The dictionary is reset: ids get new words in place of `words`.
    fn dictionary_reset(&mut self, words: &Dictionary) {
        let _ = words;
    }

    /// The definition of a parameter.
    fn definition(&mut self, definition: &Definition<'_>) {
        let _ = definition;
    }

    /// A value of `xml`.
    fn xml(&mut self, value: &BigValue<'_>) {
        let _ = value;
    }

    /// A value of `sql`.
    fn sql(&mut self, value: &BigValue<'_>) {
        let _ = value;
    }

    /// A pause in the log of the garbage collector.
    fn gc_pause(&mut self, pause: &GcPause<'_>) {
        let _ = pause;
    }

    /// The rest of a file is skipped because of an error at offset `at`.
    fn corrupt(&mut self, file: &File<'_>, at: u64, why: DecodeError) {
        let _ = (file, at, why);
    }

    /// A file ended. `torn`: within a record, as happens when a connection breaks.
    fn ended(&mut self, file: &File<'_>, torn: bool) {
        let _ = (file, torn);
    }

    /// The agent asked for its acks. It asks once for each stream every 5 s, with or without data:
    /// the heartbeat.
    fn flush(&mut self) {}

    /// The agent replied to a diagnostic command.
    fn command_result(&mut self, id: &Uuid, ok: bool) {
        let _ = (id, ok);
    }

    /// The connection ended. `orderly`: after CLOSE, because the JVM ends.
    fn closed(&mut self, orderly: bool) {
        let _ = orderly;
    }
}
