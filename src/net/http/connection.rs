//! The task of one connection. Between two requests it is *parked*: hyper's state and buffers are
//! freed, and the task waits for the socket to become readable.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use bytes::Bytes;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::time::timeout;

use super::exchange::Exchange;
use super::progress::{Due, Progress};
use super::server::HttpServer;
use super::stream::Stream;
use crate::clock::now;
use crate::net::finish::finish;
use crate::net::listener::Accepted;
use crate::net::tls::Wire;
use crate::store::Stat;

/// The first bytes of a connection that the service looks at.
const FIRST: usize = 16;
/// Time for the present request to be answered when its connection is to end.
const LEAVE: Duration = Duration::from_millis(600);
/// Time for the peer to end its side after us, so that nothing resets the last answer; and when the
/// PMDA stops.
const LINGER: Duration = Duration::from_millis(500);
const LINGER_STOP: Duration = Duration::from_millis(100);

/// Why a connection ended.
#[derive(Debug, thiserror::Error)]
enum End {
    #[error("{0}")]
    Rejected(&'static str),
    #[error("what it sends is not HTTP/1.1: {0}")]
    Malformed(hyper::Error),
    #[error("a request took too long to arrive")]
    Late,
    #[error("does not take what is sent to it")]
    Stuck,
    #[error("connection: {0}")]
    Io(String),
    #[error("gave way to newer connections: limits.pending is reached")]
    Displaced,
    #[error("closed by the peer")]
    Eof,
    #[error("the PMDA stops")]
    Stop,
}

impl End {
    /// The peer caused the end by a fault.
    const fn is_fault(&self) -> bool {
        matches!(self, Self::Rejected(_) | Self::Malformed(_) | Self::Late | Self::Stuck)
    }

    /// Time to wait for the peer's end.
    const fn linger(&self) -> Duration {
        match self {
            Self::Malformed(_) | Self::Eof => LINGER,
            Self::Stop => LINGER_STOP,
            _ => Duration::ZERO,
        }
    }
}

impl From<hyper::Error> for End {
    fn from(e: hyper::Error) -> Self {
        if e.is_parse() {
            Self::Malformed(e)
        } else if e.is_incomplete_message() || e.is_body_write_aborted() {
            Self::Eof
        } else {
            Self::Io(e.to_string())
        }
    }
}

/// A connection in the sweep and in the service; leaves both when dropped, also after a panic.
struct Guard<'a>(Exchange<'a>);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        let exchange = &self.0;
        exchange.server.leave(exchange.id().0);
        if exchange.asked.load(Relaxed) {
            exchange.server.service.closed(now(), exchange.id());
        }
    }
}

/// Runs a connection until its end. Returns the line to log as a warning, if any.
pub(super) async fn run<W: Wire>(server: &HttpServer, accepted: Accepted<'_, W>) -> Option<String> {
    let Accepted { mut stream, address, slot, stop } = accepted;
    let progress: Arc<Progress> = server.enter(slot.id());
    let ours = stream.tcp().local_addr().unwrap_or(address);
    let exchange = Exchange::new(server, slot, stop, &progress, (address, ours), W::BUFFERS);
    let guard = Guard(exchange);
    let end = match talk(&mut stream, &guard.0).await {
        Err(end) => end,
        Ok(never) => match never {},
    };
    drop(guard);
    let time = end.linger();
    if !time.is_zero() {
        finish(stream, time).await;
    }
    let name = server.peers.name();
    if end.is_fault() {
        server.peers.store().stats.add(Stat::IngestErrors, 1);
        return Some(format!("{name}: connection from {address} dropped: {end}"));
    }
    log::debug!("{name}: connection from {address} ended: {end}");
    None
}

async fn talk(
    stream: &mut impl Wire,
    exchange: &Exchange<'_>,
) -> Result<std::convert::Infallible, End> {
    let mut first = [0; FIRST];
    let n = readable(stream, &mut first, exchange).await?;
    if let Some(why) = exchange.server.service.rejects(first.get(..n).unwrap_or_default()) {
        return Err(End::Rejected(why));
    }
    loop {
        exchange.unparked();
        exchange.progress.unparked(&exchange.server.clock);
        // Boxed: a parked connection does not keep the room.
        let mut rest = Box::pin(speak(stream, Bytes::new(), exchange)).await?;
        while !rest.is_empty() {
            rest = Box::pin(speak(stream, rest, exchange)).await?;
        }
        // Even when it is empty it keeps hyper's buffer.
        drop(rest);
        exchange.progress.parked(&exchange.server.clock);
        exchange.parked();
        readable(stream, &mut [0], exchange).await?;
    }
}

/// Waits for bytes and copies the first ones.
async fn readable(
    stream: &mut impl Wire,
    first: &mut [u8],
    exchange: &Exchange<'_>,
) -> Result<usize, End> {
    tokio::select! {
        biased;
        ahead = stream.ahead(first) => match ahead {
            Ok(0) => Err(End::Eof),
            Ok(n) => Ok(n),
            Err(e) => Err(End::Io(e.to_string())),
        },
        () = exchange.stop.cancelled() => Err(End::Stop),
        () = exchange.slot.displaced.cancelled(), if exchange.pending.load(Relaxed) => {
            Err(End::Displaced)
        }
    }
}

/// Answers requests until the connection is idle. Returns bytes that were read beyond the last
/// request.
async fn speak(
    stream: &mut impl Wire,
    prefix: Bytes,
    exchange: &Exchange<'_>,
) -> Result<Bytes, End> {
    let Exchange { server, progress, stop, .. } = *exchange;
    let stats = &server.peers.store().stats;
    let io = TokioIo::new(Stream { wire: stream, prefix, progress, clock: &server.clock, stats });
    let service = service_fn(|request| exchange.answer(request));
    let mut http = server.http.serve_connection(io, service);
    let mut undecided = exchange.pending.load(Relaxed);
    let end = loop {
        tokio::select! {
            biased;
            done = &mut http => return Err(done.map_or_else(End::from, |()| End::Eof)),
            () = progress.woken() => match progress.due(&server.clock, &server.limits) {
                Some(Due::Park) => return Ok(http.into_parts().read_buf),
                Some(Due::Late) => return Err(End::Late),
                Some(Due::Stuck) => return Err(End::Stuck),
                None => {}
            },
            () = exchange.slot.displaced.cancelled(), if undecided => {
                if exchange.pending.load(Relaxed) {
                    break End::Displaced;
                }
                undecided = false;
            }
            () = stop.cancelled() => break End::Stop,
        }
    };
    // What was read is answered first.
    if !progress.is_idle() {
        Pin::new(&mut http).graceful_shutdown();
        let _ = timeout(LEAVE, http).await;
    }
    Err(end)
}
