//! Owns the workers: starts them, hands out [`Net`], stops everything within seconds.

use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pmda::process;
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::connection_limit::ConnectionLimit;
use super::guard::{self, Guard};
use super::handle::Net;
use crate::confine::aside::{self, Aside};
use crate::confine::{Confine, Given};

/// Threads that read and decode.
const WORKERS: usize = 2;
/// Tasks that a worker runs between two polls for I/O: one turn can take a millisecond.
const TURNS: u32 = 31;
/// Longest time until a worker has begun.
const BEGIN: Duration = Duration::from_secs(30);
/// Most time that sessions get to end: a source may have to say farewell to peers on this host that
/// are slow.
const DRAIN: Duration = Duration::from_secs(3);

/// A signal to the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// SIGHUP: reload the configuration.
    Reload,
    /// SIGTERM or SIGINT: stop.
    Stop,
}

/// The threads and tasks beside the PMDA thread.
pub struct Supervisor {
    runtime: Runtime,
    net: Net,
    aside: Aside,
}

impl Supervisor {
    /// Starts the workers. Over all listeners at most `connections` are open at once; at most
    /// `pending` of these have a peer that has not identified itself. `on_signal` is called on a
    /// worker and must not block.
    ///
    /// # Errors
    /// Threads cannot be started.
    pub fn start(
        connections: u64,
        pending: u64,
        on_signal: impl Fn(Signal) + Send + Sync + 'static,
    ) -> std::io::Result<Self> {
        Self::begin(connections, pending, None, on_signal).map(|(supervisor, _)| supervisor)
    }

    /// The same, with workers that have given up what `confine` says before they take anything from a peer.
    ///
    /// # Errors
    /// Threads cannot be started.
    pub fn confined(
        connections: u64,
        pending: u64,
        confine: Confine,
        on_signal: impl Fn(Signal) + Send + Sync + 'static,
    ) -> std::io::Result<(Self, Given)> {
        let (supervisor, given) = Self::begin(connections, pending, Some(confine), on_signal)?;
        Ok((supervisor, given.ok_or_else(|| std::io::Error::other("no worker has begun"))?))
    }

    /// With what one worker has given up that has given up least.
    fn begin(
        connections: u64,
        pending: u64,
        confine: Option<Confine>,
        on_signal: impl Fn(Signal) + Send + Sync + 'static,
    ) -> std::io::Result<(Self, Option<Given>)> {
        let aside = Aside::start()?;
        let (helper, (tell, told)) = (aside.helper(), sync_channel(WORKERS));
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(WORKERS)
            .event_interval(TURNS)
            .thread_name("apm-worker")
            .on_thread_start(move || {
                helper.serve_this_thread();
                let _ = tell.try_send(confine.map(Confine::worker));
            })
            .enable_all()
            .build()?;
        let given = (0..WORKERS).filter_map(|_| told.recv_timeout(BEGIN).ok()?);
        let given = given.max_by_key(|given| confine.and_then(|wanted| given.fault(wanted)));
        let size = |n| usize::try_from(n).unwrap_or(usize::MAX);
        let net = Net {
            runtime: runtime.handle().clone(),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
            limit: ConnectionLimit::new(size(connections), size(pending), WORKERS),
            threads: Arc::new(Mutex::default()),
            guard: Arc::new(Guard::default()),
            tls: Arc::default(),
            helper: aside.helper(),
            confine,
        };
        runtime.block_on(async { watch_signals(on_signal) })?;
        Ok((Self { runtime, net, aside }, given))
    }

    /// The I/O of sources.
    #[must_use]
    pub const fn net(&self) -> &Net {
        &self.net
    }

    /// From now on connections that programs wait for are ended if the PMDA stands still.
    pub fn guard(&self) {
        let guard = Arc::clone(&self.net.guard);
        let confine = self.net.confine;
        guard.arm(move |socket| {
            let started = aside::wait(move || {
                let words = confine.into_iter().flat_map(Confine::words);
                process::start_again(std::iter::once(guard::ARGUMENT).chain(words), socket)
            });
            started.unwrap_or_else(|| Err(std::io::Error::other("the PMDA ends"))).map(Some)
        });
        self.runtime.spawn(async move {
            loop {
                sleep(guard::BEAT).await;
                guard.beat();
            }
        });
    }

    /// Ends all sessions; waits for them at most [`DRAIN`].
    pub fn stop(self) {
        let Net { tasks, stop, threads, guard, .. } = self.net;
        stop.cancel();
        tasks.close();
        let drained =
            self.runtime.block_on(async move { timeout(DRAIN, tasks.wait()).await.is_ok() });
        if !drained {
            log::warn!("some connections did not end in time");
        }
        for thread in std::mem::take(&mut *threads.lock().unwrap_or_else(PoisonError::into_inner)) {
            let _ = thread.join();
        }
        self.runtime.shutdown_timeout(Duration::from_millis(200));
        guard.stop();
        drop(self.aside);
    }
}

/// Must be called within a runtime.
fn watch_signals(on_signal: impl Fn(Signal) + Send + Sync + 'static) -> std::io::Result<()> {
    let mut hangup = signal(SignalKind::hangup())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::spawn(async move {
        loop {
            on_signal(tokio::select! {
                Some(()) = hangup.recv() => Signal::Reload,
                Some(()) = terminate.recv() => Signal::Stop,
                Some(()) = interrupt.recv() => Signal::Stop,
                else => return,
            });
        }
    });
    Ok(())
}
