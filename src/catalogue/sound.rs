//! What the compiler checks of the tables of all sources: ids within their bounds, and no cluster and
//! no instance domain twice. Names are checked when the catalogue is built (`check.rs`).

#![allow(
    clippy::indexing_slicing,
    reason = "constants: the compiler evaluates them, and iterators are not const"
)]

use super::agent::AGENT_INDOM;
use super::roll_up::{SERVICE_INDOM, Services};
use super::table::{CLUSTERS, DYNAMIC_CLUSTER, EXTRA_CLUSTER, PARAM_CLUSTER, SourceTable};

/// PMID clusters are 12 bits, items 10 bits, serial numbers of instance domains 22 bits.
pub(super) const CLUSTER_LIMIT: u32 = 1 << 12;
pub(super) const ITEM_LIMIT: u16 = 1 << 10;
pub(super) const SERIAL_LIMIT: u32 = 1 << 22;
/// Clusters 0 to 3 belong to the PMDA itself.
pub(crate) const OWN_CLUSTERS: u16 = 4;

/// The cluster is for static metrics of the source whose first one is given.
pub(crate) const fn is_static(first: u16, cluster: u16) -> bool {
    let offset = cluster.wrapping_sub(first);
    (offset < DYNAMIC_CLUSTER && offset != PARAM_CLUSTER)
        || (offset >= EXTRA_CLUSTER && offset < CLUSTERS)
}

impl SourceTable {
    /// For a constant: the compiler names the source whose table is wrong.
    ///
    /// # Panics
    /// An id is out of range, or services have sums of another table.
    pub const fn assert_sound(&self) {
        let last = self.cluster as u32 + CLUSTERS as u32 - 1;
        assert!(self.cluster >= OWN_CLUSTERS, "clusters 0 to 3 are the PMDA's");
        assert!(last < CLUSTER_LIMIT, "PMID clusters end at 4095");
        let mut n = 0;
        while n < self.tables.len() {
            let table = &self.tables[n];
            assert!(is_static(self.cluster, table.cluster), "a table has a cluster of another use");
            assert!(table.indom.serial < SERIAL_LIMIT, "serial numbers end at 4194303");
            assert!(
                table.score.table().index() == n,
                "a table is ranked by an item of another one"
            );
            n += 1;
        }
        n = 0;
        while n < self.events.len() {
            let cluster = self.events[n].cluster;
            assert!(
                is_static(self.cluster, cluster),
                "a kind of events has a cluster of another use"
            );
            n += 1;
        }
        n = 0;
        while n < self.controls.len() {
            let cluster = self.controls[n].cluster;
            assert!(is_static(self.cluster, cluster), "a control has a cluster of another use");
            n += 1;
        }
        if let Some(services) = &self.service {
            services.assert_sound();
        }
        assert!(self.params.len() < 64, "a record has a bit for each parameter");
        n = 0;
        while n < self.params.len() {
            assert!(
                self.params[n].item.get() as usize == n + 1,
                "items of parameters have no gaps"
            );
            n += 1;
        }
    }
}

impl Services {
    const fn assert_sound(&self) {
        let mut n = 0;
        while n < self.sums.len() {
            let sum = self.sums[n].sum();
            let same = sum.table().index() == self.table.index();
            assert!(same, "a sum of services is of another table");
            n += 1;
        }
        n = 0;
        while n < self.rows.len() {
            let sums = self.rows[n].sums;
            assert!(!sums.is_empty(), "rows of services have no counter");
            let mut i = 0;
            while i < sums.len() {
                let (of, sum) = sums[i];
                let same = of.table().index() == sums[0].0.table().index()
                    && sum.table().index() == sums[0].1.table().index();
                assert!(same, "rows of services are of several tables");
                i += 1;
            }
            n += 1;
        }
    }
}

/// For a constant.
///
/// # Panics
/// Two sources share a cluster or an instance domain.
pub const fn assert_apart(sources: &[SourceTable]) {
    let mut n = 0;
    while n < sources.len() {
        let mut m = 0;
        while m < n {
            let distance = sources[n].cluster.abs_diff(sources[m].cluster);
            assert!(distance >= CLUSTERS, "two sources share a PMID cluster");
            m += 1;
        }
        let mut i = 0;
        while i <= sources[n].tables.len() {
            let owners = owners(sources, indom(&sources[n], i));
            assert!(owners == 1, "an instance domain is given twice");
            i += 1;
        }
        n += 1;
    }
}

/// The instance domain of a source's peers (0), or of a table.
const fn indom(source: &SourceTable, n: usize) -> u32 {
    if n == 0 { source.indom.serial } else { source.tables[n - 1].indom.serial }
}

/// How many have the instance domain.
const fn owners(sources: &[SourceTable], serial: u32) -> usize {
    let mut count = (serial == AGENT_INDOM) as usize + (serial == SERVICE_INDOM) as usize;
    let mut n = 0;
    while n < sources.len() {
        let mut i = 0;
        while i <= sources[n].tables.len() {
            count += (indom(&sources[n], i) == serial) as usize;
            i += 1;
        }
        n += 1;
    }
    count
}
