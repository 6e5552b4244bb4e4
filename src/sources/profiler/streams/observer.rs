//! What a pod tells: the contract between the decoders and what makes metrics and events of them.

use std::sync::Arc;

use super::gc_line::GcPause;
use super::record::{BigValue, Block, Call, Corrupt, Definition, Pause, TraceEvent};
use crate::sources::profiler::wire::command::Uuid;
use crate::sources::profiler::wire::event::{Hello, Opened};
use crate::sources::profiler::wire::kind::StreamKind;
use crate::sources::profiler::words::Words;

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
///   [`forgotten`](Self::words_forgotten). A [`word`](Self::word) can come later than what uses its
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
    fn call(&mut self, call: &Call<'_>, words: &Words) {
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
    fn trace_event(&mut self, block: &Block, event: &TraceEvent<'_>, words: &Words) {
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
    fn word(&mut self, id: u32, word: Option<&Arc<str>>, words: &Words) {
        let _ = (id, word, words);
    }

    /// All ids lose their words: new ones follow.
    fn words_forgotten(&mut self) {}

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
    fn corrupt(&mut self, file: &File<'_>, at: u64, why: Corrupt) {
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
