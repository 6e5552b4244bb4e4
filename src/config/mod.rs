//! `apm.toml`: every key has a type, bounds and a unit. An error names the line, the column, the
//! fault and the accepted values.
//!
//! The sections of sources are a type parameter that implements [`Sections`].

mod access;
mod confine;
mod limits;
mod opener;
mod privacy;
mod reference;
mod section;
mod table;
mod tls;
mod trees;
pub mod units;

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, MapAccess};

pub use self::access::{Access, AllowKeys, Events, Pmproxy};
pub use self::confine::ConfineKeys;
pub use self::limits::{LimitKeys, Log};
pub use self::opener::OpenerKeys;
pub use self::privacy::{Labels, RedactKeys};
pub use self::reference::reference;
pub use self::section::{Key, Section};
use self::table::{Over, Table};
pub use self::tls::TlsKeys;
pub use self::trees::Trees;
use crate::model::Rights;
use crate::store::Limits;

/// Why a configuration is rejected.
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
        /// Line, column, fault and accepted values.
        error: Box<toml::de::Error>,
    },
}

/// The sections of all sources, one field each.
pub trait Sections: Default {
    /// Names of the sources, in the order of their ids.
    const NAMES: &'static [&'static str];
    /// Keys of each source, in the same order.
    const KEYS: &'static [&'static [Key]];

    /// Reads the section of the source `name`.
    ///
    /// # Errors
    /// The section is rejected.
    fn read<'de, A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error>;
}

/// The whole configuration. Every key has a default, so an empty file is one too.
#[derive(Clone, Debug, PartialEq)]
pub struct Config<S> {
    /// `[<source>]`
    pub sources: S,
    /// `[events]`
    pub events: Events,
    /// `[trees]`
    pub trees: Trees,
    /// `[tls]`
    pub tls: TlsKeys,
    /// `[access]`
    pub access: Access,
    /// `[redact]`
    pub redact: RedactKeys,
    /// `[labels]`
    pub labels: Labels,
    /// `[opener]`
    pub opener: OpenerKeys,
    /// `[limits]`
    pub limits: LimitKeys,
    /// `[confine]`
    pub confine: ConfineKeys,
    /// `[log]`
    pub log: Log,
}

impl<S: Sections> Default for Config<S> {
    fn default() -> Self {
        Self {
            sources: S::default(),
            events: Events::of(S::NAMES),
            trees: Trees::default(),
            tls: TlsKeys::default(),
            access: Access::default(),
            redact: RedactKeys::default(),
            labels: Labels::default(),
            opener: OpenerKeys::default(),
            limits: LimitKeys::default(),
            confine: ConfineKeys::default(),
            log: Log::default(),
        }
    }
}

impl<S: Sections> Table for Config<S> {
    fn keys(&self) -> Vec<&'static str> {
        let own = [
            "events", "trees", "tls", "access", "redact", "labels", "opener", "limits", "confine",
            "log",
        ];
        S::NAMES.iter().copied().chain(own).collect()
    }

    fn read<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "events" => self.events = map.next_value_seed(Over(Events::of(S::NAMES)))?,
            "trees" => self.trees = map.next_value()?,
            "tls" => self.tls = map.next_value()?,
            "access" => self.access = map.next_value_seed(Over(Access::default()))?,
            "redact" => self.redact = map.next_value()?,
            "labels" => self.labels = map.next_value()?,
            "opener" => self.opener = map.next_value()?,
            "limits" => self.limits = map.next_value()?,
            "confine" => self.confine = map.next_value()?,
            "log" => self.log = map.next_value()?,
            source => self.sources.read(source, map)?,
        }
        Ok(())
    }
}

impl<'de, S: Sections> Deserialize<'de> for Config<S> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        Over(Self::default()).deserialize(d)
    }
}

impl<S: Sections> Config<S> {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// [`ConfigError`], whose text is for the user.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let path_owned = || path.to_path_buf();
        let text =
            text_of(path).map_err(|error| ConfigError::Read { path: path_owned(), error })?;
        Self::parse(&text)
            .map_err(|error| ConfigError::Parse { path: path_owned(), error: Box::new(error) })
    }

    /// Checks the text of a file.
    ///
    /// # Errors
    /// With the line, the column, the fault and the accepted values.
    pub fn parse(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text)
    }

    /// The bounds that the store enforces.
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
            trees: self.trees.rules(),
            redact: self.redact.rules(),
            command_label: self.labels.command,
        }
    }

    /// Bytes of memory for event records: `events.memory`, but at most half of `limits.memory`.
    #[must_use]
    pub fn event_memory(&self) -> usize {
        usize::try_from(self.events.memory.min(self.limits.memory / 2)).unwrap_or(usize::MAX)
    }

    /// Rights to see records, by source, and to store.
    #[must_use]
    pub fn rights(&self) -> Rights {
        access::rights(&self.events, &self.access)
    }

    /// Changed keys outside the sources' sections that need a restart of the PMDA to take effect.
    #[must_use]
    pub fn needs_restart(&self, new: &Self) -> Vec<&'static str> {
        let confine = (&self.confine, &new.confine);
        let (old, new_limits) = (&self.limits, &new.limits);
        let keys = [
            ("opener.enabled", self.opener != new.opener),
            ("confine.seccomp", confine.0.seccomp != confine.1.seccomp),
            ("confine.landlock", confine.0.landlock != confine.1.landlock),
            ("limits.connections", old.connections != new_limits.connections),
            ("limits.pending", old.pending != new_limits.pending),
        ];
        keys.into_iter().filter(|(_, differs)| *differs).map(|(key, _)| key).collect()
    }
}

/// A configuration and the file that it is from.
#[derive(Clone, Debug)]
pub struct Loaded<S> {
    /// The configuration.
    pub config: Config<S>,
    /// Its file; `None` if there was none and the defaults apply.
    pub path: Option<PathBuf>,
}

impl<S: Sections> Loaded<S> {
    /// Reads the given file, which must exist, or the default file if it exists.
    ///
    /// # Errors
    /// [`ConfigError`], whose text is for the user.
    pub fn read(given: Option<&Path>, usual: &Path) -> Result<Self, ConfigError> {
        let path = match given {
            None if !usual.exists() => return Ok(Self { config: Config::default(), path: None }),
            given => given.unwrap_or(usual),
        };
        Ok(Self { config: Config::read(path)?, path: Some(path.to_path_buf()) })
    }

    /// The file's path, or that there is none.
    #[must_use]
    pub fn origin(&self) -> String {
        self.path
            .as_deref()
            .map_or_else(|| "defaults (no file)".into(), |path| path.display().to_string())
    }
}

/// The text of a regular file: a pipe would be waited for, and pmcd ends a PMDA that waits.
fn text_of(path: &Path) -> std::io::Result<String> {
    if std::fs::metadata(path)?.is_file() {
        std::fs::read_to_string(path)
    } else {
        Err(std::io::Error::other("it is no regular file"))
    }
}

#[cfg(test)]
mod tests;
