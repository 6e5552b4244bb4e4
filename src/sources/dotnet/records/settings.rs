//! The keys of apm.toml that records depend on.

use crate::contract::Rate;
use crate::model::EventKindId;
use crate::sources::dotnet::Config;
use crate::sources::dotnet::metrics as m;

/// Kinds that `dotnet.records` turns on, by their names there.
const KINDS: [(&str, EventKindId); 7] = [
    ("gc", m::GC),
    ("exception", m::EXCEPTION),
    ("contention", m::CONTENTION),
    ("starvation", m::POOL),
    ("assembly", m::ASSEMBLY),
    ("method", m::METHOD),
    ("allocation", m::ALLOCATION),
];

/// Which records are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Kinds that are on: a bit for each.
    on: u32,
    /// Nanoseconds from record to record of one kind at its most records a second.
    pub(super) step: i64,
    /// Shortest wait for a lock that has a record, in nanoseconds.
    pub(super) contention: u64,
}

impl Settings {
    /// From apm.toml. Application events and reports are always on: their providers are
    /// configured.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        let asked = |name: &str| config.records.iter().any(|kind| kind == name);
        let on = KINDS.iter().filter(|(name, _)| asked(name)).map(|(_, kind)| *kind);
        Self {
            on: on.chain([m::APPLICATION, m::SESSION]).map(bit).fold(0, |all, bit| all | bit),
            step: Rate::step(config.records_rate),
            contention: config.contention_record.saturating_mul(1_000_000),
        }
    }

    /// Records of this kind are made.
    #[must_use]
    pub fn has(&self, kind: EventKindId) -> bool {
        self.on & bit(kind) != 0
    }
}

const fn bit(kind: EventKindId) -> u32 {
    1 << kind.index()
}

const _: () = assert!(m::EVENT_KINDS.len() < u32::BITS as usize, "a bit for each kind");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_the_names_of_the_configuration() {
        let config = Config { records: vec!["starvation".to_owned()], ..Config::default() };
        let settings = Settings::new(&config);
        let on: Vec<_> = m::EVENT_KINDS
            .iter()
            .zip(0..)
            .filter_map(|(kind, n)| settings.has(EventKindId::new(n)).then_some(kind.name))
            .collect();
        assert_eq!(on, ["pool", "application", "session"]);
        assert_eq!((settings.step, settings.contention), (5_000_000, 10_000_000));
    }
}
