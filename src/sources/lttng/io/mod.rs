//! LTTng's I/O. One task controls sessions ([`control`]: the `lttng` program and the state file).
//! Each relay daemon has a task that lists its sessions ([`relay`]) and one more for each session
//! that is read. Here are their start, and a connection to a relay daemon. The protocols and decisions are outside this folder, without I/O.

mod control;
mod relay;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::BytesMut;
use pmda::process::leaves_reserve;
use relay::{Relay, RelayClaims, RelayStatus};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::control::{Command, Verb};
use super::viewer::End;
use super::{Config, OwnViewers, Protocol, Reader, RecordFilter, metrics, viewer};
use crate::clock::now;
use crate::confine::aside;
use crate::heap_size;
use crate::model::{ControlId, HeapSize};
use crate::net::ledger::{Full, Ledger};
use crate::net::{Net, Peers};
use crate::sources::foreign::ForeignReaders;
use crate::sources::{Context, Running};
use crate::store::ControlQueue;
pub use control::{ControlOptions, OnAnswer, SessionControl};

/// State file of the managed sessions, in the state folder.
const STATE_FILE: &str = "apm.lttng.json";

/// Starts the control of sessions and a task for each relay daemon.
pub(in crate::sources::lttng) fn start(
    config: Config,
    Context { peers, net, state_dir, foreign, .. }: Context,
) -> Box<dyn Running<Config>> {
    let control = start_tasks(&config, &peers, &net, state_dir.join(STATE_FILE), &foreign);
    Box::new(RunningLttng { control, config: Mutex::new(config) })
}

struct RunningLttng {
    control: SessionControl,
    /// The configuration that was applied last.
    config: Mutex<Config>,
}

impl Running<Config> for RunningLttng {
    fn reconfigure(&self, new: &Config) -> Vec<&'static str> {
        if !self.control.configure(new.sessions.clone()) {
            log::warn!(
                "lttng: too many requests wait; send SIGHUP again for the sessions of the configuration"
            );
        }
        let old = std::mem::replace(
            &mut *self.config.lock().unwrap_or_else(PoisonError::into_inner),
            new.clone(),
        );
        let keys = [
            ("program", old.program != new.program),
            ("relays", old.relays != new.relays),
            ("view", old.view != new.view),
            ("from", old.from != new.from),
            ("records", old.records != new.records),
            ("count_only", old.count_only != new.count_only),
            ("field_size", old.field_size != new.field_size),
            ("max_sessions", old.max_sessions != new.max_sessions),
        ];
        keys.into_iter().filter(|(_, differs)| *differs).map(|(key, _)| key).collect()
    }
}

fn start_tasks(
    config: &Config,
    peers: &Peers,
    net: &Net,
    state_file: PathBuf,
    foreign: &ForeignReaders,
) -> SessionControl {
    let Config {
        program,
        relays,
        view,
        from,
        max_sessions,
        records,
        count_only,
        field_size,
        sessions,
    } = config.clone();
    let options = ControlOptions { program, state_file, sessions };
    let control_queue = peers.control_queue();
    let stop = net.stop().clone();
    let control = SessionControl::start(
        net.runtime(),
        net.tasks(),
        stop,
        options,
        Arc::clone(&control_queue),
    );
    take_requests(&control_queue, &control);
    let relay_status = Arc::new(RelayStatus::new(control_queue));
    let field_size = usize::try_from(field_size).unwrap_or(usize::MAX);
    let room = Arc::new(Semaphore::new(
        usize::try_from(max_sessions).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS),
    ));
    let claims = Arc::new(RelayClaims::default());
    let own = OwnViewers::default();
    let twice = |i: usize, address: &String| relays.iter().take(i).any(|other| other == address);
    for (_, address) in relays.iter().enumerate().filter(|(i, address)| !twice(*i, address)) {
        let relay = Relay {
            address: address.clone(),
            settings: viewer::Settings { seek: from, ..viewer::Settings::default() },
            filter: RecordFilter {
                records: records.clone(),
                count_only: count_only.clone(),
                field_size,
            },
            view: view.clone(),
            room: Arc::clone(&room),
            managed: control.reports(),
            watch: Arc::clone(control.session_watch()),
            status: Arc::clone(&relay_status),
            claims: Arc::clone(&claims),
            own: own.clone(),
            peers: peers.clone(),
            foreign: foreign.clone(),
            stop: net.stop().clone(),
        };
        net.spawn(relay.run());
    }
    control
}

fn verb(control: ControlId) -> Option<Verb> {
    Some(match control {
        metrics::SESSION => Verb::Session,
        metrics::ENABLE => Verb::Enable,
        metrics::CONTEXT => Verb::Context,
        metrics::START => Verb::Start,
        metrics::STOP => Verb::Stop,
        _ => return None,
    })
}

fn take_requests(control_queue: &Arc<ControlQueue>, control: &SessionControl) {
    // `control_queue` owns the handler, so the handler has only a weak reference.
    let (weak, control) = (Arc::downgrade(control_queue), control.clone());
    control_queue.on_request(move |asked, text| {
        let Some(verb) = verb(asked) else { return Err("nothing can be asked for here".into()) };
        let command = Command::parse(verb, text)?;
        let Some(control_queue) = weak.upgrade() else { return Ok(()) };
        let text = text.trim().to_owned();
        control_queue.answer(asked, &format!("being done: {text}"));
        let done = move |result| {
            let text = match result {
                Ok(done) => format!("{text}: {done}"),
                Err(why) => format!("{text}: failed: {why}"),
            };
            log::info!("lttng control: {text}");
            control_queue.answer(asked, &text);
        };
        control.request(command, Box::new(done));
        Ok(())
    });
}

