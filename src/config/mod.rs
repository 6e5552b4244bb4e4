//! `apm.toml`: every key typed, bounded and with a unit; what is wrong is told with line, column
//! and what is allowed.

mod access;

pub(crate) mod units;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use crate::sources::lttng::config::Lttng;
pub use access::{Access, AllowKeys, Events};
use serde::Deserialize;
use units::{count, period};

use crate::model::Rights;
use crate::store::Limits;

/// Why a configuration is not taken.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("{path}: {error}")]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The text is not a configuration.
    #[error("{path}: {error}")]
    Parse {
        /// Which file.
        path: PathBuf,
        /// Line, column, what is wrong and what is allowed.
        error: Box<toml::de::Error>,
    },
}

/// The whole configuration. Every key has a default, so an empty file is one too.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// `[mono]`
    pub mono: Mono,
    /// `[profiler]`
    pub profiler: Profiler,
    /// `[lttng]`
    pub lttng: Lttng,
    /// `[events]`
    pub events: Events,
    /// `[access]`
    pub access: Access,
    /// `[limits]`
    pub limits: LimitKeys,
    /// `[log]`
    pub log: Log,
}

/// `[mono]`: the Mono counters inspector.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Mono {
    /// Where agents connect to; empty: nowhere.
    #[serde(deserialize_with = "units::listen")]
    pub listen: Option<SocketAddr>,
    /// Files that agents write (`address=file://PATH`); `*` in the last component matches several.
    #[serde(deserialize_with = "units::files")]
    pub files: Vec<PathBuf>,
    /// Which counters: `GC/*`, `JIT/Compiled methods`; empty: what each agent announces.
    #[serde(deserialize_with = "units::patterns")]
    pub select: Vec<String>,
    /// Ask agents that announce no counters with a message that tells 2014 agents from others.
    pub probe: bool,
}

impl Default for Mono {
    fn default() -> Self {
        Self {
            listen: Some(SocketAddr::from(([127, 0, 0, 1], 8888))),
            files: vec![],
            select: vec![],
            probe: false,
        }
    }
}

/// `[profiler]`: the collector of Java profiler agents.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Profiler {
    /// Where agents connect to; empty: nowhere.
    #[serde(deserialize_with = "units::listen")]
    pub listen: Option<SocketAddr>,
    /// Agents begin a new file of a stream after this time; 0: never.
    #[serde(deserialize_with = "period::<_, 0, 604_800>")]
    pub rotation_period: Duration,
    /// Agents begin a new file of a stream after so many bytes; 0: when they like.
    #[serde(deserialize_with = "units::bytes::<_, 0, { 1 << 30 }>")]
    pub rotation_size: u64,
    /// A silent agent is dropped after this time: they speak every 5 s.
    #[serde(deserialize_with = "period::<_, 15, 3600>")]
    pub idle: Duration,
    /// Indexed parameters that get an event parameter of their own.
    #[serde(deserialize_with = "units::names::<_, 32, 100>")]
    pub parameters: Vec<String>,
    /// Self time of stacks from the trace.
    pub stacks: bool,
    /// Memory for the words of all agents together.
    #[serde(deserialize_with = "units::bytes::<_, { 1 << 20 }, { 16 << 30 }>")]
    pub dictionary: u64,
}

impl Default for Profiler {
    fn default() -> Self {
        Self {
            listen: Some(SocketAddr::from(([127, 0, 0, 1], 1715))),
            rotation_period: Duration::ZERO,
            rotation_size: 0,
            idle: Duration::from_secs(61),
            parameters: vec![],
            stacks: true,
            dictionary: 256 << 20,
        }
    }
}

