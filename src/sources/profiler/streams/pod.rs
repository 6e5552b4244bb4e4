//! The streams of one pod: which bytes go to which decoder, and what becomes of their records.

use std::sync::Arc;

use super::decode::Decoder;
use super::observer::{Chunk, File, Observer};
use super::record::Corrupt;
use crate::sources::profiler::wire::event::Opened;
use crate::sources::profiler::wire::kind::StreamKind;
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
pub struct Pod {
    words: Words,
    streams: Vec<Stream>,
}

impl Pod {
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

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "test")]
mod tests;
