//! `[profiler]`: the collector of Java profiler agents.

use std::net::SocketAddr;
use std::time::Duration;

use serde::Deserialize;

use crate::config::units;

/// `[profiler]`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Where agents connect to; empty: nowhere.
    #[serde(deserialize_with = "units::listen")]
    pub listen: Option<SocketAddr>,
    /// Agents begin a new file of a stream after this time; 0: never.
    #[serde(deserialize_with = "units::period::<_, 0, 604_800>")]
    pub rotation_period: Duration,
    /// Agents begin a new file of a stream after this many bytes; 0: when they like.
    #[serde(deserialize_with = "units::bytes::<_, 0, { 1 << 30 }>")]
    pub rotation_size: u64,
    /// A silent agent is dropped after this time: agents send something every 5 s.
    #[serde(deserialize_with = "units::period::<_, 15, 3600>")]
    pub idle: Duration,
    /// Indexed parameters that get an event parameter of their own.
    #[serde(deserialize_with = "units::names::<_, 32, 100>")]
    pub parameters: Vec<String>,
    /// Self time of stacks from the trace.
    pub stacks: bool,
    /// Bytes of memory for the dictionaries of all agents together.
    #[serde(deserialize_with = "units::bytes::<_, { 1 << 20 }, { 16 << 30 }>")]
    pub dictionary: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: Some(SocketAddr::from(([127, 0, 0, 1], 1715))),
            rotation_period: Duration::ZERO,
            rotation_size: 0,
            idle: Duration::from_secs(61),
            parameters: Vec::new(),
            stacks: true,
            dictionary: 256 << 20,
        }
    }
}

impl Config {
    /// The lines of `--check`.
    pub(super) fn describe(&self) -> Vec<String> {
        vec![units::listens(self.listen)]
    }
}
