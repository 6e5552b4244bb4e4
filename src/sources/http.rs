//! Requests and answers, for sources whose peers speak HTTP. A service is pure: requests and the
//! time in, answers out. `net::http` drives it.

use std::net::SocketAddr;
use std::time::Duration;

use crate::model::Now;

/// A connection: unique while the PMDA runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConnectionId(pub u64);

/// A request with its whole body.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The connection that it came over.
    pub connection: ConnectionId,
    /// The peer's address.
    pub from: SocketAddr,
    /// `POST`
    pub method: &'a str,
    /// The path without the query.
    pub path: &'a str,
    /// Names in lower case, and values, in the peer's order.
    pub headers: &'a [(&'a str, &'a [u8])],
    /// The body as it came over the wire, without transfer encoding; empty if it was `dropped`.
    pub body: &'a [u8],
    /// The body was read and dropped.
    pub dropped: Option<Dropped>,
}

impl Request<'_> {
    /// The first value of a header, by its name in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        self.headers.iter().find(|(n, _)| *n == name).map(|(_, value)| *value)
    }
}

/// Why a body was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dropped {
    /// It is longer than the service accepts.
    TooLarge,
    /// `limits.memory` leaves no room for it.
    NoMemory,
}

/// The answer to a request. It is sent with `Content-Length`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Status code: 200 to 599.
    pub status: u16,
    /// `Content-Type`; empty: none.
    pub content_type: &'static str,
    /// Body.
    pub body: Vec<u8>,
    /// Time before the answer is sent: slows down a peer that retries without a pause.
    pub delay: Duration,
    /// The peer has identified itself. Its connection no longer counts against `limits.pending`.
    pub known: bool,
}

impl Answer {
    /// An answer without a body.
    #[must_use]
    pub fn of(status: u16) -> Self {
        Self { status, ..Self::default() }
    }
}

/// A source that answers requests. Called on any worker, for many connections at once; the requests
/// of one connection come one after the other.
pub trait HttpService: Send + Sync {
    /// Whether connections from this address are accepted.
    fn admits(&self, from: SocketAddr) -> bool;

    /// Looks at the first bytes of a connection (at least one). `Some`: they are of another
    /// protocol; the connection is closed and the text logged, at most once a minute.
    fn rejects(&self, first: &[u8]) -> Option<&'static str>;

    /// Answers a request. The answer is sent even if the connection then ends.
    fn answer(&self, now: Now, request: &Request<'_>) -> Answer;

    /// The connection has ended. Called once for each connection that sent a request.
    fn closed(&self, now: Now, connection: ConnectionId);

    /// About a second has passed.
    fn tick(&self, now: Now);
}
