//! `[mono]`: the Mono counters inspector.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::Deserialize;
use serde::de::{Deserializer, Error};

use super::counters::pattern::Pattern;
use crate::config::units;

crate::section! {
    /// `[mono]`
    Config;

    /// Address and port that agents connect to; `""` listens nowhere.
    #[serde(deserialize_with = "units::listen")]
    listen: Option<SocketAddr> = Some(SocketAddr::from(([127, 0, 0, 1], 8888))),
        r#""127.0.0.1:8888""#, "ADDRESS:PORT";

    /// Files that agents write (`address=file://PATH`); `*` in the last component matches any text.
    #[serde(deserialize_with = "units::files")]
    files: Vec<PathBuf> = Vec::new(), "[]", "absolute paths";

    /// Counters that are sampled: `GC/*`, `JIT/Compiled methods`. Empty: those that each agent
    /// announces.
    #[serde(deserialize_with = "patterns")]
    select: Vec<String> = Vec::new(), "[]", "CATEGORY/NAME with `*`";

    /// Looks for Mono processes of this host and of its containers, and reads their shared areas.
    discover: bool = true, "true", "true or false";

    /// Names of processes whose shared areas are read, with `*`.
    #[serde(deserialize_with = "units::names::<_, 256, 200>")]
    processes: Vec<String> = vec!["*".to_owned()], r#"["*"]"#, "at most 256 patterns with `*`";

    /// Send a probe to agents that announce no counters, to tell agents of 2014 from others.
    probe: bool = false, "false", "true or false";
}

impl Config {
    /// The lines of `--check`.
    pub(super) fn describe(&self) -> Vec<String> {
        let files = self.files.iter().map(|file| format!("follows {}", file.display()));
        let select = if self.select.is_empty() {
            "what each agent announces".to_owned()
        } else {
            self.select.join(", ")
        };
        let looks = match (self.discover, self.processes.as_slice()) {
            (false, _) => "looks for no processes".to_owned(),
            (true, names) => format!("looks for processes {}", names.join(", ")),
        };
        std::iter::once(units::listens(self.listen))
            .chain(files)
            .chain([looks])
            .chain([format!("samples {select}")])
            .collect()
    }
}

/// Patterns `CATEGORY/NAME`, or `*`.
fn patterns<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<String>, D::Error> {
    let patterns = Vec::<String>::deserialize(d)?;
    match patterns.iter().find(|text| Pattern::parse(text).is_err()) {
        None => Ok(patterns),
        Some(text) => Err(D::Error::custom(format!(
            "{text:?}: a pattern is CATEGORY/NAME, for example \"GC/*\" or \"JIT/Compiled methods\""
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_those_that_agents_are_asked_for() {
        let select = |text: &str| toml::from_str::<Config>(&format!("select = [{text:?}]"));
        assert!(["*", "GC/*", "JIT/Compiled methods"].iter().all(|text| select(text).is_ok()));
        assert!(["GC", "GC/", ""].iter().all(|text| select(text).is_err()));
    }
}
