//! What a session asks for: providers with keywords, level, arguments and filter, by configuration
//! and version of the runtime (docs/protocols/dotnet.md 9).

use super::clr::RUNTIME;
use crate::sources::dotnet::Config;

/// The provider of the runtime's EventCounters.
pub const SYSTEM_RUNTIME: &str = "System.Runtime";
/// Brings activity ids to all EventSources of the process.
const TASKS: &str = "System.Threading.Tasks.TplEventSource";
const TASK_ACTIVITIES: u64 = 0x80;
/// The sampler of stacks.
pub(crate) const SAMPLER: &str = "Microsoft-DotNETCore-SampleProfiler";
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
    /// Entries of the configuration that the request has no room for, or that are no providers.
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
    wanted.add(runtime(config, version));
    if !config.providers.is_empty() {
        wanted.add(Provider::new(TASKS, TASK_ACTIVITIES, 4));
    }
    let entry = meters(config, version, client);
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

/// One provider of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provider {
    /// Its name.
    pub name: String,
    /// Its events that have one of these bits, or none at all.
    pub keywords: u64,
    /// Its events of this level and below: 1 critical to 5 verbose.
    pub level: u32,
    /// `key=value;key="v;w"`; empty: none.
    pub arguments: String,
    /// Its only events, by id; empty: all. Runtimes before .NET 10 cannot be asked for that.
    pub only: Vec<u32>,
}

impl Provider {
    /// A provider without arguments and filter.
    pub(super) fn new(name: &str, keywords: u64, level: u32) -> Self {
        Self { name: name.to_owned(), keywords, level, arguments: String::new(), only: Vec::new() }
    }

    /// The same with an argument more.
    pub(super) fn with(mut self, argument: &str) -> Self {
        self.argue(argument);
        self
    }

    fn argue(&mut self, argument: &str) {
        if !self.arguments.is_empty() && !argument.is_empty() {
            self.arguments.push(';');
        }
        self.arguments.push_str(argument);
    }

    /// Bytes of the provider in a request, an upper bound: numbers, two texts of UTF-16 with their
    /// length and NUL, the filter (docs/protocols/dotnet.md 2).
    #[must_use]
    pub fn bytes(&self) -> usize {
        let text = |text: &str| 4 + 2 * (text.encode_utf16().count() + 1);
        12 + text(&self.name) + text(&self.arguments) + 5 + 4 * self.only.len()
    }

    /// Adds what another entry asks of the same provider. A session has one level and one set of
    /// keywords for a provider, so events may come that neither entry asked for.
    pub(super) fn join(&mut self, other: &Self) {
        self.keywords |= other.keywords;
        self.level = self.level.max(other.level);
        self.argue(&other.arguments);
        if other.only.is_empty() || self.only.is_empty() {
            self.only = Vec::new();
        } else {
            self.only.extend(&other.only);
            self.only.sort_unstable();
            self.only.dedup();
        }
    }
}

/// Keywords of docs/protocols/dotnet.md 5.
mod keyword {
    pub(super) const GC: u64 = 0x1;
    pub(super) const LOADER: u64 = 0x8;
    pub(super) const JIT: u64 = 0x10;
    pub(super) const CONTENTION: u64 = 0x4000;
    pub(super) const EXCEPTION: u64 = 0x8000;
    pub(super) const THREADING: u64 = 0x1_0000;
    pub(super) const COMPILATION: u64 = 0x10_0000_0000;
    pub(super) const WAIT: u64 = 0x400_0000_0000;
    pub(super) const ALLOCATION_SAMPLING: u64 = 0x800_0000_0000;
}

/// Events of collections, pauses, heaps, exceptions, locks, pool and threads that make metrics: a
/// third of what the keywords bring (docs/protocols/dotnet.md 9). 13, 85, 205 and 250 beside the
/// list there: they are as rare as collections, threads and exceptions.
const ALWAYS: [u32; 20] =
    [1, 2, 3, 4, 7, 8, 9, 13, 50, 51, 54, 55, 57, 59, 80, 81, 85, 91, 205, 250];
