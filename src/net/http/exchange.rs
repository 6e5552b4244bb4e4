//! One request after the other of a connection: its body is gathered, the service answers.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Incoming};
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Response, StatusCode};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::progress::Progress;
use super::server::HttpServer;
use crate::clock::now;
use crate::contract::Held;
use crate::contract::http::{Answer, ConnectionId, Dropped, Request};
use crate::net::connection_limit::Slot;
use crate::net::ledger::Ledger;
use crate::net::turns::Effort;

/// Bytes that hyper uses for a connection that is not parked: its buffers.
const BUFFERS: usize = 16 << 10;
/// Frames of up to this size are part of [`BUFFERS`].
const SMALL: usize = 8 << 10;

/// The requests of one connection.
pub(super) struct Exchange<'a> {
    pub(super) server: &'a HttpServer,
    pub(super) slot: Slot<'a>,
    pub(super) stop: &'a CancellationToken,
    pub(super) progress: &'a Progress,
    /// Bytes that the connection uses even while it is parked.
    kept: usize,
    /// Both ends of the connection, the peer's first.
    pub(super) ends: (SocketAddr, SocketAddr),
    /// The peer has not identified itself yet.
    pub(super) pending: AtomicBool,
    /// A request was read.
    pub(super) asked: AtomicBool,
    account: Mutex<Account>,
}

/// What the connection uses.
struct Account {
    ledger: Ledger,
    effort: Effort,
    /// Monotonic time of the effort's last tick.
    ticked: Duration,
}

/// A whole body, or why there is none.
type Gathered = Result<Bytes, Dropped>;

impl<'a> Exchange<'a> {
    pub(super) fn new(
        server: &'a HttpServer,
        slot: Slot<'a>,
        stop: &'a CancellationToken,
        progress: &'a Progress,
        ends: (SocketAddr, SocketAddr),
        kept: usize,
    ) -> Self {
        let account = Account {
            ledger: Ledger::new(&server.peers.store().memory),
            effort: Effort::default(),
            ticked: now().monotonic,
        };
        Self {
            server,
            slot,
            stop,
            progress,
            kept,
            ends,
            pending: AtomicBool::new(true),
            asked: AtomicBool::new(false),
            account: Mutex::new(account),
        }
    }

    /// The connection in the service's words.
    pub(super) const fn id(&self) -> ConnectionId {
        ConnectionId(self.slot.id())
    }

    fn account(&self) -> MutexGuard<'_, Account> {
        self.account.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Charges the bytes of a body beside those of hyper. `false`: there is no room.
    fn hold(&self, body: usize) -> bool {
        let pending = self.pending.load(Relaxed);
        self.account().ledger.hold(pending, self.kept + BUFFERS + body, Held::default()).is_ok()
    }

    /// Charges the buffers of a connection that is not parked. If there is no room, bodies find
    /// none either.
    pub(super) fn unparked(&self) {
        self.hold(0);
    }

    /// The buffers are freed.
    pub(super) fn parked(&self) {
        let pending = self.pending.load(Relaxed);
        let _ = self.account().ledger.hold(pending, self.kept, Held::default());
    }

    /// Answers a request.
    ///
    /// # Errors
    /// The body did not arrive.
    pub(super) async fn answer(
        &self,
        request: hyper::Request<Incoming>,
    ) -> Result<Response<Full<Bytes>>, hyper::Error> {
        let clock = &self.server.clock;
        self.progress.begin(clock);
        let (head, body) = request.into_parts();
        let gathered = self.gather(body).await?;
        self.progress.arrived(clock);
        self.asked.store(true, Relaxed);
        let effort = self.account().effort;
        let turn = self.slot.turns().take(&effort).await;
        let headers: Vec<(&str, &[u8])> =
            head.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
        let at = now();
        let answer = self.server.service.answer(
            at,
            &Request {
                connection: self.id(),
                from: self.ends.0,
                to: self.ends.1,
                method: head.method.as_str(),
                path: head.uri.path(),
                headers: &headers,
                body: gathered.as_deref().unwrap_or_default(),
                dropped: gathered.as_ref().err().copied(),
            },
        );
        let took = now().monotonic.saturating_sub(at.monotonic);
        drop(turn);
        self.account().charge(at.monotonic, took);
        if gathered.is_ok_and(|body| body.len() > SMALL) {
            self.hold(0);
        }
        if answer.known && self.pending.swap(false, Relaxed) {
            self.slot.established();
        }
        if !answer.delay.is_zero() {
            tokio::select! {
                () = self.stop.cancelled() => {}
                () = sleep(answer.delay) => {}
            }
        }
        self.progress.answered(clock);
        Ok(response(answer, head.method == Method::HEAD))
    }

