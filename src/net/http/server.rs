//! What the connections of one listener share, and the sweep over them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hyper::server::conn::http1::Builder;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::limits::{HttpLimits, HttpListen};
use super::progress::{CoarseClock, Progress};
use crate::clock::now;
use crate::net::peers::Peers;
use crate::sources::http::HttpService;

/// Time between two ticks of the service.
const TICK: Duration = Duration::from_secs(1);
/// Bytes of hyper's input buffer, at most: the frames of a long body.
const BUFFER: usize = 64 << 10;

/// One listener.
pub(in crate::net) struct HttpServer {
    pub(super) peers: Peers,
    pub(super) service: Arc<dyn HttpService>,
    pub(super) limits: HttpLimits,
    pub(super) http: Builder,
    pub(super) clock: CoarseClock,
    open: Mutex<HashMap<u64, Arc<Progress>>>,
}

impl HttpServer {
    pub(in crate::net) fn new(listen: HttpListen) -> Self {
        let HttpListen { peers, service, limits, .. } = listen;
        let mut http = Builder::new();
        // Time limits are the sweep's: hyper's would close idle connections.
        http.title_case_headers(true)
            .half_close(true)
            .auto_date_header(false)
            .header_read_timeout(None)
            .max_header_size(limits.head)
            .max_buf_size(BUFFER);
        let clock = CoarseClock::default();
        clock.set(now().monotonic);
        Self { peers, service, limits, http, clock, open: Mutex::default() }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<u64, Arc<Progress>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a connection into the sweep.
    pub(super) fn enter(&self, id: u64) -> Arc<Progress> {
        let progress = Arc::new(Progress::new());
        self.open().insert(id, Arc::clone(&progress));
        progress
    }

    /// Removes a connection from the sweep.
    pub(super) fn leave(&self, id: u64) {
        self.open().remove(&id);
    }

    /// Until the PMDA stops: wakes connections for which something is due, and ticks the service.
    pub(in crate::net) async fn sweep(self: Arc<Self>, stop: CancellationToken) {
        let mut sweeps = interval(self.limits.sweep);
        sweeps.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut ticked = now().monotonic;
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                _ = sweeps.tick() => {}
            }
            let at = now();
            self.clock.set(at.monotonic);
            for progress in self.open().values() {
                if progress.due(&self.clock, &self.limits).is_some() {
                    progress.wake();
                }
            }
            // The interval jitters by a millisecond or two.
            if at.monotonic.saturating_sub(ticked) >= TICK - Duration::from_millis(20) {
                ticked = at.monotonic;
                self.service.tick(at);
            }
        }
    }
}
