//! Metrics that peers bring.

use crate::model::{MetricSpec, Pmid, STATIC_ITEMS, SourceId};

/// A metric that some peer brought; lives as long as the PMDA and, through the state file, longer.
#[derive(Debug)]
pub struct DynamicMetric {
    /// Its source.
    pub source: SourceId,
    /// Number within the source: stays the same for ever.
    pub id: u16,
    /// Its description.
    pub spec: MetricSpec,
    /// Its PMID.
    pub pmid: Pmid,
    /// The PMID of the parameter metric that goes with it.
    pub param: Pmid,
}

impl DynamicMetric {
    /// One line and the full help text of its parameter metric. `values`: the metric itself has
    /// values, else there are only parameters.
    #[must_use]
    pub fn param_help(&self, values: bool) -> (String, String) {
        let what = if values {
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
