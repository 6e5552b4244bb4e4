//! The ways to one process: its socket, and the connections that it has made to us.

use std::collections::VecDeque;
use std::io;
use std::io::ErrorKind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pmda::process::leaves_reserve;
use rustix::io::Errno;
use tokio::net::UnixStream;
use tokio::sync::{Notify, watch};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::finder::{Way, socket};
use crate::confine::aside;
use crate::host::{Host, ProcDir, connect};
use crate::sources::dotnet::discovery::{Access, Target, Via};
use crate::sources::dotnet::{Config, limits};

/// A program of a process. Reported once; there is a new one for another program, and for another process with the
/// same id.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// What is known of it.
    pub target: Arc<Target>,
    /// The process was another program before: what it has used is not all this one's.
    pub again: bool,
    /// Whether it can be read; changes with its socket and with permissions.
    pub access: watch::Receiver<Access>,
    /// Cancelled when the process has ended, or is not to be read any more.
    pub gone: CancellationToken,
    pub(super) door: Arc<Door>,
}

impl Found {
    /// Its files. `None`: it has ended.
    pub(crate) fn process(&self) -> Option<ProcDir> {
        self.door.host.proc().open(self.target.pid)
    }

    /// It began while this PMDA ran.
    pub(crate) fn is_new(&self) -> bool {
        !self.again && self.target.pid != 0 && self.door.host.began(self.target.start)
    }

    /// Opens a connection, for one request. Takes at most 10 s.
    ///
    /// # Errors
    /// It cannot be read now.
    pub(crate) async fn connect(&self) -> io::Result<UnixStream> {
        let access = self.access.borrow().clone();
        self.door.connect(&self.target, access).await
    }
}

/// Time limit of a connection.
const TIME_LIMIT: Duration = Duration::from_secs(10);
/// Time that a process has to connect to us.
const PORT: Duration = Duration::from_secs(3);
/// Time between two tries, and most tries: a socket exists shortly before the runtime listens.
const RETRY: Duration = Duration::from_millis(50);
const TRIES: u32 = 20;

/// The ways to one process.
#[derive(Debug)]
pub(super) struct Door {
    pub(super) host: Arc<Host>,
    pub(super) config: watch::Receiver<Arc<Config>>,
    /// Connections that the process has made to us.
    pub(super) port: Port,
}

impl Door {
    /// Opens a connection as `access` says.
    ///
    /// # Errors
    /// The process has ended, does not accept connections, or `access` forbids it.
    pub(super) async fn connect(&self, target: &Target, access: Access) -> io::Result<UnixStream> {
        let open = async {
            match access {
                Access::Open(Via::Socket) => self.socket(target).await,
                // A runtime connects again at once; its socket is there besides.
                Access::Open(Via::Port) => match timeout(PORT, self.port.take()).await {
                    Ok(stream) => Ok(stream),
                    Err(_) if target.pid == 0 => Err(ErrorKind::TimedOut.into()),
                    Err(_) => self.socket(target).await,
                },
                Access::Denied(why) => Err(io::Error::new(ErrorKind::PermissionDenied, &*why)),
                Access::Off(why) => Err(io::Error::new(ErrorKind::NotFound, &*why)),
            }
        };
        timeout(TIME_LIMIT, open).await.unwrap_or_else(|_| Err(ErrorKind::TimedOut.into()))
    }

    async fn socket(&self, target: &Target) -> io::Result<UnixStream> {
        let mut tries = 0;
        loop {
            tries += 1;
            match self.try_socket(target).await {
                // Refused: it does not listen yet, or its runtime ends. Would block: many connect.
                Err(e)
                    if tries < TRIES
                        && matches!(
                            e.kind(),
                            ErrorKind::ConnectionRefused | ErrorKind::WouldBlock
                        ) =>
                {
                    sleep(RETRY).await;
                }
                done => return done,
            }
        }
    }

    async fn try_socket(&self, target: &Target) -> io::Result<UnixStream> {
        let (host, config) = (Arc::clone(&self.host), Arc::clone(&self.config.borrow()));
        let (pid, start) = (target.pid, target.start);
        let gone = || io::Error::new(ErrorKind::NotFound, "the process has ended");
        // Files of processes can be slow: their locks are held by the process.
        let (stream, status) = aside::spawn_blocking(move || {
            let dir =
                host.proc().open(pid).filter(|dir| dir.start() == Some(start)).ok_or_else(gone)?;
            let status = dir.status().ok_or_else(gone)?;
            let socket = socket(&dir, start, status, &config.directories, &mut |_| ())
                .map_err(|_| io::Error::new(ErrorKind::NotFound, "its socket is gone"))?;
            // As tokio does: a socket whose queue is full is tried again.
            let socket = match socket.way {
                Way::File(file) => connect(&file)?,
                Way::Opener(path) => dir.connect(&path)?,
            };
            Ok::<_, io::Error>((socket, status))
        })
        .await
        .map_err(io::Error::other)??;
        let stream = UnixStream::from_std(stream.into())?;
        if !leaves_reserve(&stream) {
            return Err(Errno::MFILE.into());
        }
        let peer = stream.peer_cred()?;
        let other_pid = peer.pid().is_some_and(|p| p != 0 && u32::try_from(p) != Ok(pid));
        // One that has executed a program of another user since is not taken for that program.
        if other_pid || ![0, status.uid].contains(&peer.uid()) {
            let text = "another process listens on its socket";
            return Err(io::Error::new(ErrorKind::PermissionDenied, text));
        }
        Ok(stream)
    }
}

/// The idle connections of one process. A runtime makes the next one when one is used
/// (docs/protocols/dotnet.md 1).
#[derive(Debug, Default)]
pub(super) struct Port {
    idle: Mutex<VecDeque<UnixStream>>,
    came: Notify,
}

impl Port {
    /// With one connection.
    pub(super) fn of(stream: UnixStream) -> Self {
        Self { idle: Mutex::new([stream].into()), came: Notify::new() }
    }

    /// A connection has come. The oldest is closed if there are too many.
    pub(super) fn put(&self, stream: UnixStream) {
        let mut idle = self.lock();
        idle.push_back(stream);
        if idle.len() > limits::IDLE {
            idle.pop_front();
        }
        drop(idle);
        self.came.notify_one();
    }

    /// Takes a connection; waits for one if there is none.
    pub(super) async fn take(&self) -> UnixStream {
        loop {
            if let Some(stream) = self.take_now() {
                return stream;
            }
            self.came.notified().await;
        }
    }

    /// Whether there is a connection. Forgets those that the process has closed.
    pub(super) fn is_open(&self) -> bool {
        let mut idle = self.lock();
        idle.retain(is_idle);
        !idle.is_empty()
    }

    /// Takes a connection, if there is one.
    pub(super) fn take_now(&self) -> Option<UnixStream> {
        let mut idle = self.lock();
        loop {
            // The newest: an older one can be that of a runtime that has restarted.
            let stream = idle.pop_back()?;
            if is_idle(&stream) {
                if !idle.is_empty() {
                    self.came.notify_one();
                }
                return Some(stream);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<UnixStream>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Neither closed nor with bytes that nobody has asked for.
fn is_idle(stream: &UnixStream) -> bool {
    matches!(stream.try_read(&mut [0]), Err(e) if e.kind() == ErrorKind::WouldBlock)
}
