//! Connects the reader to the outside: /proc, sockets, tasks.

mod bursts;
mod discovery;
mod facts;
mod lines;
mod process;
mod reading;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{fs, io};

use tokio::sync::watch;
use tokio::time::sleep;

use super::Config;
use super::stream::MergedLatencies;
use super::stream::feed::{Hub, PROVIDER};
use crate::clock::now;
use crate::model::{Charge, Purpose};
use crate::net::{Net, Peers};
use crate::sources::foreign::ForeignReaders;
use crate::sources::{Context, Running};
use discovery::Found;
use process::Shared;

/// Starts discovery and the listener.
///
/// # Errors
/// None today; the contract allows them.
pub(super) fn start(
    config: Config,
    Context { net, peers, foreign, host, .. }: Context,
) -> io::Result<Box<dyn Running<Config>>> {
    let config = Arc::new(config);
    let (sender, receiver) = watch::channel(Arc::clone(&config));
    let hub = feed(Arc::clone(&config), &net, &peers, &foreign);
    let shared = Arc::new(Shared {
        latencies: Arc::new(MergedLatencies::new(peers.memory())),
        peers,
        hub: Arc::clone(&hub),
        config: receiver,
        client: format!("pmdaapm-{}", std::process::id()).into(),
        stop: net.stop().clone(),
        guard: Arc::clone(net.guard()),
    });
    let tasks = net.clone();
    let configs = shared.config.clone();
    let charge = Charge::new(Arc::clone(shared.peers.memory()), Purpose::Definitions);
    discovery::start(configs, &host, &net, charge, move |found: Found| {
        tasks.spawn(process::run(found, Arc::clone(&shared)));
    });
    Ok(Box::new(RunningDotnet { sender, hub, config: Mutex::new(config) }))
}

/// Time between two ticks: older events of other processors come within two of them.
const FEED_TICK: Duration = Duration::from_secs(1);

/// Offers to read the runtime's events of traces.
fn feed(config: Arc<Config>, net: &Net, peers: &Peers, foreign: &ForeignReaders) -> Arc<Hub> {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let hub = Hub::new(config, host.trim(), peers.maker(false));
    foreign.offer(PROVIDER, hub.reader());
    let (ticking, stop) = (Arc::clone(&hub), net.stop().clone());
    net.spawn(async move {
        while stop.run_until_cancelled(sleep(FEED_TICK)).await.is_some() {
            ticking.tick(now());
        }
    });
    hub
}

struct RunningDotnet {
    /// Processes of traces.
    hub: Arc<Hub>,
    /// To the task of each process.
    sender: watch::Sender<Arc<Config>>,
    /// The configuration that was applied last.
    config: Mutex<Arc<Config>>,
}

impl Running<Config> for RunningDotnet {
    fn reconfigure(&self, new: &Config) -> Vec<&'static str> {
        let new = Arc::new(new.clone());
        let old = std::mem::replace(
            &mut *self.config.lock().unwrap_or_else(PoisonError::into_inner),
            Arc::clone(&new),
        );
        let listens = old.listen == new.listen;
        self.hub.configure(Arc::clone(&new));
        // Without a process nobody receives.
        self.sender.send_replace(new);
        if listens { Vec::new() } else { vec!["listen"] }
    }
}
