//! The streams of one connection (docs/protocols/java-profiler.md B): [`Streams`] passes each payload to the
//! [`Decoder`] of its open file, and the decoders pass records to the [`Observer`].

mod calls;
pub(super) mod gc;
mod phrases;
pub(super) mod record;
pub(super) mod scan;
pub(super) mod trace;

use std::borrow::Cow;
use std::sync::Arc;

use self::calls::CallReader;
use self::gc::LogLines;
use self::phrases::{DefinitionReader, DictionaryReader, PauseReader, Phrases, ValueReader};
use self::record::{Block, Chunk, File, Observer, TagValue, TraceEvent, TraceKind};
use self::scan::{DecodeError, Resume, Scan};
use self::trace::{ShortEvents, TraceReader};
use super::dictionary::shared::Interner;
use super::dictionary::{Dictionary, Text};
use super::wire::{Opened, StreamKind};
use crate::model::HeapSize;

/// Counts of a stream, over all its files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// RCV_DATA commands.
    pub chunks: u64,
    /// Bytes of their payloads.
    pub bytes: u64,
    /// Openings after the first.
    pub rotations: u64,
    /// Files with a decode error.
    pub corrupt: u64,
    /// Bytes skipped behind decode errors.
    pub skipped: u64,
    /// Files that ended inside a record.
    pub torn: u64,
}

/// One stream of a connection.
#[derive(Debug)]
pub struct Stream {
    name: Cow<'static, str>,
    kind: StreamKind,
    sequence: i32,
    decoder: Decoder,
    counts: Counts,
    /// Payloads and bytes of the open file.
    chunks: u64,
    bytes: u64,
}

impl HeapSize for Stream {
    fn heap_size(&self) -> usize {
        let name = match &self.name {
            Cow::Owned(name) => name.heap_size(),
            Cow::Borrowed(_) => 0,
        };
        name + self.decoder.heap_size()
    }
}

impl Stream {
    /// The name it is opened with.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The content, by name.
    #[must_use]
    pub const fn kind(&self) -> StreamKind {
        self.kind
    }

    /// Sequence of the open file.
    #[must_use]
    pub const fn sequence(&self) -> i32 {
        self.sequence
    }

    /// Counts over all files.
    #[must_use]
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The open file had a decode error: its rest is skipped.
    #[must_use]
    pub const fn is_corrupt(&self) -> bool {
        matches!(self.decoder, Decoder::Broken)
    }

    fn file(&self, stream: usize) -> File<'_> {
        File { stream, name: &self.name, kind: self.kind, sequence: self.sequence }
    }

    fn end<O: Observer + ?Sized>(&mut self, stream: usize, observer: &mut O) {
        let torn = self.decoder.end(observer);
        self.counts.torn += u64::from(torn);
        observer.ended(&self.file(stream), torn);
    }
}

/// All streams of one connection, and the dictionary that they share.
#[derive(Debug)]
pub struct Streams {
    words: Dictionary,
    streams: Vec<Stream>,
}

crate::heap_size!(Streams { each streams });

impl Streams {
    /// No streams yet. The interner shares words with other pods.
    #[must_use]
    pub fn new(interner: Arc<Interner>) -> Self {
        Self { words: Dictionary::new(interner), streams: Vec::new() }
    }

    /// The dictionary.
    #[must_use]
    pub const fn dictionary(&self) -> &Dictionary {
        &self.words
    }

    /// All streams, in the order of their first opening.
    #[must_use]
    pub fn all(&self) -> &[Stream] {
        &self.streams
    }

    /// Adopts the dictionary of an earlier connection and reports its words as if they were new.
    pub(crate) fn adopt<O: Observer + ?Sized>(&mut self, words: Dictionary, observer: &mut O) {
        self.words.adopt(words);
        let known: Vec<(u32, Arc<str>)> =
            self.words.iter().map(|(id, word)| (id, Arc::clone(word))).collect();
        for (id, word) in known {
            observer.word(id, Some(&word), &self.words);
            if let Some(calls) = self.words.late_lost_calls(id) {
                observer.calls_lost(calls);
            }
        }
    }

