//! [`Net`]: what sources do I/O with.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::connection_limit::ConnectionLimit;
use super::peers::Peers;
use super::tail::{FileFactory, Tail};
use super::tcp::{Listen, Listener};
use crate::store::LogThrottle;

/// Sockets, files and tasks of sources. Everything started here ends with the PMDA.
#[derive(Clone, Debug)]
pub struct Net {
    pub(super) runtime: Handle,
    pub(super) tasks: TaskTracker,
    pub(super) stop: CancellationToken,
    /// Shared by all listeners.
    pub(super) limit: Arc<ConnectionLimit>,
    pub(super) threads: Arc<Mutex<Vec<JoinHandle<()>>>>,
}

impl Net {
    /// Listens on a TCP address, with a session for each connection. The address is bound before
    /// this returns; one that is in use is tried again until it is free.
    pub fn listen(&self, listen: Listen) {
        let listener = Listener {
            listen,
            limit: Arc::clone(&self.limit),
            stop: self.stop.clone(),
            tasks: self.tasks.clone(),
        };
        let mut throttle = LogThrottle::default();
        let bound = {
            let _runtime = self.runtime.enter();
            listener.bind(&mut throttle)
        };
        self.runtime.spawn(listener.run(bound, throttle));
    }

    /// Follows all files that match the patterns at each moment, in a thread of its own.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn tail(
        &self,
        peers: &Peers,
        patterns: Arc<Mutex<Vec<PathBuf>>>,
        factory: FileFactory,
    ) -> io::Result<()> {
        let tail = Tail { peers: peers.clone(), factory, patterns, stop: self.stop.clone() };
        let thread =
            std::thread::Builder::new().name("apm-files".into()).spawn(move || tail.run())?;
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        Ok(())
    }

    /// Runs a task that the PMDA waits for when it stops, at most a second.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn_on(task, &self.runtime);
    }

    /// The workers.
    #[must_use]
    pub const fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// Tasks that the PMDA waits for when it stops.
    #[must_use]
    pub const fn tasks(&self) -> &TaskTracker {
        &self.tasks
    }

    /// Cancelled when the PMDA stops.
    #[must_use]
    pub const fn stop(&self) -> &CancellationToken {
        &self.stop
    }
}
