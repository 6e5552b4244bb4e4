//! The task that looks for processes, for all sources.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::unix::AsyncFd;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use super::finder::Finder;
use super::lent::Lent;
use super::scanner::Scanner;
use super::watches::has_events;
use super::{Command, Host};
use crate::clock::now;

/// Time between two scans of /proc.
const PERIOD: Duration = Duration::from_secs(1);
/// Least time between two scans that new files cause.
const SOON: Duration = Duration::from_millis(100);
/// Least time between two readings of events of a directory with very many.
const BUSY: Duration = Duration::from_secs(1);
/// Events at once that make a directory busy.
const MANY: usize = 1_000;
/// Time between two looks at all processes because the kernel dropped events.
const OVERFLOW: Duration = Duration::from_secs(10);
/// A scan that takes longer hangs: a process or a file system does not answer.
const SLOW: Duration = Duration::from_secs(10);
/// Names of files that wait for the end of a scan.
const NAMES: usize = 32_768;
/// Time between two lines in the log.
const QUIET: Duration = Duration::from_secs(60);

pub(super) struct Discovery {
    host: Arc<Host>,
    finders: Vec<Arc<dyn Finder>>,
    commands: UnboundedReceiver<Command>,
    /// Away while it scans.
    scanner: Lent<Scanner, Scanned>,
    events: Option<AsyncFd<Arc<OwnedFd>>>,
    /// What has come during a scan.
    names: Vec<Box<[u8]>>,
    waiting: Vec<Command>,
    /// When the log had a line last.
    said: Option<Instant>,
}

type Scanned = std::io::Result<Option<(u32, usize)>>;

impl Discovery {
    pub(super) fn new(
        host: Arc<Host>,
        finders: Vec<Arc<dyn Finder>>,
        commands: UnboundedReceiver<Command>,
    ) -> Self {
        let events = host.watches().and_then(|watches| watches.readiness());
        let scanner = Lent::new(Scanner::new(Arc::clone(&host), finders.clone()));
        let (names, waiting) = (Vec::new(), Vec::new());
        Self { host, finders, commands, scanner, events, names, waiting, said: None }
    }

    pub(super) async fn run(mut self) {
        let mut ticks = interval(PERIOD);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let (mut last, mut early, mut read_at) = (Instant::now(), None, Instant::now());
        let mut overflowed: Option<Instant> = None;
        loop {
            tokio::select! {
                Some(command) = self.commands.recv() => {
                    self.waiting.push(command);
                    early = Some(Instant::now());
                }
                _ = ticks.tick() => {
                    (last, early) = (Instant::now(), None);
                    self.begin();
                }
                () = until(early) => {
                    (last, early) = (Instant::now(), None);
                    self.begin();
                }
                () = later(read_at, has_events(self.events.as_ref())) => {
                    let (events, overflow) = self.read_events();
                    let at = Instant::now();
                    if overflow && overflowed.is_none_or(|last| at - last > OVERFLOW) {
                        overflowed = Some(at);
                        self.waiting.push(Command::LookAgain(None));
                    }
                    if !self.names.is_empty() {
                        early = early.or(Some((last + SOON).max(at)));
                    }
                    read_at = if events > MANY { at + BUSY } else { at };
                }
                scanned = self.scanner.back() => {
                    self.ended(scanned);
                    if !(self.names.is_empty() && self.waiting.is_empty()) {
                        early = early.or(Some((last + SOON).max(Instant::now())));
                    }
                }
            }
        }
    }

    /// Begins a scan, unless one is under way.
    fn begin(&mut self) {
        if self.scanner.away() > Some(SLOW) {
            self.warn(&format!(
                "a scan of /proc takes more than {} s: a process or a file system does not answer; \
                 no new processes are found meanwhile",
                SLOW.as_secs()
            ));
        }
        let Some(scanner) = self.scanner.here() else { return };
        for command in self.waiting.drain(..) {
            match command {
                Command::Again(finder, pid) => scanner.again(finder, pid),
                Command::LookAgain(finder) => scanner.look_again(finder),
            }
        }
        self.names.drain(..).for_each(|name| scanner.named(&name));
        let now = now().monotonic;
        self.scanner.lend(move |scanner| scanner.scan(now));
    }

    /// A scan has ended. `None`: it has panicked, which loses what it knew: all is looked at anew.
    fn ended(&mut self, scanned: Option<Scanned>) {
        match scanned {
            None => {
                let scanner = Scanner::new(Arc::clone(&self.host), self.finders.clone());
                self.scanner = Lent::new(scanner);
            }
            Some(Ok(None)) => {}
            Some(Ok(Some((pid, looks)))) => self.warn(&format!(
                "process {pid} does not answer in time: {looks} looks wait, and other processes of \
                 their users are not looked at"
            )),
            Some(Err(e)) => self.warn(&format!("/proc cannot be read: {e}")),
        }
    }

    /// Reads which files have come or gone: how many events, and whether some were dropped.
    fn read_events(&mut self) -> (usize, bool) {
        let Some(watches) = self.host.watches() else { return (0, false) };
        let names = &mut self.names;
        let mut full = false;
        let read = watches.read(|name| {
            if self.finders.iter().any(|finder| finder.is_active() && finder.named(name).is_some())
            {
                full |= names.len() >= NAMES;
                if !full {
                    names.push(name.into());
                }
            }
        });
        (read.events, read.overflow || full)
    }

    fn warn(&mut self, text: &str) {
        if self.said.is_none_or(|at| at.elapsed() >= QUIET) {
            self.said = Some(Instant::now());
            log::warn!("processes: {text}");
        }
    }
}

/// Waits for an event, but not before `at`.
async fn later(at: Instant, event: impl Future<Output = ()>) {
    sleep_until(at).await;
    event.await;
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}
