//! `[zorka]`: the collector of Zorka agents.

use std::net::SocketAddr;
use std::time::Duration;

use crate::config::units;
use crate::model::Network;

/// Attributes in event records unless configured: none of them should have secrets. A `*` at the
/// end stands for any rest.
const ATTRIBUTES: [&str; 10] = [
    "component",
    "span.kind",
    "http.method",
    "http.url",
    "http.status_code",
    "db.statement",
    "db.type",
    "db.url",
    "peer.*",
    "local.*",
];

/// What containers call their host, in the documentation of this program and of Docker and Podman:
/// nobody can register such a name.
const HOSTS: [&str; 3] = ["pcp", "host.docker.internal", "host.containers.internal"];

crate::section! {
    /// `[zorka]`
    Config;

    /// Address and port that agents connect to; `""` listens nowhere.
    #[serde(deserialize_with = "units::listen")]
    listen: Option<SocketAddr> = Some(SocketAddr::from(([127, 0, 0, 1], 8640))),
        r#""127.0.0.1:8640""#, "ADDRESS:PORT";

    /// Address and port that agents connect to with TLS, as `[tls]` says; `""` listens nowhere.
    #[serde(deserialize_with = "units::listen")]
    tls_listen: Option<SocketAddr> = None, r#""""#, "ADDRESS:PORT";

    /// Requests need the header `Authorization: Bearer` with this; `""`: they need none. No agent sends it: it is for a proxy between. Who may read this file knows it.
    #[serde(deserialize_with = "units::text::<_, 400>")]
    token: String = String::new(), r#""""#, "at most 400 bytes";

    /// The key with which agents before 1.90.7 register (their `tracer.net.auth.key`); `""`: any key. Later agents have none.
    #[serde(deserialize_with = "units::text::<_, 200>")]
    key: String = "zorka".to_owned(), r#""zorka""#, "at most 200 bytes";

    /// Agents before 1.90.7 that have never registered may do so.
    register: bool = true, "true", "true or false";

    /// Addresses and networks whose agents may connect; `[]`: all.
    #[serde(deserialize_with = "units::networks")]
    allow: Vec<Network> = Vec::new(), "[]", "addresses and networks";

    /// Names by which agents call the PMDA's host, beside addresses, `localhost` and its host name; unless `allow` has addresses, requests for other names are refused.
    #[serde(deserialize_with = "units::names::<_, 64, 253>")]
    hosts: Vec<String> = HOSTS.map(str::to_owned).to_vec(),
        r#"["pcp", "host.docker.internal", "host.containers.internal"]"#, "at most 64 names of 253 bytes";

    /// An agent without a kept-alive connection (1.90.5 and older) is gone after this time without a request.
    #[serde(deserialize_with = "units::period::<_, 60, 86_400>")]
    idle: Duration = Duration::from_secs(600), r#""10min""#, "1min to 1d";

    /// SQL statements, with their literals removed, as instances of `apm.zorka.statement`.
    statements: bool = true, "true", "true or false";

    /// Self time of stacks from the traces.
    stacks: bool = true, "true", "true or false";

    /// Names of methods have the types of their arguments.
    signatures: bool = false, "false", "true or false";

    /// Attributes of spans in event records; a `*` at the end stands for any rest. HTTP headers, cookies and parameters may have secrets.
    #[serde(deserialize_with = "units::names::<_, 64, 100>")]
    attributes: Vec<String> = ATTRIBUTES.map(str::to_owned).to_vec(),
        r#"["component", "span.kind", "http.method", "http.url", "http.status_code", "db.statement", "db.type", "db.url", "peer.*", "local.*"]"#,
        "at most 64 names of 100 bytes";
}

impl Config {
    /// The lines of `--check`.
    pub(super) fn describe(&self) -> Vec<String> {
        let mut lines = vec![units::listens(self.listen)];
        lines.extend(units::listens_with_tls(self.tls_listen));
        if self.listen.or(self.tls_listen).is_some() {
            if !self.token.is_empty() {
                lines.push("answers requests with zorka.token only".to_owned());
            }
            let networks: Vec<_> = self.allow.iter().map(ToString::to_string).collect();
            let from = if networks.is_empty() { "anywhere".into() } else { networks.join(", ") };
            lines.push(format!("admits agents from {from}"));
            let registers = match (self.register, self.key.is_empty()) {
                (false, _) => "no new agents",
                (true, true) => "agents with any key",
                (true, false) => "agents with zorka.key",
            };
            lines.push(format!("registers {registers}"));
        }
        lines
    }
}
