//! A listening socket: bound as soon as possible, then accepting until the PMDA stops, with one
//! task for each connection.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Notify;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::connection_limit::ConnectionLimit;
use super::driver::{Driver, SharedThrottle};
use super::ledger::Ledger;
use super::peers::Peers;
use crate::clock::now;
use crate::sources::Session;
use crate::store::{LogThrottle, RequestQueue, Stat};

/// Time between two tries to bind: the owner of an address in use may be the previous PMDA.
const BIND_RETRY: Duration = Duration::from_secs(2);
/// Length of the accept queue, the largest that Linux can count: all agents reconnect at once after
/// a restart of the PMDA or the host, and connections that do not fit are lost. The kernel cuts it
/// to `net.core.somaxconn`.
const BACKLOG: u32 = 65_535;
/// The file with the kernel's limit of [`BACKLOG`].
const BACKLOG_MAX: &str = "/proc/sys/net/core/somaxconn";
/// Pause after a failed accept (too many open files, say).
const ACCEPT_RETRY: Duration = Duration::from_millis(100);

/// A new connection.
pub struct Caller {
    /// Address and port.
    pub address: SocketAddr,
    /// Instance name for a peer that gives none.
    pub fallback: String,
}

/// Makes the session for a new connection.
pub type SessionFactory = Arc<dyn Fn(Caller) -> Box<dyn Session> + Send + Sync>;

/// A TCP address to listen on.
#[derive(Clone)]
pub struct Listen {
    /// Address and port.
    pub address: SocketAddr,
    /// Where the peers are registered.
    pub peers: Peers,
    /// Makes the sessions.
    pub factory: SessionFactory,
    /// Connections are reset when this process is killed: for peers that take a plain end of the
    /// connection for a pause.
    pub reset: bool,
}

/// One listener of one source.
#[derive(Clone)]
pub(super) struct Listener {
    pub(super) listen: Listen,
    pub(super) limit: Arc<ConnectionLimit>,
    pub(super) stop: CancellationToken,
    pub(super) tasks: TaskTracker,
}

impl Listener {
    /// Runs until the PMDA stops. `bound`: the socket, if it is bound already.
    pub(super) async fn run(self, mut bound: Option<TcpListener>, mut throttle: LogThrottle) {
        let listener = loop {
            if let Some(listener) = bound {
                break listener;
            }
            tokio::select! {
                () = self.stop.cancelled() => return,
                () = sleep(BIND_RETRY) => {}
            }
            bound = self.bind(&mut throttle);
        };
        let throttled = Arc::new(SharedThrottle::default());
        let mut throttle = LogThrottle::default();
        loop {
            let accepted = tokio::select! {
                () = self.stop.cancelled() => return,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, from)) => {
                    let task = self.clone().serve(stream, from, Arc::clone(&throttled));
                    self.tasks.spawn(task);
                }
                Err(e) => {
                    if let Some(n) = throttle.allow(now().monotonic) {
                        log::error!(
                            "{}: accept on {}: {e}{}",
                            self.listen.peers.name(),
                            self.listen.address,
                            LogThrottle::more(n)
                        );
                    }
                    sleep(ACCEPT_RETRY).await;
                }
            }
        }
    }

    /// Tries to bind the address. Must be called within the runtime.
    pub(super) fn bind(&self, throttle: &mut LogThrottle) -> Option<TcpListener> {
        let Listen { address, ref peers, .. } = self.listen;
        let name = peers.name();
        match bind(address) {
            Ok(listener) => {
                log::info!("{name}: listening on {address}{}", short_queue(&self.limit));
                Some(listener)
            }
            Err(e) => {
                if let Some(n) = throttle.allow(now().monotonic) {
                    log::error!(
                        "{name}: cannot listen on {address}: {e}; trying again every {} s{}",
                        BIND_RETRY.as_secs(),
                        LogThrottle::more(n)
                    );
                }
                None
            }
        }
    }

    async fn serve(self, stream: TcpStream, from: SocketAddr, throttled: Arc<SharedThrottle>) {
        let address = SocketAddr::new(from.ip().to_canonical(), from.port());
        let Listen { ref peers, ref factory, reset, .. } = self.listen;
        let (store, name) = (peers.store(), peers.name());
        let Some(slot) = self.limit.enter(address.ip(), &store.stats) else {
            throttled.write(&format!(
                "{name}: connection from {address} refused: limits.connections is reached"
            ));
            return;
        };
        if store.memory.is_full() {
            store.stats.add(Stat::ConnectionRefused, 1);
            throttled.write(&format!(
                "{name}: connection from {address} refused: limits.memory is reached"
            ));
            return;
        }
        let _ = stream.set_nodelay(true);
        keep_alive(&stream);
        if reset {
            linger(&stream, Some(Duration::ZERO));
        }
        let requests = Arc::new(Notify::new());
        let wake = Arc::clone(&requests);
        let queue = Arc::new(RequestQueue::new(move || wake.notify_one()));
        let session = factory(Caller { address, fallback: slot.fallback_name() });
        let sink = peers.sink(&queue);
        let ledger = Ledger::new(&store.memory);
        let stop = self.stop.clone();
        let driver =
            Driver { stream, session, sink, queue, requests, slot, ledger, stop, graceful };
        if let Some(line) = driver.run(&address.to_string()).await {
            throttled.write(&line);
        }
    }
}

/// A listening socket with the longest queue that the kernel allows.
fn bind(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // Ended connections of a previous PMDA must not block the port.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// A warning if the kernel's queue is shorter than the number of agents that may connect at once;
/// else empty.
fn short_queue(limit: &ConnectionLimit) -> String {
    let most = std::fs::read_to_string(BACKLOG_MAX)
        .ok()
        .and_then(|text| text.trim().parse::<usize>().ok());
    match most {
        Some(most) if most < limit.connections().min(BACKLOG as usize) => {
            format!(
                "; net.core.somaxconn is {most}: if more agents come at once some can be lost, raise it with sysctl(8)"
            )
        }
        _ => String::new(),
    }
}

/// Detects a vanished host within two minutes. A failure is not fatal: the connection may then stay
/// half-open.
fn keep_alive(stream: &TcpStream) {
    let often = socket2::TcpKeepalive::new()
        .with_time(Duration::from_secs(60))
        .with_interval(Duration::from_secs(15))
        .with_retries(4);
    if let Err(e) = socket2::SockRef::from(stream).set_tcp_keepalive(&often) {
        log::debug!("keep-alive: {e}");
    }
}

/// The connection ends after all is sent, without a reset.
fn graceful(stream: &TcpStream) {
    linger(stream, None);
}

/// Sets how a close ends the connection, also when the process is killed. A failure is not fatal.
fn linger(stream: &TcpStream, time: Option<Duration>) {
    if let Err(e) = socket2::SockRef::from(stream).set_linger(time) {
        log::debug!("linger: {e}");
    }
}

/// The address is a loopback address, which no other host can have.
#[must_use]
pub const fn is_local(ip: IpAddr) -> bool {
    ip.is_loopback()
}
