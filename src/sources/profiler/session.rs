//! The session of one agent: its [`Connection`] decodes requests into records, and [`PodMetrics`]
//! turns them into metrics and events. [`SharedState`] is common to all sessions.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::{BufMut, BytesMut};

use super::dictionary::Dictionary;
use super::dictionary::shared::{DictionaryCache, Interner, Jvm};
use super::meter::pending::PendingBudget;
use super::meter::{PodMetrics, PodObserver};
use super::metrics::{ERROR_DICTIONARY, ERROR_PROTOCOL};
use super::streams::record::Observer;
use super::streams::{Stream, Streams};
use super::wire::dialogue::Dialogue;
use super::wire::{Event, Settings, StreamKind, Violation};
use super::{limits, wire};
use crate::contract::{Control, Held, Peer, Session, SessionError};
use crate::meter::{MergedLatencies, SlowCalls};
use crate::model::{Condition, HeapSize, Memory, Now, TreeRules};

/// Longest time from the connection to hello.
const HELLO: Duration = Duration::from_secs(10);

/// Longest time that a connection may send calls without a dictionary: an older connection of the
/// same JVM may still be using it.
const NO_DICTIONARY: Duration = Duration::from_secs(2);

/// Settings of the sessions, from the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Settings that agents get in replies.
    pub settings: Settings,
    /// Longest silence of a connected agent. Agents flush every 5 s.
    pub idle: Duration,
    /// Whether the trace is evaluated for `stack.time`.
    pub stacks: bool,
    /// Indexed parameters stored as separate event parameters, besides the predefined ones: at most
    /// [`super::PARAMETERS_MAX`].
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

/// The session of one agent.
#[derive(Debug)]
pub struct AgentSession {
    connection: Connection,
    metrics: PodMetrics,
    options: Options,
    shared: Arc<SharedState>,
    /// Time of the last received bytes.
    last_read: Option<Duration>,
    /// Time since which the connection has calls but no dictionary.
    no_dictionary: Option<Duration>,
    /// FF was sent: the agent knows that the connection ends.
    rejected: bool,
}

crate::heap_size!(AgentSession { connection, metrics });

impl AgentSession {
    /// `address`: the address of the agent.
    #[must_use]
    pub fn new(address: String, options: Options, shared: Arc<SharedState>) -> Self {
        let (interner, pending) = (Arc::clone(&shared.interner), Arc::clone(&shared.pending));
        Self {
            connection: Connection::new(options.settings, interner),
            metrics: PodMetrics::new(
                address,
                options.stacks,
                Arc::clone(&options.parameters),
                pending,
                Arc::clone(&shared.latencies),
                Arc::clone(&shared.slow),
            ),
            options,
            shared,
            last_read: None,
            no_dictionary: None,
            rejected: false,
        }
    }

    /// The same of a connection with these ends, the agent's first.
    #[must_use]
    pub fn with_ends(mut self, agent: SocketAddr, ours: SocketAddr) -> Self {
        self.metrics.ends = Some((agent, ours));
        self
    }

    /// Looks for the dictionary of an earlier connection: an agent that reconnects during a
    /// rotation does not send its dictionary again.
    fn find_dictionary(&mut self, now: Now, peer: &mut Peer) {
        let Self { connection, metrics, shared, .. } = self;
        if let Some(jvm) = connection.wants_dictionary()
            && let Some(words) = shared.take(now.monotonic, jvm)
        {
            connection.adopt(words, &mut PodObserver { pod: metrics, peer, now });
        }
    }
}

