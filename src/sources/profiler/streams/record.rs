//! What is in the streams, as the observers get it. Ids of methods and parameters are those of the
//! pod's dictionary ([`crate::sources::profiler::Dictionary`]), times are milliseconds since 1970 by the clock of the JVM.

use std::sync::Arc;

use super::error::DecodeError;
use super::gc::GcPause;
use super::scan::Text;
use crate::sources::profiler::dictionary::{Dictionary, KnownWord};
use crate::sources::profiler::wire::command::{Hello, Opened, StreamKind, Uuid};

/// Where in the trace a call is (spec B.5). The file can be older than the one that is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Pointer {
    /// Sequence of the trace file + 1.
    pub file: u32,
    /// Offset of the block in that file, its header included: the first block is at 8.
    pub offset: u32,
    /// Number of the root's ENTER among the events of the block.
    pub index: u32,
}

/// One finished root call (spec B.5). What a format older than 4 does not have is 0.
///
/// CPU and memory are sampled at most every 100 ms per thread: sums are right, those of a single
/// short call are not.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// Start. Not monotonic: records come in the order in which calls end.
    pub start_ms: i64,
    /// How long it took.
    pub duration_ms: u64,
    /// Id of the root method. Its word may come later (spec B.2).
    pub method: u32,
    /// Method enters in the tree, the root's included.
    pub calls: u32,
    /// Index of the thread in this file of calls; starts again with every file.
    pub thread: u32,
    /// Name of the thread; `None` when a limit was reached.
    pub thread_name: Option<&'a Arc<str>>,
    /// Characters that were logged.
    pub logs_written: u32,
    /// Characters that were made for logs.
    pub logs_generated: u64,
    /// The root's ENTER.
    pub pointer: Pointer,
    /// CPU time; 0 if the agent found it negative.
    pub cpu_ms: u64,
    /// Time waited for monitors; 0 unless the agent is told to look.
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
    /// Transactions.
    pub transactions: u64,
    /// Time waited in a queue before the start.
    pub queue_wait_ms: u32,
    /// Indexed parameters.
    pub params: Params<'a>,
}

impl<'a> Call<'a> {
    /// All ids that it uses have their words: otherwise they come within one flush cycle (spec
    /// B.2), and what the other methods say may change with them.
    #[must_use]
    pub fn is_named(&self, words: &Dictionary) -> bool {
        words.get(self.method).is_some() && self.params.iter().all(|p| words.get(p.id).is_some())
    }

    /// Its numbers alone.
    pub(crate) fn numbers(&self) -> Call<'static> {
        Call { thread_name: None, params: Params::default(), ..*self }
    }

    /// It failed.
    #[must_use]
    pub fn is_error(&self, words: &Dictionary) -> bool {
        self.marked(words, KnownWord::Red).is_some()
    }

    /// It only waited.
    #[must_use]
    pub fn is_idle(&self, words: &Dictionary) -> bool {
        self.marked(words, KnownWord::Idle).is_some()
    }

    /// What a human would call it, if the agent says so.
    #[must_use]
    pub fn title(&self, words: &Dictionary) -> Option<Text<'a>> {
        self.marked(words, KnownWord::Title)
    }

    fn marked(&self, words: &Dictionary, mark: KnownWord) -> Option<Text<'a>> {
        if self.params.count == 0 {
            return None;
        }
        let id = words.id_of(mark)?;
        self.params.iter().find(|p| p.id == id).map(|p| p.value)
    }
}

/// A parameter of a call, or one of its values if it has several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param<'a> {
    /// Id of the parameter's name.
    pub id: u32,
    /// Its value; empty also when it has none.
    pub value: Text<'a>,
}

/// Where a value of a call is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub(crate) id: u32,
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) units: u32,
}

/// The parameters of a call, in the order of the wire. The order of the values of one parameter
/// means nothing.
#[derive(Clone, Copy, Default)]
pub struct Params<'a> {
    pub(crate) pieces: &'a [Piece],
    pub(crate) text: &'a [u8],
    pub(crate) count: u32,
    pub(crate) values: u32,
}

impl<'a> Params<'a> {
    /// Parameters that the agent sent.
    #[must_use]
    pub const fn count(self) -> u32 {
        self.count
    }

