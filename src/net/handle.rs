//! [`Net`]: the I/O of sources.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::connection_limit::ConnectionLimit;
use super::guard::Guard;
use super::http::{HttpListen, HttpServer};
use super::listener::{Listener, Serve, SharedThrottle};
use super::peers::Peers;
use super::tail::{FileFactory, Tail};
use super::tcp::Listen;
use super::tls::Tls;
use crate::confine::Confine;
use crate::confine::aside::Helper;
use crate::model::Listening;
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
    pub(super) guard: Arc<Guard>,
    pub(super) tls: Arc<Tls>,
    pub(super) helper: Helper,
    pub(super) confine: Option<Confine>,
}

impl Net {
    /// Listens on a TCP address, with a session for each connection. The address is bound before
    /// this returns; a bind to an address in use is retried until it succeeds.
    pub fn listen(&self, listen: Listen) {
        self.start(listen.place, listen.peers.clone(), Arc::new(listen));
    }

    /// Listens on TCP addresses for HTTP requests to a service, and calls its tick each second. The
    /// addresses are bound as [`Net::listen`] does.
    pub fn listen_http(&self, listen: HttpListen) {
        let (places, peers) = (listen.places.clone(), listen.peers.clone());
        let server = Arc::new(HttpServer::new(listen));
        self.runtime.spawn(Arc::clone(&server).sweep(self.stop.clone()));
        self.runtime.spawn(Arc::clone(&server).tick(self.stop.clone()));
        for place in places {
            self.start(place, peers.clone(), Arc::clone(&server));
        }
    }

    fn start<S: Serve>(&self, place: Listening, peers: Peers, serve: Arc<S>) {
        let listener = Arc::new(Listener {
            address: place.address(),
            tls: matches!(place, Listening::Tls(_)).then(|| Arc::clone(&self.tls)),
            peers,
            serve,
            limit: Arc::clone(&self.limit),
            stop: self.stop.clone(),
            tasks: self.tasks.clone(),
            ends: SharedThrottle::default(),
        });
        let mut throttle = LogThrottle::default();
        let bound = {
            let _runtime = self.runtime.enter();
            listener.bind(&mut throttle)
        };
        self.runtime.spawn(listener.run(bound, throttle));
    }

    /// Follows the files that match the patterns, in a separate thread. New matches are found at
    /// each poll.
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
        let (helper, confine) = (self.helper.clone(), self.confine);
        let thread = std::thread::Builder::new().name("apm-files".into()).spawn(move || {
            helper.serve_this_thread();
            if let Some(fault) = confine.and_then(|wanted| wanted.files().fault(wanted)) {
                log::warn!("the thread that follows files: {fault}");
            }
            tail.run();
        })?;
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        Ok(())
    }

    /// Runs a task. When the PMDA stops, it waits for it some seconds at most.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn_on(task, &self.runtime);
    }

    /// The runtime of the worker threads.
    #[must_use]
    pub const fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// What listeners with TLS use.
    #[must_use]
    pub const fn tls(&self) -> &Arc<Tls> {
        &self.tls
    }

    /// Tasks that the PMDA waits for when it stops.
    #[must_use]
    pub const fn tasks(&self) -> &TaskTracker {
        &self.tasks
    }

    /// Ends connections if the PMDA stands still.
    #[must_use]
    pub const fn guard(&self) -> &Arc<Guard> {
        &self.guard
    }

    /// Cancelled when the PMDA stops.
    #[must_use]
    pub const fn stop(&self) -> &CancellationToken {
        &self.stop
    }
}
