//! The task that looks for .NET processes and takes those that connect to us.

mod door;
mod finder;
mod listener;
mod registry;

pub(super) use door::Found;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::{Receiver, channel};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::clock::now;
use crate::confine::aside;
use crate::host::{Host, Place, Program};
use crate::model::Charge;
use crate::net::Net;
use crate::sources::dotnet::Config;
use crate::sources::dotnet::discovery::Target;
use crate::store::LogThrottle;
use finder::{Finder, target};
use listener::Arrival;
use registry::Registry;

/// Time between two looks at connections to us.
const TICK: Duration = Duration::from_secs(2);
/// Time for a look at a process that has connected to us.
const LOOK: Duration = Duration::from_secs(10);
/// Arrivals that wait to be identified.
const ARRIVALS: usize = 64;

/// Starts looking. `on_found` is called once for each process, within the runtime; it must not
/// block. A later configuration is applied, but for `dotnet.listen`.
pub(super) fn start(
    config: watch::Receiver<Arc<Config>>,
    host: &Arc<Host>,
    net: &Net,
    charge: Charge,
    on_found: impl Fn(Found) + Send + Sync + 'static,
) {
    let (arrivals, receiver) = channel(ARRIVALS);
    let listen = config.borrow().listen.clone();
    if let Some(path) = listen {
        net.spawn(listener::run(path, arrivals, net.stop().clone()));
    }
    let stop = net.stop().clone();
    let registry = Registry::new(host, config.clone(), Box::new(on_found), charge, stop.clone());
    let task = Task::new(host, config, receiver, registry);
    net.spawn(async move {
        // A look that hangs must not hold up the end.
        let _ = stop.run_until_cancelled(task.run()).await;
    });
}

struct Task {
    host: Arc<Host>,
    config: watch::Receiver<Arc<Config>>,
    arrivals: Receiver<Arrival>,
    registry: Registry,
    finder: Finder,
    place: Place,
    slow: LogThrottle,
}

impl Task {
    fn new(
        host: &Arc<Host>,
        config: watch::Receiver<Arc<Config>>,
        arrivals: Receiver<Arrival>,
        mut registry: Registry,
    ) -> Self {
        let finder = Finder::new(host, config.clone());
        finder.reports().activate(config.borrow().discover);
        registry.configure(&config.borrow());
        let place = host.add(Arc::new(finder.clone()), None);
        let (host, slow) = (Arc::clone(host), LogThrottle::default());
        Self { host, config, arrivals, registry, finder, place, slow }
    }

    async fn run(mut self) {
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            tokio::select! {
                changed = self.config.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    let config = self.config.borrow_and_update().clone();
                    self.finder.reports().activate(config.discover);
                    for pid in self.registry.configure(&config) {
                        self.finder.reports().forget(pid);
                    }
                    self.place.look_again();
                }
                Some(arrival) = self.arrivals.recv() => self.arrived(arrival).await,
                () = self.finder.reports().ready() => {
                    self.registry.report(self.place.take(self.finder.reports()));
                }
                _ = ticks.tick() => {
                    self.registry.tick(now().monotonic);
                    for pid in self.registry.again() {
                        self.finder.reports().forget(pid);
                        self.place.again(pid);
                    }
                }
            }
        }
    }

    async fn arrived(&mut self, arrival: Arrival) {
        let (pid, uid) = (arrival.pid, arrival.uid);
        let host = Arc::clone(&self.host);
        let mut identified = aside::spawn_blocking(move || {
            let target = if pid == 0 { None } else { identify(&host, pid, uid) };
            (target, host.user(uid))
        });
        let Ok(identified) = timeout(LOOK, &mut identified).await else {
            if let Some(n) = self.slow.allow(now().monotonic) {
                let more = LogThrottle::more(n);
                log::warn!("dotnet: process {pid} has connected and does not answer{more}");
            }
            return;
        };
        let Ok((target, owner)) = identified else { return };
        // One that has a number here and is not there has ended, or is another program now: what it
        // says of itself is not believed.
        let unseen = (pid == 0).then(|| (unseen(&arrival, owner), Program::default()));
        if let Some((target, program)) = target.or(unseen) {
            self.registry.arrived(arrival, target, program);
        }
    }
}

/// What is known of the process that has connected to us; `None`: it has ended.
/// `uid`: the user that the kernel knows of its connection. A process that has executed a program
/// of another user since is not taken for that program.
fn identify(host: &Host, pid: u32, uid: u32) -> Option<(Target, Program)> {
    let process = host.proc().open(pid)?;
    let command = process.read("cmdline").unwrap_or_default();
    let target = target(host, &process, &command).filter(|target| target.uid == uid)?;
    Some((target, Program::of(&process, &command, None)))
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
        container: None,
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
        let host = Host::new("/proc".into());
        let (pid, uid) = (std::process::id(), rustix::process::geteuid().as_raw());
        assert_eq!(identify(&host, pid, uid).map(|(target, _)| target.pid), Some(pid));
        // It connected as this user, and has executed a set-uid program since.
        assert!(identify(&host, pid, uid + 1).is_none());
    }
}
