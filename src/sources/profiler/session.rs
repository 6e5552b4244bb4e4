//! One agent's connection as a session: the decoders, and what makes metrics and events of their
//! records.

use std::sync::Arc;
use std::time::Duration;

use bytes::{BufMut, BytesMut};

use super::connection::Connection;
use super::meter::pod_metrics::{Meter, Pod};
use super::metrics::{ERROR_DICTIONARY, ERROR_PROTOCOL};
use super::shared::Shared;
use super::wire::command as wire;
use super::wire::event::Settings;
use crate::model::{Control, Now, Update};
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

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "test")]
mod tests;
