//! Starts everything that talks to peers, changes it on reload, stops it within a second.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::gate::Gate;

use super::tail::{FileFactory, Tail};
use super::tcp::{Caller, Factory, Listener, is_local};
use crate::config::{Config, Mono};
use crate::model::Control;
use crate::sources::lttng::io::{self as lttng, SessionControl};
use crate::sources::{MONO, PROFILER, mono, profiler};
use crate::store::Store;

/// Threads that read and decode.
const WORKERS: usize = 2;
/// Tasks that a worker runs before it looks again who has sent something: a turn can take a
/// millisecond.
const TURNS: u32 = 31;
/// How long sessions have to say good-bye.
const DRAIN: Duration = Duration::from_secs(1);

/// What the process was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// SIGHUP: read the configuration again.
    Reload,
    /// SIGTERM or SIGINT: stop.
    Stop,
}

/// Settings of the Mono source that sessions are made with.
type MonoSettings = Arc<RwLock<mono::Settings>>;

/// Options of the profiler source that sessions are made with.
type ProfilerOptions = Arc<RwLock<profiler::Options>>;

/// Everything that runs beside the PMDA thread.
pub struct Supervisor {
    runtime: Runtime,
    stop: CancellationToken,
    tasks: TaskTracker,
    tail: Option<std::thread::JoinHandle<()>>,
    store: Arc<Store>,
    mono: MonoSettings,
    mono_files: Arc<Mutex<Vec<PathBuf>>>,
    profiler: ProfilerOptions,
    lttng: SessionControl,
}

impl Supervisor {
    /// Starts listeners, file followers and what LTTng needs; `state` is the folder of what
    /// outlives the process. `on_signal` is called on a worker and must not block.
    ///
    /// # Errors
    /// When threads cannot be started. A listener that cannot bind is not an error: it tries again
    /// and says so.
    pub fn start(
        config: &Config,
        store: &Arc<Store>,
        state: &Path,
        on_signal: impl Fn(Signal) + Send + Sync + 'static,
    ) -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(WORKERS)
            .event_interval(TURNS)
            .thread_name("apm-worker")
            .enable_all()
            .build()?;
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        let gate = Gate::new(size(config.limits.connections), size(config.limits.pending), WORKERS);
        let settings = Arc::new(RwLock::new(settings(config, false)));
        let profiler_options = Arc::new(RwLock::new(options(config)));
        let mono_files = Arc::new(Mutex::new(config.mono.files.clone()));
        if let Some(address) = config.mono.listen {
            let (factory, store) = (mono_factory(&settings), Arc::clone(store));
            let gate = gate.clone();
            let listener = Listener {
                address,
                source: MONO,
                factory,
                reset: false,
                gate,
                store,
                stop: stop.clone(),
                tasks: tasks.clone(),
            };
            runtime.spawn(listener.run());
        }
        if let Some(address) = config.profiler.listen {
            let (factory, gate, store) =
                (profiler_factory(&profiler_options, config, store), gate, Arc::clone(store));
            let listener = Listener {
                address,
                source: PROFILER,
                factory,
                reset: true,
                gate,
                store,
                stop: stop.clone(),
                tasks: tasks.clone(),
            };
            runtime.spawn(listener.run());
        }
        let lttng = lttng::start(config, store, state, (runtime.handle(), &tasks, &stop));
        let tail = Tail {
            source: MONO,
            factory: mono_file_factory(&settings),
            store: Arc::clone(store),
            patterns: Arc::clone(&mono_files),
            stop: stop.clone(),
        };
        let tail =
            std::thread::Builder::new().name("apm-files".into()).spawn(move || tail.run())?;
        runtime.block_on(async { watch_signals(on_signal) })?;
        Ok(Self {
            runtime,
            stop,
            tasks,
            tail: Some(tail),
            store: Arc::clone(store),
            mono: settings,
            mono_files,
            profiler: profiler_options,
            lttng,
        })
    }

    /// Takes over what can change while running.
    pub fn reconfigure(&self, config: &Config) {
        *self.profiler.write().unwrap_or_else(PoisonError::into_inner) = options(config);
        if !self.lttng.configure(config.lttng.sessions.clone()) {
            log::warn!(
                "lttng: too many requests wait; send SIGHUP again for the sessions of the configuration"
            );
        }
        let new = settings(config, false);
        let mut current = self.mono.write().unwrap_or_else(PoisonError::into_inner);
        let select_changed = current.select != new.select;
        *current = new;
        drop(current);
        self.mono_files
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone_from(&config.mono.files);
        if select_changed {
            for peer in self.store.peers() {
                peer.post(Control::Select(config.mono.select.clone()));
            }
        }
    }

    /// Ends all conversations, waiting for them at most a second.
    pub fn stop(mut self) {
        self.stop.cancel();
        self.tasks.close();
        let tasks = self.tasks.clone();
        let drained =
            self.runtime.block_on(async move { timeout(DRAIN, tasks.wait()).await.is_ok() });
        if !drained {
            log::warn!("some connections did not end in time");
        }
        if let Some(tail) = self.tail.take() {
            let _ = tail.join();
        }
        self.runtime.shutdown_timeout(Duration::from_millis(200));
    }
}

