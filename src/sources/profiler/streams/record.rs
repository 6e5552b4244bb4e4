//! What is in the streams, as the observers get it. Ids of methods and parameters are those of the
//! pod's dictionary ([`crate::sources::profiler::Words`]), times are milliseconds since 1970 by the clock of the JVM.

use std::sync::Arc;

use super::text::Text;
use crate::sources::profiler::words::{Mark, Words};

/// Why the rest of a stream's file cannot be read. Only the stream suffers, and only until it is
/// opened again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Corrupt {
    /// A string claims too many UTF-16 units.
    #[error("string of {0} UTF-16 units")]
    Units(u32),
    /// A phrase claims to be negative or too long.
    #[error("phrase of {0} bytes")]
    Phrase(i32),
    /// A record goes on behind the end of its phrase.
    #[error("record crosses the end of its phrase")]
    Crosses,
    /// A version of calls that is not known.
    #[error("version {0} of calls")]
    CallsVersion(u32),
    /// A call names a thread that has not been introduced.
    #[error("thread {index} of {count}")]
    Thread {
        /// Index that was used.
        index: u32,
        /// Threads introduced so far.
        count: u32,
    },
    /// A call claims too many parameters or values.
    #[error("{0} parameters or values")]
    Claims(u32),
    /// A tag of a type that no agent writes.
    #[error("tag of type {0}")]
    TagType(u8),
    /// A version of params that is not known.
    #[error("version {0} of params")]
    ParamsVersion(u8),
    /// A token longer than [`super::limits`] foresee.
    #[error("token too long")]
    Token,
}

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
    pub fn is_named(&self, words: &Words) -> bool {
        words.get(self.method).is_some() && self.params.iter().all(|p| words.get(p.id).is_some())
    }

    /// Its numbers alone.
    pub(crate) fn numbers(&self) -> Call<'static> {
        Call { thread_name: None, params: Params::default(), ..*self }
    }

    /// It failed.
    #[must_use]
    pub fn is_error(&self, words: &Words) -> bool {
        self.marked(words, Mark::Red).is_some()
    }

    /// It only waited.
    #[must_use]
    pub fn is_idle(&self, words: &Words) -> bool {
        self.marked(words, Mark::Idle).is_some()
    }

    /// What a human would call it, if the agent says so.
    #[must_use]
    pub fn title(&self, words: &Words) -> Option<Text<'a>> {
        self.marked(words, Mark::Title)
    }

    fn marked(&self, words: &Words, mark: Mark) -> Option<Text<'a>> {
        if self.params.count == 0 {
            return None;
        }
        let id = words.mark(mark)?;
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
