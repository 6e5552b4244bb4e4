//! `[mono]`: the Mono counters inspector.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::Deserialize;
use serde::de::{Deserializer, Error};

use crate::config::units;

/// `[mono]`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Where agents connect to; empty: nowhere.
    #[serde(deserialize_with = "units::listen")]
    pub listen: Option<SocketAddr>,
    /// Files that agents write (`address=file://PATH`); `*` in the last component matches several.
    #[serde(deserialize_with = "units::files")]
    pub files: Vec<PathBuf>,
    /// Which counters: `GC/*`, `JIT/Compiled methods`; empty: what each agent announces.
    #[serde(deserialize_with = "patterns")]
    pub select: Vec<String>,
    /// Ask agents that announce no counters with a message that tells 2014 agents from others.
    pub probe: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: Some(SocketAddr::from(([127, 0, 0, 1], 8888))),
            files: Vec::new(),
            select: Vec::new(),
            probe: false,
        }
    }
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
        std::iter::once(units::listens(self.listen))
            .chain(files)
            .chain([format!("samples {select}")])
            .collect()
    }
}

/// Patterns `CATEGORY/NAME`.
fn patterns<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<String>, D::Error> {
    let patterns = Vec::<String>::deserialize(d)?;
    for p in &patterns {
        if p.split_once('/').is_none_or(|(category, name)| category.is_empty() || name.is_empty()) {
            let help =
                "a pattern is CATEGORY/NAME, for example \"GC/*\" or \"JIT/Compiled methods\"";
            return Err(D::Error::custom(format!("{p:?}: {help}")));
        }
    }
    Ok(patterns)
}
