//! The task of one relay daemon: a connection that lists sessions, retried with back-off, and a
//! task with its own connection for each session that is read.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, watch};
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::super::control::{Report, SessionWatch};
use super::super::metrics::RELAYS;
use super::super::viewer::{End, SessionInfo};
use super::super::{Collector, OwnViewers, RecordFilter, viewer};
use super::RelayConnection;
use crate::clock::now;
use crate::contract::Held;
use crate::model::HeapSize;
use crate::net::Peers;
use crate::net::ledger::{Full, Ledger};
use crate::sources::foreign::ForeignReaders;
use crate::store::{ControlQueue, LogThrottle};

/// First and longest pause between two attempts to connect.
const RETRY: Duration = Duration::from_millis(250);
const RETRY_MAX: Duration = Duration::from_secs(5);
/// Time limit of the readers when the PMDA stops: less than the PMDA's own.
const DRAIN: Duration = Duration::from_millis(500);

/// One relay daemon.
pub(super) struct Relay {
    pub(super) address: String,
    pub(super) settings: viewer::Settings,
    pub(super) filter: RecordFilter,
    /// Patterns `HOST/SESSION` of sessions to read.
    pub(super) view: Vec<String>,
    /// Permits of `lttng.max_sessions`, shared by all relay daemons.
    pub(super) room: Arc<Semaphore>,
    /// Managed sessions, which are read too.
    pub(super) managed: watch::Receiver<Vec<Report>>,
    /// Receives the viewers' sightings of managed sessions.
    pub(super) watch: Arc<SessionWatch>,
    pub(super) status: Arc<RelayStatus>,
    /// Addresses that are read, of all relay daemons.
    pub(super) claims: Arc<RelayClaims>,
    /// Sessions that are read, of all relay daemons.
    pub(super) own: OwnViewers,
    pub(super) peers: Peers,
    /// Readers of events of other sources.
    pub(super) foreign: ForeignReaders,
    pub(super) stop: CancellationToken,
}

/// Advice for an unreachable relay daemon.
const HINT: &str =
    "is lttng-relayd running, and does it serve viewers on this address (option -L)?";
/// State and advice when no session is to be read.
const IDLE: &str = "idle: no session is to be read; name some in lttng.view of the configuration, or have some made";

/// Why a connection has ended.
enum Disconnect {
    Stop,
    /// No session is to be read any more.
    Idle,
    Error(String),
    /// The relay daemon is read under this other name.
    Twice(String),
    /// Memory is short.
    Full(Full),
}

/// The end of a reader, and the exceeded limit if memory was short.
type FinishedReader = (Id, (End, Option<Full>));

/// Tasks that read sessions.
struct Readers {
    tasks: JoinSet<(End, Option<Full>)>,
    sessions: HashMap<Id, SessionInfo>,
    stop: CancellationToken,
    /// Throttle of log lines about sessions without memory.
    full_log: LogThrottle,
}

impl Readers {
    fn new(stop: &CancellationToken) -> Self {
        Self {
            tasks: JoinSet::new(),
            sessions: HashMap::new(),
            stop: stop.child_token(),
            full_log: LogThrottle::default(),
        }
    }

    /// Waits for the next reader that ends; forever if there is none.
    async fn ended(&mut self) -> Result<FinishedReader, JoinError> {
        match self.tasks.join_next_with_id().await {
            Some(ended) => ended,
            None => std::future::pending().await,
        }
    }

    fn done(&mut self, ended: Result<FinishedReader, JoinError>, collector: &mut Collector) {
        let id = ended.as_ref().map_or_else(JoinError::id, |(id, _)| *id);
        let session = self.sessions.remove(&id);
        match (ended, session) {
            (Ok((_, (end, full))), session) => {
                if let (Some(why), Some(session)) = (full, session)
                    && let Some(n) = self.full_log.allow(now().monotonic)
                {
                    let (host, name) = (&session.host, &session.name);
                    log::warn!(
                        "lttng: {host}/{name} is not read, to keep within memory: {why}{}",
                        LogThrottle::more(n)
                    );
                }
                collector.ended(now(), end);
            }
            (Err(fault), Some(session)) => {
                log::error!("lttng: reading {}/{}: {fault}", session.host, session.name);
                collector.lost(now(), &session);
            }
            (Err(_), None) => {}
        }
    }

