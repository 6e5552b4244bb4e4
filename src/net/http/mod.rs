//! An HTTP/1.1 listener for one [`HttpService`](crate::contract::http::HttpService).
//!
//! ```text
//! socket ─▶ Stream ─▶ hyper ─▶ Exchange: gather the body ─▶ HttpService::answer
//!              └────── Progress ◀──────────┘
//!                         ▲
//!                       sweep: each second, time limits and parking
//! ```
//! A connection between requests costs its task and its socket only: [`parking`](connection).

mod connection;
mod exchange;
mod limits;
mod progress;
mod server;
mod stream;
#[cfg(test)]
mod tests;

pub use limits::{HttpLimits, HttpListen};
pub(super) use server::HttpServer;

use std::net::SocketAddr;

use super::listener::{Accepted, Serve};
use super::tls::Wire;

impl Serve for HttpServer {
    fn admits(&self, from: SocketAddr) -> bool {
        self.service.admits(from)
    }

    async fn serve<W: Wire>(&self, accepted: Accepted<'_, W>) -> Option<String> {
        connection::run(self, accepted).await
    }
}