fn size(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

fn settings(config: &Config, one_way: bool) -> mono::Settings {
    let Mono { select, probe, .. } = &config.mono;
    let select = select.iter().filter_map(|p| mono::Pattern::parse(p).ok()).collect();
    mono::Settings {
        select,
        probe: *probe,
        name_length: size(config.limits.name_length),
        names: size(config.limits.names),
        one_way,
    }
}

fn options(config: &Config) -> profiler::Options {
    let p = &config.profiler;
    let period = u64::try_from(p.rotation_period.as_millis()).unwrap_or(u64::MAX);
    let settings = profiler::Settings {
        rotation_period_ms: period,
        rotation_size: p.rotation_size,
        ..profiler::Settings::default()
    };
    profiler::Options {
        settings,
        idle: p.idle,
        stacks: p.stacks,
        parameters: p.parameters.as_slice().into(),
    }
}

fn profiler_factory(options: &ProfilerOptions, config: &Config, store: &Store) -> Factory {
    let (options, shared) = (
        Arc::clone(options),
        Arc::new(profiler::SharedState::within(size(config.profiler.dictionary), &store.memory)),
    );
    Arc::new(move |caller: Caller| {
        let options = options.read().unwrap_or_else(PoisonError::into_inner).clone();
        Box::new(profiler::AgentSession::new(
            caller.address.to_string(),
            options,
            Arc::clone(&shared),
        ))
    })
}

fn current(settings: &MonoSettings) -> mono::Settings {
    settings.read().unwrap_or_else(PoisonError::into_inner).clone()
}

fn mono_factory(settings: &MonoSettings) -> Factory {
    let settings = Arc::clone(settings);
    Arc::new(move |caller: Caller| {
        let host = (!is_local(caller.address.ip())).then(|| caller.address.ip().to_string());
        let peer = mono::Peer {
            address: caller.address.to_string(),
            fallback: caller.fallback,
            host,
            process: None,
        };
        Box::new(mono::Inspector::new(peer, current(&settings)))
    })
}

fn mono_file_factory(settings: &MonoSettings) -> FileFactory {
    let settings = Arc::clone(settings);
    Arc::new(move |address, fallback| {
        let peer = mono::Peer { address, fallback, host: None, process: None };
        Box::new(mono::Inspector::new(peer, mono::Settings { one_way: true, ..current(&settings) }))
    })
}

/// Needs a runtime around it.
fn watch_signals(on_signal: impl Fn(Signal) + Send + Sync + 'static) -> std::io::Result<()> {
    let mut hangup = signal(SignalKind::hangup())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::spawn(async move {
        loop {
            on_signal(tokio::select! {
                Some(()) = hangup.recv() => Signal::Reload,
                Some(()) = terminate.recv() => Signal::Stop,
                Some(()) = interrupt.recv() => Signal::Stop,
                else => return,
            });
        }
    });
    Ok(())
}