    /// Stops all readers within the time limit.
    async fn end(&mut self, collector: &mut Collector) {
        self.stop.cancel();
        let all = async {
            while let Some(ended) = self.tasks.join_next_with_id().await {
                self.done(ended, collector);
            }
        };
        let _ = timeout(DRAIN, all).await;
    }
}

impl Relay {
    /// Runs until the PMDA stops.
    pub(super) async fn run(mut self) {
        // Requests go to the session daemon, not over this connection.
        let maker = self.peers.maker(false);
        let mut collector = Collector::new(
            &self.address,
            self.settings.clone(),
            self.filter.clone(),
            maker,
            Arc::clone(&self.watch),
        )
        .with_foreign(self.foreign.clone())
        .with_own(self.own.clone());
        let mut claim: Option<RelayClaim> = None;
        let mut readers = Readers::new(&self.stop);
        let (mut retry, mut retry_log, mut limit_log) =
            (RETRY, LogThrottle::default(), LogThrottle::default());
        loop {
            if !self.choose(&mut collector) {
                self.status.set(&self.address, IDLE.to_owned());
                tokio::select! {
                    () = self.stop.cancelled() => return,
                    changed = self.managed.changed() => if changed.is_err() { return },
                }
                continue;
            }
            let dialled = tokio::select! {
                () = self.stop.cancelled() => Err(Disconnect::Stop),
                dialled = RelayConnection::dial(&self.address) => dialled.map_err(Disconnect::Error),
            };
            let disconnect = match dialled {
                Ok(connection) => match self.claim(&connection, &mut claim) {
                    Ok(()) => {
                        let disconnect = self
                            .list(connection, &mut collector, &mut readers, &mut limit_log)
                            .await;
                        if collector.connected() {
                            retry = RETRY;
                        }
                        disconnect
                    }
                    Err(disconnect) => disconnect,
                },
                Err(disconnect) => {
                    claim = None;
                    disconnect
                }
            };
            collector.close();
            let why = match disconnect {
                Disconnect::Stop => return readers.end(&mut collector).await,
                Disconnect::Idle => {
                    readers.end(&mut collector).await;
                    readers = Readers::new(&self.stop);
                    continue;
                }
                Disconnect::Error(why) => format!("unreachable: {why}; {HINT}"),
                Disconnect::Twice(other) => format!(
                    "not read: it is the relay daemon {other}, which is read under that name; leave one of them out of lttng.relays."
                ),
                Disconnect::Full(why) => {
                    format!("sessions are not listed, to keep within memory: {why};")
                }
            };
            if let Some(n) = retry_log.allow(now().monotonic) {
                log::warn!(
                    "relay daemon at {}: {why} Trying again{}",
                    self.address,
                    LogThrottle::more(n)
                );
            }
            self.status.set(&self.address, why);
            tokio::select! {
                () = self.stop.cancelled() => return readers.end(&mut collector).await,
                () = sleep(retry) => {}
            }
            retry = (2 * retry).min(RETRY_MAX);
        }
    }

    /// Makes `claim` that of the address that a connection has reached.
    fn claim(
        &self,
        connection: &RelayConnection,
        claim: &mut Option<RelayClaim>,
    ) -> Result<(), Disconnect> {
        let reached = connection.reached().map_err(Disconnect::Error)?;
        // The address of a name changes at times. The old one is another's to claim.
        *claim = None;
        *claim = Some(self.claims.claim(reached, &self.address).map_err(Disconnect::Twice)?);
        Ok(())
    }

    /// Sets the patterns of sessions to read. `false`: there are none.
    fn choose(&mut self, collector: &mut Collector) -> bool {
        let managed = self.managed.borrow_and_update().clone();
        let managed = managed.iter().map(|session| format!("*/{}", session.name));
        let patterns = self.view.iter().cloned().chain(managed);
        let patterns: Vec<_> = patterns.filter_map(|text| viewer::Pattern::parse(&text)).collect();
        let any = !patterns.is_empty();
        collector.choose(patterns);
        any
    }

