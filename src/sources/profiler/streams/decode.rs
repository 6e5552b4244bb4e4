//! The decoder of one file, by kind of stream, and the way from its records to the observer.

use std::sync::Arc;

use super::calls::{self, Calls};
use super::dictionary;
use super::gc::{self, Lines};
use super::gc_line::GcPause;
use super::observer::Observer;
use super::params;
use super::phrases::Phrases;
use super::pod::Lost;
use super::record::{
    BigValue, Block, Call, Definition, Params, Pause, TagValue, TraceEvent, TraceKind,
};
use super::resume::{Machine, Resume};
use super::suspend::{self, Suspend};
use super::text::Text;
use super::trace::{self, Trace};
use super::values::{self, Values};
use crate::sources::profiler::limits;
use crate::sources::profiler::wire::kind::StreamKind;
use crate::sources::profiler::words::Words;

/// What reads a file.
#[derive(Debug)]
pub(crate) enum Decoder {
    Trace(Box<Resume<Trace>>),
    Calls(Box<(Resume<Calls>, Threads)>),
    Values(Box<Resume<Values>>, BigKind),
    Dictionary(Box<Resume<Phrases<dictionary::Words>>>),
    Suspend(Box<Resume<Phrases<Suspend>>>),
    Params(Box<Resume<Phrases<params::Params>>>),
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
            |positional| Box::new(Resume::new(Phrases::new(dictionary::Words::new(positional))));
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

impl<O: Observer + ?Sized> trace::Visitor for Told<'_, O> {
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

impl<O: Observer + ?Sized> dictionary::Visitor for Told<'_, O> {
    fn word(&mut self, id: Option<u32>, word: Text<'_>) {
        let (id, taken) = self.words.put(id, word);
        self.observer.word(id, self.words.get(id).filter(|_| taken), self.words);
        if let Some(calls) = self.words.late_lost_calls(id) {
            self.observer.calls_lost(calls);
        }
    }
}

impl<O: Observer + ?Sized> suspend::Visitor for Told<'_, O> {
    fn pause(&mut self, pause: Pause) {
        self.observer.pause(&pause);
    }
}

impl<O: Observer + ?Sized> params::Visitor for Told<'_, O> {
    fn definition(&mut self, definition: &Definition<'_>) {
        self.observer.definition(definition);
    }
}

impl<O: Observer + ?Sized> gc::Visitor for Told<'_, O> {
    fn gc_pause(&mut self, pause: &GcPause<'_>) {
        self.observer.gc_pause(pause);
    }
}

struct ToldCalls<'a, O: ?Sized> {
    observer: &'a mut O,
    words: &'a Words,
    threads: &'a mut Threads,
}

impl<O: Observer + ?Sized> calls::Visitor for ToldCalls<'_, O> {
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

impl<O: Observer + ?Sized> values::Visitor for ToldValues<'_, O> {
    fn value(&mut self, offset: u64, text: Text<'_>) {
        let value = BigValue { file: self.kind.file, offset, text };
        if self.kind.xml { self.observer.xml(&value) } else { self.observer.sql(&value) }
    }
}
