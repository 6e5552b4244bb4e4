//! One agent's connection as a session: the decoders, and what makes metrics and events of their records.

use super::super::{Session, SessionError, Sink};
use super::connection::Connection;
use super::event::Settings;
use super::interner::Interner;
use super::meter::{Meter, Pod};
use super::metrics::ERROR_PROTOCOL;
use crate::model::{Control, Now, Update};
use bytes::BytesMut;
use std::sync::Arc;
use std::time::Duration;

/// A connection that has not said who it is within this time is closed.
const HELLO: Duration = Duration::from_secs(10);

/// What the configuration says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// What agents are told.
    pub settings: Settings,
    /// Agents that are silent for so long are gone: they flush every 5 s.
    pub idle: Duration,
    /// The trace is followed for `stack.time`.
    pub stacks: bool,
    /// Indexed parameters that get an event parameter of their own, beside those that always have one: at most
    /// [`super::PARAMETERS_MAX`].
    pub parameters: Arc<[String]>,
}

impl Default for Options {
    fn default() -> Self {
        Self { settings: Settings::default(), idle: Duration::from_secs(61), stacks: true, parameters: Arc::default() }
    }
}

/// The collector's side of one connection.
#[derive(Debug)]
pub struct Collector {
    connection: Connection,
    pod: Pod,
    options: Options,
    heard: Option<Duration>,
}

impl Collector {
    /// `address` is where the agent is; words are shared with other pods.
    #[must_use]
    pub fn new(address: String, options: Options, interner: Arc<Interner>) -> Self {
        Self {
            connection: Connection::new(options.settings, interner),
            pod: Pod::new(address, options.stacks, Arc::clone(&options.parameters)),
            options,
            heard: None,
        }
    }
}

impl Session for Collector {
    fn feed(&mut self, now: Now, input: &mut BytesMut, out: &mut BytesMut, sink: &mut dyn Sink) -> Result<(), SessionError> {
        self.heard = Some(now.mono);
        let Self { connection, pod, .. } = self;
        let fault = connection.feed(input, out, &mut Meter { pod, sink, now }).err();
        pod.settle(now, connection.pod().words(), sink, false);
        match fault {
            Some(fault) => {
                sink.update(Update::Count { item: ERROR_PROTOCOL, more: 1 });
                Err(SessionError::Malformed { offset: fault.at, what: fault.what.to_string() })
            }
            None if connection.ended() => Err(SessionError::Closed("the JVM has ended")),
            None => Ok(()),
        }
    }

    fn tick(&mut self, now: Now, _: &mut BytesMut, sink: &mut dyn Sink) -> Result<(), SessionError> {
        let silent = now.mono.saturating_sub(*self.heard.get_or_insert(now.mono));
        if !self.established() {
            return if silent >= HELLO { Err(SessionError::Timeout("hello")) } else { Ok(()) };
        }
        if silent >= self.options.idle {
            return Err(SessionError::Timeout("command"));
        }
        self.pod.tick(now, self.connection.pod().words(), sink);
        Ok(())
    }

    fn control(&mut self, _: Now, request: &Control, _: &mut BytesMut, _: &mut dyn Sink) -> Result<(), SessionError> {
        match request {
            Control::Replaced => Err(SessionError::Closed("a newer connection of the same JVM took over")),
            Control::Request(..) | Control::Select(_) => Ok(()),
        }
    }

    fn close(&mut self, now: Now, _: &mut BytesMut, sink: &mut dyn Sink) {
        if !self.established() {
            return;
        }
        let Self { connection, pod, .. } = self;
        connection.close(&mut Meter { pod, sink, now });
        pod.close(now, connection.pod().words(), sink);
    }

    fn established(&self) -> bool {
        self.connection.transport().established()
    }
}