/// `[limits]`: bounds on what peers can cause.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LimitKeys {
    /// Connections of all listeners.
    #[serde(deserialize_with = "count::<_, 1, 100_000>")]
    pub connections: u64,
    /// Connections that have not yet said what they are.
    #[serde(deserialize_with = "count::<_, 1, 100_000>")]
    pub pending: u64,
    /// Peers (instances) of each source.
    #[serde(deserialize_with = "count::<_, 1, 100_000>")]
    pub instances: u64,
    /// Memory for all that peers cause, event records included.
    #[serde(deserialize_with = "units::bytes::<_, { 16 << 20 }, { 1 << 40 }>")]
    pub memory: u64,
    /// Memory for what one peer causes.
    #[serde(deserialize_with = "units::bytes::<_, { 1 << 20 }, { 1 << 40 }>")]
    pub peer_memory: u64,
    /// Dynamic metric names of each source.
    #[serde(deserialize_with = "count::<_, 1, 16_384>")]
    pub names: u64,
    /// Bytes of a peer's name for a metric.
    #[serde(deserialize_with = "count::<_, 16, 400>")]
    pub name_length: u64,
    /// How long the values of a silent or vanished peer stay.
    #[serde(deserialize_with = "period::<_, 1, 86_400>")]
    pub stale: Duration,
    /// How long a vanished peer stays as an instance.
    #[serde(deserialize_with = "period::<_, 1, 31_536_000>")]
    pub forget: Duration,
}

impl Default for LimitKeys {
    fn default() -> Self {
        let l = Limits::default();
        Self {
            connections: 4096,
            pending: 1024,
            instances: l.instances as u64,
            memory: l.memory as u64,
            peer_memory: l.peer_memory as u64,
            names: l.names as u64,
            name_length: l.name_length as u64,
            stale: l.stale,
            forget: l.forget,
        }
    }
}

/// `[log]`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Log {
    /// `error`, `warn`, `info`, `debug` or `trace`.
    #[serde(deserialize_with = "units::level")]
    pub level: log::LevelFilter,
}

impl Default for Log {
    fn default() -> Self {
        Self { level: log::LevelFilter::Info }
    }
}

