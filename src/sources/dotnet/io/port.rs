//! Connections that a process has made to us and that wait for a request.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::net::UnixStream;
use tokio::sync::Notify;

use crate::sources::dotnet::limits;

/// The idle connections of one process. A runtime makes the next one when one is used
/// (docs/protocols/dotnet.md 1).
#[derive(Debug, Default)]
pub(super) struct Port {
    idle: Mutex<VecDeque<UnixStream>>,
    came: Notify,
}

impl Port {
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
