//! The streams of one pod: which bytes go to which decoder, and what becomes of their records.

//!
//! The decoder of one file, by kind of stream, and the way from its records to the observer.

use std::sync::Arc;

use super::calls::{CallVisitor, Calls};
use super::error::Corrupt;
use super::gc::{GcPause, GcVisitor, Lines};
use super::phrases::{
    DefinitionReader, DefinitionVisitor, DictionaryReader, PauseReader, PauseVisitor, Phrases,
    WordVisitor,
};
use super::record::{
    BigValue, Block, Call, Chunk, Definition, File, Observer, Params, Pause, TagValue, TraceEvent,
    TraceKind,
};
use super::scan::{Machine, Resume, Text};
use super::trace::{Trace, TraceVisitor};
use super::values::{ValueVisitor, Values};
use crate::sources::profiler::limits;
use crate::sources::profiler::wire::command::{Opened, StreamKind};
use crate::sources::profiler::words::Words;
use crate::sources::profiler::words::interner::Interner;

/// What has been seen of a stream, over all its files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Pieces.
    pub chunks: u64,
    /// Bytes of the pieces.
    pub bytes: u64,
    /// Openings after the first.
    pub rotations: u64,
    /// Files that could not be read to the end.
    pub corrupt: u64,
    /// Bytes that were not read because of that.
    pub skipped: u64,
    /// Files that ended inside a record.
    pub torn: u64,
}

/// One stream.
#[derive(Debug)]
pub struct Stream {
    name: Box<str>,
    kind: StreamKind,
    sequence: i32,
    decoder: Decoder,
    counts: Counts,
    /// Pieces and bytes of the file that is open.
    chunks: u64,
    bytes: u64,
}

impl Stream {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What its bytes are.
    #[must_use]
    pub const fn kind(&self) -> StreamKind {
        self.kind
    }

    /// Sequence of the file that is open.
    #[must_use]
    pub const fn sequence(&self) -> i32 {
        self.sequence
    }

    /// What has been seen of it.
    #[must_use]
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The file that is open cannot be read any further.
    #[must_use]
    pub const fn is_corrupt(&self) -> bool {
        matches!(self.decoder, Decoder::Lost)
    }

    fn file(&self, stream: usize) -> File<'_> {
        File { stream, name: &self.name, kind: self.kind, sequence: self.sequence }
    }

    fn end<O: Observer + ?Sized>(&mut self, stream: usize, words: &mut Words, observer: &mut O) {
        let torn = self.decoder.end(words, observer);
        self.counts.torn += u64::from(torn);
        observer.ended(&self.file(stream), torn);
    }
}

/// All streams of one connection, and the words that they share.
#[derive(Debug)]
pub struct Streams {
    words: Words,
    streams: Vec<Stream>,
}

impl Streams {
    /// Without streams. Words are shared with other pods.
    #[must_use]
    pub fn new(interner: Arc<Interner>) -> Self {
        Self { words: Words::new(interner), streams: Vec::new() }
    }

    /// Its dictionary.
    #[must_use]
    pub const fn words(&self) -> &Words {
        &self.words
    }

    /// Its streams, in the order in which they were opened first.
    #[must_use]
    pub fn streams(&self) -> &[Stream] {
        &self.streams
    }

    /// Bytes allocated, without the words.
    pub(crate) fn memory(&self) -> usize {
        self.streams.iter().map(|s| size_of::<Stream>() + s.decoder.memory()).sum()
    }

    /// The agent goes on with the words of a connection before: they are told as if they came now.
    pub(crate) fn adopt<O: Observer + ?Sized>(&mut self, words: Words, observer: &mut O) {
        self.words.succeed(words);
        let known: Vec<(u32, Arc<str>)> =
            self.words.iter().map(|(id, word)| (id, Arc::clone(word))).collect();
        for (id, word) in known {
            observer.word(id, Some(&word), &self.words);
            if let Some(calls) = self.words.late_lost_calls(id) {
                observer.calls_lost(calls);
            }
        }
    }

    /// What remains of it for a connection that comes later: its dictionary.
    pub(crate) fn leave(&mut self) -> Words {
        let nothing = self.words.successor();
        std::mem::replace(&mut self.words, nothing)
    }

    /// A stream was opened: the next new one, or again one that was. Any other is passed over.
    pub fn open<O: Observer + ?Sized>(&mut self, opened: &Opened<'_>, observer: &mut O) {
        // Only dictionaries are ever opened with it; it would be odd to let another stream wipe
        // them.
        if opened.reset && matches!(opened.kind, StreamKind::Dictionary | StreamKind::PosDictionary)
        {
            self.words.reset();
            observer.words_forgotten();
        }
        let decoder = Decoder::new(opened.kind, opened.sequence);
        if let Some(stream) = self.streams.get_mut(opened.stream) {
            stream.end(opened.stream, &mut self.words, observer);
            (stream.decoder, stream.sequence) = (decoder, opened.sequence);
            (stream.chunks, stream.bytes) = (0, 0);
            stream.counts.rotations += 1;
        } else if self.streams.len() == opened.stream {
            self.streams.push(Stream {
                name: opened.name.into(),
                kind: opened.kind,
                sequence: opened.sequence,
                decoder,
                counts: Counts::default(),
                chunks: 0,
                bytes: 0,
            });
        }
        observer.opened(opened);
    }