    /// Lists sessions over a connection and starts readers, until the connection ends.
    async fn list(
        &mut self,
        mut connection: RelayConnection,
        collector: &mut Collector,
        readers: &mut Readers,
        limit_log: &mut LogThrottle,
    ) -> Disconnect {
        let mut ledger = Ledger::new(self.peers.memory());
        collector.start(now(), &mut connection.out);
        loop {
            if let Err(why) = connection.send().await {
                return Disconnect::Error(why);
            }
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return Disconnect::Stop,
                Ok(()) = self.managed.changed() => if !self.choose(collector) { return Disconnect::Idle },
                ended = readers.ended() => readers.done(ended, collector),
                exchanged = connection.exchange(collector) => if let Err(why) = exchanged { return Disconnect::Error(why) },
            }
            if let Err(full) = ledger.hold(false, connection.heap_size(), Held::default()) {
                return Disconnect::Full(full);
            }
            self.read(collector, readers);
            if collector.connected() {
                self.show_status(collector, limit_log);
            }
        }
    }

    /// Starts a task for each session that is due.
    fn read(&self, collector: &mut Collector, readers: &mut Readers) {
        for (reader, permit) in
            collector.due(now(), || Arc::clone(&self.room).try_acquire_owned().ok())
        {
            let session = reader.session().clone();
            let (address, stop, ledger) =
                (self.address.clone(), readers.stop.clone(), Ledger::new(self.peers.memory()));
            let task = readers.tasks.spawn(async move {
                let end = super::read(reader, &address, &stop, ledger).await;
                drop(permit);
                end
            });
            readers.sessions.insert(task.id(), session);
        }
    }

    fn show_status(&self, collector: &Collector, limit_log: &mut LogThrottle) {
        let more = collector.beyond_limit();
        if more == 0 {
            self.status.set(&self.address, "connected".to_owned());
            return;
        }
        let text = format!(
            "{more} sessions are not read: as many are read as lttng.max_sessions of the configuration allows"
        );
        let status = format!("connected: {text}");
        if self.status.set(&self.address, status)
            && let Some(n) = limit_log.allow(now().monotonic)
        {
            log::warn!("relay daemon at {}: {text}{}", self.address, LogThrottle::more(n));
        }
    }
}

/// Addresses that were reached, with the name that reads there.
#[derive(Debug, Default)]
pub(super) struct RelayClaims(Mutex<BTreeMap<SocketAddr, String>>);

/// An address is read under one name until this is dropped.
#[derive(Debug)]
pub(super) struct RelayClaim {
    claims: Arc<RelayClaims>,
    address: SocketAddr,
}

impl RelayClaims {
    fn names(&self) -> MutexGuard<'_, BTreeMap<SocketAddr, String>> {
        // Valid after each step.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Claims the address that a connection has reached for this name.
    ///
    /// # Errors
    /// The other name that has claimed it.
    pub(super) fn claim(
        self: &Arc<Self>,
        reached: SocketAddr,
        name: &str,
    ) -> Result<RelayClaim, String> {
        // An IPv4 address reached over an IPv6 socket is the same address.
        let address = SocketAddr::new(IpAddr::to_canonical(&reached.ip()), reached.port());
        let mut names = self.names();
        if let Some(other) = names.get(&address) {
            return Err(other.clone());
        }
        names.insert(address, name.to_owned());
        drop(names);
        Ok(RelayClaim { claims: Arc::clone(self), address })
    }
}

impl Drop for RelayClaim {
    fn drop(&mut self) {
        self.claims.names().remove(&self.address);
    }
}

/// State of all relay daemons, one line each.
#[derive(Debug)]
pub(super) struct RelayStatus {
    control_queue: Arc<ControlQueue>,
    lines: Mutex<BTreeMap<String, String>>,
}

impl RelayStatus {
    pub(super) fn new(control_queue: Arc<ControlQueue>) -> Self {
        Self { control_queue, lines: Mutex::default() }
    }

    /// Sets the state of a relay daemon. Returns whether it has changed.
    pub(super) fn set(&self, address: &str, status: String) -> bool {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.get(address) == Some(&status) {
            return false;
        }
        lines.insert(address.to_owned(), status);
        let all: Vec<_> =
            lines.iter().map(|(address, status)| format!("{address} {status}")).collect();
        self.control_queue.answer(RELAYS, &all.join("\n"));
        true
    }
}

#[cfg(test)]
#[path = "tests/claims.rs"]
mod tests;
