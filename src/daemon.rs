//! The PMDA as a whole: configuration → store → libpcp_pmda → peers → loop → drain.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::clock::now;
use crate::config::Config;
use crate::model::Rights;
use crate::net::{Signal, Supervisor};
use crate::pcp::{self, Agent, Hooks, Log, Mode, Options, Wake};
use crate::sources::SOURCES;
use crate::store::{Stat, Store};

/// How often the store is swept.
const SWEEP: Duration = Duration::from_secs(5);
/// How often free memory goes back to the system.
const TRIM: Duration = Duration::from_secs(15);

const BY_HAND: &str = "\
pmdaapm is started by pmcd(1), which talks to it over standard input. To run it:
  installed:     cd $PCP_PMDAS_DIR/apm && ./Install
  from a build:  qa/demo --stay      (a private pmcd with this PMDA)
  by hand:       dbpmda, then: open pipe /path/to/pmdaapm -d 400
pmdaapm --check checks the configuration, pmdaapm --help lists the options.";

/// Runs what the command line asks for; the exit status.
#[must_use]
pub fn main(mut agent: Agent, options: &Options) -> i32 {
    match options.mode {
        Mode::PrintPmns => show(&crate::print::pmns()),
        Mode::PrintHelp => show(&crate::print::help()),
        Mode::PrintMetrics => show(&crate::print::metrics()),
        Mode::Version => println!("pmdaapm {}", env!("CARGO_PKG_VERSION")),
        Mode::Check => return check(options),
        Mode::Run if !pcp::is_started_by_pmcd() => {
            eprintln!("{BY_HAND}");
            return 1;
        }
        Mode::Run => {
            agent.open_log();
            if let Err(e) = run(agent, options) {
                Log::install(log::LevelFilter::Info);
                log::error!("{e}");
                return 1;
            }
        }
    }
    0
}

