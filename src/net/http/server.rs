//! What the connections of one listener share, and the sweep over them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hyper::server::conn::http1::Builder;
use tokio::time::{Interval, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::limits::{HttpLimits, HttpListen};
use super::progress::{CoarseClock, Progress};
use crate::clock::now;
use crate::contract::http::HttpService;
use crate::net::peers::Peers;

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
            .writev(false)
            .auto_date_header(false)
            .header_read_timeout(None)
            .max_header_size(limits.head)
            .max_buf_size(BUFFER);
        let clock = CoarseClock::default();
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

    /// Until the PMDA stops: wakes connections for which something is due.
    pub(in crate::net) async fn sweep(self: Arc<Self>, stop: CancellationToken) {
        let mut sweeps = each(self.limits.sweep);
        let mut swept = now().monotonic;
        while !stops(&mut sweeps, &stop).await {
            let at = now().monotonic;
            self.clock.advance(at.saturating_sub(swept).min(2 * self.limits.sweep));
            swept = at;
            for progress in self.open().values() {
                if progress.due(&self.clock, &self.limits).is_some() {
                    progress.wake();
                }
            }
        }
    }

    /// Until the PMDA stops: ticks the service.
    pub(in crate::net) async fn tick(self: Arc<Self>, stop: CancellationToken) {
        let mut ticks = each(TICK);
        while !stops(&mut ticks, &stop).await {
            let server = Arc::clone(&self);
            // A task of its own: after a panic the next tick comes all the same.
            let _ = tokio::spawn(async move { server.service.tick(now()) }).await;
        }
    }
}

fn each(time: Duration) -> Interval {
    let mut interval = interval(time);
    interval.set_missed_tick_behavior(MissedTickBehavior::Skip);
    interval
}

/// Waits for the next turn; `true`: the PMDA stops.
async fn stops(turns: &mut Interval, stop: &CancellationToken) -> bool {
    tokio::select! {
        () = stop.cancelled() => true,
        _ = turns.tick() => false,
    }
}