impl Session for AgentSession {
    fn feed(
        &mut self,
        now: Now,
        input: &mut BytesMut,
        out: &mut BytesMut,
        peer: &mut Peer,
    ) -> Result<(), SessionError> {
        self.last_read = Some(now.monotonic);
        let Self { connection, metrics, .. } = self;
        let violation =
            connection.feed(input, out, &mut PodObserver { pod: metrics, peer, now }).err();
        self.find_dictionary(now, peer);
        self.metrics.report(now, self.connection.streams().dictionary(), peer, false);
        match violation {
            Some(violation) => {
                self.rejected = true;
                peer.add(ERROR_PROTOCOL, 1);
                Err(SessionError::Malformed {
                    offset: violation.at,
                    what: violation.what.to_string(),
                })
            }
            None if self.connection.ended() => Err(SessionError::Closed("the JVM has ended")),
            None => Ok(()),
        }
    }

    fn tick(&mut self, now: Now, out: &mut BytesMut, peer: &mut Peer) -> Result<(), SessionError> {
        self.connection.tick();
        let silent = now.monotonic.saturating_sub(*self.last_read.get_or_insert(now.monotonic));
        if !self.established() {
            return if silent >= HELLO { Err(SessionError::Timeout("hello")) } else { Ok(()) };
        }
        if silent >= self.options.idle {
            return Err(SessionError::Timeout("command"));
        }
        self.find_dictionary(now, peer);
        self.shared.tick(now.monotonic);
        if self.metrics.tick(now, self.connection.streams().dictionary(), peer) {
            self.connection.streams.rest();
        }
        let lacks = self.connection.lacks_dictionary();
        if lacks != self.no_dictionary.is_some() {
            let condition = match lacks {
                true => Condition::Impaired("calls without dictionary".into()),
                false => Condition::Sound,
            };
            peer.condition(condition);
        }
        if !lacks {
            self.no_dictionary = None;
        } else if now.monotonic.saturating_sub(*self.no_dictionary.get_or_insert(now.monotonic))
            >= NO_DICTIONARY
        {
            self.rejected = true;
            out.put_u8(wire::ERROR);
            peer.add(ERROR_DICTIONARY, 1);
            let what =
                "calls, but no dictionary since the start of the PMDA; the agent starts over";
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
        _: &mut Peer,
    ) -> Result<(), SessionError> {
        match request {
            Control::Replaced => {
                Err(SessionError::Closed("a newer connection of the same JVM took over"))
            }
            Control::Request(..) | Control::Select(_) => Ok(()),
        }
    }

    fn close(&mut self, now: Now, out: &mut BytesMut, peer: &mut Peer) {
        if !self.established() {
            return;
        }
        let Self { connection, metrics, shared, .. } = self;
        connection.close(&mut PodObserver { pod: metrics, peer, now });
        metrics.close(now, connection.streams().dictionary(), peer);
        if connection.ended() {
            return;
        }
        if !self.rejected {
            // Agents treat the plain end of a connection as a pause and read for another 30 s; FF
            // makes them start over.
            out.put_u8(wire::ERROR);
        }
        if let Some((jvm, words)) = connection.take_dictionary() {
            shared.keep(now.monotonic, jvm, words);
        }
    }

    fn unfinished(&self) -> bool {
        self.connection.unfinished()
    }

    fn held(&self) -> Held {
        Held {
            own: size_of::<Self>() + self.heap_size(),
            shared: self.connection.streams().dictionary().cost() + self.metrics.shared(),
        }
    }

    fn says_goodbye(&self) -> bool {
        true
    }

    fn established(&self) -> bool {
        self.connection.dialogue().established()
    }
}

/// One connection of an agent: its dialogue and its streams, without I/O and without a clock.
///
/// The driver calls [`feed`](Self::feed) whenever bytes have arrived and then sends all of `out`.
/// It calls [`close`](Self::close) exactly once at the end, and nothing else after an error or once
/// the dialogue has [`ended`](Self::ended).
#[derive(Debug)]
pub struct Connection {
    dialogue: Dialogue,
    streams: Streams,
    /// Identity of the JVM, after hello.
    jvm: Option<Jvm>,
    /// A dictionary was opened on this connection, or adopted.
    dictionary: bool,
}

crate::heap_size!(Connection { dialogue, streams, jvm });

impl Connection {
    /// A connection before its first byte.
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
    /// to `out`, and reports all records to the observer.
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
            // Reported by `close`.
            Event::Close => {}
        })
    }

    /// The last [`feed`](Self::feed) stopped with input left; the next one resumes there.
    #[must_use]
    pub const fn unfinished(&self) -> bool {
        self.dialogue.unfinished()
    }

    /// A second has passed.
    pub const fn tick(&mut self) {
        self.dialogue.tick();
    }

    /// The JVM, while the connection has no dictionary. The driver looks for the dictionary of an
    /// earlier connection of that JVM.
    #[must_use]
    pub fn wants_dictionary(&self) -> Option<&Jvm> {
        self.jvm.as_ref().filter(|_| !self.dictionary)
    }

    /// Whether calls have arrived, but no dictionary: without [`adopt`](Self::adopt) the agent must
    /// start over.
    #[must_use]
    pub fn lacks_dictionary(&self) -> bool {
        let calls = |s: &Stream| s.kind() == StreamKind::Calls && s.counts().bytes > 0;
        !self.dictionary && self.streams.all().iter().any(calls)
    }

    /// Uses the dictionary of an earlier connection of the same JVM: ids keep their words.
    pub fn adopt<O: Observer + ?Sized>(&mut self, words: Dictionary, observer: &mut O) {
        self.dictionary = true;
        self.streams.adopt(words, observer);
    }

    /// After [`close`](Self::close): the dictionary for the next connection of the same JVM.
    pub fn take_dictionary(&mut self) -> Option<(Jvm, Dictionary)> {
        Some((self.jvm.take()?, self.streams.take_dictionary()))
    }

    /// The connection is gone, or this side is about to close it.
    pub fn close<O: Observer + ?Sized>(&mut self, observer: &mut O) {
        self.streams.close(observer);
        observer.closed(self.dialogue.ended());
    }

    /// Whether CLOSE has arrived: the driver closes the connection.
    #[must_use]
    pub const fn ended(&self) -> bool {
        self.dialogue.ended()
    }

    /// The dialogue.
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

