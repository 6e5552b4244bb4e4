//! The PMDA as a whole: configuration → store → libpcp_pmda → peers → loop → drain.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pmda::{Agent, Log, Wake, process};

use crate::VERSION;
use crate::callbacks::Callbacks;
use crate::catalogue::Catalogue;
use crate::check;
use crate::clock::now;
use crate::config::{Config, ConfigError, Loaded};
use crate::confine::Confine;
use crate::host::opener::{Opener, give_up};
use crate::model::Grants;
use crate::net::{Signal, Supervisor, Tls};
use crate::options::{Mode, Options};
use crate::sources::registry::{self, Sections, Started};
use crate::store::{Stat, Store};

/// Time between two sweeps of the store.
const SWEEP: Duration = Duration::from_secs(5);
/// Time between two returns of free memory to the system.
const TRIM: Duration = Duration::from_secs(15);

const BY_HAND: &str = "\
pmdaapm is started by pmcd(1), which talks to it over standard input. To run it:
  installed:     cd $PCP_PMDAS_DIR/apm && ./Install
  from a build:  qa/demo --stay      (a private pmcd with this PMDA)
  by hand:       dbpmda, then: open pipe /path/to/pmdaapm -d 400
pmdaapm --check checks the configuration, pmdaapm --help lists the options.";

/// Runs the mode of the command line; returns the exit status.
#[must_use]
pub fn main(mut agent: Agent, options: &Options) -> i32 {
    let catalogue = match registry::build() {
        Ok(catalogue) => catalogue,
        Err(contradictions) => {
            // Where pmcd has started it, this is its log.
            eprintln!("the tables of the sources contradict each other:\n{contradictions}");
            return 1;
        }
    };
    match options.mode {
        Mode::PrintPmns => show(&crate::generate::pmns(&catalogue)),
        Mode::PrintHelp => show(&crate::generate::help(&catalogue)),
        Mode::PrintMetrics => show(&crate::generate::metrics(&catalogue)),
        Mode::PrintIds => show(&crate::ids::print(&catalogue)),
        Mode::PrintConfiguration => show(&crate::config::reference::<Sections>()),
        Mode::Catalogue => show(&crate::generate::json(&catalogue)),
        Mode::PrintConfinement => show(&crate::confine::print()),
        Mode::PrintPmlogconf => show(&crate::pmlogconf::print(&catalogue)),
        Mode::Page => {
            show(&crate::page::html(options.proxy.as_deref(), options.hostspec.as_deref()));
        }
        Mode::Version => println!("pmdaapm {VERSION} (PCP {})", pmda::PCP_VERSION),
        Mode::Check => return check(options),
        Mode::Forget => {
            return forget(&agent, &catalogue, options.forget.as_deref().unwrap_or_default());
        }
        Mode::Run if !process::is_started_by_pmcd() => {
            eprintln!("{BY_HAND}");
            return 1;
        }
        Mode::Run => {
            agent.open_log();
            if let Err(e) = run(agent, options, catalogue) {
                Log::install("pmdaapm", log::LevelFilter::Info);
                log::error!("{e}");
                return 1;
            }
        }
    }
    0
}

