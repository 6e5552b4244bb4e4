//! The instances and metrics with their ids, in the memory of the PMDA thread. A [`Snapshot`] of it
//! is written to the file.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::domain::{Domain, Entry, Holder, Mark};
use super::record::{Ending, LINE_MAX, Record, VERSION};
use crate::catalogue::{Catalogue, SourceTable, TOTALS_FIRST, TableDef};
use crate::model::{Now, SourceId, TableId};
use crate::store::{DynamicMetric, Limits, Peer, Row};

/// Remembered instances of a domain, as a multiple of the most that it may have.
pub(super) const KEEP: usize = 4;

/// A dynamic metric: its record, and itself unless it has no room now.
#[derive(Clone, Debug)]
pub(super) struct Named {
    pub(super) record: Arc<Record>,
    pub(super) metric: Option<Arc<DynamicMetric>>,
}

impl Named {
    /// The record of this moment.
    fn record(&self) -> Record {
        let mut now = Record::clone(&self.record);
        if let (Record::Name { unseen, .. }, Some(metric)) = (&mut now, &self.metric) {
            *unseen = !metric.is_seen();
        }
        now
    }
}

/// The ids of one source.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    pub(super) names: BTreeMap<u32, Named>,
    pub(super) names_mark: Mark,
    /// That of sums, in a source that has them.
    pub(super) totals_mark: Option<Mark>,
    pub(super) peers: Domain,
    pub(super) tables: Vec<Domain>,
}

impl Shelf {
    /// Marks the id of a dynamic metric as given.
    pub(super) fn pass_name(&mut self, id: u32) {
        match &mut self.totals_mark {
            Some(mark) if id as usize >= TOTALS_FIRST => mark.pass(id),
            _ => self.names_mark.pass(id),
        }
    }
}

/// The ids of all peers, rows and dynamic metrics.
#[derive(Debug)]
pub struct Book {
    pub(super) catalogue: Arc<Catalogue>,
    pub(super) agents: Mark,
    pub(super) shelves: Vec<Shelf>,
    pub(super) kept: Arc<Vec<String>>,
}

/// The name of a table in the file.
pub(super) fn table_name(source: &SourceTable, table: &TableDef) -> String {
    format!("{}/{}", source.name, table.name)
}

impl Book {
    /// A book without ids.
    #[must_use]
    pub fn new(catalogue: &Arc<Catalogue>) -> Self {
        let shelf = |s: &SourceTable| Shelf {
            tables: s.tables.iter().map(|_| Domain::default()).collect(),
            totals_mark: s.totals.map(|_| Mark::default()),
            ..Shelf::default()
        };
        Self {
            catalogue: Arc::clone(catalogue),
            agents: Mark::default(),
            shelves: catalogue.sources().map(|(_, source)| shelf(source)).collect(),
            kept: Arc::default(),
        }
    }

    /// Makes a peer an instance of its source's domain and of the domain of all agents; returns
    /// both ids. `None` when no id is left.
    pub fn join_peer(&mut self, peer: &Arc<Peer>) -> Option<[u32; 2]> {
        let domain = &mut self.shelves.get_mut(peer.source.index())?.peers;
        let known = domain.get(&peer.name).map(|e| (e.id, e.agent));
        let (id, agent) = match known {
            Some(ids) => ids,
            None => (domain.mark.give()?, None),
        };
        let agent = match agent {
            Some(agent) => agent,
            None => self.agents.give()?,
        };
        let holder = Holder::Peer(Arc::clone(peer));
        domain.put(Entry { name: peer.name.as_str().into(), id, agent: Some(agent), holder });
        Some([id, agent])
    }

