//! One agent's connection as a session: the decoders, and what makes metrics and events of their
//! records.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::{BufMut, BytesMut};

use super::limits;
use super::meter::pod_metrics::{Meter, Pod};
use super::metrics::{ERROR_DICTIONARY, ERROR_PROTOCOL};
use super::records::pending::Budget;
use super::streams::decode::{Stream, Streams};
use super::streams::record::Observer;
use super::wire::command::{self as wire, Event, Fault, Settings, StreamKind};
use super::wire::dialogue::Transport;
use super::words::Words;
use super::words::cache::{Jvm, Kept};
use super::words::interner::Interner;
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
pub struct Collector {
    connection: Connection,
    pod: Pod,
    options: Options,
    shared: Arc<Shared>,
    heard: Option<Duration>,
    /// Since when there are calls without a dictionary.
    nameless: Option<Duration>,
    /// The agent has been told that the connection ends.
    refused: bool,
}

impl Collector {
    /// `address` is where the agent is.
    #[must_use]
    pub fn new(address: String, options: Options, shared: Arc<Shared>) -> Self {
        let (interner, waiting) = (Arc::clone(&shared.interner), Arc::clone(&shared.waiting));
        Self {
            connection: Connection::new(options.settings, interner),
            pod: Pod::new(address, options.stacks, Arc::clone(&options.parameters), waiting),
            options,
            shared,
            heard: None,
            nameless: None,
            refused: false,
        }
    }

    /// An agent that came back in the middle of a rotation does not send its dictionary again.
    fn find_words(&mut self, now: Now, sink: &mut dyn Sink) {
        let Self { connection, pod, shared, .. } = self;
        if let Some(jvm) = connection.wants_words()
            && let Some(words) = shared.take(now.mono, jvm)
        {
            connection.adopt(words, &mut Meter { pod, sink, now });
        }
    }
}

