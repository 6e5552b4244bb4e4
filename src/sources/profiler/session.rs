//! One agent's connection as a session: the decoders, and what makes metrics and events of their
//! records.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::{BufMut, BytesMut};

use super::dictionary::Dictionary;
use super::dictionary::cache::{DictionaryCache, Jvm};
use super::dictionary::interner::Interner;
use super::limits;
use super::meter::pod_metrics::{PodMetrics, PodObserver};
use super::metrics::{ERROR_DICTIONARY, ERROR_PROTOCOL};
use super::records::pending::PendingBudget;
use super::streams::decode::{Stream, Streams};
use super::streams::record::Observer;
use super::wire::command::{self as wire, Event, Settings, StreamKind, Violation};
use super::wire::dialogue::Dialogue;
use crate::model::{Control, Memory, Now, Update};
use crate::sources::{Held, Session, SessionError, Sink};

/// A connection that has not said who it is within this time is closed.
const HELLO: Duration = Duration::from_secs(10);

/// Calls that come without any dictionary are waited with for this long: an older connection of the
/// same JVM may still be about to leave its own.
const NAMELESS: Duration = Duration::from_secs(2);

/// What the configuration says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// What agents are told.
    pub settings: Settings,
    /// Agents that are silent for so long are gone: they flush every 5 s.
    pub idle: Duration,
    /// The trace is followed for `stack.time`.
    pub stacks: bool,
    /// Indexed parameters that get an event parameter of their own, beside those that always have
    /// one: at most [`super::PARAMETERS_MAX`].
    pub parameters: Arc<[String]>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            settings: Settings::default(),
            idle: Duration::from_secs(61),
            stacks: true,
            parameters: Arc::default(),
        }
    }
}

/// The collector's side of one connection.
#[derive(Debug)]
pub struct AgentSession {
    connection: Connection,
    metrics: PodMetrics,
    options: Options,
    shared: Arc<SharedState>,
    heard: Option<Duration>,
    /// Since when there are calls without a dictionary.
    nameless: Option<Duration>,
    /// The agent has been told that the connection ends.
    refused: bool,
}

impl AgentSession {
    /// `address` is where the agent is.
    #[must_use]
    pub fn new(address: String, options: Options, shared: Arc<SharedState>) -> Self {
        let (interner, waiting) = (Arc::clone(&shared.interner), Arc::clone(&shared.waiting));
        Self {
            connection: Connection::new(options.settings, interner),
            metrics: PodMetrics::new(
                address,
                options.stacks,
                Arc::clone(&options.parameters),
                waiting,
            ),
            options,
            shared,
            heard: None,
            nameless: None,
            refused: false,
        }
    }

    /// An agent that came back in the middle of a rotation does not send its dictionary again.
    fn find_words(&mut self, now: Now, sink: &mut dyn Sink) {
        let Self { connection, metrics, shared, .. } = self;
        if let Some(jvm) = connection.wants_dictionary()
            && let Some(words) = shared.take(now.mono, jvm)
        {
            connection.adopt(words, &mut PodObserver { pod: metrics, sink, now });
        }
    }
}

impl Session for AgentSession {
    fn feed(
        &mut self,
        now: Now,
        input: &mut BytesMut,
        out: &mut BytesMut,
        sink: &mut dyn Sink,
    ) -> Result<(), SessionError> {
        self.heard = Some(now.mono);
        let Self { connection, metrics, .. } = self;
        let fault = connection.feed(input, out, &mut PodObserver { pod: metrics, sink, now }).err();
        self.find_words(now, sink);
        self.metrics.report(now, self.connection.streams().dictionary(), sink, false);
        match fault {
            Some(fault) => {
                self.refused = true;
                sink.update(Update::Count { item: ERROR_PROTOCOL, more: 1 });
                Err(SessionError::Malformed { offset: fault.at, what: fault.what.to_string() })
            }
            None if self.connection.ended() => Err(SessionError::Closed("the JVM has ended")),
            None => Ok(()),
        }
    }

