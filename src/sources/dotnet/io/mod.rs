//! Connects the reader to the outside: /proc, sockets, tasks.

mod bursts;
mod discovery;
mod door;
mod exchange;
mod facts;
mod found;
mod lines;
mod listener;
mod port;
mod proc;
mod process;
mod reading;
mod registry;
mod scanner;
mod times;
mod watches;

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use found::Found;
use process::Shared;
use tokio::sync::watch;

use super::Config;
use crate::sources::{Context, Running};

/// Starts discovery and the listener.
///
/// # Errors
/// None today; the contract allows them.
pub(super) fn start(
    config: Config,
    Context { net, peers, .. }: Context,
) -> io::Result<Box<dyn Running<Config>>> {
    let config = Arc::new(config);
    let (sender, receiver) = watch::channel(Arc::clone(&config));
    let shared = Arc::new(Shared {
        peers,
        config: receiver,
        client: format!("pmdaapm-{}", std::process::id()).into(),
        stop: net.stop().clone(),
    });
    let tasks = net.clone();
    let configs = shared.config.clone();
    discovery::start(configs, &net, move |found: Found| {
        tasks.spawn(process::run(found, Arc::clone(&shared)));
    });
    Ok(Box::new(RunningDotnet { sender, config: Mutex::new(config) }))
}

struct RunningDotnet {
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
        // Without a process nobody receives.
        self.sender.send_replace(new);
        if listens { Vec::new() } else { vec!["listen"] }
    }
}
