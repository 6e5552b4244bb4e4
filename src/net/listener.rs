//! A listening socket: bound as soon as possible, then accepting until the PMDA stops, with one
//! task for each connection. [`Serve`] is what a connection's task does.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use pmda::process::leaves_reserve;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::connection_limit::{ConnectionLimit, Slot};
use super::peers::Peers;
use super::throttle::SharedThrottle;
use crate::clock::now;
use crate::store::{LogThrottle, Stat};

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

/// A connection that was accepted.
pub(super) struct Accepted<'a> {
    pub(super) stream: TcpStream,
    /// Address and port of the peer.
    pub(super) address: SocketAddr,
    pub(super) slot: Slot<'a>,
    /// Cancelled when the PMDA stops.
    pub(super) stop: &'a CancellationToken,
}

/// What a listener does with its connections.
pub(super) trait Serve: Send + Sync + 'static {
    /// Whether connections from this address are accepted.
    fn admits(&self, _: SocketAddr) -> bool {
        true
    }

    /// Runs a connection until its end. Returns the line to log as a warning, if any.
    fn serve(&self, accepted: Accepted<'_>) -> impl Future<Output = Option<String>> + Send;
}

/// One listener of one source.
pub(super) struct Listener<S> {
    pub(super) address: SocketAddr,
    pub(super) peers: Peers,
    pub(super) serve: Arc<S>,
    pub(super) limit: Arc<ConnectionLimit>,
    pub(super) stop: CancellationToken,
    pub(super) tasks: TaskTracker,
    /// Throttle of log lines about connections that ended badly.
    pub(super) ends: SharedThrottle,
}

impl<S: Serve> Listener<S> {
    /// Runs until the PMDA stops. `bound`: the socket, if it is bound already.
    pub(super) async fn run(
        self: Arc<Self>,
        mut bound: Option<TcpListener>,
        mut throttle: LogThrottle,
    ) {
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
        let mut throttle = LogThrottle::default();
        loop {
            let accepted = tokio::select! {
                () = self.stop.cancelled() => return,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                // Not in a task of its own: until that runs, others would be accepted.
                Ok((stream, from)) if !leaves_reserve(&stream) => {
                    let stats = &self.peers.store().stats;
                    stats.add(Stat::ConnectionTotal, 1);
                    stats.add(Stat::ConnectionRefused, 1);
                    self.ends.write(&format!(
                        "{}: connection from {from} refused: the limit of open files (ulimit -n) is reached",
                        self.peers.name()
                    ));
                }
                Ok((stream, from)) => {
                    let number = self.limit.number();
                    self.tasks.spawn(Arc::clone(&self).connection(number, stream, from));
                }
                Err(e) => {
                    if let Some(n) = throttle.allow(now().monotonic) {
                        log::error!(
                            "{}: accept on {}: {e}{}",
                            self.peers.name(),
                            self.address,
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
        let (address, name) = (self.address, self.peers.name());
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

    async fn connection(self: Arc<Self>, number: u64, stream: TcpStream, from: SocketAddr) {
        let address = SocketAddr::new(from.ip().to_canonical(), from.port());
        let (store, name) = (self.peers.store(), self.peers.name());
        let Some(slot) = self.limit.enter(number, address.ip(), &store.stats) else {
            self.ends.write(&format!(
                "{name}: connection from {address} refused: limits.connections is reached"
            ));
            return;
        };
        let why = if store.memory.is_full() {
            Some("limits.memory is reached")
        } else if !self.serve.admits(address) {
            Some("its address is not allowed")
        } else {
            None
        };
        if let Some(why) = why {
            store.stats.add(Stat::ConnectionRefused, 1);
            self.ends.write(&format!("{name}: connection from {address} refused: {why}"));
            return;
        }
        let _ = stream.set_nodelay(true);
        keep_alive(&stream);
        let accepted = Accepted { stream, address, slot, stop: &self.stop };
        if let Some(line) = self.serve.serve(accepted).await {
            self.ends.write(&line);
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