/// To standard output; a reader that has seen enough (`| head`) is no error.
fn show(text: &str) {
    use std::io::Write;
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// The configuration file to read, and whether it must exist.
fn config_path(options: &Options) -> (PathBuf, bool) {
    match &options.config {
        Some(path) => (path.clone(), true),
        None => (pcp::config_dir().join("apm").join("apm.toml"), false),
    }
}

fn read_config(options: &Options) -> Result<(Config, Option<PathBuf>), crate::config::ConfigError> {
    let (path, must_exist) = config_path(options);
    if !must_exist && !path.exists() {
        return Ok((Config::default(), None));
    }
    Ok((Config::read(&path)?, Some(path)))
}

fn check(options: &Options) -> i32 {
    match read_config(options) {
        Err(e) => {
            eprintln!("{e}");
            1
        }
        Ok((config, path)) => {
            println!("configuration: {}", shown(path.as_deref()));
            let listen = config.mono.listen.map_or("nowhere".into(), |a| a.to_string());
            println!("mono: listens on {listen}");
            let listen = config.profiler.listen.map_or("nowhere".into(), |a| a.to_string());
            println!("profiler: listens on {listen}");
            config.mono.files.iter().for_each(|f| println!("mono: follows {}", f.display()));
            let select = config.mono.select.join(", ");
            println!(
                "mono: samples {}",
                if select.is_empty() { "what each agent announces" } else { &select }
            );
            println!(
                "events: {} bytes, {} records a second",
                config.event_memory(),
                config.events.max_records
            );
            println!(
                "memory: {} bytes in all, {} for one peer",
                config.limits.memory, config.limits.peer_memory
            );
            let rights = rights(&config);
            for (source, allow) in SOURCES.iter().zip(&rights.events) {
                println!("events of {}: for {allow}", source.name);
            }
            println!("control metrics: for {}", rights.control);
            println!("filters: for {}", rights.filter);
            0
        }
    }
}

fn shown(path: Option<&Path>) -> String {
    path.map_or_else(|| "defaults (no file)".into(), |p| p.display().to_string())
}

fn run(mut agent: Agent, options: &Options) -> Result<(), Box<dyn std::error::Error>> {
    let (config, path) = read_config(options)?;
    Log::install(config.log.level);
    log::info!(
        "pmdaapm {} starts; configuration: {}",
        env!("CARGO_PKG_VERSION"),
        shown(path.as_deref())
    );
    agent.become_user(options.user.as_deref())?;

    let store = Store::new(agent.domain(), config.limits(), config.event_memory());
    store.stats.set_started(now().mono);
    if let Some(path) = &path {
        store.stats.set_config_file(&path.display().to_string());
    }
    count_panics(&store);
    let wake = Wake::new()?;
    let on_change = wake.clone();
    store.on_change(move || on_change.wake());

    agent.init(&store)?;
    pcp::set_rights(&rights(&config));
    // The hand-shake comes before any other thread is started: pmcd waits for it, and it uses
    // standard input.
    agent.connect()?;
    let told = Arc::new(Told::default());
    let (tell, waker) = (Arc::clone(&told), wake.clone());
    let supervisor = Supervisor::start(&config, &store, &pcp::state_dir(), move |signal| {
        tell.set(signal);
        waker.wake();
    })?;
    let mut turns = Turns {
        options,
        config,
        store: &store,
        supervisor: &supervisor,
        told: &told,
        swept: now().mono,
        trimmed: now().mono,
    };
    pcp::run(&mut agent, &wake, &mut turns);
    log::info!("stopping");
    supervisor.stop();
    Ok(())
}

fn rights(config: &Config) -> Rights {
    config.rights(SOURCES.iter().map(|s| s.name))
}

/// Panics are counted and logged wherever they are caught afterwards: at the fence or by tokio.
fn count_panics(store: &Arc<Store>) {
    let store = Arc::clone(store);
    std::panic::set_hook(Box::new(move |info| {
        store.stats.add(Stat::Panics, 1);
        log::error!("internal error, please report this line: {info}");
    }));
}

/// Signals that wait for the main thread.
#[derive(Debug, Default)]
struct Told {
    reload: AtomicBool,
    stop: AtomicBool,
}

impl Told {
    fn set(&self, signal: Signal) {
        match signal {
            Signal::Reload => self.reload.store(true, Ordering::Relaxed),
            Signal::Stop => self.stop.store(true, Ordering::Relaxed),
        }
    }
}

struct Turns<'a> {
    options: &'a Options,
    config: Config,
    store: &'a Arc<Store>,
    supervisor: &'a Supervisor,
    told: &'a Told,
    swept: Duration,
    trimmed: Duration,
}

impl Hooks for Turns<'_> {
    fn turn(&mut self) -> bool {
        if self.told.reload.swap(false, Ordering::Relaxed) {
            self.reload();
        }
        let at = now().mono;
        self.store.set_resident(pcp::resident_memory());
        if at.saturating_sub(self.swept) >= SWEEP {
            self.swept = at;
            self.store.sweep(at);
        }
        if at.saturating_sub(self.trimmed) >= TRIM {
            self.trimmed = at;
            pcp::give_memory_back();
        }
        !self.told.stop.load(Ordering::Relaxed)
    }
}

impl Turns<'_> {
    fn reload(&mut self) {
        let (new, path) = match read_config(self.options) {
            Ok(found) => found,
            Err(e) => {
                self.store.stats.add(Stat::ConfigErrors, 1);
                log::error!("the old configuration stays in force: {e}");
                return;
            }
        };
        for key in self.config.needs_restart(&new) {
            log::warn!(
                "{key} has changed: it takes effect when the PMDA is started again (run its Install, or restart pmcd)"
            );
        }
        pcp::set_level(new.log.level);
        pcp::set_rights(&rights(&new));
        self.store.budget.set_limit(new.event_memory());
        self.store.set_limits(new.limits());
        self.supervisor.reconfigure(&new);
        self.config = new;
        self.store.stats.add(Stat::ConfigReloads, 1);
        self.store.stats.set_config_file(
            &path.as_deref().map_or_else(|| "defaults".into(), |p| p.display().to_string()),
        );
        log::info!("configuration {} is in force", shown(path.as_deref()));
    }
}