    fn tick(
        &mut self,
        now: Now,
        out: &mut BytesMut,
        sink: &mut dyn Sink,
    ) -> Result<(), SessionError> {
        self.connection.tick();
        let silent = now.mono.saturating_sub(*self.heard.get_or_insert(now.mono));
        if !self.established() {
            return if silent >= HELLO { Err(SessionError::Timeout("hello")) } else { Ok(()) };
        }
        if silent >= self.options.idle {
            return Err(SessionError::Timeout("command"));
        }
        self.find_words(now, sink);
        self.shared.tick(now.mono);
        self.metrics.tick(now, self.connection.streams().dictionary(), sink);
        if !self.connection.lacks_dictionary() {
            self.nameless = None;
        } else if now.mono.saturating_sub(*self.nameless.get_or_insert(now.mono)) >= NAMELESS {
            self.refused = true;
            out.put_u8(wire::ERROR);
            sink.update(Update::Count { item: ERROR_DICTIONARY, more: 1 });
            let what =
                "calls, but no dictionary since the PMDA runs; the agent is told to start anew";
            return Err(SessionError::Malformed {
                offset: self.connection.dialogue().consumed(),
                what: what.into(),
            });
        }
        Ok(())
    }

    fn control(
        &mut self,
        _: Now,
        request: &Control,
        _: &mut BytesMut,
        _: &mut dyn Sink,
    ) -> Result<(), SessionError> {
        match request {
            Control::Replaced => {
                Err(SessionError::Closed("a newer connection of the same JVM took over"))
            }
            Control::Request(..) | Control::Select(_) => Ok(()),
        }
    }

    fn close(&mut self, now: Now, out: &mut BytesMut, sink: &mut dyn Sink) {
        if !self.established() {
            return;
        }
        let Self { connection, metrics, shared, .. } = self;
        connection.close(&mut PodObserver { pod: metrics, sink, now });
        metrics.close(now, connection.streams().dictionary(), sink);
        if connection.ended() {
            return;
        }
        if !self.refused {
            // Agents take the end of a connection for a pause, and try to read for 30 s more; this
            // they understand at once.
            out.put_u8(wire::ERROR);
        }
        if let Some((jvm, words)) = connection.leave() {
            shared.keep(now.mono, jvm, words);
        }
    }

    fn unfinished(&self) -> bool {
        self.connection.unfinished()
    }

    fn held(&self) -> Held {
        let own = size_of::<Self>() + self.connection.memory() + self.metrics.memory();
        Held { own, shared: self.connection.streams().dictionary().cost() }
    }

    fn established(&self) -> bool {
        self.connection.dialogue().established()
    }
}

/// One agent's connection, without I/O and without a clock.
///
/// The driver owes it: [`feed`](Self::feed) whenever bytes have come, then all of `out` sent;
/// [`close`](Self::close) exactly once at the end; and nothing else after an error or once it has
/// [`ended`](Self::ended).
#[derive(Debug)]
pub struct Connection {
    dialogue: Dialogue,
    streams: Streams,
    /// Who it is, once it has said so.
    jvm: Option<Jvm>,
    /// It has a dictionary: opened on this connection, or adopted.
    dictionary: bool,
}

impl Connection {
    /// For a new connection.
    #[must_use]
    pub fn new(settings: Settings, interner: Arc<Interner>) -> Self {
        Self {
            dialogue: Dialogue::new(settings),
            streams: Streams::new(interner),
            jvm: None,
            dictionary: false,
        }
    }

    /// Consumes whole commands from the front of `input`, leaves a partial one, appends the replies
    /// to `out`, and tells the observer.
    ///
    /// # Errors
    /// [`Violation`]: send `out`, then close.
    pub fn feed<O>(
        &mut self,
        input: &mut BytesMut,
        out: &mut BytesMut,
        observer: &mut O,
    ) -> Result<(), Violation>
    where
        O: Observer + ?Sized,
    {
        let Self { dialogue, streams, jvm, dictionary } = self;
        dialogue.feed(input, out, &mut |event| match event {
            Event::Data { stream, payload } => streams.data(stream, payload, observer),
            Event::Flush => observer.flush(),
            Event::Opened(opened) => {
                *dictionary |=
                    matches!(opened.kind, StreamKind::Dictionary | StreamKind::PosDictionary);
                streams.open(&opened, observer);
            }
            Event::Hello(hello) => {
                *jvm = Some(Jvm::of(&hello));
                observer.hello(&hello);
            }
            Event::CommandResult { id, ok } => observer.command_result(&id, ok),
            // Told by `close`.
            Event::Close => {}
        })
    }

