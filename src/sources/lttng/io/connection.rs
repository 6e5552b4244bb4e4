//! One TCP connection to a relay daemon: carries bytes between the socket and a pure protocol.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::BytesMut;
use pmda::process::leaves_reserve;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::clock::now;
use crate::contract::SessionError;
use crate::model::Now;
use crate::net::ledger::{Full, Ledger};
use crate::sources::lttng::{Collector, Reader, viewer::End};

/// Time limit of connecting and of sending.
pub(super) const TIME_LIMIT: Duration = Duration::from_secs(10);
/// Bytes of the input buffer that are kept while it is empty.
const INPUT_KEPT: usize = 2 << 20;
/// Bytes of the input buffer that are kept after [`IDLE_TIME`] without large packets.
const INPUT_KEPT_IDLE: usize = 4 << 10;
const IDLE_TIME: Duration = Duration::from_secs(2);
/// Time limit of sending DETACH.
const FAREWELL: Duration = Duration::from_millis(100);
/// Time of the next tick if the protocol has none.
const TICK: Duration = Duration::from_millis(250);

/// Reason of the end when reading is stopped.
const STOPPED: &str = "nothing is to be read there any more, or the PMDA stops";

/// A pure protocol, as a connection drives it.
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
    /// Time of the latest large packet.
    large: Duration,
}

impl RelayConnection {
    /// # Errors
    /// The connection failed.
    pub(super) async fn dial(address: &str) -> Result<Self, String> {
        let connected = timeout(TIME_LIMIT, TcpStream::connect(address)).await;
        let stream = connected.map_err(|_| "no answer".to_owned())?.map_err(|e| e.to_string())?;
        if !leaves_reserve(&stream) {
            return Err("the limit of open files is reached".to_owned());
        }
        stream.set_nodelay(true).map_err(|e| e.to_string())?;
        Ok(Self { stream, input: BytesMut::new(), out: BytesMut::new(), large: Duration::ZERO })
    }

    /// The address that was reached.
    ///
    /// # Errors
    /// The connection has ended.
    pub(super) fn reached(&self) -> Result<SocketAddr, String> {
        self.stream.peer_addr().map_err(|e| e.to_string())
    }

    /// Sends `out`. Not cancel-safe: after a cancelled call nothing else may be sent.
    ///
    /// # Errors
    /// The connection has ended.
    pub(super) async fn send(&mut self) -> Result<(), String> {
        if !self.out.is_empty() {
            let written = timeout(TIME_LIMIT, self.stream.write_all(&self.out)).await;
            written.map_err(|_| "it does not read".to_owned())?.map_err(|e| e.to_string())?;
            self.out.clear();
        }
        Ok(())
    }

    /// Waits for bytes or the protocol's next tick. Cancel-safe.
    ///
    /// # Errors
    /// The connection has ended.
    pub(super) async fn exchange(&mut self, protocol: &mut impl Protocol) -> Result<(), String> {
        if protocol.awaits_reply() {
            // Some replies come in two segments, the second after the acknowledgement of the first.
            let _ = socket2::SockRef::from(&self.stream).set_tcp_quickack(true);
        }
        let wait = protocol.next_wakeup().map_or(TICK, |at| at.saturating_sub(now().monotonic));
        tokio::select! {
            biased;
            read = self.stream.read_buf(&mut self.input) => {
                if read.map_err(|e| e.to_string())? == 0 {
                    return Err("closed by the relay daemon".into());
                }
                let at = now();
                protocol.feed(at, &mut self.input, &mut self.out).map_err(|e| e.to_string())?;
                if self.input.capacity() > INPUT_KEPT_IDLE {
                    self.large = self.large.max(at.monotonic);
                }
                if self.input.is_empty() && self.input.capacity() > INPUT_KEPT {
                    self.input = BytesMut::new();
                }
            }
            () = sleep(wait) => {
                let at = now();
                protocol.tick(at, &mut self.out).map_err(|e| e.to_string())?;
                if self.input.is_empty() && self.input.capacity() > INPUT_KEPT_IDLE && at.monotonic.saturating_sub(self.large) >= IDLE_TIME {
                    self.input = BytesMut::new();
                }
            }
        }
        Ok(())
    }

    /// Bytes of the buffers.
    pub(super) fn held(&self) -> usize {
        self.input.capacity() + self.out.capacity()
    }

    /// Sends `out` if that is possible at once.
    async fn farewell(&mut self) {
        let _ = timeout(FAREWELL, self.stream.write_all(&self.out)).await;
    }
}

/// Reads a session until it ends, the connection breaks, memory is short, or `stop`. Its memory is
/// charged to `ledger` after each step.
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
    // Nothing can follow a request that was sent in part.
    if connection.out.is_empty() || reader.is_over() {
        reader.detach(&mut connection.out);
        connection.farewell().await;
    }
    (reader.close(now(), &why), full)
}