/// Compiled methods and the background compiler.
const METHODS: [u32; 6] = [143, 145, 281, 282, 283, 284];
/// Assemblies.
const ASSEMBLIES: [u32; 1] = [154];
/// Waits.
const WAITS: [u32; 2] = [301, 302];
/// Samples of allocations.
const SAMPLES: [u32; 1] = [303];

/// The provider's entry.
pub(super) fn runtime(config: &Config, version: Version) -> Provider {
    use keyword::{
        ALLOCATION_SAMPLING, COMPILATION, CONTENTION, EXCEPTION, GC, JIT, LOADER, THREADING, WAIT,
    };
    let records = |kind: &str| config.records.iter().any(|name| name == kind);
    let mut entry = Provider::new(RUNTIME, GC | CONTENTION | EXCEPTION | THREADING, 4);
    let mut only = ALWAYS.to_vec();
    let mut ask = |keywords: u64, level: u32, ids: &[u32]| {
        entry.keywords |= keywords;
        entry.level = entry.level.max(level);
        only.extend(ids);
    };
    if config.allocations || records("allocation") {
        // .NET 10 samples by chance and by byte, at level 4; before, there are ticks at level 5.
        if version.major >= 10 {
            ask(ALLOCATION_SAMPLING, 4, &SAMPLES);
        } else {
            ask(GC, 5, &[]);
        }
    }
    // Live on 3.1, 9 and 10: methods come at level 5 only.
    if config.jit || config.locks || config.stacks || records("method") {
        ask(JIT | COMPILATION, 5, &METHODS);
    }
    if records("assembly") {
        ask(LOADER, 4, &ASSEMBLIES);
    }
    if config.waits && version.major >= 9 {
        ask(WAIT, 5, &WAITS);
    }
    if version.major >= 10 {
        only.sort_unstable();
        entry.only = only;
    }
    entry
}

/// The provider of meters.
pub const METERS: &str = "System.Diagnostics.Metrics";

/// The session id that clients share (8 and later).
pub const SHARED: &str = "SHARED";

/// Values (2); messages and lists of instruments are of no use.
const VALUES: u64 = 2;

/// Session id and entry for the meters of the configuration; `None` without meters. `client`: a
/// name of this PMDA that no other client uses.
pub(super) fn meters<'a>(
    config: &Config,
    version: Version,
    client: &'a str,
) -> Option<(&'a str, Provider)> {
    let fits = |name: &&str| !name.is_empty() && !name.contains(['"', ';', ',', '\n', '\r', '\0']);
    let names: Vec<_> = config.meters.iter().map(String::as_str).filter(fits).collect();
    if names.is_empty() {
        return None;
    }
    // A shared session exists from 8 on; older runtimes take one client, whatever its name.
    let session = if version.major >= 8 { SHARED } else { client };
    let entry = Provider::new(METERS, VALUES, 4)
        .with(&format!("SessionId={session}"))
        .with(&format!("Metrics=\"{}\"", names.join(",")))
        .with(&format!("RefreshInterval={}", config.interval.as_secs()))
        // Clients share the process's session if these and the interval are equal: unless configured they
        // are dotnet-monitor's (docs/protocols/dotnet.md 7).
        .with(&format!("MaxTimeSeries={}", config.meter_series))
        .with(&format!("MaxHistograms={}", config.meter_histograms))
        .with(&format!("ClientId={client}"));
    Some((session, entry))
}

/// The version of a runtime: `9.0.7`. [`Default`]: it does not tell, as .NET Core 3.1 and .NET 5.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// The release: 9.
    pub major: u16,
    /// Within the release.
    pub minor: u16,
    /// The servicing update.
    pub patch: u16,
}

impl Version {
    /// The version of a text like `9.0.7`, `10.0.0-preview.3` or `8.0.1+9ac5d`; unknown if it does
    /// not begin with a number.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let end = text.find(['-', '+', ' ']).unwrap_or(text.len());
        let mut parts = text.get(..end).unwrap_or_default().split('.');
        let mut next = || parts.next().and_then(|part| part.parse().ok());
        let Some(major) = next() else { return Self::default() };
        Self { major, minor: next().unwrap_or(0), patch: next().unwrap_or(0) }
    }
}

#[cfg(test)]
#[path = "wanted_tests.rs"]
mod tests;