/// Prints to standard output; a closed pipe (`| head`) is no error.
fn show(text: &str) {
    use std::io::Write;
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// Reads the configuration file of the options, or the default one.
fn load(options: &Options) -> Result<Loaded<Sections>, ConfigError> {
    let usual = process::config_dir().join("apm").join("apm.toml");
    Loaded::read(options.config.as_deref(), &usual)
}

fn check(options: &Options) -> i32 {
    match load(options) {
        Ok(loaded) => {
            show(&check::report(&loaded));
            let mut warnings = check::plain(&loaded.config.sources);
            let tls = check::tls(&loaded).map(|found| {
                if let Some((about, more)) = found {
                    show(&format!("tls: {about}\n"));
                    warnings.extend(more);
                }
            });
            let confine = confine(&loaded.config);
            // A thread that ends shows what can be given up.
            let given = std::thread::spawn(move || confine.worker()).join();
            let fault = given.ok().and_then(|given| given.fault(confine));
            warnings.extend(fault.map(|fault| format!("confinement: {fault}")));
            warnings.iter().for_each(|warning| show(&format!("warning: {warning}\n")));
            let faults = [check::clash(&loaded), tls.err()];
            faults.into_iter().flatten().fold(0, |_, fault| {
                eprintln!("{}: {fault}", loaded.origin());
                1
            })
        }
        Err(e) => {
            eprintln!("{e}");
            1
        }
    }
}

/// `[confine]`.
const fn confine(config: &Config<Sections>) -> Confine {
    Confine { seccomp: config.confine.seccomp, landlock: config.confine.landlock }
}

fn forget(agent: &Agent, catalogue: &Catalogue, pattern: &str) -> i32 {
    let dir = process::state_dir();
    // As the PMDA does, so that it can read the file.
    agent.hand_over(&dir, "apm.");
    let user = agent.become_user().map_err(|e| e.to_string());
    match user.and_then(|()| crate::forget::forget(&dir, agent.domain(), catalogue, pattern)) {
        Ok(names) if names.is_empty() => {
            eprintln!("{pattern}: no peer has brought such a metric");
            1
        }
        Ok(names) => {
            show(&format!("{}\n", names.join("\n")));
            0
        }
        Err(e) => {
            eprintln!("{e}");
            1
        }
    }
}

fn run(
    agent: Agent,
    options: &Options,
    catalogue: Arc<Catalogue>,
) -> Result<(), Box<dyn std::error::Error>> {
    let loaded = load(options)?;
    let config = &loaded.config;
    Log::install("pmdaapm", config.log.level);
    log::info!("pmdaapm {VERSION} starts; configuration: {}", loaded.origin());
    let state_dir = process::state_dir();
    agent.hand_over(&state_dir, "apm.");
    let opener = open(&agent, config);
    agent.become_user()?;
    // What it was started with, and was not meant for it.
    if opener.is_some() || !(config.opener.enabled || is_root(&agent)) {
        give_up()?;
    }

    let store = Store::new(catalogue, agent.domain(), config.limits(), config.event_memory());
    store.stats.set_started(now().monotonic);
    if let Some(path) = &loaded.path {
        store.stats.set_config_file(&path.display().to_string());
    }
    count_panics(&store);
    let wake = Wake::new()?;
    let on_change = wake.clone();
    store.on_change(move || on_change.wake());

    let mut pmda = agent.start(|tables| Callbacks::new(Arc::clone(&store), &state_dir, tables))?;
    pmda.handler().set_rights(&config.rights());
    // The handshake with pmcd is done before other threads start: pmcd waits for it, and it uses
    // standard input.
    pmda.connect()?;
    let confine = confine(config);
    // What cannot be given up is told and does not keep the PMDA from its work.
    let confined = confine.process();
    let signals = Arc::new(SignalFlags::default());
    let (flags, waker) = (Arc::clone(&signals), wake.clone());
    let limits = &config.limits;
    let on_signal = move |signal| {
        flags.set(signal);
        waker.wake();
    };
    let (connections, pending) = (limits.connections, limits.pending);
    let (supervisor, given) = Supervisor::confined(connections, pending, confine, on_signal)?;
    let given = given.within(confined);
    if let Some(fault) = given.fault(confine) {
        log::warn!("confinement: {fault} (docs/security.md, Confinement)");
    }
    store.stats.set_confinement(given.text());
    supervisor.guard();
    check::plain(&config.sources).iter().for_each(|warning| log::warn!("{warning}"));
    let tls = Arc::clone(supervisor.net().tls());
    tls.set(&check::files(&config.tls));
    let of_opener = opener.as_ref().map(|opener| opener.grants());
    let sources = Started::start(&config.sources, &store, supervisor.net(), &state_dir, opener)?;
    let mut turns = Turns {
        options,
        config: loaded.config,
        store: &store,
        sources: &sources,
        tls: &tls,
        of_opener,
        signals: &signals,
        swept: now().monotonic,
        trimmed: now().monotonic,
    };
    pmda.run(&wake, |callbacks| turns.turn(callbacks));
    pmda.handler().save_last();
    log::info!("stopping");
    supervisor.stop();
    Ok(())
}

/// Starts what keeps the rights that this process is about to give up.
fn open(agent: &Agent, config: &Config<Sections>) -> Option<Arc<Opener>> {
    if is_root(agent) {
        log::warn!("-U root: the whole PMDA has root's rights, which it does not need ([opener])");
        return None;
    }
    if !config.opener.enabled {
        return None;
    }
    match Opener::start(&agent.user(), config.sources.grants(), confine(config)) {
        Ok(Some(opener)) => return Some(Arc::new(opener)),
        Ok(None) => log::info!(
            "started without root's rights: processes of other users are read only as far as they let others"
        ),
        Err(e) => log::warn!(
            "the opener cannot be started, so processes of other users are not read: {e}"
        ),
    }
    None
}

/// It is to be root itself.
fn is_root(agent: &Agent) -> bool {
    process::user_id(&agent.user()) == Some(0)
}

/// Counts and logs panics, wherever they are caught afterwards: at the C boundary or by tokio.
fn count_panics(store: &Arc<Store>) {
    let store = Arc::clone(store);
    std::panic::set_hook(Box::new(move |info| {
        store.stats.add(Stat::Panics, 1);
        log::error!("internal error, please report this line: {info}");
    }));
}

/// Signals for the main thread.
#[derive(Debug, Default)]
struct SignalFlags {
    reload: AtomicBool,
    stop: AtomicBool,
}

impl SignalFlags {
    fn set(&self, signal: Signal) {
        match signal {
            Signal::Reload => self.reload.store(true, Ordering::Relaxed),
            Signal::Stop => self.stop.store(true, Ordering::Relaxed),
        }
    }
}

struct Turns<'a> {
    options: &'a Options,
    config: Config<Sections>,
    store: &'a Arc<Store>,
    sources: &'a Started,
    tls: &'a Tls,
    /// What the opener was started with.
    of_opener: Option<Grants>,
    signals: &'a SignalFlags,
    swept: Duration,
    trimmed: Duration,
}