    /// A piece of a stream came. Records that are whole are told; what is corrupt is told once, and
    /// the rest of the file is passed over.
    pub fn data<O: Observer + ?Sized>(&mut self, stream: usize, payload: &[u8], observer: &mut O) {
        let Some(s) = self.streams.get_mut(stream) else { return };
        observer.chunk(&Chunk {
            file: s.file(stream),
            number: s.chunks,
            offset: s.bytes,
            size: payload.len(),
        });
        let begin = s.bytes;
        s.chunks += 1;
        s.counts.chunks += 1;
        s.bytes += payload.len() as u64;
        s.counts.bytes += payload.len() as u64;
        if let Err((at, why)) = s.decoder.feed(payload, &mut self.words, observer) {
            s.decoder = Decoder::Lost;
            s.counts.corrupt += 1;
            s.counts.skipped += s.bytes.saturating_sub(at.max(begin));
            observer.corrupt(&s.file(stream), at, why);
        } else if s.is_corrupt() {
            s.counts.skipped += payload.len() as u64;
        }
    }

    /// Nothing more comes: every stream ends where it is.
    pub fn close<O: Observer + ?Sized>(&mut self, observer: &mut O) {
        for (at, stream) in self.streams.iter_mut().enumerate() {
            stream.end(at, &mut self.words, observer);
        }
    }
}

/// Where a fault is in its file, and what it is.
pub(crate) type Lost = (u64, Corrupt);

/// What reads a file.
#[derive(Debug)]
pub(crate) enum Decoder {
    Trace(Box<Resume<Trace>>),
    Calls(Box<(Resume<Calls>, Threads)>),
    Values(Box<Resume<Values>>, BigKind),
    Dictionary(Box<Resume<Phrases<DictionaryReader>>>),
    Suspend(Box<Resume<Phrases<PauseReader>>>),
    Params(Box<Resume<Phrases<DefinitionReader>>>),
    Gc(Lines),
    Opaque,
    /// It could not be read.
    Lost,
}

/// Which stream a value is in, and in which file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BigKind {
    xml: bool,
    file: u32,
}

/// Names of the threads of one file of calls; `None` when a limit was reached.
pub(crate) type Threads = Vec<Option<Arc<str>>>;

impl Decoder {
    pub(crate) fn new(kind: StreamKind, sequence: i32) -> Self {
        let file = sequence.cast_unsigned().wrapping_add(1);
        let words =
            |positional| Box::new(Resume::new(Phrases::new(DictionaryReader::new(positional))));
        match kind {
            StreamKind::Trace => Self::Trace(Box::new(Resume::new(Trace::new(file)))),
            StreamKind::Calls => {
                Self::Calls(Box::new((Resume::new(Calls::default()), Threads::new())))
            }
            StreamKind::Xml => {
                Self::Values(Box::new(Resume::new(Values::default())), BigKind { xml: true, file })
            }
            StreamKind::Sql => {
                Self::Values(Box::new(Resume::new(Values::default())), BigKind { xml: false, file })
            }
            StreamKind::Dictionary => Self::Dictionary(words(false)),
            StreamKind::PosDictionary => Self::Dictionary(words(true)),
            StreamKind::Suspend => Self::Suspend(Box::new(Resume::new(Phrases::default()))),
            StreamKind::Params => Self::Params(Box::new(Resume::new(Phrases::default()))),
            StreamKind::Gc => Self::Gc(Lines::default()),
            StreamKind::Opaque => Self::Opaque,
        }
    }

    /// Bytes allocated, about: what a decoder keeps of one record is bounded by
    /// [`limits::CALL_TEXT`].
    pub(crate) fn memory(&self) -> usize {
        const USUAL: usize = 1 << 10;
        match self {
            Self::Calls(calls) => 2 * USUAL + calls.1.capacity() * size_of::<Option<Arc<str>>>(),
            _ => USUAL,
        }
    }

    pub(crate) fn feed<O: Observer + ?Sized>(
        &mut self,
        bytes: &[u8],
        words: &mut Words,
        observer: &mut O,
    ) -> Result<(), Lost> {
        match self {
            Self::Trace(trace) => lost(trace, bytes, &mut Told { observer, words }),
            Self::Calls(calls) => {
                let (calls, threads) = &mut **calls;
                lost(calls, bytes, &mut ToldCalls { observer, words, threads })
            }
            Self::Values(values, kind) => {
                lost(values, bytes, &mut ToldValues { observer, kind: *kind })
            }
            Self::Dictionary(dictionary) => lost(dictionary, bytes, &mut Told { observer, words }),
            Self::Suspend(suspend) => lost(suspend, bytes, &mut Told { observer, words }),
            Self::Params(params) => lost(params, bytes, &mut Told { observer, words }),
            Self::Gc(lines) => {
                lines.feed(bytes, &mut Told { observer, words });
                Ok(())
            }
            Self::Opaque | Self::Lost => Ok(()),
        }
    }

