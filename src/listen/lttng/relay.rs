//! Dials relay daemons of LTTng, again and again, and carries bytes between them and their collectors.

use super::control::LttngControl;
use super::relay_status::RelayStatus;
use crate::clock::now;
use crate::sources::lttng::{Choice, Collector, viewer};
use crate::sources::{LTTNG, OwnSink, SessionError, Sinks};
use crate::store::{Mailbox, PeerSink, Quiet, Store};
use bytes::BytesMut;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

/// First and longest time between two attempts.
const RETRY: Duration = Duration::from_millis(250);
const RETRY_MAX: Duration = Duration::from_secs(5);
/// Longest time for a connection to be made, and for requests to be taken.
const PATIENCE: Duration = Duration::from_secs(10);
/// Packets are larger than the input that is kept between them.
const KEPT: usize = 2 << 20;

/// One relay daemon.
pub(super) struct Relay {
    pub(super) address: String,
    pub(super) settings: viewer::Settings,
    pub(super) choice: Choice,
    /// Sessions that are read, as `HOST/SESSION` with globs.
    pub(super) view: Vec<String>,
    /// Names of sessions that the PMDA makes: they are read too.
    pub(super) own: watch::Receiver<Vec<String>>,
    pub(super) control: LttngControl,
    pub(super) status: Arc<RelayStatus>,
    pub(super) store: Arc<Store>,
    pub(super) stop: CancellationToken,
}

/// What to do about a relay daemon that is not there.
const HINT: &str = "is lttng-relayd running, and does it serve viewers on this address (option -L)?";
/// What to do when nothing is to be read.
const IDLE: &str = "idle: no session is to be read; name some in lttng.view of the configuration, or have some made";

/// Sinks in the store.
struct Joined(Arc<Store>);

impl Sinks for Joined {
    fn open(&mut self) -> Box<dyn OwnSink> {
        // Requests to sessions go to the session daemon, and not over this connection.
        Box::new(PeerSink::new(&self.0, LTTNG, &Arc::new(Mailbox::new(|| ()))))
    }
}

/// Why a connection is over.
enum Over {
    Stop,
    /// Nothing is to be read any more.
    Idle,
    Error(String),
}

impl From<std::io::Error> for Over {
    fn from(e: std::io::Error) -> Self {
        Self::Error(e.to_string())
    }
}

impl From<SessionError> for Over {
    fn from(e: SessionError) -> Self {
        Self::Error(e.to_string())
    }
}

impl Relay {
    /// Runs until the PMDA stops.
    pub(super) async fn run(mut self) {
        let sinks = Box::new(Joined(Arc::clone(&self.store)));
        let mut collector = Collector::new(self.address.clone(), self.settings.clone(), self.choice.clone(), sinks);
        let (mut retry, mut quiet) = (RETRY, Quiet::default());
        loop {
            if !self.choose(&mut collector) {
                self.status.set(&self.address, IDLE.to_owned());
                tokio::select! {
                    () = self.stop.cancelled() => return,
                    changed = self.own.changed() => if changed.is_err() { return },
                }
                continue;
            }
            let connected = tokio::select! {
                () = self.stop.cancelled() => return,
                connected = timeout(PATIENCE, TcpStream::connect(&self.address)) => connected,
            };
            let over = match connected {
                Ok(Ok(stream)) => {
                    let over = self.talk(stream, &mut collector).await;
                    if collector.connected() {
                        retry = RETRY;
                    }
                    over
                }
                Ok(Err(e)) => e.into(),
                Err(_) => Over::Error("no answer".into()),
            };
            let why = match over {
                Over::Stop => return collector.close(now(), "the PMDA stops"),
                Over::Idle => {
                    collector.close(now(), "no session is to be read");
                    continue;
                }
                Over::Error(why) => why,
            };
            collector.close(now(), &why);
            self.status.set(&self.address, format!("unreachable: {why}; {HINT}"));
            if let Some(n) = quiet.allow(now().mono) {
                log::warn!("relay daemon at {}: {why}; {HINT} Trying again{}", self.address, Quiet::more(n));
            }
            tokio::select! {
                () = self.stop.cancelled() => return,
                () = sleep(retry) => {}
            }
            retry = (2 * retry).min(RETRY_MAX);
        }
    }

    /// Which sessions are to be read; false: none.
    fn choose(&mut self, collector: &mut Collector) -> bool {
        let own = self.own.borrow_and_update().clone();
        let patterns = self.view.iter().cloned().chain(own.iter().map(|name| format!("*/{name}")));
        let patterns: Vec<_> = patterns.filter_map(|text| viewer::Pattern::parse(&text)).collect();
        let any = !patterns.is_empty();
        collector.choose(patterns, &own);
        any
    }

    async fn talk(&mut self, mut stream: TcpStream, collector: &mut Collector) -> Over {
        match self.exchange(&mut stream, collector).await {
            Ok(never) => match never {},
            Err(over @ (Over::Stop | Over::Idle)) => {
                let mut out = BytesMut::new();
                collector.detach(&mut out);
                let _ = timeout(Duration::from_millis(100), stream.write_all(&out)).await;
                over
            }
            Err(error) => error,
        }
    }

    async fn exchange(&mut self, stream: &mut TcpStream, collector: &mut Collector) -> Result<std::convert::Infallible, Over> {
        stream.set_nodelay(true)?;
        let (mut input, mut out) = (BytesMut::new(), BytesMut::new());
        collector.start(now(), &mut out);
        let mut shown = false;
        loop {
            if !out.is_empty() {
                let written = timeout(PATIENCE, stream.write_all(&out)).await;
                written.map_err(|_| Over::Error("it does not read".into()))??;
                out.clear();
            }
            if collector.awaits_reply() {
                // Some replies come in two pieces, the second after our ack of the first.
                let _ = socket2::SockRef::from(&*stream).set_tcp_quickack(true);
            }
            let wait = collector.next_wakeup().map_or(RETRY, |at| at.saturating_sub(now().mono));
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return Err(Over::Stop),
                Ok(()) = self.own.changed() => if !self.choose(collector) { return Err(Over::Idle) },
                read = stream.read_buf(&mut input) => {
                    if read? == 0 {
                        return Err(Over::Error("closed by the relay daemon".into()));
                    }
                    collector.feed(now(), &mut input, &mut out)?;
                    if input.is_empty() && input.capacity() > KEPT {
                        input = BytesMut::new();
                    }
                }
                () = sleep(wait) => collector.tick(now(), &mut out)?,
            }
            if !shown && collector.connected() {
                shown = true;
                self.status.set(&self.address, "connected".to_owned());
            }
            collector.notices().into_iter().for_each(|notice| self.control.notice(notice));
        }
    }
}
