//! One connection of an agent: the conversation and the streams in it.

use std::sync::Arc;

use bytes::BytesMut;

use super::streams::observer::Observer;
use super::streams::pod::Pod;
use super::wire::dialogue::Transport;
use super::wire::event::{Event, Fault, Settings};
use super::wire::kind::StreamKind;
use super::words::Words;
use super::words::cache::Jvm;
use super::words::interner::Interner;

/// One agent's connection, without I/O and without a clock.
///
/// The driver owes it: [`feed`](Self::feed) whenever bytes have come, then all of `out` sent;
/// [`close`](Self::close) exactly once at the end; and nothing else after an error or once it has
/// [`ended`](Self::ended).
#[derive(Debug)]
pub struct Connection {
    transport: Transport,
    pod: Pod,
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
            pod: Pod::new(interner),
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
        let calls =
            |s: &super::streams::pod::Stream| s.kind() == StreamKind::Calls && s.counts().bytes > 0;
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
    pub const fn pod(&self) -> &Pod {
        &self.pod
    }
}