impl Session for Collector {
    fn feed(
        &mut self,
        now: Now,
        input: &mut BytesMut,
        out: &mut BytesMut,
        sink: &mut dyn Sink,
    ) -> Result<(), SessionError> {
        self.heard = Some(now.mono);
        let Self { connection, pod, .. } = self;
        let fault = connection.feed(input, out, &mut Meter { pod, sink, now }).err();
        self.find_words(now, sink);
        self.pod.settle(now, self.connection.pod().words(), sink, false);
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
        self.pod.tick(now, self.connection.pod().words(), sink);
        if !self.connection.is_nameless() {
            self.nameless = None;
        } else if now.mono.saturating_sub(*self.nameless.get_or_insert(now.mono)) >= NAMELESS {
            self.refused = true;
            out.put_u8(wire::ERROR);
            sink.update(Update::Count { item: ERROR_DICTIONARY, more: 1 });
            let what =
                "calls, but no dictionary since the PMDA runs; the agent is told to start anew";
            return Err(SessionError::Malformed {
                offset: self.connection.transport().consumed(),
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
        let Self { connection, pod, shared, .. } = self;
        connection.close(&mut Meter { pod, sink, now });
        pod.close(now, connection.pod().words(), sink);
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
        let own = size_of::<Self>() + self.connection.memory() + self.pod.memory();
        Held { own, shared: self.connection.pod().words().cost() }
    }

    fn established(&self) -> bool {
        self.connection.transport().established()
    }
}

/// One agent's connection, without I/O and without a clock.
///
/// The driver owes it: [`feed`](Self::feed) whenever bytes have come, then all of `out` sent;
/// [`close`](Self::close) exactly once at the end; and nothing else after an error or once it has
/// [`ended`](Self::ended).
#[derive(Debug)]
pub struct Connection {
    transport: Transport,
    pod: Streams,
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
            transport: Transport::new(settings),
            pod: Streams::new(interner),
            jvm: None,
            dictionary: false,
        }
    }

    /// Consumes whole commands from the front of `input`, leaves a partial one, appends the replies
    /// to `out`, and tells the observer.
    ///
    /// # Errors
    /// [`Fault`]: send `out`, then close.
    pub fn feed<O>(
        &mut self,
        input: &mut BytesMut,
        out: &mut BytesMut,
        observer: &mut O,
    ) -> Result<(), Fault>
    where
        O: Observer + ?Sized,
    {
        let Self { transport, pod, jvm, dictionary } = self;
        transport.feed(input, out, &mut |event| match event {
            Event::Data { stream, payload } => pod.data(stream, payload, observer),
            Event::Flush => observer.flush(),
            Event::Opened(opened) => {
                *dictionary |=
                    matches!(opened.kind, StreamKind::Dictionary | StreamKind::PosDictionary);
                pod.open(&opened, observer);
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
        self.transport.unfinished()
    }

    /// A second has passed.
    pub const fn tick(&mut self) {
        self.transport.tick();
    }

    /// Bytes allocated, without the words.
    #[must_use]
    pub fn memory(&self) -> usize {
        size_of::<Self>() + self.transport.memory() + self.pod.memory()
    }

    /// Who it is, as long as it has no dictionary. The driver looks for one that another connection
    /// of the same JVM has left.
    #[must_use]
    pub fn wants_words(&self) -> Option<&Jvm> {
        self.jvm.as_ref().filter(|_| !self.dictionary)
    }

    /// Data of calls came, whose names nobody knows: without [`adopt`](Self::adopt), the agent must
    /// be told to start anew.
    #[must_use]
    pub fn is_nameless(&self) -> bool {
        let calls = |s: &Stream| s.kind() == StreamKind::Calls && s.counts().bytes > 0;
        !self.dictionary && self.pod.streams().iter().any(calls)
    }

    /// The words that another connection of the same JVM has left: ids go on to mean them.
    pub fn adopt<O: Observer + ?Sized>(&mut self, words: Words, observer: &mut O) {
        self.dictionary = true;
        self.pod.adopt(words, observer);
    }

    /// After [`close`](Self::close), the words for the next connection of the same JVM.
    pub fn leave(&mut self) -> Option<(Jvm, Words)> {
        Some((self.jvm.take()?, self.pod.leave()))
    }

    /// The connection is gone, or is about to be closed by us.
    pub fn close<O: Observer + ?Sized>(&mut self, observer: &mut O) {
        self.pod.close(observer);
        observer.closed(self.transport.ended());
    }

    /// The agent has said good-bye: the driver closes.
    #[must_use]
    pub const fn ended(&self) -> bool {
        self.transport.ended()
    }

    /// The conversation.
    #[must_use]
    pub const fn transport(&self) -> &Transport {
        &self.transport
    }

    /// The streams.
    #[must_use]
    pub const fn pod(&self) -> &Streams {
        &self.pod
    }
}

/// Words, dictionaries of those that may come back, and the room for calls that wait for names.
#[derive(Debug)]
pub struct Shared {
    pub(super) interner: Arc<Interner>,
    pub(super) waiting: Arc<Budget>,
    kept: Mutex<Kept>,
}

impl Shared {
    /// For words of at most `max` bytes in all.
    #[must_use]
    pub fn new(max: usize) -> Self {
        Self::within(max, &Arc::default())
    }

    /// The same, as far as a budget of memory goes.
    #[must_use]
    pub fn within(max: usize, memory: &Arc<Memory>) -> Self {
        let kept = Mutex::new(Kept::new(limits::KEPT_TEXT.min(max / 4)));
        Self {
            interner: Arc::new(Interner::within(max, memory)),
            waiting: Arc::new(Budget::new(memory)),
            kept,
        }
    }

    /// The connection of a JVM has gone, but the JVM has not.
    pub(super) fn keep(&self, now: Duration, jvm: Jvm, words: Words) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).put(now, jvm, words);
    }

    /// The dictionary of the JVM's last connection.
    pub(super) fn take(&self, now: Duration, jvm: &Jvm) -> Option<Words> {
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
