//! Finds the JVMs of this host, and reads their performance data once a second.

mod finder;
mod live;
mod locate;
mod memory;
mod region;

use std::sync::Arc;
use std::time::Duration;

use finder::Finder;
use live::Live;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::config::Config;
use crate::clock::now;
use crate::host::Place;
use crate::model::{Charge, Purpose};
use crate::sources::{Context, Running};
use crate::store::LogThrottle;

/// Time between two readings of each region.
const PERIOD: Duration = Duration::from_secs(1);
/// Time after which a reading is slow: that of a thousand processes takes less than a tenth of a second.
const SLOW: Duration = Duration::from_secs(10);
/// Time that the end waits for a reading, which has the last values.
const LAST: Duration = Duration::from_millis(100);

/// Starts looking. A later configuration is applied.
///
/// # Errors
/// None today; the contract allows them.
pub(super) fn start(
    config: Config,
    Context { peers, net, host, .. }: Context,
) -> std::io::Result<Box<dyn Running<Config>>> {
    let (sender, receiver) = watch::channel(Arc::new(config));
    let (all, maker, memory) = (Arc::clone(&host), peers.maker(false), Arc::clone(peers.memory()));
    let make = move || {
        let charge = Charge::new(Arc::clone(&memory), Purpose::Definitions);
        Live::new(Arc::clone(&all), maker.clone(), charge)
    };
    let finder = Finder::new(Arc::clone(&host));
    let place = host.add(Arc::new(finder.clone()), None);
    let live = Some(make());
    let make = Box::new(make);
    let (reading, slow) = (None, LogThrottle::default());
    let mut task = Task { config: receiver, make, live, reading, slow, finder, place };
    task.configure();
    let stop = net.stop().clone();
    net.spawn(async move {
        let _ = stop.run_until_cancelled(task.run()).await;
        if task.reading.is_some() {
            // One that hangs must not hold up the end.
            task.live = timeout(LAST, done(task.reading.as_mut())).await.ok().flatten();
        }
        if let Some(live) = &mut task.live {
            live.end("the PMDA stopped");
        }
    });
    Ok(Box::new(RunningJvm(sender)))
}

struct RunningJvm(watch::Sender<Arc<Config>>);

impl Running<Config> for RunningJvm {
    fn reconfigure(&self, new: &Config) -> Vec<&'static str> {
        self.0.send_replace(Arc::new(new.clone()));
        Vec::new()
    }
}

struct Task {
    config: watch::Receiver<Arc<Config>>,
    make: Box<dyn Fn() -> Live + Send>,
    /// `None` while they are read.
    live: Option<Live>,
    reading: Option<JoinHandle<Live>>,
    slow: LogThrottle,
    finder: Finder,
    place: Place,
}

impl Task {
    async fn run(&mut self) {
        let mut ticks = interval(PERIOD);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            let idle = self.live.is_some();
            tokio::select! {
                changed = self.config.changed(), if idle => {
                    if changed.is_err() {
                        return;
                    }
                    self.configure();
                    self.place.look_again();
                }
                () = self.finder.reports().ready(), if idle => self.report(),
                _ = ticks.tick(), if idle => self.work(Live::tick),
                live = timeout(SLOW, done(self.reading.as_mut())), if !idle => match live {
                    Ok(live) => self.worked(live),
                    Err(_) => self.waits(),
                },
            }
        }
    }

    /// Applies what the finder has told since the last time.
    fn report(&mut self) {
        let reports = self.finder.reports().take();
        if reports.full {
            self.place.look_again();
        }
        self.work(move |live| live.report(reports));
    }

    /// Reads files on a thread that may block.
    fn work(&mut self, work: impl FnOnce(&mut Live) + Send + 'static) {
        let Some(mut live) = self.live.take() else { return };
        self.reading = Some(tokio::task::spawn_blocking(move || {
            work(&mut live);
            live
        }));
    }

    fn waits(&mut self) {
        if let Some(n) = self.slow.allow(now().monotonic) {
            let (more, time) = (LogThrottle::more(n), SLOW.as_secs());
            log::warn!("jvm: for {time} s a reading has not come back: no JVM is read{more}");
        }
    }

    /// `None`: it has panicked, and what it knew is lost: all processes are found anew.
    fn worked(&mut self, live: Option<Live>) {
        self.reading = None;
        if live.is_none() {
            self.live = Some((self.make)());
            self.finder.activate(false);
            self.configure();
            return self.place.look_again();
        }
        self.live = live;
        for (pid, start) in self.live.as_mut().map(Live::lost).unwrap_or_default() {
            self.finder.lost(pid, start);
            self.place.again(pid);
        }
        for pid in self.live.as_mut().map(Live::again).unwrap_or_default() {
            self.finder.reports().forget(pid);
            self.place.again(pid);
        }
    }

    fn configure(&mut self) {
        let config = self.config.borrow_and_update().clone();
        self.finder.read_memory(config.memory);
        self.finder.activate(config.discover);
        let Some(live) = &mut self.live else { return };
        live.configure(&config.processes);
        if !config.discover {
            live.end("jvm.discover is false");
        }
    }
}

/// Waits for the end of a reading; for ever without one. `None`: it has panicked.
async fn done(reading: Option<&mut JoinHandle<Live>>) -> Option<Live> {
    match reading {
        Some(reading) => reading.await.ok(),
        None => std::future::pending().await,
    }
}