    /// Values that the agent sent, of all parameters.
    #[must_use]
    pub const fn values(self) -> u32 {
        self.values
    }

    /// Those that were kept: [`crate::sources::profiler::limits::CALL_VALUES`] and [`crate::sources::profiler::limits::CALL_TEXT`] at
    /// most.
    pub fn iter(self) -> impl Iterator<Item = Param<'a>> {
        let Self { pieces, text, .. } = self;
        let value = |p: &Piece| Text::new(text.get(p.from..p.to).unwrap_or_default(), p.units);
        pieces.iter().map(move |p| Param { id: p.id, value: value(p) })
    }

    /// There is a parameter with this id.
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

/// The JVM was not scheduled (spec B.4): garbage collection, safepoints, starvation, swapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// When it ended.
    pub end_ms: i64,
    /// How long it was.
    pub duration_ms: u32,
}

/// A buffer of one thread's events (spec B.6). Calls go on in the next block of the thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Sequence of the trace file + 1, as in [`Pointer`].
    pub file: u32,
    /// Offset in the file, as in [`Pointer`].
    pub offset: u64,
    /// Id of the Java thread.
    pub thread: u64,
    /// When the buffer was begun; informative only.
    pub start_ms: i64,
}

/// One event of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceEvent<'a> {
    /// Number in the block, as in [`Pointer`].
    pub index: u32,
    /// When.
    pub time_ms: i64,
    /// What.
    pub kind: TraceKind<'a>,
}

/// What happened on a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceKind<'a> {
    /// A method was entered.
    Enter {
        /// Its id.
        method: u32,
    },
    /// The method entered last was left.
    Exit,
    /// A parameter of the method entered last.
    Tag {
        /// Id of its name.
        param: u32,
        /// Its value.
        value: TagValue<'a>,
    },
}

/// Value of a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TagValue<'a> {
    /// In place (type 0).
    Inline(Text<'a>),
    /// In place, and also a parameter of the call (type 2).
    Indexed(Text<'a>),
    /// In the stream `xml` (type 1): big values.
    Xml(Reference),
    /// In the stream `sql` (type 3): big values that occur often.
    Sql(Reference),
}

/// Where a value is in the stream `xml` or `sql`. It may come before or after what refers to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reference {
    /// Sequence of the file + 1.
    pub file: u32,
    /// Offset in the file.
    pub offset: u32,
}

/// A value of the stream `xml` or `sql` (spec B.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BigValue<'a> {
    /// Sequence of the file + 1, as in [`Reference`].
    pub file: u32,
    /// Offset in the file, as in [`Reference`].
    pub offset: u64,
    /// The value.
    pub text: Text<'a>,
}

/// What is known of a parameter's name (spec B.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Definition<'a> {
    /// Its name, which is also a word of the dictionary.
    pub name: Text<'a>,
    /// Values go into the calls, too.
    pub indexed: bool,
    /// Several values are expected.
    pub list: bool,
    /// Where it is shown: 100 for declared ones, 1000 otherwise.
    pub order: u32,
    /// How it is shown: `sql`; empty as a rule.
    pub signature: Text<'a>,
}

/// A file of a stream: what was sent between two openings of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File<'a> {
    /// Which of the connection's streams.
    pub stream: usize,
    /// Its name.
    pub name: &'a str,
    /// What its bytes are.
    pub kind: StreamKind,
    /// Sequence of the file. References and [`crate::sources::profiler::Pointer`]s say it + 1.
    pub sequence: i32,
}

/// A piece of a stream, as one RCV_DATA brought it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// Of which file.
    pub file: File<'a>,
    /// Its number in the file, from 0.
    pub number: u64,
    /// Bytes of the file before it.
    pub offset: u64,
    /// Its bytes: 0 to 1024.
    pub size: usize,
}

