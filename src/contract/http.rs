//! Requests and answers, for sources whose peers speak HTTP. A service is pure: requests and the
//! time in, answers out. `net::http` drives it.

use std::net::{IpAddr, SocketAddr};
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
    /// The address that it has connected to.
    pub to: SocketAddr,
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

    /// The token of `Authorization: Bearer TOKEN`.
    #[must_use]
    pub fn bearer(&self) -> Option<&[u8]> {
        let (scheme, token) = self.header("authorization")?.split_at_checked(7)?;
        scheme.eq_ignore_ascii_case(b"bearer ").then(|| token.trim_ascii())
    }

    /// A browser has sent it: browsers add these headers, and pages cannot take them away.
    #[must_use]
    pub fn is_of_browser(&self) -> bool {
        self.headers.iter().any(|(name, _)| *name == "origin" || name.starts_with("sec-fetch-"))
    }

    /// The first name in `Host` that is neither an address nor localhost, nor accepted by `known`,
    /// without its port. A page whose own name leads to this host (DNS rebinding) has that there.
    pub fn foreign_host(&self, known: impl Fn(&str) -> bool) -> Option<String> {
        let hosts = self.headers.iter().filter(|(name, _)| *name == "host");
        let names = hosts.map(|(_, value)| String::from_utf8_lossy(value.trim_ascii()));
        names.filter_map(|host| name_of(&host)).find(|name| !known(name))
    }
}

/// The name of `NAME:PORT`; `None`: an address, localhost, or nothing.
fn name_of(host: &str) -> Option<String> {
    let port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    let name = match host.rsplit_once(':') {
        Some((name, digits)) if port(digits) && !name.ends_with(':') => name,
        _ => host,
    };
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    let name = bare.strip_suffix('.').unwrap_or(bare).to_ascii_lowercase();
    let is_local = name == "localhost" || name.ends_with(".localhost");
    (!name.is_empty() && !is_local && name.parse::<IpAddr>().is_err()).then_some(name)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_hosts_are_told_from_addresses() {
        for host in [
            "127.0.0.1:8640",
            "10.1.2.3",
            "[::1]:8640",
            "[fe80::1]",
            "::1",
            "LOCALHOST:8640",
            "localhost.",
            "a.localhost",
            "",
        ] {
            assert_eq!(name_of(host), None, "{host}");
        }
        for (host, name) in [
            ("Evil.example:8640", "evil.example"),
            ("127.0.0.1.evil.example", "127.0.0.1.evil.example"),
            ("localhost.evil.example:80", "localhost.evil.example"),
            ("evillocalhost", "evillocalhost"),
            ("pcp.:1", "pcp"),
            ("127.0.0.1@evil:8640", "127.0.0.1@evil"),
            ("evil:x", "evil:x"),
        ] {
            assert_eq!(name_of(host).as_deref(), Some(name));
        }
    }
}