    /// The connection is idle: memory that it does not need is shared or freed.
    pub(crate) fn rest(&mut self) {
        self.words.rest();
        self.streams.iter_mut().for_each(|stream| stream.decoder.rest());
    }

    /// Takes the dictionary out, for a later connection.
    pub(crate) fn take_dictionary(&mut self) -> Dictionary {
        let nothing = self.words.new_empty();
        std::mem::replace(&mut self.words, nothing)
    }

    /// Opens the next file of a known stream, or the first file of a new stream with the next
    /// index.
    pub fn open<O: Observer + ?Sized>(&mut self, opened: &Opened<'_>, observer: &mut O) {
        // Agents reset only dictionaries; another stream must not drop the words.
        if opened.reset && matches!(opened.kind, StreamKind::Dictionary | StreamKind::PosDictionary)
        {
            observer.dictionary_reset(&self.words);
            self.words.reset();
        }
        let decoder = Decoder::new(opened.kind, opened.sequence);
        if let Some(stream) = self.streams.get_mut(opened.stream) {
            stream.end(opened.stream, observer);
            (stream.decoder, stream.sequence) = (decoder, opened.sequence);
            (stream.chunks, stream.bytes) = (0, 0);
            stream.counts.rotations += 1;
        } else if self.streams.len() == opened.stream {
            self.streams.push(Stream {
                name: StreamKind::keep(opened.name),
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

    /// Decodes one payload of a stream and reports whole records. A decode error is reported once;
    /// the rest of the file is skipped.
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
            s.decoder = Decoder::Broken;
            s.counts.corrupt += 1;
            s.counts.skipped += s.bytes.saturating_sub(at.max(begin));
            observer.corrupt(&s.file(stream), at, why);
        } else if s.is_corrupt() {
            s.counts.skipped += payload.len() as u64;
        }
    }

    /// The connection ends: all files end.
    pub fn close<O: Observer + ?Sized>(&mut self, observer: &mut O) {
        for (at, stream) in self.streams.iter_mut().enumerate() {
            stream.end(at, observer);
        }
    }
}

/// Offset of a decode error in its file, and the error.
pub(crate) type ErrorAt = (u64, DecodeError);

/// The decoder of one file.
#[derive(Debug)]
pub(crate) enum Decoder {
    Trace(Box<Resume<TraceReader>>),
    Calls(Box<Resume<CallReader>>),
    Values(Box<Resume<ValueReader>>),
    Dictionary(Box<Resume<Phrases<DictionaryReader>>>),
    Suspend(Box<Resume<Phrases<PauseReader>>>),
    Params(Box<Resume<Phrases<DefinitionReader>>>),
    Gc(LogLines),
    Opaque,
    /// After a decode error: the rest is skipped.
    Broken,
}

impl HeapSize for Decoder {
    /// An estimate: the buffers of one record are bounded by
    /// [`CALL_TEXT`](crate::sources::profiler::limits::CALL_TEXT).
    fn heap_size(&self) -> usize {
        const USUAL: usize = 1 << 10;
        match self {
            Self::Calls(calls) => 2 * USUAL + calls.machine.heap_size(),
            _ => USUAL,
        }
    }
}

impl Decoder {
    pub(crate) fn new(kind: StreamKind, sequence: i32) -> Self {
        let file = sequence.cast_unsigned().wrapping_add(1);
        let words =
            |positional| Box::new(Resume::new(Phrases::new(DictionaryReader::new(positional))));
        let values = |xml| Self::Values(Box::new(Resume::new(ValueReader::new(xml, file))));
        match kind {
            StreamKind::Trace => Self::Trace(Box::new(Resume::new(TraceReader::new(file)))),
            StreamKind::Calls => Self::Calls(Box::new(Resume::new(CallReader::default()))),
            StreamKind::Xml => values(true),
            StreamKind::Sql => values(false),
            StreamKind::Dictionary => Self::Dictionary(words(false)),
            StreamKind::PosDictionary => Self::Dictionary(words(true)),
            StreamKind::Suspend => Self::Suspend(Box::new(Resume::new(Phrases::default()))),
            StreamKind::Params => Self::Params(Box::new(Resume::new(Phrases::default()))),
            StreamKind::Gc => Self::Gc(LogLines::default()),
            StreamKind::Opaque => Self::Opaque,
        }
    }

    /// Frees memory that an idle connection does not need.
    fn rest(&mut self) {
        match self {
            Self::Trace(trace) => trace.rest(),
            Self::Calls(calls) => calls.rest(),
            Self::Values(values) => values.rest(),
            Self::Dictionary(dictionary) => dictionary.rest(),
            Self::Suspend(suspend) => suspend.rest(),
            Self::Params(params) => params.rest(),
            Self::Gc(_) | Self::Opaque | Self::Broken => {}
        }
    }

    pub(crate) fn feed<O: Observer + ?Sized>(
        &mut self,
        bytes: &[u8],
        words: &mut Dictionary,
        observer: &mut O,
    ) -> Result<(), ErrorAt> {
        let out = &mut Output { observer, words };
        match self {
            Self::Trace(trace) => trace.feed(bytes, out),
            Self::Calls(calls) => calls.feed(bytes, out),
            Self::Values(values) => values.feed(bytes, out),
            Self::Dictionary(dictionary) => dictionary.feed(bytes, out),
            Self::Suspend(suspend) => suspend.feed(bytes, out),
            Self::Params(params) => params.feed(bytes, out),
            Self::Gc(lines) => {
                lines.feed(bytes, &mut |pause| out.observer.gc_pause(pause));
                Ok(())
            }
            Self::Opaque | Self::Broken => Ok(()),
        }
    }

    /// The file ends; true if it ends within a record.
    pub(crate) fn end<O: Observer + ?Sized>(&mut self, observer: &mut O) -> bool {
        match std::mem::replace(self, Self::Opaque) {
            Self::Trace(trace) => !trace.is_whole(),
            Self::Calls(calls) => !calls.is_whole(),
            Self::Values(values) => !values.is_whole(),
            Self::Dictionary(dictionary) => !dictionary.is_whole(),
            Self::Suspend(suspend) => !suspend.is_whole(),
            Self::Params(params) => !params.is_whole(),
            Self::Gc(mut lines) => {
                lines.end(&mut |pause| observer.gc_pause(pause));
                false
            }
            Self::Opaque | Self::Broken => false,
        }
    }
}

/// Takes the records of a file.
pub(crate) struct Output<'a, O: ?Sized> {
    observer: &'a mut O,
    words: &'a mut Dictionary,
}

impl<O: Observer + ?Sized> Output<'_, O> {
    /// An event of a trace's block.
    // Each call has about a dozen events: inlining keeps an event in registers.
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

    /// Reads [`ShortEvents`] of a block, of which the last one was at `time_ms`; returns their number.
    #[inline(always)]
    fn short_events(
        &mut self,
        block: &Block,
        scan: &mut Scan<'_>,
        time_ms: &mut i64,
        index: u32,
    ) -> u32 {
        let mut events = ShortEvents::new(scan.rest(), *time_ms, index, self.words);
        self.observer.short_events(block, &mut events);
        *time_ms = events.time_ms;
        let _ = scan.up_to(scan.rest().len() - events.rest.len());
        events.counts.all()
    }

    /// A word; `None`: it has the next id.
    fn word(&mut self, id: Option<u32>, word: Text<'_>) {
        let (id, taken) = self.words.put(id, word);
        self.observer.word(id, self.words.get(id).filter(|_| taken), self.words);
        if let Some(calls) = self.words.late_lost_calls(id) {
            self.observer.calls_lost(calls);
        }
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "test")]
mod tests;
