//! Connects the collector to the outside: an HTTP listener, and the file of registered agents.

use crate::model::Listening;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::collector::Collector;
use super::{Config, limits};
use crate::confine::aside;
use crate::net::{HttpLimits, HttpListen, Peers, state_file};
use crate::sources::{Context, Running};

/// The registered agents, in the state directory: agents before 1.90.7 keep the ids that they got,
/// and never register again (docs/protocols/zorka.md 3.1).
const STATE_FILE: &str = "apm.zorka.json";
/// Time between two looks for changes to save: an agent that registers uses its id at once, and a
/// kill must not make it a stranger.
const SAVE: Duration = Duration::from_millis(200);

/// Starts the listener, and the task that saves registered agents.
///
/// # Errors
/// None today; the contract allows them.
pub(super) fn start(
    config: Config,
    Context { peers, net, state_dir, .. }: Context,
) -> io::Result<Box<dyn Running<Config>>> {
    let path = state_dir.join(STATE_FILE);
    let (collector, may_save) = collector(&config, &peers, &path);
    let collector = Arc::new(collector.known_as(own_names()));
    collector.set_trees(peers.limits().trees);
    let places = Listening::of(config.listen, config.tls_listen);
    let places: Vec<_> = places.into_iter().map(|(_, place)| place).collect();
    if !places.is_empty() {
        let service = Arc::clone(&collector);
        net.listen_http(HttpListen {
            places,
            peers: peers.clone(),
            service,
            limits: HttpLimits::default(),
        });
        if may_save {
            net.spawn(save(Arc::clone(&collector), path, net.stop().clone()));
        }
    }
    Ok(Box::new(RunningZorka { collector, peers, config: Mutex::new(config) }))
}

/// The host's name, and its first part.
fn own_names() -> Vec<String> {
    let whole = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let whole = whole.trim();
    let short = whole.split('.').next().unwrap_or_default();
    [whole, short].into_iter().filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

struct RunningZorka {
    collector: Arc<Collector>,
    peers: Peers,
    /// The configuration that was applied last.
    config: Mutex<Config>,
}

impl Running<Config> for RunningZorka {
    fn reconfigure(&self, new: &Config) -> Vec<&'static str> {
        self.collector.reconfigure(new);
        self.collector.set_trees(self.peers.limits().trees);
        let old = std::mem::replace(
            &mut *self.config.lock().unwrap_or_else(PoisonError::into_inner),
            new.clone(),
        );
        let keys = [
            ("listen", old.listen != new.listen),
            ("tls_listen", old.tls_listen != new.tls_listen),
        ];
        keys.into_iter().filter(|(_, differs)| *differs).map(|(key, _)| key).collect()
    }
}

/// A collector that knows the agents of the file, and whether the file may be written. If it is
/// damaged, the collector knows none: agents are then adopted by their ids when they come back. One
/// that cannot be read may be whole, so it stays as it is.
fn collector(config: &Config, peers: &Peers, path: &Path) -> (Collector, bool) {
    let make =
        |text: &str| Collector::new(config, peers.maker(true), Arc::clone(peers.memory()), text);
    let none = || make("").expect("no agents are a valid state");
    let parsed = match state_file::read(path, limits::STATE) {
        Ok(text) => make(&text.unwrap_or_default()),
        // It is not UTF-8.
        Err(why) if why.kind() == io::ErrorKind::InvalidData => Err(why.to_string()),
        Err(why) => {
            log::warn!(
                "zorka: {} cannot be read: {why}; it stays as it is, and agents that register now \
                 are not saved",
                path.display()
            );
            return (none(), false);
        }
    };
    match parsed {
        Ok(collector) => (collector, true),
        Err(why) => {
            let aside = path.with_extension("damaged");
            log::warn!(
                "zorka: {}: {why}; it is now {}, and registered agents are learned again",
                path.display(),
                aside.display()
            );
            let renamed = std::fs::rename(path, &aside);
            if let Err(why) = &renamed {
                log::warn!("zorka: {} cannot be renamed: {why}", path.display());
            }
            (none(), renamed.is_ok())
        }
    }
}

/// Saves the registered agents when they have changed, and when the PMDA stops.
async fn save(collector: Arc<Collector>, path: PathBuf, stop: CancellationToken) {
    let mut looks = interval(SAVE);
    looks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut failed = false;
    loop {
        let stops = tokio::select! {
            () = stop.cancelled() => true,
            _ = looks.tick() => false,
        };
        if let Some(text) = collector.take_state() {
            let path = path.clone();
            let written = aside::spawn_blocking(move || {
                state_file::write(&path, &text).map_err(|e| format!("{}: {e}", path.display()))
            });
            let why = written.await.map_err(|e| e.to_string()).and_then(|written| written).err();
            if let Some(why) = &why {
                collector.keep_state();
                if !failed {
                    log::warn!("zorka: {why}; agents that register now have to do it again");
                }
            }
            failed = why.is_some();
        }
        if stops {
            return;
        }
    }
}