impl Config {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// [`ConfigError`], whose text is for the user.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let path_owned = || path.to_path_buf();
        let text = std::fs::read_to_string(path)
            .map_err(|error| ConfigError::Read { path: path_owned(), error })?;
        Self::parse(&text)
            .map_err(|error| ConfigError::Parse { path: path_owned(), error: Box::new(error) })
    }

    pub(crate) fn parse(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text)
    }

    /// What the store must keep to.
    #[must_use]
    pub fn limits(&self) -> Limits {
        let n = |v: u64| usize::try_from(v).unwrap_or(usize::MAX);
        Limits {
            names: n(self.limits.names),
            name_length: n(self.limits.name_length),
            max_records: n(self.events.max_records),
            instances: n(self.limits.instances),
            memory: n(self.limits.memory),
            peer_memory: n(self.limits.peer_memory),
            stale: self.limits.stale,
            forget: self.limits.forget,
        }
    }

    /// Memory for event records: `events.memory`, but never more than half of `limits.memory`.
    #[must_use]
    pub fn event_memory(&self) -> usize {
        usize::try_from(self.events.memory.min(self.limits.memory / 2)).unwrap_or(usize::MAX)
    }

    /// Who may, for the sources of these names.
    #[must_use]
    pub fn rights<'s>(&self, sources: impl Iterator<Item = &'s str>) -> Rights {
        access::rights(&self.events, &self.access, sources)
    }

    /// Names of keys that differ and need a restart of the PMDA to take effect.
    #[must_use]
    pub fn needs_restart(&self, new: &Self) -> Vec<&'static str> {
        let mut keys = Vec::new();
        let mut differ = |name, differs: bool| {
            if differs {
                keys.push(name);
            }
        };
        differ("mono.listen", self.mono.listen != new.mono.listen);
        differ("profiler.listen", self.profiler.listen != new.profiler.listen);
        differ("profiler.dictionary", self.profiler.dictionary != new.profiler.dictionary);
        differ("lttng.program", self.lttng.program != new.lttng.program);
        let viewing = |l: &Lttng| {
            (
                l.relays.clone(),
                l.view.clone(),
                l.from,
                l.records.clone(),
                l.count_only.clone(),
                l.field_size,
            )
        };
        differ(
            "lttng.relays, view, from, records, count_only or field_size",
            viewing(&self.lttng) != viewing(&new.lttng),
        );
        differ("limits.connections", self.limits.connections != new.limits.connections);
        differ("limits.pending", self.limits.pending != new.limits.pending);
        keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Config::parse(text).expect_err("must be refused").to_string()
    }

    #[test]
    fn the_shipped_file_says_the_defaults() {
        let text = include_str!("../../etc/apm.toml");
        assert_eq!(Config::parse(text).expect("sound"), Config::default());
        let uncommented: String = text
            .lines()
            .map(|l| l.strip_prefix("#= ").unwrap_or(l))
            .map(|l| format!("{l}\n"))
            .collect();
        assert_ne!(text, uncommented, "keys are shown as comments that begin with #=");
        assert_eq!(Config::parse(&uncommented).expect("sound"), Config::default());
    }

    #[test]
    fn an_empty_file_is_the_defaults() {
        assert_eq!(Config::parse("").expect("sound"), Config::default());
    }

    #[test]
    fn units_are_understood() {
        let c = Config::parse(
            "[events]\nmemory='1 MiB'\n[limits]\nstale='2min'\n[mono]\nlisten=''\n[log]\nlevel='DEBUG'",
        );
        let c = c.expect("sound");
        assert_eq!(
            (c.events.memory, c.limits.stale, c.mono.listen),
            (1 << 20, Duration::from_secs(120), None)
        );
        assert_eq!(c.log.level, log::LevelFilter::Debug);
    }

    #[test]
    fn errors_name_the_place_and_what_is_allowed() {
        for (text, parts) in [
            (
                "[mono]\nlissen = 'x'",
                &["line 2", "column 1", "unknown field `lissen`", "`listen`"] as &[_],
            ),
            ("[monno]", &["line 1", "unknown field `monno`"]),
            ("[mono]\nlisten = '127.0.0.1'", &["line 2", "column 10", "ADDRESS:PORT"]),
            ("[mono]\nlisten = '127.0.0.1:99999'", &["ADDRESS:PORT"]),
            ("[events]\nmemory = '12 parsecs'", &["line 2", "KiB", "MiB"]),
            ("[events]\nmemory = 1", &["between 256KiB and 16GiB"]),
            ("[events]\nmax_records = 0", &["between 1 and 100000"]),
            ("[limits]\nstale = '5 fortnights'", &["line 2", "10s", "min"]),
            ("[log]\nlevel = 'loud'", &["error", "warn", "info", "debug", "trace"]),
            ("[mono]\nselect = ['nonsense']", &["CATEGORY/NAME"]),
            ("[mono]\nfiles = ['relative/path']", &["absolute"]),
            ("[mono\n", &["line 1"]),
        ] {
            let message = error(text);
            for part in parts {
                assert!(message.contains(part), "{text:?} gave {message:?}, without {part:?}");
            }
        }
    }

    #[test]
    fn a_source_or_a_kind_of_request_has_its_own_rights_or_those_of_its_section() {
        let c = Config::parse(
            "[events]\nallow_uids=[5]\n[events.mono]\nallow_groups=['perf']\n[access]\nallow_users=['ann']\n[access.filter]\nallow_remote=true",
        );
        let rights = c.expect("sound").rights(["mono", "other"].into_iter());
        assert_eq!(rights.events[0].groups, ["perf"]);
        assert_eq!((&rights.events[0].uids[..], &rights.events[1].uids[..]), (&[][..], &[5][..]));
        assert_eq!(rights.control.users, ["ann"]);
        assert!(rights.filter.users.is_empty() && rights.filter.remote && !rights.control.remote);
        assert!(error("[access.controll]\n").contains("unknown field `controll`"));
    }

    #[test]
    fn a_reload_knows_what_needs_a_restart() {
        let old = Config::default();
        let mut new = Config::default();
        new.events.max_records = 5;
        assert!(old.needs_restart(&new).is_empty());
        new.mono.listen = None;
        assert_eq!(old.needs_restart(&new), ["mono.listen"]);
    }
}
