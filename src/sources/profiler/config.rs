//! `[profiler]`: the collector of Java profiler agents.

use std::net::SocketAddr;
use std::time::Duration;

use crate::config::units;

crate::section! {
    /// `[profiler]`
    Config;

    /// Address and port that agents connect to; `""` listens nowhere.
    #[serde(deserialize_with = "units::listen")]
    listen: Option<SocketAddr> = Some(SocketAddr::from(([127, 0, 0, 1], 1715))),
        r#""127.0.0.1:1715""#, "ADDRESS:PORT";

    /// Address and port that agents connect to with TLS, as `[tls]` says; `""` listens nowhere.
    #[serde(deserialize_with = "units::listen")]
    tls_listen: Option<SocketAddr> = None, r#""""#, "ADDRESS:PORT";

    /// Agents begin a new file of a stream after this time; 0: never.
    #[serde(deserialize_with = "units::period::<_, 0, 604_800>")]
    rotation_period: Duration = Duration::ZERO, r#""0s""#, "0s to 7d";

    /// Agents begin a new file of a stream after this many bytes; 0: when they like.
    #[serde(deserialize_with = "units::bytes::<_, 0, { 1 << 30 }>")]
    rotation_size: u64 = 0, r#""0B""#, "0B to 1GiB";

    /// A silent agent is dropped after this time: agents send something every 5 s.
    #[serde(deserialize_with = "units::period::<_, 15, 3600>")]
    idle: Duration = Duration::from_secs(61), r#""61s""#, "15s to 1h";

    /// Indexed parameters that get an event parameter of their own. `web.query`, query strings, is shown only if it is named.
    #[serde(deserialize_with = "units::names::<_, 32, 100>")]
    parameters: Vec<String> = Vec::new(), "[]", "at most 32 names of 100 bytes";

    /// Self time of stacks from the trace.
    stacks: bool = true, "true", "true or false";

    /// Memory for the dictionaries of all agents together.
    #[serde(deserialize_with = "units::bytes::<_, { 1 << 20 }, { 16 << 30 }>")]
    dictionary: u64 = 256 << 20, r#""256MiB""#, "1MiB to 16GiB";
}

impl Config {
    /// The lines of `--check`.
    pub(super) fn describe(&self) -> Vec<String> {
        let tls = units::listens_with_tls(self.tls_listen);
        [units::listens(self.listen)].into_iter().chain(tls).collect()
    }
}
