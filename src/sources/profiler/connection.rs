//! One connection of an agent: the conversation and the streams in it.

use super::event::{Event, Fault, Settings};
use super::interner::Interner;
use super::observer::Observer;
use super::pod::Pod;
use super::transport::Transport;
use bytes::BytesMut;
use std::sync::Arc;

/// One agent's connection, without I/O and without a clock.
///
/// The driver owes it: [`feed`](Self::feed) whenever bytes have come, then all of `out` sent; [`close`](Self::close) exactly
/// once at the end; and nothing else after an error or once it has [`ended`](Self::ended).
#[derive(Debug)]
pub struct Connection {
    transport: Transport,
    pod: Pod,
}

impl Connection {
    /// For a new connection.
    #[must_use]
    pub fn new(settings: Settings, interner: Arc<Interner>) -> Self {
        Self { transport: Transport::new(settings), pod: Pod::new(interner) }
    }

    /// Consumes whole commands from the front of `input`, leaves a partial one, appends the replies to `out`, and tells the
    /// observer.
    ///
    /// # Errors
    /// [`Fault`]: send `out`, then close.
    pub fn feed<O>(&mut self, input: &mut BytesMut, out: &mut BytesMut, observer: &mut O) -> Result<(), Fault>
    where
        O: Observer + ?Sized,
    {
        let Self { transport, pod } = self;
        transport.feed(input, out, &mut |event| match event {
            Event::Data { stream, payload } => pod.data(stream, payload, observer),
            Event::Flush => observer.flush(),
            Event::Opened(opened) => pod.open(&opened, observer),
            Event::Hello(hello) => observer.hello(&hello),
            Event::CommandResult { id, ok } => observer.command_result(&id, ok),
            // Told by `close`.
            Event::Close => {}
        })
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
