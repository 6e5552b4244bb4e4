//! Connections of protocols whose peer is one byte stream: a [`Session`] for each.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::Notify;

use super::driver::Driver;
use super::ledger::Ledger;
use super::listener::{Accepted, Serve};
use super::peers::Peers;
use super::tls::Wire;
use crate::contract::Session;
use crate::model::Listening;
use crate::store::RequestQueue;

/// A new connection.
pub struct Caller {
    /// Address and port.
    pub address: SocketAddr,
    /// Address and port that it has connected to.
    pub ours: SocketAddr,
    /// Instance name for a peer that gives none.
    pub fallback: String,
}

/// Makes the session for a new connection.
pub type SessionFactory = Arc<dyn Fn(Caller) -> Box<dyn Session> + Send + Sync>;

/// A TCP address to listen on.
#[derive(Clone)]
pub struct Listen {
    /// Address and port.
    pub place: Listening,
    /// Where the peers are registered.
    pub peers: Peers,
    /// Makes the sessions.
    pub factory: SessionFactory,
    /// Connections are reset when this process is killed: for peers that take a plain end of the
    /// connection for a pause.
    pub reset: bool,
}

impl Serve for Listen {
    async fn serve<W: Wire>(&self, accepted: Accepted<'_, W>) -> Option<String> {
        let Accepted { stream, address, slot, stop } = accepted;
        let Self { ref peers, ref factory, reset, .. } = *self;
        if reset {
            linger(stream.tcp(), Some(Duration::ZERO));
        }
        let requests = Arc::new(Notify::new());
        let wake = Arc::clone(&requests);
        let queue = Arc::new(RequestQueue::new(move || wake.notify_one()));
        let ours = stream.tcp().local_addr().unwrap_or(self.place.address());
        let session = factory(Caller { address, ours, fallback: slot.fallback_name() });
        // In a box, because a future has room for each place that its parts move through.
        let driver = Box::new(Driver {
            stream,
            session,
            peer: peers.peer(&queue),
            queue,
            requests,
            slot,
            ledger: Ledger::new(&peers.store().memory),
            stop: stop.clone(),
        });
        driver.run(&address.to_string()).await
    }
}

/// Sets how a close ends the connection, also when the process is killed. `None`: after all is sent. A failure is not fatal.
pub(super) fn linger(stream: &TcpStream, time: Option<Duration>) {
    if let Err(e) = socket2::SockRef::from(stream).set_linger(time) {
        log::debug!("linger: {e}");
    }
}

/// Acknowledges what has arrived now, not 40 ms later: a peer that writes in parts and has not set `TCP_NODELAY` sends
/// the next part only then.
pub(super) fn acknowledge(stream: &TcpStream) {
    if let Err(e) = socket2::SockRef::from(stream).set_tcp_quickack(true) {
        log::debug!("TCP_QUICKACK: {e}");
    }
}

/// The address is a loopback address, which no other host can have.
#[must_use]
pub const fn is_local(ip: IpAddr) -> bool {
    ip.is_loopback()
}
