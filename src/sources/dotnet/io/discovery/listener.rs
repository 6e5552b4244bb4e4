//! The socket that processes with `DOTNET_DiagnosticPorts=PATH,nosuspend` connect to
//! (docs/protocols/dotnet.md 1).

use std::collections::HashMap;
use std::io;
use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pmda::process::leaves_reserve;
use tokio::io::AsyncReadExt;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc::Sender;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::clock::now;
use crate::confine::aside;
use crate::sources::dotnet::limits;
use crate::sources::dotnet::wire::ipc::{ADVERTISE, Advertise};
use crate::store::LogThrottle;

/// Time that a program has to advertise itself.
const ADVERTISE_TIME: Duration = Duration::from_secs(10);
/// Time between two tries to listen: the owner of the socket may be the previous PMDA.
const RETRY: Duration = Duration::from_secs(2);
/// Pause after a failed accept (too many open files, say).
const ACCEPT_RETRY: Duration = Duration::from_millis(100);
/// Anybody may connect: the identity of programs comes from the kernel.
const MODE: u32 = 0o666;
const DIRECTORY_MODE: u32 = 0o755;

/// A runtime that has connected to us.
#[derive(Debug)]
pub(super) struct Arrival {
    /// The connection, which waits for a request.
    pub stream: UnixStream,
    /// What the runtime says of itself.
    pub advertise: Advertise,
    /// Process id as this host sees it; 0: it is not to be seen from here.
    pub pid: u32,
    /// Its user.
    pub uid: u32,
}

/// Listens until `stop`; arrivals go to `arrivals`.
pub(super) async fn run(path: PathBuf, arrivals: Sender<Arrival>, stop: CancellationToken) {
    let mut throttle = LogThrottle::default();
    let bound = loop {
        match Bound::new(&path).await {
            Ok(bound) => break bound,
            Err(why) => {
                if let Some(n) = throttle.allow(now().monotonic) {
                    log::error!(
                        "dotnet: cannot listen on {}: {why}; trying again every {} s{}",
                        path.display(),
                        RETRY.as_secs(),
                        LogThrottle::more(n)
                    );
                }
            }
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = sleep(RETRY) => {}
        }
    };
    log::info!("dotnet: listening on {}", path.display());
    let arriving = Arc::new(Arriving::default());
    let mut throttle = LogThrottle::default();
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => return,
            accepted = bound.listener.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else {
            sleep(ACCEPT_RETRY).await;
            continue;
        };
        let Ok(peer) = stream.peer_cred() else { continue };
        if !leaves_reserve(&stream) {
            if let Some(n) = throttle.allow(now().monotonic) {
                log::warn!(
                    "dotnet: connection of user {} refused: the limit of open files is reached{}",
                    peer.uid(),
                    LogThrottle::more(n)
                );
            }
            continue;
        }
        let Some(place) = arriving.enter(peer.uid()) else {
            if let Some(n) = throttle.allow(now().monotonic) {
                log::warn!(
                    "dotnet: connection of user {} refused: too many have not said what they are{}",
                    peer.uid(),
                    LogThrottle::more(n)
                );
            }
            continue;
        };
        let pid = peer.pid().and_then(|pid| u32::try_from(pid).ok()).unwrap_or(0);
        let (arrivals, stop, uid) = (arrivals.clone(), stop.clone(), peer.uid());
        tokio::spawn(async move {
            let _place = place;
            tokio::select! {
                () = stop.cancelled() => {}
                advertised = advertised(stream) => {
                    if let Some((stream, advertise)) = advertised {
                        let _ = arrivals.send(Arrival { stream, advertise, pid, uid }).await;
                    }
                }
            }
        });
    }
}

/// Reads what a runtime says of itself.
async fn advertised(mut stream: UnixStream) -> Option<(UnixStream, Advertise)> {
    let mut message = [0; ADVERTISE];
    timeout(ADVERTISE_TIME, stream.read_exact(&mut message)).await.ok()?.ok()?;
    Some((stream, Advertise::parse(&message)?))
}

/// Connections that have not said what they are, by user.
#[derive(Debug, Default)]
struct Arriving(Mutex<HashMap<u32, usize>>);

/// A place among them.
struct Place {
    arriving: Arc<Arriving>,
    uid: u32,
}

impl Arriving {
    fn enter(self: &Arc<Self>, uid: u32) -> Option<Place> {
        let mut users = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let all: usize = users.values().sum();
        let own = users.get(&uid).copied().unwrap_or(0);
        if all >= limits::ARRIVING || own >= limits::ARRIVING_USER {
            return None;
        }
        users.insert(uid, own + 1);
        Some(Place { arriving: Arc::clone(self), uid })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut users = self.arriving.0.lock().unwrap_or_else(PoisonError::into_inner);
        match users.get_mut(&self.uid) {
            Some(n) if *n > 1 => *n -= 1,
            _ => {
                users.remove(&self.uid);
            }
        }
    }
}

/// The listening socket. Its file is removed with it, unless it is another's by then.
struct Bound {
    listener: UnixListener,
    path: PathBuf,
    inode: Option<u64>,
}

impl Bound {
    async fn new(path: &Path) -> io::Result<Self> {
        let path = path.to_owned();
        let (listener, path, inode) = aside::run(async move {
            let (listener, inode) = bind(&path).await?;
            Ok::<_, io::Error>((listener.into_std()?, path, inode))
        })
        .await??;
        Ok(Self { listener: UnixListener::from_std(listener)?, path, inode })
    }
}

/// Listens, and tells the inode of the socket.
async fn bind(path: &Path) -> io::Result<(UnixListener, Option<u64>)> {
    if let Some(directory) = path.parent()
        && !directory.exists()
    {
        std::fs::create_dir(directory)?;
        let mode = std::fs::Permissions::from_mode(DIRECTORY_MODE);
        std::fs::set_permissions(directory, mode)?;
    }
    let listener = match UnixListener::bind(path) {
        Err(e) if e.kind() == ErrorKind::AddrInUse => {
            remove_dead(path).await?;
            UnixListener::bind(path)
        }
        bound => bound,
    }?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(MODE))?;
    let inode = std::fs::symlink_metadata(path).ok().map(|file| file.ino());
    Ok((listener, inode))
}

impl Drop for Bound {
    fn drop(&mut self) {
        let (path, ours) = (std::mem::take(&mut self.path), self.inode);
        aside::wait(move || {
            let inode = std::fs::symlink_metadata(&path).ok().map(|file| file.ino());
            if inode.is_some() && inode == ours {
                let _ = std::fs::remove_file(&path);
            }
        });
    }
}

/// Removes the socket of a PMDA that has ended.
async fn remove_dead(path: &Path) -> io::Result<()> {
    if !std::fs::symlink_metadata(path)?.file_type().is_socket() {
        return Err(io::Error::new(ErrorKind::AddrInUse, "there is another file, not a socket"));
    }
    match UnixStream::connect(path).await {
        Err(e) if e.kind() == ErrorKind::ConnectionRefused => std::fs::remove_file(path),
        Err(e) if e.kind() == ErrorKind::PermissionDenied => Err(e),
        _ => Err(io::Error::new(ErrorKind::AddrInUse, "another program listens there")),
    }
}

#[cfg(test)]
#[path = "listener_tests.rs"]
mod tests;
