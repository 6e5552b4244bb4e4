//! Carries bytes between one connection to a relay daemon and the conversation that it is for.

use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::clock::now;
use crate::model::Now;
use crate::net::ledger::{Full, Ledger};
use crate::sources::SessionError;
use crate::sources::lttng::{Collector, Reader, viewer::End};

/// Longest time for a connection to be made, and for requests to be taken.
pub(super) const TIME_LIMIT: Duration = Duration::from_secs(10);
/// Packets are larger than the input that is kept between them.
const INPUT_KEPT: usize = 2 << 20;
/// Input that is kept while nothing comes for [`IDLE_TIME`].
const INPUT_KEPT_IDLE: usize = 4 << 10;
const IDLE_TIME: Duration = Duration::from_secs(2);
/// Time for a good-bye to be sent.
const FAREWELL: Duration = Duration::from_millis(100);
/// When to look again, if the conversation does not say.
const TICK: Duration = Duration::from_millis(250);

/// Why reading ends when nothing else ends it.
const STOPPED: &str = "nothing is to be read there any more, or the PMDA stops";

/// What a driver needs of a conversation.
pub(super) trait Protocol {
    fn feed(
        &mut self,
        now: Now,
        input: &mut BytesMut,
        out: &mut BytesMut,
    ) -> Result<(), SessionError>;
    fn tick(&mut self, now: Now, out: &mut BytesMut) -> Result<(), SessionError>;
    fn next_wakeup(&self) -> Option<Duration>;
    fn awaits_reply(&self) -> bool;
}

macro_rules! protocol {
    ($type:ty) => {
        impl Protocol for $type {
            fn feed(
                &mut self,
                now: Now,
                input: &mut BytesMut,
                out: &mut BytesMut,
            ) -> Result<(), SessionError> {
                Self::feed(self, now, input, out)
            }
            fn tick(&mut self, now: Now, out: &mut BytesMut) -> Result<(), SessionError> {
                Self::tick(self, now, out)
            }
            fn next_wakeup(&self) -> Option<Duration> {
                Self::next_wakeup(self)
            }
            fn awaits_reply(&self) -> bool {
                Self::awaits_reply(self)
            }
        }
    };
}
protocol!(Collector);
protocol!(Reader);

/// A connection to a relay daemon.
pub(super) struct RelayConnection {
    stream: TcpStream,
    input: BytesMut,
    pub(super) out: BytesMut,
    /// When packets came last.
    large: Duration,
}

impl RelayConnection {
    /// # Errors
    /// Why there is no connection.
    pub(super) async fn dial(address: &str) -> Result<Self, String> {
        let connected = timeout(TIME_LIMIT, TcpStream::connect(address)).await;
        let stream = connected.map_err(|_| "no answer".to_owned())?.map_err(|e| e.to_string())?;
        stream.set_nodelay(true).map_err(|e| e.to_string())?;
        Ok(Self { stream, input: BytesMut::new(), out: BytesMut::new(), large: Duration::ZERO })
    }

    /// Sends what is to be sent. Must not be cancelled if anything is to be sent after it.
    ///
    /// # Errors
    /// Why the connection is over.
    pub(super) async fn send(&mut self) -> Result<(), String> {
        if !self.out.is_empty() {
            let written = timeout(TIME_LIMIT, self.stream.write_all(&self.out)).await;
            written.map_err(|_| "it does not read".to_owned())?.map_err(|e| e.to_string())?;
            self.out.clear();
        }
        Ok(())
    }

    /// Waits for bytes or for the conversation's time. Can be cancelled.
    ///
    /// # Errors
    /// Why the connection is over.
    pub(super) async fn exchange(&mut self, protocol: &mut impl Protocol) -> Result<(), String> {
        if protocol.awaits_reply() {
            // Some replies come in two pieces, the second after our ack of the first.
            let _ = socket2::SockRef::from(&self.stream).set_tcp_quickack(true);
        }
        let wait = protocol.next_wakeup().map_or(TICK, |at| at.saturating_sub(now().mono));
        tokio::select! {
            biased;
            read = self.stream.read_buf(&mut self.input) => {
                if read.map_err(|e| e.to_string())? == 0 {
                    return Err("closed by the relay daemon".into());
                }
                let at = now();
                protocol.feed(at, &mut self.input, &mut self.out).map_err(|e| e.to_string())?;
                if self.input.capacity() > INPUT_KEPT_IDLE {
                    self.large = self.large.max(at.mono);
                }
                if self.input.is_empty() && self.input.capacity() > INPUT_KEPT {
                    self.input = BytesMut::new();
                }
            }
            () = sleep(wait) => {
                let at = now();
                protocol.tick(at, &mut self.out).map_err(|e| e.to_string())?;
                if self.input.is_empty() && self.input.capacity() > INPUT_KEPT_IDLE && at.mono.saturating_sub(self.large) >= IDLE_TIME {
                    self.input = BytesMut::new();
                }
            }
        }
        Ok(())
    }

    /// Bytes of its buffers.
    pub(super) fn held(&self) -> usize {
        self.input.capacity() + self.out.capacity()
    }

    /// Sends a good-bye, if it can be sent at once.
    async fn farewell(&mut self) {
        let _ = timeout(FAREWELL, self.stream.write_all(&self.out)).await;
    }
}

/// Reads a session until it is over, its connection breaks, there is no memory for it, or `stop`.
/// What it holds is charged to `ledger` after each piece of work.
pub(super) async fn read(
    mut reader: Reader,
    address: &str,
    stop: &CancellationToken,
    mut ledger: Ledger,
) -> (End, Option<Full>) {
    let dialled = tokio::select! {
        () = stop.cancelled() => Err(STOPPED.to_owned()),
        dialled = RelayConnection::dial(address) => dialled,
    };
    let mut connection = match dialled {
        Ok(connection) => connection,
        Err(why) => return (reader.close(now(), &why), None),
    };
    reader.start(now(), &mut connection.out);
    let mut full = None;
    let why = loop {
        if reader.is_over() {
            break String::new();
        }
        if let Err(why) = connection.send().await {
            break why;
        }
        tokio::select! {
            biased;
            () = stop.cancelled() => break STOPPED.to_owned(),
            exchanged = connection.exchange(&mut reader) => if let Err(why) = exchanged { break why },
        }
        if let Err(why) = ledger.hold(false, connection.held(), reader.held()) {
            reader.give_up(now(), &why.to_string());
            full = Some(why);
        }
    };
    // What was not sent whole cannot be followed by anything else.
    if connection.out.is_empty() || reader.is_over() {
        reader.detach(&mut connection.out);
        connection.farewell().await;
    }
    (reader.close(now(), &why), full)
}