/// Takes what a pod tells, in the order of the connection. All methods do nothing unless they are
/// written.
///
/// * [`hello`](Self::hello) comes at most once, before any stream; [`closed`](Self::closed) comes
///   once and last.
/// * A stream is [`opened`](Self::opened), then its [`chunk`](Self::chunk)s come, each before the
///   records that it completes, then the file is [`ended`](Self::ended), which a new opening of the
///   same name or the end of the connection makes so.
/// * Records are borrowed: copy what is to stay. Nothing in them is checked beyond what the format
///   says; texts and names are whatever the agent sent, except that limits have cut them
///   ([`super::limits`]).
/// * Ids of methods and parameters are those of `words`, and they stay the same until the words are
///   [`forgotten`](Self::dictionary_reset). A [`word`](Self::word) can come later than what uses its
///   id, by one flush cycle at most (5 s): trace and calls are sent before the dictionary. So
///   tables by id are right from the start, and names can be looked up when they are shown. An id
///   that has no word after that never gets one: a limit was reached, or the stream is corrupt.
/// * [`corrupt`](Self::corrupt): the file cannot be read any further. Its chunks still come, its
///   records do not. Other streams and the connection go on.
/// * After a reconnect an agent opens everything anew: a new connection is a new
///   [`crate::sources::profiler::Connection`] with an observer of its own. As a rule it sends its whole dictionary
///   again; when it does not, the words of the connection before go on
///   ([`crate::sources::profiler::Connection::adopt`]), and each is told once more.
pub trait Observer {
    /// The agent said who it is.
    fn hello(&mut self, hello: &Hello<'_>) {
        let _ = hello;
    }

    /// A stream was opened, for the first time or again (a rotation).
    fn opened(&mut self, opened: &Opened<'_>) {
        let _ = opened;
    }

    /// A piece of a stream came.
    fn chunk(&mut self, chunk: &Chunk<'_>) {
        let _ = chunk;
    }

    /// A call has finished. They come within 10 s after their end, in no order of time.
    fn call(&mut self, call: &Call<'_>, words: &Dictionary) {
        let _ = (call, words);
    }

    /// The JVM was stopped for a while. The last pause is held back by the agent until the next.
    fn pause(&mut self, pause: &Pause) {
        let _ = pause;
    }

    /// Events of one thread follow. Blocks of several threads take turns, and a call can go on in
    /// the next block of its thread.
    fn trace_block(&mut self, block: &Block) {
        let _ = block;
    }

    /// An event of the block. By [`Block::thread`] and time, ENTER and EXIT make the stacks of a
    /// thread.
    fn trace_event(&mut self, block: &Block, event: &TraceEvent<'_>, words: &Dictionary) {
        let _ = (block, event, words);
    }

    /// The block is over.
    fn trace_block_end(&mut self, block: &Block, events: u32) {
        let _ = (block, events);
    }

    /// The agent says that it lost so many calls (spec B.6).
    fn calls_lost(&mut self, calls: u64) {
        let _ = calls;
    }

    /// An id has its word. `None`: a limit was reached, and the id stays without.
    fn word(&mut self, id: u32, word: Option<&Arc<str>>, words: &Dictionary) {
        let _ = (id, word, words);
    }

    /// All ids lose their words: new ones follow.
    fn dictionary_reset(&mut self) {}

    /// What is known of a parameter.
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

    /// A pause that the collector of the JVM tells of.
    fn gc_pause(&mut self, pause: &GcPause<'_>) {
        let _ = pause;
    }

    /// The rest of a file cannot be read; `at` is the offset of the fault in it.
    fn corrupt(&mut self, file: &File<'_>, at: u64, why: DecodeError) {
        let _ = (file, at, why);
    }

    /// Nothing more comes of a file. `torn`: it ended inside a record, as it does when a connection
    /// breaks.
    fn ended(&mut self, file: &File<'_>, torn: bool) {
        let _ = (file, torn);
    }

    /// The agent waits for its acks. It does so at the end of each stream's turn, in the order in
    /// which they were opened, every 5 s, whether there was data or not: its heartbeat.
    fn flush(&mut self) {}

    /// The agent answers a diagnostic command.
    fn command_result(&mut self, id: &Uuid, ok: bool) {
        let _ = (id, ok);
    }

    /// The connection is over. `orderly`: the agent said good-bye, because its JVM ends.
    fn closed(&mut self, orderly: bool) {
        let _ = orderly;
    }
}
