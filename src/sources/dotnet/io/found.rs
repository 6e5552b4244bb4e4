//! A process that discovery has found, for the task that reads it.

use std::io;
use std::sync::Arc;

use tokio::net::UnixStream;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::door::Door;
use crate::sources::dotnet::target::{Access, Target};

/// A process. Reported once; there is a new one for another process with the same id.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// What is known of it.
    pub target: Arc<Target>,
    /// Whether it can be read; changes with its socket and with permissions.
    pub access: watch::Receiver<Access>,
    /// Cancelled when the process has ended, or is not to be read any more.
    pub gone: CancellationToken,
    pub(super) door: Arc<Door>,
}

impl Found {
    /// Opens a connection, for one request. Takes at most 10 s.
    ///
    /// # Errors
    /// It cannot be read now.
    pub(super) async fn connect(&self) -> io::Result<UnixStream> {
        let access = self.access.borrow().clone();
        self.door.connect(&self.target, access).await
    }
}
