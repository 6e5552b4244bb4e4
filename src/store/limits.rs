//! Bounds on what peers can make us keep.

use std::time::Duration;

/// Named limits; configuration section `[limits]` and the sources' own keys set them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Dynamic metric names of one source.
    pub names: usize,
    /// Bytes of a peer's name for a metric.
    pub name_length: usize,
    /// Records of one stream for each second since a client's last fetch of it
    /// (`events.max_records`).
    pub max_records: usize,
    /// Peers (instances) of one source, connected or not.
    pub instances: usize,
    /// Bytes of all that peers cause, event records included, and of what one of them does.
    pub memory: usize,
    /// See `memory`.
    pub peer_memory: usize,
    /// Values of a peer that is silent or gone are shown this much longer.
    pub stale: Duration,
    /// A peer that has been gone this long is forgotten as an instance.
    pub forget: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            names: 4096,
            name_length: 200,
            max_records: 10_000,
            instances: 2048,
            memory: 512 << 20,
            peer_memory: 64 << 20,
            stale: Duration::from_secs(10),
            forget: Duration::from_secs(24 * 3600),
        }
    }
}
