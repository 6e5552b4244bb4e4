//! `[limits]` and `[log]`.

use std::time::Duration;

use serde::Deserialize;

use super::units::{self, count, period};
use crate::store::Limits;

/// `[limits]`: bounds on what peers can cause.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LimitKeys {
    /// Connections of all listeners.
    #[serde(deserialize_with = "count::<_, 1, 100_000>")]
    pub connections: u64,
    /// Connections whose peer has not yet identified itself.
    #[serde(deserialize_with = "count::<_, 1, 100_000>")]
    pub pending: u64,
    /// Peers (instances) of each source.
    #[serde(deserialize_with = "count::<_, 1, 100_000>")]
    pub instances: u64,
    /// Bytes of memory for all that peers cause, event records included.
    #[serde(deserialize_with = "units::bytes::<_, { 16 << 20 }, { 1 << 40 }>")]
    pub memory: u64,
    /// Bytes of memory for what one peer causes.
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
    /// `off`, `error`, `warn`, `info`, `debug` or `trace`.
    #[serde(deserialize_with = "units::level")]
    pub level: log::LevelFilter,
}

impl Default for Log {
    fn default() -> Self {
        Self { level: log::LevelFilter::Info }
    }
}