    /// Reads the body. A body of one frame, as most are, stays that frame.
    async fn gather(&self, mut body: Incoming) -> Result<Gathered, hyper::Error> {
        let limits = &self.server.limits;
        let expected = body.size_hint().exact();
        if expected.is_some_and(|bytes| bytes > limits.body as u64) {
            return self.discard(body, 0, Dropped::TooLarge).await;
        }
        let Some(first) = data(&mut body).await? else { return Ok(Ok(Bytes::new())) };
        if body.is_end_stream() && first.len() <= SMALL {
            return Ok(Ok(first));
        }
        let mut all = Vec::new();
        let mut next = Some(first);
        while let Some(frame) = next {
            let length = all.len() + frame.len();
            if length > limits.body {
                return self.discard(body, length as u64, Dropped::TooLarge).await;
            }
            if length > all.capacity() {
                let expected =
                    expected.and_then(|n| usize::try_from(n).ok()).unwrap_or(limits.body);
                let room = length.max((2 * length).min(expected));
                if !self.hold(room) {
                    drop(all);
                    self.hold(0);
                    return self.discard(body, length as u64, Dropped::NoMemory).await;
                }
                all.reserve_exact(room - all.len());
            }
            all.extend_from_slice(&frame);
            next = if body.is_end_stream() { None } else { data(&mut body).await? };
        }
        Ok(Ok(all.into()))
    }

    /// Reads the rest of a body of which `before` bytes were read, and drops it.
    async fn discard(
        &self,
        mut body: Incoming,
        before: u64,
        why: Dropped,
    ) -> Result<Gathered, hyper::Error> {
        let most = self.server.limits.dropped;
        let mut read = before;
        if read + body.size_hint().lower() > most {
            return Ok(Err(why));
        }
        while let Some(frame) = data(&mut body).await? {
            read += frame.len() as u64;
            if read > most {
                break;
            }
        }
        Ok(Err(why))
    }
}

impl Account {
    /// Charges the time of an answer.
    fn charge(&mut self, at: Duration, took: Duration) {
        // After a minute there is nothing left to forget.
        let seconds = at.saturating_sub(self.ticked).as_secs().min(60);
        if seconds > 0 {
            self.ticked = at;
            (0..seconds).for_each(|_| self.effort.tick());
        }
        self.effort.add(took);
    }
}

/// The next bytes of a body; `None` at its end.
async fn data(body: &mut Incoming) -> Result<Option<Bytes>, hyper::Error> {
    while let Some(frame) = body.frame().await {
        if let Ok(bytes) = frame?.into_data() {
            return Ok(Some(bytes));
        }
    }
    Ok(None)
}

/// The answer in hyper's words. hyper adds `Content-Length` itself, except to an answer to HEAD.
fn response(answer: Answer, to_head: bool) -> Response<Full<Bytes>> {
    debug_assert!((200..600).contains(&answer.status), "{}", answer.status);
    let length = answer.body.len();
    let mut response = Response::new(Full::new(Bytes::from(answer.body)));
    *response.status_mut() =
        StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if !answer.content_type.is_empty() {
        let value = HeaderValue::from_static(answer.content_type);
        response.headers_mut().insert(CONTENT_TYPE, value);
    }
    if to_head {
        response.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
    response
}
