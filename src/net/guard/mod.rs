//! Ends connections of a PMDA that stands still.
//!
//! A program whose runtime writes to us while it ends waits for us. If the PMDA is stopped, by SIGSTOP or a
//! debugger, it would wait for ever, and nothing within the PMDA can help. So a small second process has duplicates
//! of such connections. It shuts them down when the PMDA has said nothing for some seconds, or is gone: what the
//! program writes fails then, and it ends.

mod child;
mod held;
mod message;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::Child;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use std::{fmt, io};

pub use child::main;
pub use held::{Guarded, Hold};
use message::Message;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use crate::clock::now;
use crate::confine::aside;
use crate::store::LogThrottle;

/// The argument that makes this program the second process.
pub const ARGUMENT: &str = "--guard";
/// Time between two signs of life.
pub(super) const BEAT: Duration = Duration::from_secs(2);
/// Looks in a row, one each [`BEAT`], without one: the PMDA stands still. The looks are counted, not the time, since
/// on a machine that was suspended much time has passed for both.
const SILENT: u32 = 3;
/// Beats in a row that the child does not take: it stands still itself.
const DEAF: u32 = 3;
/// Time after which a child is started that could not be started.
const RETRY: Duration = Duration::from_secs(60);

/// Starts the child with this standard input. `None`: it is no process, in tests.
type Start = Box<dyn Fn(OwnedFd) -> io::Result<Option<Child>> + Send + Sync>;

/// The second process, started when there is something to hold.
#[derive(Default)]
pub struct Guard {
    start: OnceLock<Start>,
    state: Mutex<State>,
    /// Number of the child that runs; 0: none.
    number: AtomicU64,
}

#[derive(Default)]
struct State {
    running: Option<Running>,
    /// Children until now.
    started: u64,
    /// Connections until now: the last one's number.
    last: u64,
    /// No start before.
    retry: Duration,
    /// Times that a child has ended all connections.
    cuts: u64,
    log: LogThrottle,
}

struct Running {
    socket: OwnedFd,
    child: Option<Child>,
    /// Connections that it holds.
    holds: u64,
    /// Connections that it is still to close.
    releases: Vec<u64>,
    /// Beats in a row that it did not take.
    deaf: u32,
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sent {
    Yes,
    /// There is no room now.
    Later,
    /// The child has ended.
    Gone,
}

impl Guard {
    /// Sets how the child is started. Before, nothing is held.
    pub(super) fn arm(
        &self,
        start: impl Fn(OwnedFd) -> io::Result<Option<Child>> + Send + Sync + 'static,
    ) {
        let _ = self.start.set(Box::new(start));
    }

    /// Gives the child a duplicate of a connection. `None`: there is no child, or it has no room now.
    #[must_use]
    pub fn hold(self: &Arc<Self>, connection: impl AsFd) -> Option<Hold> {
        let start = self.start.get()?;
        let mut state = self.state();
        self.listen(&mut state);
        if state.running.is_none() {
            state.start(start);
        }
        state.last += 1;
        let id = state.last;
        let sent = match &mut state.running {
            Some(running) => running.send(Message::Hold(id), Some(connection.as_fd())),
            None => return None,
        };
        match sent {
            Sent::Yes => {}
            Sent::Later => return None,
            Sent::Gone => {
                self.lost(&mut state);
                return None;
            }
        }
        if let Some(running) = &mut state.running {
            running.holds += 1;
        }
        self.number.store(state.started, Ordering::Relaxed);
        Some(Hold { guard: Arc::clone(self), child: state.started, id, cuts: state.cuts })
    }

    /// Number of the child that runs; 0: none.
    fn number(&self) -> u64 {
        self.number.load(Ordering::Relaxed)
    }

