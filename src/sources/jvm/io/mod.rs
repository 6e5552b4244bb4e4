//! Finds the JVMs of this host, and reads their performance data once a second.

mod attach;
mod desk;
mod errand;
mod finder;
mod live;
mod locate;
pub(super) mod memory;
mod region;

use std::sync::Arc;
use std::time::Duration;

pub(super) use errand::ERRAND;
use finder::Finder;
use live::Live;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use super::config::Config;
use super::limits;
use crate::clock::now;
use crate::host::{Lent, Place};
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
    let (live, slow) = (Lent::new(make()), LogThrottle::default());
    let mut task = Task { config: receiver, make: Box::new(make), live, slow, finder, place };
    task.configure();
    let stop = net.stop().clone();
    net.spawn(async move {
        let _ = stop.run_until_cancelled(task.run()).await;
        if task.live.away().is_some() {
            // One that hangs must not hold up the end.
            let _ = timeout(LAST, task.live.back()).await;
        }
        if let Some(live) = task.live.here() {
            live.end("the PMDA stopped");
        }
        // Recordings are being stopped.
        let until = now().monotonic + limits::LAST_WORD;
        while task.live.here().is_some_and(|live| live.is_asking()) && now().monotonic < until {
            sleep(limits::LOOK).await;
        }
    });
    Ok(Box::new(sender))
}

impl Running<Config> for watch::Sender<Arc<Config>> {
    fn reconfigure(&self, new: &Config) -> Vec<&'static str> {
        self.send_replace(Arc::new(new.clone()));
        Vec::new()
    }
}

struct Task {
    config: watch::Receiver<Arc<Config>>,
    make: Box<dyn Fn() -> Live + Send>,
    /// Away while they are read.
    live: Lent<Live>,
    slow: LogThrottle,
    finder: Finder,
    place: Place,
}

impl Task {
    async fn run(&mut self) {
        let mut ticks = interval(PERIOD);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            let idle = self.live.here().is_some();
            tokio::select! {
                changed = self.config.changed(), if idle => {
                    if changed.is_err() {
                        return;
                    }
                    self.configure();
                    self.place.look_again();
                }
                () = self.finder.reports().ready(), if idle => self.report(),
                _ = ticks.tick() => {
                    if self.live.away() > Some(SLOW) {
                        self.waits();
                    }
                    self.live.lend(Live::tick);
                }
                back = self.live.back() => self.worked(back),
            }
        }
    }

    /// Applies what the finder has told since the last time.
    fn report(&mut self) {
        let reports = self.place.take(self.finder.reports());
        self.live.lend(move |live| live.report(reports));
    }

    fn waits(&mut self) {
        if let Some(n) = self.slow.allow(now().monotonic) {
            let (more, time) = (LogThrottle::more(n), SLOW.as_secs());
            log::warn!("jvm: for {time} s a reading has not come back: no JVM is read{more}");
        }
    }

    /// `None`: it has panicked, and what it knew is lost: all processes are found anew.
    fn worked(&mut self, back: Option<()>) {
        if back.is_none() {
            self.live = Lent::new((self.make)());
            self.finder.activate(false);
            self.configure();
            self.place.look_again();
        }
        let Some(live) = self.live.here() else { return };
        for (pid, start) in live.lost() {
            self.finder.lost(pid, start);
            self.place.again(pid);
        }
        for pid in live.again() {
            self.finder.reports().forget(pid);
            self.place.again(pid);
        }
    }

    fn configure(&mut self) {
        let config = self.config.borrow_and_update().clone();
        self.finder.read_memory(config.memory);
        self.finder.activate(config.discover);
        let Some(live) = self.live.here() else { return };
        live.configure(&config.processes, config.attach);
        if !config.discover {
            live.end("jvm.discover is false");
        }
    }
}
