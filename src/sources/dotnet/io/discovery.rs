//! The task that looks for .NET processes and takes those that connect to us.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use tokio::io::unix::AsyncFd;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::found::Found;
use super::listener::{self, Arrival};
use super::registry::{OnFound, Registry};
use super::scanner::{Report, Scanner};
use super::watches::Watches;
use crate::clock::now;
use crate::net::{Net, has_events, readiness};
use crate::proc::ProcFs;
use crate::sources::dotnet::Config;
use crate::sources::dotnet::target::Target;
use crate::store::LogThrottle;

/// Time between two scans of /proc.
const SCAN: Duration = Duration::from_secs(2);
/// Least time between two scans that new sockets cause.
const SOON: Duration = Duration::from_millis(200);
/// Least time between two readings of events of a directory with very many.
const BUSY: Duration = Duration::from_secs(1);
/// Events at once that make a directory busy.
const MANY: usize = 1_000;
/// Time between two looks at all processes because the kernel dropped events.
const AGAIN: Duration = Duration::from_secs(10);
/// A scan that takes longer hangs: a process or a file system does not answer.
const SLOW: Duration = Duration::from_secs(10);
/// Arrivals that wait to be identified.
const ARRIVALS: usize = 64;

/// Starts looking. `on_found` is called once for each process, within the runtime; it must not
/// block. A later configuration is applied, but for `dotnet.listen`.
pub(super) fn start(
    config: watch::Receiver<Arc<Config>>,
    net: &Net,
    on_found: impl Fn(Found) + Send + Sync + 'static,
) {
    let (arrivals, receiver) = channel(ARRIVALS);
    let listen = config.borrow().listen.clone();
    if let Some(path) = listen {
        net.spawn(listener::run(path, arrivals, net.stop().clone()));
    }
    let stop = net.stop().clone();
    net.spawn(async move {
        let task =
            Task::new(PathBuf::from("/proc"), config, receiver, Box::new(on_found), stop.clone());
        // A scan that hangs must not hold up the end.
        tokio::select! {
            () = stop.cancelled() => {}
            () = task.run() => {}
        }
    });
}

struct Task {
    config: watch::Receiver<Arc<Config>>,
    arrivals: Receiver<Arrival>,
    registry: Registry,
    /// `None` while it scans.
    scanner: Option<Scanner>,
    events: Option<AsyncFd<Arc<OwnedFd>>>,
    discover: bool,
    slow: LogThrottle,
    failed: LogThrottle,
}

impl Task {
    fn new(
        root: PathBuf,
        config: watch::Receiver<Arc<Config>>,
        arrivals: Receiver<Arrival>,
        on_found: OnFound,
        stop: CancellationToken,
    ) -> Self {
        let proc = Arc::new(ProcFs::new(root));
        let directories = Arc::new(RwLock::default());
        let watches = Watches::new()
            .inspect_err(|e| log::warn!("dotnet: new sockets are seen late: inotify: {e}"))
            .ok();
        let events = watches.as_ref().and_then(|watches| readiness(watches.file()));
        let mut scanner = Scanner::new(&proc, &directories, watches);
        let first = config.borrow().clone();
        scanner.configure(&first);
        let mut registry = Registry::new(&proc, &directories, on_found, stop);
        registry.configure(&first);
        Self {
            registry,
            config,
            arrivals,
            scanner: Some(scanner),
            events,
            discover: first.discover,
            slow: LogThrottle::default(),
            failed: LogThrottle::default(),
        }
    }