    /// Nothing more comes; whether a record was begun.
    pub(crate) fn end<O: Observer + ?Sized>(
        &mut self,
        words: &mut Words,
        observer: &mut O,
    ) -> bool {
        let mut told = Told { observer, words };
        // Which visitor it is makes no difference to where a machine stands.
        match std::mem::replace(self, Self::Opaque) {
            Self::Trace(trace) => !trace.is_whole::<Told<'_, O>>(),
            Self::Calls(calls) => !calls.0.is_whole::<ToldCalls<'_, O>>(),
            Self::Values(values, _) => !values.is_whole::<ToldValues<'_, O>>(),
            Self::Dictionary(dictionary) => !dictionary.is_whole::<Told<'_, O>>(),
            Self::Suspend(suspend) => !suspend.is_whole::<Told<'_, O>>(),
            Self::Params(params) => !params.is_whole::<Told<'_, O>>(),
            Self::Gc(mut lines) => {
                lines.end(&mut told);
                false
            }
            Self::Opaque | Self::Lost => false,
        }
    }
}

fn lost<M: Machine<V>, V>(
    resume: &mut Resume<M>,
    bytes: &[u8],
    visitor: &mut V,
) -> Result<(), Lost> {
    resume.feed(bytes, visitor).map_err(|why| (resume.offset(), why))
}

/// Records that need the words at most.
struct Told<'a, O: ?Sized> {
    observer: &'a mut O,
    words: &'a mut Words,
}

impl<O: Observer + ?Sized> TraceVisitor for Told<'_, O> {
    #[inline]
    fn block(&mut self, block: &Block) {
        self.observer.trace_block(block);
    }

    // There are a dozen of them for each call: what is made for one event must not go through
    // memory.
    #[inline(always)]
    fn event(&mut self, block: &Block, event: &TraceEvent<'_>) {
        if let TraceKind::Tag { param, value: TagValue::Inline(text) | TagValue::Indexed(text) } =
            event.kind
            && let Some(calls) = self.words.lost_calls(param, text)
        {
            self.observer.calls_lost(calls);
        }
        self.observer.trace_event(block, event, self.words);
    }

    #[inline]
    fn block_end(&mut self, block: &Block, events: u32) {
        self.observer.trace_block_end(block, events);
    }
}

impl<O: Observer + ?Sized> WordVisitor for Told<'_, O> {
    fn word(&mut self, id: Option<u32>, word: Text<'_>) {
        let (id, taken) = self.words.put(id, word);
        self.observer.word(id, self.words.get(id).filter(|_| taken), self.words);
        if let Some(calls) = self.words.late_lost_calls(id) {
            self.observer.calls_lost(calls);
        }
    }
}

impl<O: Observer + ?Sized> PauseVisitor for Told<'_, O> {
    fn pause(&mut self, pause: Pause) {
        self.observer.pause(&pause);
    }
}

impl<O: Observer + ?Sized> DefinitionVisitor for Told<'_, O> {
    fn definition(&mut self, definition: &Definition<'_>) {
        self.observer.definition(definition);
    }
}

impl<O: Observer + ?Sized> GcVisitor for Told<'_, O> {
    fn gc_pause(&mut self, pause: &GcPause<'_>) {
        self.observer.gc_pause(pause);
    }
}

struct ToldCalls<'a, O: ?Sized> {
    observer: &'a mut O,
    words: &'a Words,
    threads: &'a mut Threads,
}

impl<O: Observer + ?Sized> CallVisitor for ToldCalls<'_, O> {
    fn thread(&mut self, name: Text<'_>) {
        if self.threads.len() < limits::THREADS {
            let name = self.words.share(name);
            self.threads.push(name);
        }
    }

    #[inline]
    fn call(&mut self, numbers: &Call<'static>, params: Params<'_>) {
        let thread_name = self.threads.get(numbers.thread as usize).and_then(Option::as_ref);
        self.observer.call(&Call { thread_name, params, ..*numbers }, self.words);
    }
}

struct ToldValues<'a, O: ?Sized> {
    observer: &'a mut O,
    kind: BigKind,
}

impl<O: Observer + ?Sized> ValueVisitor for ToldValues<'_, O> {
    fn value(&mut self, offset: u64, text: Text<'_>) {
        let value = BigValue { file: self.kind.file, offset, text };
        if self.kind.xml { self.observer.xml(&value) } else { self.observer.sql(&value) }
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "test")]
mod tests;
