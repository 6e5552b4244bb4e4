//! `[limits]` and `[log]`.

use std::time::Duration;

use super::units::{bytes, count, level, period};

crate::section! {
    /// `[limits]`: bounds on what peers can cause.
    LimitKeys;

    /// Connections of all listeners.
    #[serde(deserialize_with = "count::<_, 1, 100_000>")]
    connections: u64 = 4096, "4096", "1 to 100000";

    /// Connections whose peer has not yet identified itself.
    #[serde(deserialize_with = "count::<_, 1, 100_000>")]
    pending: u64 = 1024, "1024", "1 to 100000";

    /// Peers (instances) of each source, connected or not; the one gone longest makes room.
    #[serde(deserialize_with = "count::<_, 1, 100_000>")]
    instances: u64 = 2048, "2048", "1 to 100000";

    /// Memory for all that peers cause, event records included.
    #[serde(deserialize_with = "bytes::<_, { 16 << 20 }, { 1 << 40 }>")]
    memory: u64 = 512 << 20, r#""512MiB""#, "16MiB to 1TiB";

    /// Memory for what one peer causes.
    #[serde(deserialize_with = "bytes::<_, { 1 << 20 }, { 1 << 40 }>")]
    peer_memory: u64 = 64 << 20, r#""64MiB""#, "1MiB to 1TiB";

    /// Metrics that the peers of one source may bring; one peer a quarter of what is left, or 64.
    #[serde(deserialize_with = "count::<_, 1, 16_384>")]
    names: u64 = 4096, "4096", "1 to 16384";

    /// Bytes of a peer's name for a metric.
    #[serde(deserialize_with = "count::<_, 16, 400>")]
    name_length: u64 = 200, "200", "16 to 400";

    /// How long the values of a silent or vanished peer stay.
    #[serde(deserialize_with = "period::<_, 1, 86_400>")]
    stale: Duration = Duration::from_secs(10), r#""10s""#, "1s to 1d";

    /// How long a vanished peer stays as an instance. Its ids and the sums of its service stay longer.
    #[serde(deserialize_with = "period::<_, 1, 31_536_000>")]
    forget: Duration = Duration::from_secs(600), r#""10min""#, "1s to 365d";
}

crate::section! {
    /// `[log]`
    Log;

    /// Least severe lines that are written.
    #[serde(deserialize_with = "level")]
    level: log::LevelFilter = log::LevelFilter::Info, r#""info""#,
        "off, error, warn, info, debug or trace";
}
