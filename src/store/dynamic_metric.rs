//! Dynamic metrics: those that peers define.

use std::sync::OnceLock;

use crate::model::{MetricSpec, Pmid, STATIC_ITEMS, SourceId};

/// A metric that a peer defined. It exists as long as the PMDA and, through the state file, longer.
#[derive(Debug)]
pub struct DynamicMetric {
    /// Its source.
    pub source: SourceId,
    /// Number within the source; never changes.
    pub id: u16,
    /// Type, semantics, units and texts.
    pub spec: MetricSpec,
    /// Its PMID.
    pub pmid: Pmid,
    /// PMID of its parameter metric, if its place has one.
    pub param: Pmid,
    /// Column of its sums over the peers of a group, once they are defined.
    pub(super) total: OnceLock<u16>,
}

impl DynamicMetric {
    /// One line and the full help text of its parameter metric.
    #[must_use]
    pub fn param_help(&self) -> (String, String) {
        let what = if self.spec.place.node().is_some() {
            format!(": the value of {} that a record brought", self.spec.key)
        } else {
            String::new()
        };
        let help = format!(
            "Parameter of event records{what}. It has no values of its own.\n{}",
            self.spec.help
        );
        (format!("Parameter: {}", self.spec.oneline), help)
    }

    /// Column of its cell in every peer.
    #[must_use]
    pub const fn column(&self) -> u16 {
        STATIC_ITEMS + self.id
    }
}