impl Turns<'_> {
    /// Called after each wake-up of the main thread and once a second; `false` ends the process.
    fn turn(&mut self, callbacks: &mut Callbacks) -> bool {
        if self.signals.reload.swap(false, Ordering::Relaxed) {
            self.reload(callbacks);
        }
        let at = now().monotonic;
        callbacks.turn(at);
        self.store.set_resident(process::resident_memory());
        if at.saturating_sub(self.swept) >= SWEEP {
            self.swept = at;
            self.store.sweep(at);
        }
        if at.saturating_sub(self.trimmed) >= TRIM {
            self.trimmed = at;
            process::give_memory_back();
        }
        !self.signals.stop.load(Ordering::Relaxed)
    }

    fn reload(&mut self, callbacks: &mut Callbacks) {
        let loaded = match load(self.options) {
            Ok(loaded) => loaded,
            Err(e) => {
                self.store.stats.add(Stat::ConfigErrors, 1);
                log::error!("the old configuration stays in force: {e}");
                return;
            }
        };
        let new = &loaded.config;
        log::set_max_level(new.log.level);
        callbacks.set_rights(&new.rights());
        self.store.budget.set_limit(new.event_memory());
        self.store.set_limits(new.limits());
        self.tls.set(&check::files(&new.tls));
        let keys = self.config.needs_restart(new).into_iter().map(str::to_owned);
        for key in keys.chain(self.sources.reconfigure(&new.sources)) {
            log::warn!(
                "{key} has changed: it takes effect when the PMDA is started again (run its \
                 Install, or restart pmcd)"
            );
        }
        if self.of_opener.is_some_and(|granted| granted.or(new.sources.grants()) != granted) {
            log::warn!(
                "what the opener may do has changed: for other users' processes it takes effect when the PMDA is \
                 started again (run its Install, or restart pmcd)"
            );
        }
        self.store.stats.add(Stat::ConfigReloads, 1);
        self.store.stats.set_config_file(
            &loaded.path.as_deref().map_or_else(|| "defaults".into(), |p| p.display().to_string()),
        );
        log::info!("configuration {} is in force", loaded.origin());
        self.config = loaded.config;
    }
}