/// Time limit of connecting and of sending.
pub(super) const TIME_LIMIT: Duration = Duration::from_secs(10);
/// Bytes of the input buffer that are kept while it is empty.
const INPUT_KEPT: usize = 2 << 20;
/// Bytes of the input buffer that are kept after [`IDLE_TIME`] without large packets.
const INPUT_KEPT_IDLE: usize = 4 << 10;
const IDLE_TIME: Duration = Duration::from_secs(2);
/// Time limit of sending DETACH.
const FAREWELL: Duration = Duration::from_millis(100);
/// Time of the next tick if the protocol has none.
const TICK: Duration = Duration::from_millis(250);

/// Reason of the end when reading is stopped.
const STOPPED: &str = "nothing is to be read there any more, or the PMDA stops";

/// A connection to a relay daemon.
pub(super) struct RelayConnection {
    stream: TcpStream,
    input: BytesMut,
    pub(super) out: BytesMut,
    /// Time of the latest large packet.
    large: Duration,
}

heap_size!(RelayConnection { input, out });

impl RelayConnection {
    /// # Errors
    /// The connection failed.
    pub(super) async fn dial(address: &str) -> Result<Self, String> {
        let address = address.to_owned();
        let connect = async {
            let dial = async { TcpStream::connect(address).await?.into_std() };
            TcpStream::from_std(aside::run(dial).await??)
        };
        let connected = timeout(TIME_LIMIT, connect).await;
        let stream = connected.map_err(|_| "no answer".to_owned())?.map_err(|e| e.to_string())?;
        if !leaves_reserve(&stream) {
            return Err("the limit of open files is reached".to_owned());
        }
        stream.set_nodelay(true).map_err(|e| e.to_string())?;
        Ok(Self { stream, input: BytesMut::new(), out: BytesMut::new(), large: Duration::ZERO })
    }

    /// The address that was reached.
    ///
    /// # Errors
    /// The connection has ended.
    pub(super) fn reached(&self) -> Result<SocketAddr, String> {
        self.stream.peer_addr().map_err(|e| e.to_string())
    }

    /// Sends `out`. Not cancel-safe: after a cancelled call nothing else may be sent.
    ///
    /// # Errors
    /// The connection has ended.
    pub(super) async fn send(&mut self) -> Result<(), String> {
        if !self.out.is_empty() {
            let written = timeout(TIME_LIMIT, self.stream.write_all(&self.out)).await;
            written.map_err(|_| "it does not read".to_owned())?.map_err(|e| e.to_string())?;
            self.out.clear();
        }
        Ok(())
    }

    /// Waits for bytes or the protocol's next tick. Cancel-safe.
    ///
    /// # Errors
    /// The connection has ended.
    pub(super) async fn exchange(&mut self, protocol: &mut impl Protocol) -> Result<(), String> {
        if protocol.awaits_reply() {
            // Some replies come in two segments, the second after the acknowledgement of the first.
            let _ = socket2::SockRef::from(&self.stream).set_tcp_quickack(true);
        }
        let wait = protocol.next_wakeup().map_or(TICK, |at| at.saturating_sub(now().monotonic));
        tokio::select! {
            biased;
            read = self.stream.read_buf(&mut self.input) => {
                if read.map_err(|e| e.to_string())? == 0 {
                    return Err("closed by the relay daemon".into());
                }
                let at = now();
                protocol.feed(at, &mut self.input, &mut self.out).map_err(|e| e.to_string())?;
                if self.input.capacity() > INPUT_KEPT_IDLE {
                    self.large = self.large.max(at.monotonic);
                }
                if self.input.is_empty() && self.input.capacity() > INPUT_KEPT {
                    self.input = BytesMut::new();
                }
            }
            () = sleep(wait) => {
                let at = now();
                protocol.tick(at, &mut self.out).map_err(|e| e.to_string())?;
                if self.input.is_empty() && self.input.capacity() > INPUT_KEPT_IDLE && at.monotonic.saturating_sub(self.large) >= IDLE_TIME {
                    self.input = BytesMut::new();
                }
            }
        }
        Ok(())
    }

    /// Sends `out` if that is possible at once.
    async fn farewell(&mut self) {
        let _ = timeout(FAREWELL, self.stream.write_all(&self.out)).await;
    }
}

/// Reads a session until it ends, the connection breaks, memory is short, or `stop`. Its memory is
/// charged to `ledger` after each step.
pub(super) async fn read(
    mut reader: Reader,
    address: &str,
    stop: &CancellationToken,
    mut ledger: Ledger,
) -> (End, Option<Full>) {
    let dialled = tokio::select! {
        () = stop.cancelled() => Err(STOPPED.to_owned()),
        dialled = RelayConnection::dial(address) => dialled,
    };
    let mut connection = match dialled {
        Ok(connection) => connection,
        Err(why) => return (reader.close(now(), &why), None),
    };
    reader.start(now(), &mut connection.out);
    let mut full = None;
    let why = loop {
        if reader.is_over() {
            break String::new();
        }
        if let Err(why) = connection.send().await {
            break why;
        }
        tokio::select! {
            biased;
            () = stop.cancelled() => break STOPPED.to_owned(),
            exchanged = connection.exchange(&mut reader) => if let Err(why) = exchanged { break why },
        }
        if let Err(why) = ledger.hold(false, connection.heap_size(), reader.held()) {
            reader.give_up(now(), &why.to_string());
            full = Some(why);
        }
    };
    // Nothing can follow a request that was sent in part.
    if connection.out.is_empty() || reader.is_over() {
        reader.detach(&mut connection.out);
        connection.farewell().await;
    }
    (reader.close(now(), &why), full)
}
