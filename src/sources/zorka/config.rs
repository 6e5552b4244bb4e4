//! `[zorka]`: the collector of Zorka agents.

use std::net::SocketAddr;
use std::time::Duration;

use crate::config::units;

crate::section! {
    /// `[zorka]`
    Config;

    /// Address and port that agents connect to; `""` listens nowhere.
    #[serde(deserialize_with = "units::listen")]
    listen: Option<SocketAddr> = Some(SocketAddr::from(([127, 0, 0, 1], 8640))),
        r#""127.0.0.1:8640""#, "ADDRESS:PORT";

    /// An agent without a kept-alive connection (1.90.5 and older) is gone after this time without a request.
    #[serde(deserialize_with = "units::period::<_, 60, 86_400>")]
    idle: Duration = Duration::from_secs(600), r#""10m""#, "1m to 1d";
}

impl Config {
    /// The lines of `--check`.
    pub(super) fn describe(&self) -> Vec<String> {
        vec![units::listens(self.listen)]
    }
}
