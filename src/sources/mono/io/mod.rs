//! Connects the inspector to the outside: a TCP listener and followed files.

mod area;
mod areas;
mod proc;

#[cfg(fuzzing)]
pub(super) use area::mapping;

use crate::model::Listening;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use tokio::sync::watch;

use self::proc::ProcHost;
use super::agent::Settings;
use super::config::Config;
use super::counters::identity::Origin;
use super::counters::pattern::Pattern;
use super::front::Front;
use super::process::{Joining, Processes, Via};
use crate::clock::nanoseconds;
use crate::contract::Control;
use crate::net::{Caller, FileFactory, Listen, Peers, SessionFactory, is_local};
use crate::sources::{Context, Running};

/// Settings for new sessions; a reload replaces them.
type Shared = Arc<RwLock<Settings>>;

/// Starts the listener and the thread that follows files.
///
/// # Errors
/// When the thread cannot be started.
pub(super) fn start(
    config: Config,
    Context { peers, net, host, .. }: Context,
) -> io::Result<Box<dyn Running<Config>>> {
    let shared = Arc::new(RwLock::new(settings(&config, &peers)));
    let host = Arc::new(ProcHost::new(host));
    let processes = Processes::new(Arc::<ProcHost>::clone(&host));
    let (settings, receiver) = watch::channel(Arc::new(config.clone()));
    areas::start(receiver, &host, Arc::clone(&processes), &peers, &net);
    if let Some(address) = config.listen {
        let factory = sessions(&shared, &processes);
        net.listen(Listen {
            place: Listening::Plain(address),
            peers: peers.clone(),
            factory,
            reset: false,
        });
    }
    let files = Arc::new(Mutex::new(config.files.clone()));
    net.tail(&peers, Arc::clone(&files), file_sessions(&shared, &processes))?;
    Ok(Box::new(RunningMono { peers, shared, files, settings, config: Mutex::new(config) }))
}

struct RunningMono {
    peers: Peers,
    shared: Shared,
    /// Patterns of the files that are followed.
    files: Arc<Mutex<Vec<PathBuf>>>,
    /// What looks for processes.
    settings: watch::Sender<Arc<Config>>,
    /// The configuration that was applied last.
    config: Mutex<Config>,
}

impl Running<Config> for RunningMono {
    fn reconfigure(&self, new: &Config) -> Vec<&'static str> {
        let old = std::mem::replace(
            &mut *self.config.lock().unwrap_or_else(PoisonError::into_inner),
            new.clone(),
        );
        *self.shared.write().unwrap_or_else(PoisonError::into_inner) = settings(new, &self.peers);
        self.settings.send_replace(Arc::new(new.clone()));
        self.files.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&new.files);
        if old.select != new.select {
            for peer in self.peers.all() {
                peer.post_all(&Control::Select(new.select.clone()));
            }
        }
        if old.listen == new.listen { Vec::new() } else { vec!["listen"] }
    }
}

fn settings(config: &Config, peers: &Peers) -> Settings {
    let limits = peers.limits();
    Settings {
        select: config.select.iter().filter_map(|p| Pattern::parse(p).ok()).collect(),
        probe: config.probe,
        name_length: limits.name_length,
        names: limits.names,
        one_way: false,
    }
}

fn current(shared: &Shared) -> Settings {
    shared.read().unwrap_or_else(PoisonError::into_inner).clone()
}

fn sessions(shared: &Shared, processes: &Arc<Processes>) -> SessionFactory {
    let (shared, processes) = (Arc::clone(shared), Arc::clone(processes));
    Arc::new(move |caller: Caller| {
        let local = is_local(caller.address.ip());
        let host = (!local).then(|| caller.address.ip().to_string());
        let peer = Origin {
            address: caller.address.to_string(),
            fallback: caller.fallback,
            host,
            process: None,
        };
        let via = Via::Tcp { peer: caller.address, ours: caller.ours };
        let joining = local.then(|| Joining { processes: Arc::clone(&processes), via });
        Box::new(Front::new(peer, joining, current(&shared), nanoseconds))
    })
}

fn file_sessions(shared: &Shared, processes: &Arc<Processes>) -> FileFactory {
    let (shared, processes) = (Arc::clone(shared), Arc::clone(processes));
    Arc::new(move |address, fallback| {
        let path = PathBuf::from(address.strip_prefix("file:").unwrap_or_default());
        let joining = Joining { processes: Arc::clone(&processes), via: Via::File(path) };
        let peer = Origin { address, fallback, host: None, process: None };
        let settings = Settings { one_way: true, ..current(&shared) };
        Box::new(Front::new(peer, Some(joining), settings, nanoseconds))
    })
}