    /// Ends a peer's instances. Its ids stay reserved for it, among the newest `KEEP *
    /// limits.instances`.
    pub fn leave_peer(&mut self, peer: &Peer, limits: &Limits, now: Now) -> Option<[u32; 2]> {
        let domain = &mut self.shelves.get_mut(peer.source.index())?.peers;
        let (id, agent) = domain.get(&peer.name).map(|e| (e.id, e.agent))?;
        domain.put(Entry {
            name: peer.name.as_str().into(),
            id,
            agent,
            holder: Holder::Nobody(now.wall.sec),
        });
        domain.trim(KEEP.saturating_mul(limits.instances));
        Some([id, agent?])
    }

    /// Makes a row an instance of its table's domain.
    pub fn join_row(&mut self, source: SourceId, table: TableId, row: &Row) -> Option<u32> {
        let domain = self.shelves.get_mut(source.index())?.tables.get_mut(table.index())?;
        let id = match domain.get(&row.key) {
            Some(known) => known.id,
            None => domain.mark.give()?,
        };
        let name = Arc::clone(&row.key);
        domain.put(Entry { name, id, agent: None, holder: Holder::Row });
        Some(id)
    }

    /// The id of a present row.
    #[must_use]
    pub fn row_id(&self, source: SourceId, table: TableId, row: &Row) -> Option<u32> {
        let domain = self.shelves.get(source.index())?.tables.get(table.index())?;
        domain.get(&row.key).map(|entry| entry.id)
    }

    /// Ends a row's instance. Its id stays reserved for it, as a peer's.
    pub fn leave_row(
        &mut self,
        source: SourceId,
        table: TableId,
        row: &Row,
        now: Now,
    ) -> Option<u32> {
        let max = self.catalogue.table(source, table)?.max;
        let domain = self.shelves.get_mut(source.index())?.tables.get_mut(table.index())?;
        let id = domain.get(&row.key)?.id;
        domain.put(Entry {
            name: Arc::clone(&row.key),
            id,
            agent: None,
            holder: Holder::Nobody(now.wall.sec),
        });
        domain.trim(KEEP.saturating_mul(max));
        Some(id)
    }

    /// Adds a dynamic metric.
    pub fn add_metric(&mut self, metric: &Arc<DynamicMetric>) {
        let source = self.catalogue.name(metric.source);
        let Some(shelf) = self.shelves.get_mut(metric.source.index()) else { return };
        let (id, path, persist) =
            (metric.id.into(), metric.spec.path.clone(), metric.spec.persist.clone());
        shelf.pass_name(id);
        let record = Record::Name { source: source.into(), id, path, persist, unseen: true };
        let named = Named { record: Arc::new(record), metric: Some(Arc::clone(metric)) };
        shelf.names.insert(id, named);
    }

    /// Removes a dynamic metric. Its id is not given to another.
    pub fn drop_metric(&mut self, metric: &DynamicMetric) {
        if let Some(shelf) = self.shelves.get_mut(metric.source.index()) {
            shelf.names.remove(&metric.id.into());
        }
    }

    fn marks(&mut self) -> impl Iterator<Item = &mut Mark> {
        let of_shelves = self.shelves.iter_mut().flat_map(|shelf| {
            let tables = shelf.tables.iter_mut().map(|t| &mut t.mark);
            let names = std::iter::once(&mut shelf.names_mark).chain(&mut shelf.totals_mark);
            names.chain(std::iter::once(&mut shelf.peers.mark)).chain(tables)
        });
        std::iter::once(&mut self.agents).chain(of_shelves)
    }

    /// Whether ids were given above the file's marks: after a crash now they could be given again.
    pub fn is_ahead(&mut self) -> bool {
        self.marks().any(|m| m.next > m.promised)
    }

    /// The file now has these marks, in the order of the snapshot.
    pub fn is_saved(&mut self, promises: &[u32]) {
        for (mark, promise) in self.marks().zip(promises) {
            mark.promised = *promise;
        }
    }