/// State of all sessions: shared words, dictionaries of disconnected JVMs, the memory of pending
/// calls, and the latencies and slowest calls of services.
#[derive(Debug)]
pub struct SharedState {
    pub(super) interner: Arc<Interner>,
    pub(super) pending: Arc<PendingBudget>,
    latencies: Arc<MergedLatencies>,
    slow: Arc<SlowCalls>,
    cache: Mutex<DictionaryCache>,
}

impl SharedState {
    /// State with at most `max` bytes of words.
    #[must_use]
    pub fn new(max: usize) -> Self {
        Self::within(max, &Arc::default())
    }

    /// As [`new`](Self::new), within a budget of memory.
    #[must_use]
    pub fn within(max: usize, memory: &Arc<Memory>) -> Self {
        let cache = Mutex::new(DictionaryCache::new(limits::KEPT_TEXT.min(max / 4)));
        Self {
            interner: Arc::new(Interner::within(max, memory)),
            pending: Arc::new(PendingBudget::new(memory)),
            latencies: Arc::new(MergedLatencies::new(memory)),
            slow: Arc::new(SlowCalls::new(memory)),
            cache,
        }
    }

    /// Sets which calls have trees from now on.
    pub fn set_trees(&self, rules: TreeRules) {
        self.slow.set_rules(rules);
    }

    /// Keeps the dictionary of a lost connection for the next one of the same JVM.
    pub(super) fn keep(&self, now: Duration, jvm: Jvm, words: Dictionary) {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner).put(now, jvm, words);
    }

    /// Takes the dictionary of the JVM's last connection.
    pub(super) fn take(&self, now: Duration, jvm: &Jvm) -> Option<Dictionary> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner).take(now, jvm)
    }

    /// Drops dictionaries that are too old.
    pub(super) fn tick(&self, now: Duration) {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner).expire(now);
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "test")]
#[path = "tests/session.rs"]
mod tests;