    /// A connection has been closed.
    fn release(&self, child: u64, id: u64) {
        let mut state = self.state();
        if state.started != child {
            return;
        }
        let Some(running) = &mut state.running else { return };
        running.holds = running.holds.saturating_sub(1);
        match running.send(Message::Release(id), None) {
            Sent::Yes => {}
            Sent::Later => running.releases.push(id),
            Sent::Gone => self.lost(&mut state),
        }
    }

    /// Times that connections were ended since the PMDA stood still.
    fn cuts(&self) -> u64 {
        let mut state = self.state();
        self.listen(&mut state);
        state.cuts
    }

    /// Tells the child that the PMDA works. Called each [`BEAT`].
    pub(super) fn beat(&self) {
        let mut state = self.state();
        self.listen(&mut state);
        let Some(running) = &mut state.running else { return };
        if running.holds == 0 && running.releases.is_empty() {
            return;
        }
        match running.send(Message::Beat, None) {
            Sent::Yes => running.deaf = 0,
            Sent::Later => running.deaf += 1,
            Sent::Gone => running.deaf = DEAF,
        }
        if running.deaf >= DEAF {
            self.lost(&mut state);
        }
    }

    /// Ends the child. Connections that it still has stay open.
    pub(super) fn stop(&self) {
        let mut state = self.state();
        self.number.store(0, Ordering::Relaxed);
        state.running = None;
    }

    /// Takes what the child has said.
    fn listen(&self, state: &mut State) {
        while let Some(running) = &state.running {
            match message::receive(running.socket.as_fd()) {
                Ok(Some((Message::Cut, _))) => {
                    state.cuts += 1;
                    log::warn!(
                        "the PMDA stood still for {} s or more: connections to programs were ended so that these could end",
                        (BEAT * (SILENT - 1)).as_secs()
                    );
                }
                Ok(Some(_)) => {}
                Err(Errno::AGAIN | Errno::INTR) => return,
                Ok(None) | Err(_) => self.lost(state),
            }
        }
    }

    /// The child has ended or stands still: connections get another one.
    fn lost(&self, state: &mut State) {
        self.number.store(0, Ordering::Relaxed);
        state.running = None;
        if let Some(n) = state.log.allow(now().monotonic) {
            log::warn!(
                "the process {ARGUMENT} was lost; another one is started{}",
                LogThrottle::more(n)
            );
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn start(&mut self, start: &Start) {
        let at = now().monotonic;
        if at < self.retry {
            return;
        }
        let pair = aside::wait(|| {
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
        });
        let pair = pair.unwrap_or(Err(Errno::CANCELED)).map_err(io::Error::from);
        let started = pair.and_then(|(socket, theirs)| {
            let child = start(theirs)?;
            Ok(Running { socket, child, holds: 0, releases: Vec::new(), deaf: 0 })
        });
        match started {
            Ok(running) => {
                self.started += 1;
                self.running = Some(running);
            }
            Err(e) => {
                self.retry = at + RETRY;
                log::warn!(
                    "the process {ARGUMENT} cannot be started, so a PMDA that is stopped may keep programs from ending: {e}"
                );
            }
        }
    }
}

impl Running {
    fn send(&mut self, message: Message, connection: Option<BorrowedFd<'_>>) -> Sent {
        while let Some(id) = self.releases.pop() {
            let sent = self.send_one(Message::Release(id), None);
            if sent != Sent::Yes {
                self.releases.push(id);
                return sent;
            }
        }
        self.send_one(message, connection)
    }

    fn send_one(&self, message: Message, connection: Option<BorrowedFd<'_>>) -> Sent {
        match message::send(self.socket.as_fd(), message, connection) {
            Ok(()) => Sent::Yes,
            Err(Errno::PIPE | Errno::CONNRESET | Errno::NOTCONN) => Sent::Gone,
            Err(_) => Sent::Later,
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // First: at the end of the socket it would end connections that are at work.
            let _ = aside::wait(move || child.kill().and_then(|()| child.wait()));
        }
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").field("number", &self.number).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