    /// The state to write, at the cost of a pointer for each entry. `clean`: the process is about
    /// to end.
    pub fn snapshot(&mut self, now: Now, clean: bool) -> Snapshot {
        let mut promises = vec![self.agents.to_promise(clean)];
        let mut marks = vec![("agent".to_owned(), self.agents.to_promise(clean))];
        let (mut names, mut domains) = (Vec::new(), Vec::new());
        for (shelf, (_, source)) in self.shelves.iter().zip(self.catalogue.sources()) {
            // A name is in the file before any client sees it: no ids are skipped.
            marks.push((format!("{} names", source.name), shelf.names_mark.to_promise(true)));
            let totals = shelf.totals_mark.map(|mark| mark.to_promise(true));
            marks.extend(totals.map(|next| (format!("{} sums", source.name), next)));
            names.extend(shelf.names.values().cloned());
            marks.push((source.name.to_owned(), shelf.peers.mark.to_promise(clean)));
            domains.push((source.name.to_owned(), shelf.peers.entries().cloned().collect()));
            for (domain, def) in shelf.tables.iter().zip(source.tables) {
                let name = table_name(source, def);
                marks.push((name.clone(), domain.mark.to_promise(clean)));
                domains.push((name, domain.entries().cloned().collect()));
            }
            promises.extend(marks.iter().skip(promises.len()).map(|(_, next)| *next));
        }
        Snapshot { now, clean, promises, marks, names, domains, kept: Arc::clone(&self.kept) }
    }
}

/// The state at one moment.
#[derive(Debug)]
pub struct Snapshot {
    now: Now,
    /// The last one of the process.
    pub(super) clean: bool,
    pub(super) promises: Vec<u32>,
    marks: Vec<(String, u32)>,
    names: Vec<Named>,
    domains: Vec<(String, Vec<Arc<Entry>>)>,
    pub(super) kept: Arc<Vec<String>>,
}

impl Snapshot {
    /// The records, in the order of the file.
    pub fn records(&self) -> impl Iterator<Item = Record> {
        let head = Record::Head { version: VERSION, saved: self.now.wall.sec, clean: self.clean };
        let marks =
            || self.marks.iter().map(|(of, next)| Record::Next { of: of.clone(), next: *next });
        let names = self.names.iter().map(Named::record);
        let entries =
            self.domains.iter().flat_map(|(of, entries)| entries.iter().map(|e| self.entry(of, e)));
        std::iter::once(head).chain(marks()).chain(names).chain(entries).chain(marks())
    }

    fn entry(&self, of: &str, entry: &Entry) -> Record {
        let (name, id, agent) = (String::from(&*entry.name), entry.id, entry.agent);
        let of = of.to_owned();
        match &entry.holder {
            Holder::Peer(peer) => {
                let left = peer
                    .liveness
                    .gone_for(self.now.monotonic)
                    .map(|gone| self.now.wall.sec.saturating_sub_unsigned(gone.as_secs()));
                let mut labels: BTreeMap<String, String> =
                    peer.own_labels().into_iter().map(|(k, v)| (k.into_owned(), v)).collect();
                if labels.values().map(String::len).sum::<usize>() > LINE_MAX / 8 {
                    // JSON may escape a byte to six; a line too long to be read would lose the ids.
                    labels.clear();
                }
                Record::Peer {
                    source: of,
                    name,
                    id,
                    agent,
                    left,
                    forgotten: false,
                    // An older connection's, while there is a newer one.
                    end: left.map(|_| peer.departure().into()).unwrap_or_default(),
                    address: peer.address(),
                    labels,
                }
            }
            Holder::Row => Record::Row { table: of, key: name, id, left: None },
            Holder::Nobody(left) if of.contains('/') => {
                Record::Row { table: of, key: name, id, left: Some(*left) }
            }
            Holder::Nobody(left) => {
                let (address, labels) = (String::new(), BTreeMap::new());
                Record::Peer {
                    source: of,
                    name,
                    id,
                    agent,
                    left: Some(*left),
                    forgotten: true,
                    end: Ending::default(),
                    address,
                    labels,
                }
            }
        }
    }
}
