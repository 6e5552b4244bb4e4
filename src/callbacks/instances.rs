//! The instances of each domain: peers, and rows of tables.

use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use foldhash::fast::RandomState;
use pmda::{InDom, Tables};

use crate::catalogue::{AGENT_INDOM, SERVICE_INDOM};
use crate::model::SourceId;
use crate::store::{Peer, Row};

/// Peers by instance number.
pub(super) type Peers = BTreeMap<u32, Arc<Peer>>;
/// Rows of a table by instance number.
pub(super) type Rows = BTreeMap<u32, Arc<Row>>;

/// A service or program of any source, by instance number: in the order of the sources' clusters.
pub(super) type Services = BTreeMap<u32, Arc<Service>>;

/// An instance of `apm.service`.
#[derive(Debug)]
pub(super) struct Service {
    pub(super) source: SourceId,
    /// The name of the source.
    pub(super) protocol: &'static str,
    pub(super) row: Arc<Row>,
}

/// Instances by the serial numbers of their domains.
#[derive(Debug, Default)]
pub(super) struct Instances {
    peers: HashMap<u32, Peers, RandomState>,
    rows: HashMap<u32, Rows, RandomState>,
    services: Services,
    /// Rows that have or had a value of a dynamic metric, by domain and column.
    columns: HashMap<(u32, u16), Rows, RandomState>,
    /// Domains that changed after libpcp_pmda's table was filled.
    stale: HashSet<u32>,
}

impl Instances {
    pub(super) fn peer(&self, serial: u32, inst: u32) -> Option<&Arc<Peer>> {
        self.peers.get(&serial)?.get(&inst)
    }

    pub(super) fn peers(&self, serial: u32) -> Option<&Peers> {
        self.peers.get(&serial)
    }

    pub(super) fn rows(&self, serial: u32) -> Option<&Rows> {
        self.rows.get(&serial)
    }

    pub(super) const fn services(&self) -> &Services {
        &self.services
    }

    pub(super) fn add_service(&mut self, inst: u32, service: Service) {
        self.services.insert(inst, Arc::new(service));
        self.stale.insert(SERVICE_INDOM);
    }

    /// The names of all services. Of those with one name the first source has it, whoever came first: so
    /// it depends on who is there, not on the order of coming.
    fn service_names(&self) -> impl Iterator<Item = (u32, Cow<'_, str>)> {
        let mut taken = HashSet::new();
        self.services.iter().map(move |(inst, service)| {
            let key: &str = &service.row.key;
            let own = !service.row.is_rest() && taken.insert(key);
            let name = if own { key.into() } else { format!("{}::{key}", service.protocol).into() };
            (*inst, name)
        })
    }

    pub(super) fn remove_service(&mut self, inst: u32) {
        self.services.remove(&inst);
        self.stale.insert(SERVICE_INDOM);
    }

    pub(super) fn add_peer(&mut self, serial: u32, inst: u32, peer: &Arc<Peer>) {
        self.peers.entry(serial).or_default().insert(inst, Arc::clone(peer));
        self.stale.insert(serial);
    }

    pub(super) fn remove_peer(&mut self, serial: u32, inst: u32) {
        self.peers.get_mut(&serial).and_then(|peers| peers.remove(&inst));
        self.stale.insert(serial);
    }

    pub(super) fn add_row(&mut self, serial: u32, inst: u32, row: &Arc<Row>) {
        self.rows.entry(serial).or_default().insert(inst, Arc::clone(row));
        self.stale.insert(serial);
    }

    pub(super) fn remove_row(&mut self, serial: u32, inst: u32) {
        let row = self.rows.get_mut(&serial).and_then(|rows| rows.remove(&inst));
        for column in row.iter().flat_map(|row| row.brought.columns()) {
            if let Entry::Occupied(mut rows) = self.columns.entry((serial, column)) {
                rows.get_mut().remove(&inst);
                if rows.get().is_empty() {
                    rows.remove();
                }
            }
        }
        self.stale.insert(serial);
    }

    /// A row has a value of a dynamic metric, unless it is no instance any more.
    pub(super) fn row_has(&mut self, serial: u32, inst: u32, row: &Arc<Row>, column: u16) {
        let present = self.rows.get(&serial).and_then(|rows| rows.get(&inst));
        if present.is_some_and(|present| Arc::ptr_eq(present, row)) {
            self.columns.entry((serial, column)).or_default().insert(inst, Arc::clone(row));
        }
    }

    /// The rows of a domain that have or had a value of a dynamic metric.
    pub(super) fn with_column(&self, serial: u32, column: u16) -> Option<&Rows> {
        self.columns.get(&(serial, column))
    }

    /// Fills libpcp_pmda's table of a domain if it has changed.
    pub(super) fn refresh(&mut self, indom: InDom, tables: &mut Tables) {
        let serial = indom.serial();
        if !self.stale.remove(&serial) {
            return;
        }
        if serial == SERVICE_INDOM {
            let names: Vec<_> = self.service_names().collect();
            return tables.set_instances(indom, names.iter().map(|(id, name)| (*id, &**name)));
        }
        let name = |peer: &Peer| match serial {
            AGENT_INDOM => peer.agent_name(),
            _ => peer.name.clone(),
        };
        let peers = self.peers.get(&serial).into_iter().flatten();
        let rows = self.rows.get(&serial).into_iter().flatten();
        let names: Vec<(u32, String)> = peers
            .map(|(id, peer)| (*id, name(peer)))
            .chain(rows.map(|(id, row)| (*id, row.key.to_string())))
            .collect();
        tables.set_instances(indom, names.iter().map(|(id, name)| (*id, name.as_str())));
    }
}

#[cfg(test)]
#[path = "instances_tests.rs"]
#[allow(clippy::cast_possible_truncation, reason = "test")]
mod tests;
