//! Limits of what peers can cause.

use std::time::Duration;

use crate::model::TreeRules;
use crate::model::redact::Redact;

/// Named limits; configuration section `[limits]` and the sources' own keys set them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Dynamic metric names of one source.
    pub names: usize,
    /// Most bytes of a peer's name for a metric.
    pub name_length: usize,
    /// Records of one stream for each second since a client's last fetch of it
    /// (`events.max_records`).
    pub max_records: usize,
    /// Peers (instances) of one source, connected or not.
    pub instances: usize,
    /// Bytes that all peers together cause, event records included.
    pub memory: usize,
    /// Bytes that one peer causes.
    pub peer_memory: usize,
    /// How long values of a silent or disconnected peer are still shown.
    pub stale: Duration,
    /// A peer is forgotten as an instance after this time without a connection.
    pub forget: Duration,
    /// Which calls have a tree of methods.
    pub trees: TreeRules,
    /// What is replaced in texts.
    pub redact: Redact,
    /// Peers have the label `command`.
    pub command_label: bool,
}

/// The label with a command line.
const COMMAND: &str = "command";

impl Limits {
    /// The labels of a peer that are shown.
    pub fn shown_labels<K: AsRef<str>>(
        &self,
        labels: impl Iterator<Item = (K, String)>,
    ) -> impl Iterator<Item = (K, String)> {
        labels.filter(|(name, _)| self.command_label || name.as_ref() != COMMAND)
    }
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
            forget: Duration::from_secs(600),
            trees: TreeRules::default(),
            redact: Redact::default(),
            command_label: false,
        }
    }
}
