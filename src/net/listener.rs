//! A listening socket: bound as soon as possible, then accepting until the PMDA stops, with one
//! task for each connection. [`Serve`] is what a connection's task does.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pmda::process::leaves_reserve;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::connection_limit::{ConnectionLimit, Slot};
use super::peers::Peers;
use super::tcp::acknowledge;
use super::tls::{Tls, Wire};
use crate::clock::now;
use crate::confine::aside;
use crate::store::{LogThrottle, Stat};

/// Time between two tries to bind: the owner of an address in use may be the previous PMDA.
const BIND_RETRY: Duration = Duration::from_secs(2);
/// Length of the accept queue, the largest that Linux can count: all agents reconnect at once after
/// a restart of the PMDA or the host, and connections that do not fit are lost. The kernel cuts it
/// to `net.core.somaxconn`.
const BACKLOG: i32 = 65_535;
/// The file with the kernel's limit of [`BACKLOG`].
const BACKLOG_MAX: &str = "/proc/sys/net/core/somaxconn";
/// Pause after a failed accept (too many open files, say).
const ACCEPT_RETRY: Duration = Duration::from_millis(100);

/// A connection that was accepted.
pub(super) struct Accepted<'a, W> {
    pub(super) stream: W,
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
    fn serve<W: Wire>(
        &self,
        accepted: Accepted<'_, W>,
    ) -> impl Future<Output = Option<String>> + Send;
}

/// Log lines about connections of one listener that ended badly: at most one a minute of each kind.
#[derive(Debug, Default)]
pub(super) struct SharedThrottle(Mutex<HashMap<&'static str, LogThrottle>>);

impl SharedThrottle {
    pub(super) fn write(&self, line: &str) {
        self.write_of("", line);
    }

    /// `kind`: lines of another kind do not suppress it.
    fn write_of(&self, kind: &'static str, line: &str) {
        let mut kinds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let allowed = kinds.entry(kind).or_default().allow(now().monotonic);
        drop(kinds);
        if let Some(n) = allowed {
            log::warn!("{line}{}", LogThrottle::more(n));
        }
    }
}

/// One listener of one source.
pub(super) struct Listener<S> {
    pub(super) address: SocketAddr,
    /// What makes the handshakes; `None`: connections are plain.
    pub(super) tls: Option<Arc<Tls>>,
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
            let address = self.address;
            let socket = aside::wait(move || bind(address));
            bound = socket.and_then(|socket| self.bound(socket, &mut throttle));
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
        self.bound(bind(self.address), throttle)
    }

    /// Tells what a try has brought.
    fn bound(&self, socket: io::Result<Queue>, throttle: &mut LogThrottle) -> Option<TcpListener> {
        let (address, name) = (self.address, self.peers.name());
        let listener = socket.and_then(|(socket, most)| Ok((TcpListener::from_std(socket)?, most)));
        match listener {
            Ok((listener, most)) => {
                let how = if self.tls.is_some() { " with TLS" } else { "" };
                log::info!("{name}: listening on {address}{how}{}", short_queue(most, &self.limit));
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
        let line = match &self.tls {
            None => self.serve.serve(Accepted { stream, address, slot, stop: &self.stop }).await,
            // Boxed: a plain connection does not keep the room.
            Some(tls) => Box::pin(self.secure(tls, stream, address, slot)).await,
        };
        if let Some(line) = line {
            self.ends.write(&line);
        }
    }

    /// Runs a connection with TLS until its end. Returns the line to log as a warning, if any.
    async fn secure(
        &self,
        tls: &Arc<Tls>,
        stream: TcpStream,
        address: SocketAddr,
        slot: Slot<'_>,
    ) -> Option<String> {
        match tls.accept(stream, &self.peers.store().memory, &slot.displaced, &self.stop).await {
            Ok(stream) => {
                // The last part of its handshake has no answer.
                acknowledge(stream.tcp());
                self.serve.serve(Accepted { stream, address, slot, stop: &self.stop }).await
            }
            Err(why) if why.is_fault() => {
                self.peers.store().stats.add(Stat::ConnectionRefused, 1);
                let name = self.peers.name();
                let line = format!("{name}: connection from {address} refused: {why}");
                self.ends.write_of(why.kind(), &line);
                None
            }
            Err(why) => {
                log::debug!("{}: connection from {address} ended: {why}", self.peers.name());
                None
            }
        }
    }
}

/// A listening socket, and the longest queue that the kernel allows; `None`: it is not known.
type Queue = (std::net::TcpListener, Option<usize>);

/// Listens. Workers may not.
fn bind(address: SocketAddr) -> io::Result<Queue> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_nonblocking(true)?;
    // Ended connections of a previous PMDA must not block the port.
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    let most = std::fs::read_to_string(BACKLOG_MAX).ok();
    Ok((socket.into(), most.and_then(|text| text.trim().parse().ok())))
}

/// A warning if the kernel's queue is shorter than the number of agents that may connect at once;
/// else empty.
fn short_queue(most: Option<usize>, limit: &ConnectionLimit) -> String {
    match most {
        Some(most) if most < limit.connections().min(BACKLOG.unsigned_abs() as usize) => {
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
