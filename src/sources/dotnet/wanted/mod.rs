//! What a session asks for: providers with keywords, level, arguments and filter, by configuration
//! and version of the runtime (docs/protocols/dotnet.md 9).

mod meters;
mod provider;
mod runtime;
mod version;

pub use meters::{METERS, SHARED};
pub use provider::Provider;
pub use version::Version;

use super::Config;
use runtime::RUNTIME;

/// The provider of the runtime's EventCounters.
pub const SYSTEM_RUNTIME: &str = "System.Runtime";
/// Brings activity ids to all EventSources of the process.
const TASKS: &str = "System.Threading.Tasks.TplEventSource";
const TASK_ACTIVITIES: u64 = 0x80;
/// The sampler of stacks.
const SAMPLER: &str = "Microsoft-DotNETCore-SampleProfiler";
/// Modules, methods and their ends: what frames need (docs/protocols/dotnet.md 8).
const METHOD_RUNDOWN: u64 = 0x2000_0018;
/// Level of the entry of a provider that is asked for its counters only. Counters have level 0, so
/// they come at any level, and events of the provider's own only if they are critical; live on
/// 3.1, 9 and 10. Level 0 would bring all of them on 9 and 10.
const COUNTERS_LEVEL: u32 = 1;
/// Bytes of the providers of a request: its size has 16 bits, and the header and other fields need
/// some (docs/protocols/dotnet.md 2).
const REQUEST: usize = 64_000;

/// How much of the configuration a process is asked for; each has what those before it have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extent {
    /// Events.
    Events,
    /// EventCounters.
    Counters,
    /// Meters.
    Meters,
}

/// What one session asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Providers, each once.
    pub providers: Vec<Provider>,
    /// The process's buffer in MiB, at least 1.
    pub buffer: u32,
    /// Events have stacks. Runtimes before .NET 8 send them always.
    pub stacks: bool,
    /// Keywords of the rundown at the end; 0: none. Before .NET 9: all or none.
    pub rundown: u64,
    /// Session id of the meters; empty: none are asked for.
    pub meter_session: String,
    /// Entries of the configuration that the request has no room for.
    pub left_out: usize,
}

/// The session that stays. `client`: a name of this PMDA that no other client of the process uses,
/// letters, digits and `-` only.
#[must_use]
pub fn wanted(config: &Config, version: Version, client: &str, extent: Extent) -> Wanted {
    let stacks = config.stacks || config.locks;
    let mut wanted = Wanted::new(config, stacks, 0);
    let counters = |name: &str| {
        Provider::new(name, 0, COUNTERS_LEVEL)
            .with(&format!("EventCounterIntervalSec={}", config.interval.as_secs()))
    };
    if extent >= Extent::Counters {
        wanted.add(counters(SYSTEM_RUNTIME));
    }
    wanted.add(runtime::runtime(config, version));
    if !config.providers.is_empty() {
        wanted.add(Provider::new(TASKS, TASK_ACTIVITIES, 4));
    }
    let entry = meters::meters(config, version, client);
    if let Some((session, entry)) = entry.filter(|_| extent >= Extent::Meters) {
        session.clone_into(&mut wanted.meter_session);
        wanted.add(entry);
    }
    let others = config.counters.iter().filter(|name| *name != SYSTEM_RUNTIME);
    for name in others.filter(|_| extent >= Extent::Counters) {
        wanted.add(counters(name));
    }
    for text in &config.providers {
        match parse(text) {
            Some(entry) => wanted.add(entry),
            None => wanted.left_out += 1,
        }
    }
    wanted
}

/// The short session of a CPU profile: samples, and methods compiled meanwhile; the rundown has the
/// others.
#[must_use]
pub fn profile(config: &Config) -> Wanted {
    let mut wanted = Wanted::new(config, true, METHOD_RUNDOWN);
    wanted.add(Provider::new(SAMPLER, 0, 4));
    // Runtimes send the names of methods at this level only.
    wanted.add(Provider::new(RUNTIME, 0x10, 5));
    wanted
}

impl Wanted {
    fn new(config: &Config, stacks: bool, rundown: u64) -> Self {
        // Zero kills some runtimes (docs/protocols/dotnet.md 0).
        let buffer = u32::try_from(config.buffer >> 20).unwrap_or(u32::MAX).max(1);
        Self {
            providers: Vec::new(),
            buffer,
            stacks,
            rundown,
            meter_session: String::new(),
            left_out: 0,
        }
    }

    fn add(&mut self, entry: Provider) {
        let used: usize = self.providers.iter().map(Provider::bytes).sum();
        if used + entry.bytes() > REQUEST {
            self.left_out += 1;
        } else if let Some(known) = self.providers.iter_mut().find(|p| p.name == entry.name) {
            known.join(&entry);
        } else {
            self.providers.push(entry);
        }
    }
}

/// `NAME`, `NAME:KEYWORDS`, `NAME:KEYWORDS:LEVEL` or `NAME:KEYWORDS:LEVEL:ARGUMENTS`; all keywords
/// and level 4 unless said. Arguments may have `:` in them. `None`: it is not of this form.
#[must_use]
pub fn parse(text: &str) -> Option<Provider> {
    let mut parts = text.splitn(4, ':');
    let name = parts.next().filter(|name| !name.is_empty())?;
    let keywords = match parts.next() {
        None | Some("") => u64::MAX,
        Some(text) => {
            u64::from_str_radix(text.trim_start_matches("0x").trim_start_matches("0X"), 16).ok()?
        }
    };
    let level = match parts.next() {
        None | Some("") => 4,
        Some(text) => text.parse().ok().filter(|level| (1..=5).contains(level))?,
    };
    Some(Provider::new(name, keywords, level).with(parts.next().unwrap_or_default()))
}

#[cfg(test)]
mod tests;
