//! Connects the collector to the outside: a TCP listener.

use crate::model::Listening;
use std::io;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use super::{AgentSession, Config, Options, Settings, SharedState};
use crate::net::{Caller, Listen, Peers, SessionFactory};
use crate::sources::{Context, Running};

/// Options for new sessions; a reload replaces them.
type SharedOptions = Arc<RwLock<Options>>;

/// Starts the listener.
///
/// # Errors
/// None today; the contract allows them.
pub(super) fn start(
    config: Config,
    Context { peers, net, .. }: Context,
) -> io::Result<Box<dyn Running<Config>>> {
    let options = Arc::new(RwLock::new(options(&config)));
    let dictionary = usize::try_from(config.dictionary).unwrap_or(usize::MAX);
    let shared = Arc::new(SharedState::within(dictionary, peers.memory()));
    shared.set_trees(peers.limits().trees);
    for (_, place) in Listening::of(config.listen, config.tls_listen) {
        let factory = sessions(&options, &shared);
        // Reset, because an agent treats the plain end of a connection as a pause.
        net.listen(Listen { place, peers: peers.clone(), factory, reset: true });
    }
    Ok(Box::new(RunningProfiler { options, peers, shared, config: Mutex::new(config) }))
}

struct RunningProfiler {
    options: SharedOptions,
    peers: Peers,
    shared: Arc<SharedState>,
    /// The configuration that was applied last.
    config: Mutex<Config>,
}

impl Running<Config> for RunningProfiler {
    fn reconfigure(&self, new: &Config) -> Vec<&'static str> {
        let old = std::mem::replace(
            &mut *self.config.lock().unwrap_or_else(PoisonError::into_inner),
            new.clone(),
        );
        *self.options.write().unwrap_or_else(PoisonError::into_inner) = options(new);
        self.shared.set_trees(self.peers.limits().trees);
        let keys = [
            ("listen", old.listen != new.listen),
            ("tls_listen", old.tls_listen != new.tls_listen),
            ("dictionary", old.dictionary != new.dictionary),
        ];
        keys.into_iter().filter(|(_, differs)| *differs).map(|(key, _)| key).collect()
    }
}

fn options(config: &Config) -> Options {
    let period = u64::try_from(config.rotation_period.as_millis()).unwrap_or(u64::MAX);
    Options {
        settings: Settings {
            rotation_period_ms: period,
            rotation_size: config.rotation_size,
            ..Settings::default()
        },
        idle: config.idle,
        stacks: config.stacks,
        parameters: config.parameters.as_slice().into(),
    }
}

fn sessions(options: &SharedOptions, shared: &Arc<SharedState>) -> SessionFactory {
    let (options, shared) = (Arc::clone(options), Arc::clone(shared));
    Arc::new(move |caller: Caller| {
        let options = options.read().unwrap_or_else(PoisonError::into_inner).clone();
        let session = AgentSession::new(caller.address.to_string(), options, Arc::clone(&shared));
        Box::new(session.with_ends(caller.address, caller.ours))
    })
}
