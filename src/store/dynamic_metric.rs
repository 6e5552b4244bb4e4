//! Dynamic metrics: those that peers define.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

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
    /// Peers and connections that bring it.
    bringers: AtomicU32,
    /// A client may know its id.
    seen: AtomicBool,
    /// How often a metric of the source has lost its last bringer.
    freed: Arc<AtomicU64>,
}

impl DynamicMetric {
    /// A metric that nobody brings yet.
    pub(super) fn new(
        source: SourceId,
        id: u16,
        spec: MetricSpec,
        [pmid, param]: [Pmid; 2],
        freed: Arc<AtomicU64>,
    ) -> Self {
        let (total, bringers) = (OnceLock::new(), AtomicU32::new(0));
        let seen = AtomicBool::new(false);
        Self { source, id, spec, pmid, param, total, bringers, seen, freed }
    }

    /// A client may know its id from now on: it has fetched it, or a record with its parameter. Returns whether that
    /// is new.
    pub fn seen(&self) -> bool {
        !self.is_seen() && !self.seen.swap(true, Ordering::Relaxed)
    }

    /// Whether a client may know its id.
    #[must_use]
    pub fn is_seen(&self) -> bool {
        self.seen.load(Ordering::Relaxed)
    }

    /// One more brings it. To be called under the lock of its source's table.
    pub(super) fn brought(&self) {
        self.bringers.fetch_add(1, Ordering::Relaxed);
    }

    /// One less does.
    pub(super) fn released(&self) {
        if self.bringers.fetch_sub(1, Ordering::AcqRel) == 1 && !self.is_seen() {
            self.freed.fetch_add(1, Ordering::Release);
        }
    }

    /// Nobody brings it, and no client has seen it.
    pub(super) fn is_unused(&self) -> bool {
        !self.is_seen() && self.bringers.load(Ordering::Acquire) == 0
    }

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