    /// The last [`feed`](Self::feed) has stopped before all was done; the next goes on.
    #[must_use]
    pub const fn unfinished(&self) -> bool {
        self.dialogue.unfinished()
    }

    /// A second has passed.
    pub const fn tick(&mut self) {
        self.dialogue.tick();
    }

    /// Bytes allocated, without the words.
    #[must_use]
    pub fn memory(&self) -> usize {
        size_of::<Self>() + self.dialogue.memory() + self.streams.memory()
    }

    /// Who it is, as long as it has no dictionary. The driver looks for one that another connection
    /// of the same JVM has left.
    #[must_use]
    pub fn wants_dictionary(&self) -> Option<&Jvm> {
        self.jvm.as_ref().filter(|_| !self.dictionary)
    }

    /// Data of calls came, whose names nobody knows: without [`adopt`](Self::adopt), the agent must
    /// be told to start anew.
    #[must_use]
    pub fn lacks_dictionary(&self) -> bool {
        let calls = |s: &Stream| s.kind() == StreamKind::Calls && s.counts().bytes > 0;
        !self.dictionary && self.streams.all().iter().any(calls)
    }

    /// The words that another connection of the same JVM has left: ids go on to mean them.
    pub fn adopt<O: Observer + ?Sized>(&mut self, words: Dictionary, observer: &mut O) {
        self.dictionary = true;
        self.streams.adopt(words, observer);
    }

    /// After [`close`](Self::close), the words for the next connection of the same JVM.
    pub fn leave(&mut self) -> Option<(Jvm, Dictionary)> {
        Some((self.jvm.take()?, self.streams.leave()))
    }

    /// The connection is gone, or is about to be closed by us.
    pub fn close<O: Observer + ?Sized>(&mut self, observer: &mut O) {
        self.streams.close(observer);
        observer.closed(self.dialogue.ended());
    }

    /// The agent has said good-bye: the driver closes.
    #[must_use]
    pub const fn ended(&self) -> bool {
        self.dialogue.ended()
    }

    /// The conversation.
    #[must_use]
    pub const fn dialogue(&self) -> &Dialogue {
        &self.dialogue
    }

    /// The streams.
    #[must_use]
    pub const fn streams(&self) -> &Streams {
        &self.streams
    }
}

/// Dictionary, dictionaries of those that may come back, and the room for calls that wait for names.
#[derive(Debug)]
pub struct SharedState {
    pub(super) interner: Arc<Interner>,
    pub(super) waiting: Arc<PendingBudget>,
    kept: Mutex<DictionaryCache>,
}

impl SharedState {
    /// For words of at most `max` bytes in all.
    #[must_use]
    pub fn new(max: usize) -> Self {
        Self::within(max, &Arc::default())
    }

    /// The same, as far as a budget of memory goes.
    #[must_use]
    pub fn within(max: usize, memory: &Arc<Memory>) -> Self {
        let kept = Mutex::new(DictionaryCache::new(limits::KEPT_TEXT.min(max / 4)));
        Self {
            interner: Arc::new(Interner::within(max, memory)),
            waiting: Arc::new(PendingBudget::new(memory)),
            kept,
        }
    }

    /// The connection of a JVM has gone, but the JVM has not.
    pub(super) fn keep(&self, now: Duration, jvm: Jvm, words: Dictionary) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).put(now, jvm, words);
    }

    /// The dictionary of the JVM's last connection.
    pub(super) fn take(&self, now: Duration, jvm: &Jvm) -> Option<Dictionary> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).take(now, jvm)
    }

    /// Time has passed.
    pub(super) fn tick(&self, now: Duration) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).expire(now);
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "test")]
mod tests;
