//! The task that looks for Mono processes and reads their shared areas once a second.

mod aside;
mod live;
mod open;
mod scanner;
mod watch;

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::unix::AsyncFd;
use tokio::sync::watch as settings;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use self::live::Live;
use self::scanner::{Report, Scanner};
use self::watch::Watch;
use super::host::ProcHost;
use crate::clock::now;
use crate::model::{Charge, Purpose};
use crate::net::{Net, Peers, has_events, readiness};
use crate::sources::mono::Config;
use crate::sources::mono::process::Processes;
use crate::store::LogThrottle;

/// Time between two scans of /proc, and between two readings of each area.
const PERIOD: Duration = Duration::from_secs(1);
/// Least time between two scans that new areas cause.
const SOON: Duration = Duration::from_millis(100);
/// A scan that takes longer hangs: a process does not answer.
const SLOW: Duration = Duration::from_secs(10);

/// Starts looking. A later configuration is applied.
pub(super) fn start(
    config: settings::Receiver<Arc<Config>>,
    host: Arc<ProcHost>,
    processes: Arc<Processes>,
    peers: &Peers,
    net: &Net,
) {
    let charge = Charge::new(Arc::clone(peers.memory()), Purpose::Definitions);
    let live = Live::new(processes, peers.sinks(false), charge);
    let stop = net.stop().clone();
    net.spawn(async move {
        let mut task = Task::new(config, host, live);
        // A scan that hangs must not hold up the end.
        tokio::select! {
            () = stop.cancelled() => {}
            () = task.run() => {}
        }
        task.live.end("the PMDA stopped");
    });
}

struct Task {
    config: settings::Receiver<Arc<Config>>,
    host: Arc<ProcHost>,
    discover: bool,
    live: Live,
    watch: Option<Watch>,
    events: Option<AsyncFd<Arc<OwnedFd>>>,
    /// `None` while it scans.
    scanner: Option<Scanner>,
    /// The scan under way, and when it began.
    scan: Option<(tokio::task::JoinHandle<Scanner>, Instant)>,
    slow: LogThrottle,
    /// Areas that have come or gone during a scan.
    named: Vec<u32>,
}

impl Task {
    fn new(config: settings::Receiver<Arc<Config>>, host: Arc<ProcHost>, live: Live) -> Self {
        let watch = Watch::new()
            .inspect_err(|e| log::warn!("mono: new areas are seen late: inotify: {e}"))
            .ok();
        let events = watch.as_ref().and_then(|watch| readiness(watch.file()));
        Self {
            config,
            discover: false,
            host: Arc::clone(&host),
            live,
            watch,
            events,
            scanner: Some(Scanner::new(host)),
            scan: None,
            slow: LogThrottle::default(),
            named: Vec::new(),
        }
    }

    async fn run(&mut self) {
        let mut ticks = interval(PERIOD);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let (mut last, mut early) = (Instant::now(), None);
        self.configure();
        loop {
            tokio::select! {
                changed = self.config.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    self.configure();
                }
                _ = ticks.tick() => {
                    self.live.tick();
                    (last, early) = (Instant::now(), None);
                    self.begin();
                }
                () = until(early) => {
                    (last, early) = (Instant::now(), None);
                    self.begin();
                }
                () = has_events(self.events.as_ref()) => {
                    if self.read_events() {
                        early = early.or(Some((last + SOON).max(Instant::now())));
                    }
                }
                scanner = done(self.scan.as_mut()) => {
                    self.scan = None;
                    if scanner.is_none() {
                        // A panic has lost what it knew.
                        self.live.end("a scan failed");
                    }
                    self.scanner =
                        scanner.or_else(|| Some(Scanner::new(Arc::clone(&self.host))));
                    self.report();
                }
            }
        }
    }

    fn configure(&mut self) {
        let config = self.config.borrow_and_update().clone();
        self.discover = config.discover;
        self.live.configure(&config.processes);
        if let Some(scanner) = &mut self.scanner
            && !config.discover
        {
            scanner.forget();
            scanner.take();
        }
        if !config.discover {
            self.live.end("mono.discover is false");
        }
    }

    /// Begins a scan, unless one is under way.
    fn begin(&mut self) {
        if let Some((_, began)) = &self.scan
            && began.elapsed() > SLOW
            && let Some(n) = self.slow.allow(now().monotonic)
        {
            log::warn!(
                "mono: a scan takes more than {} s: a process does not answer; no new processes are \
                 found meanwhile{}",
                SLOW.as_secs(),
                LogThrottle::more(n)
            );
        }
        if !self.discover {
            return;
        }
        let Some(mut scanner) = self.scanner.take() else { return };
        self.named.drain(..).for_each(|number| scanner.named(number));
        self.live.again().into_iter().for_each(|pid| scanner.again(pid));
        let scan = tokio::task::spawn_blocking(move || {
            if let Err(e) = scanner.scan(now().monotonic) {
                log::debug!("mono: /proc cannot be read: {e}");
            }
            scanner
        });
        self.scan = Some((scan, Instant::now()));
    }

    fn report(&mut self) {
        let reports: Vec<Report> = self.scanner.as_mut().map(Scanner::take).unwrap_or_default();
        if self.discover {
            reports.into_iter().for_each(|report| self.live.report(report));
        } else if let Some(scanner) = &mut self.scanner {
            scanner.forget();
            scanner.take();
        }
    }

    /// Whether an area has come or gone.
    fn read_events(&mut self) -> bool {
        let read = self.watch.as_ref().map(Watch::read).unwrap_or_default();
        if read.overflow
            && let Some(scanner) = &mut self.scanner
        {
            scanner.look_again();
        }
        self.named.extend(&read.named);
        !read.named.is_empty()
    }
}

/// Waits for the end of a scan; for ever without one. `None`: it has panicked.
async fn done(scan: Option<&mut (tokio::task::JoinHandle<Scanner>, Instant)>) -> Option<Scanner> {
    match scan {
        Some((scan, _)) => scan.await.ok(),
        None => std::future::pending().await,
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}