    async fn run(mut self) {
        let (mut scan_at, mut read_at) = (Instant::now(), Instant::now());
        let (mut last, mut last_again) = (Instant::now(), Instant::now());
        loop {
            tokio::select! {
                changed = self.config.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    self.configure();
                    scan_at = Instant::now();
                }
                Some(arrival) = self.arrivals.recv() => self.arrived(arrival).await,
                () = later(read_at, has_events(self.events.as_ref())) => {
                    let read = self.scanner.as_mut().map(Scanner::events).unwrap_or_default();
                    let at = Instant::now();
                    if read.overflow && at - last_again > AGAIN {
                        last_again = at;
                        if let Some(scanner) = &mut self.scanner {
                            scanner.look_again();
                        }
                    }
                    if read.named > 0 {
                        scan_at = scan_at.min(last + SOON);
                    }
                    read_at = at + if read.events > MANY { BUSY } else { SOON };
                }
                () = sleep_until(scan_at) => {
                    if self.discover {
                        self.scan().await;
                    }
                    self.registry.tick();
                    last = Instant::now();
                    scan_at = last + SCAN;
                }
            }
        }
    }

    fn configure(&mut self) {
        let config = self.config.borrow_and_update().clone();
        self.discover = config.discover;
        self.registry.configure(&config);
        let Some(scanner) = &mut self.scanner else { return };
        scanner.configure(&config);
        if !config.discover {
            scanner.forget();
            self.report();
        }
    }

    async fn scan(&mut self) {
        let scanned = self.with_scanner("scan", |scanner| scanner.scan(now().monotonic)).await;
        if let Some(Err(e)) = scanned
            && let Some(n) = self.failed.allow(now().monotonic)
        {
            log::warn!("dotnet: /proc cannot be read: {e}{}", LogThrottle::more(n));
        }
        self.report();
    }

    fn report(&mut self) {
        let reports: Vec<Report> = self.scanner.as_mut().map(Scanner::take).unwrap_or_default();
        for report in reports {
            self.registry.report(report);
        }
    }

    async fn arrived(&mut self, arrival: Arrival) {
        let (pid, uid) = (arrival.pid, arrival.uid);
        let identified = self
            .with_scanner("look at a process", move |scanner| {
                let target = if pid == 0 { None } else { scanner.identify(pid, uid) };
                (target, scanner.user(uid))
            })
            .await;
        let Some((target, owner)) = identified else { return };
        // One that has a number here and is not there has ended, or is another program now: what it
        // says of itself is not believed.
        let unseen = (pid == 0).then(|| unseen(&arrival, owner));
        if let Some(target) = target.or(unseen) {
            self.registry.arrived(arrival, target);
        }
    }

    /// Works with the scanner on a thread that may block. `None`: it has panicked, which loses what
    /// it knew.
    async fn with_scanner<T: Send + 'static>(
        &mut self,
        what: &str,
        work: impl FnOnce(&mut Scanner) -> T + Send + 'static,
    ) -> Option<T> {
        let mut scanner = self.scanner.take()?;
        let mut done = tokio::task::spawn_blocking(move || {
            let result = work(&mut scanner);
            (scanner, result)
        });
        let done = match timeout(SLOW, &mut done).await {
            Ok(done) => done,
            Err(_) => {
                if let Some(n) = self.slow.allow(now().monotonic) {
                    log::warn!(
                        "dotnet: a {what} takes more than {} s: a process or a file system does not \
                         answer; no new processes are found meanwhile{}",
                        SLOW.as_secs(),
                        LogThrottle::more(n)
                    );
                }
                done.await
            }
        };
        let (scanner, result) = done.ok()?;
        self.scanner = Some(scanner);
        Some(result)
    }
}

/// Waits for an event, but not before `at`.
async fn later(at: Instant, event: impl Future<Output = ()>) {
    sleep_until(at).await;
    event.await;
}

/// A process of another pid namespace, of which nothing is known but what it says.
fn unseen(arrival: &Arrival, owner: String) -> Target {
    Target {
        pid: 0,
        start: 0,
        started: None,
        container_pid: u32::try_from(arrival.advertise.pid).unwrap_or(0),
        uid: arrival.uid,
        owner,
        name: "dotnet".to_owned(),
        command: String::new(),
        key: arrival.advertise.cookie.iter().map(|b| format!("{b:02x}")).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_that_of_a_process_of_its_own_user() {
        let proc = Arc::new(ProcFs::new(PathBuf::from("/proc")));
        let mut scanner = Scanner::new(&proc, &Arc::default(), None);
        let (pid, uid) = (std::process::id(), rustix::process::geteuid().as_raw());
        assert_eq!(scanner.identify(pid, uid).map(|target| target.pid), Some(pid));
        // It connected as this user, and has executed a set-uid program since.
        assert!(scanner.identify(pid, uid + 1).is_none());
    }
}
