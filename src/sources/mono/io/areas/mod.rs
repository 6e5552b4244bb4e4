//! The task that reads the shared areas of Mono processes once a second.

mod finder;
mod live;
mod open;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use self::finder::{AREAS, Finder, Report};
use self::live::Live;
use super::host::ProcHost;
use crate::host::Place;
use crate::model::{Charge, Purpose};
use crate::net::{Net, Peers};
use crate::sources::mono::Config;
use crate::sources::mono::process::Processes;

/// Time between two readings of each area.
const PERIOD: Duration = Duration::from_secs(1);

/// Starts looking. A later configuration is applied.
pub(super) fn start(
    config: watch::Receiver<Arc<Config>>,
    host: &Arc<ProcHost>,
    processes: Arc<Processes>,
    peers: &Peers,
    net: &Net,
) {
    let charge = Charge::new(Arc::clone(peers.memory()), Purpose::Definitions);
    let live = Live::new(processes, peers.maker(false), charge);
    let (sender, reports) = unbounded_channel();
    let finder = Finder::new(Arc::clone(host), sender);
    let place = host.host().add(Arc::new(finder.clone()), Some(AREAS));
    let mut task = Task { config, live, finder, place, reports };
    task.configure();
    let stop = net.stop().clone();
    net.spawn(async move {
        let _ = stop.run_until_cancelled(task.run()).await;
        task.live.end("the PMDA stopped");
    });
}

struct Task {
    config: watch::Receiver<Arc<Config>>,
    live: Live,
    finder: Finder,
    place: Place,
    reports: UnboundedReceiver<Report>,
}

impl Task {
    async fn run(&mut self) {
        let mut ticks = interval(PERIOD);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            tokio::select! {
                changed = self.config.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    self.configure();
                    self.place.look_again();
                }
                Some(report) = self.reports.recv() => self.live.report(report),
                _ = ticks.tick() => {
                    self.live.tick();
                    for pid in self.live.again() {
                        self.finder.known().forget(pid, || {});
                        self.place.again(pid);
                    }
                }
            }
        }
    }

    fn configure(&mut self) {
        let config = self.config.borrow_and_update().clone();
        self.finder.known().activate(config.discover);
        if !config.discover {
            // What was reported before is not to come back.
            while self.reports.try_recv().is_ok() {}
            self.live.end("mono.discover is false");
        }
        self.live.configure(&config.processes);
    }
}
