//! Restores the book and the store from the file, within the limits in force.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use super::book::{Book, KEEP, Named, table_name};
use super::domain::{Domain, Entry, Holder, ID_MAX, Mark};
use super::file::Loaded;
use super::record::Record;
use crate::catalogue::DYNAMIC_MAX;
use crate::model::{Departure, Now, SourceId, Stamp, is_path};
use crate::store::{DynamicMetric, Store};

/// The restored metrics and the faults found.
#[derive(Debug, Default)]
pub struct Restored {
    /// Metrics with their old ids.
    pub metrics: Vec<Arc<DynamicMetric>>,
    /// Lost or unusable records, in words; their ids are not given to others.
    pub faults: Vec<String>,
}

/// A disconnected peer that may become an instance again.
struct Gone {
    name: Arc<str>,
    left: i64,
    address: String,
    labels: BTreeMap<String, String>,
    departure: Departure,
}

/// The end of the connections that a PMDA had which did not end as it should.
const RESTARTED: &str = "the PMDA was restarted";

struct Reader<'s> {
    book: Book,
    faults: Vec<String>,
    kept: Vec<String>,
    agent_ids: HashSet<u32>,
    /// The ids seen so far, by domain name.
    seen: HashMap<String, HashSet<u32>>,
    /// Peers of each source that are not forgotten.
    gone: Vec<Vec<Gone>>,
    /// Time of leaving for peers and rows that were present when the file was written.
    last: i64,
    store: &'s Store,
}

impl Book {
    /// Fills the store and the book from a file. Restored peers are not connected; of each source
    /// the newest `limits.instances` that left within `limits.forget` are instances. A time of
    /// leaving in the future counts as now.
    #[must_use]
    pub fn restore(loaded: Loaded, store: &Store, now: Now) -> (Self, Restored) {
        let head = loaded.records.iter().find_map(|r| match r {
            Record::Head { saved, clean: true, .. } => Some((*saved).min(now.wall.sec)),
            _ => None,
        });
        let mut reader = Reader {
            book: Self::new(store.catalogue()),
            faults: Vec::new(),
            kept: loaded.kept,
            agent_ids: HashSet::new(),
            seen: HashMap::new(),
            gone: store.catalogue().sources().map(|_| Vec::new()).collect(),
            last: head.unwrap_or(now.wall.sec),
            store,
        };
        if loaded.damaged > 0 {
            reader.faults.push(format!(
                "{} damaged lines; their ids are not given to others",
                loaded.damaged
            ));
        }
        loaded.records.into_iter().for_each(|record| reader.take(record));
        let metrics = reader.names();
        reader.peers(now);
        let Reader { mut book, faults, kept, .. } = reader;
        book.kept = Arc::new(kept);
        (book, Restored { metrics, faults })
    }

    fn mark(&mut self, of: &str) -> Option<&mut Mark> {
        if of == "agent" {
            return Some(&mut self.agents);
        }
        let (name, what) = of.split_once(' ').unwrap_or((of, ""));
        if let Some(source) = self.catalogue.id(name) {
            let shelf = self.shelves.get_mut(source.index())?;
            return match what {
                "" => Some(&mut shelf.peers.mark),
                "names" => Some(&mut shelf.names_mark),
                "sums" => shelf.totals_mark.as_mut(),
                _ => None,
            };
        }
        self.table(of).map(|d| &mut d.mark)
    }

    fn table(&mut self, name: &str) -> Option<&mut Domain> {
        let mut tables = self
            .catalogue
            .sources()
            .flat_map(|(id, s)| s.tables.iter().enumerate().map(move |(t, def)| (id, t, s, def)));
        let (source, table, ..) = tables.find(|(.., s, def)| table_name(s, def) == name)?;
        self.shelves.get_mut(source.index())?.tables.get_mut(table)
    }
}

impl Reader<'_> {
    /// Adds one record. Of two contradictory records the first wins.
    fn take(&mut self, record: Record) {
        let catalogue = Arc::clone(&self.book.catalogue);
        let known = |name: &str| catalogue.id(name);
        match record {
            Record::Head { .. } => {}
            Record::Next { ref of, next } => match self.book.mark(of) {
                Some(mark) => mark.raise(next),
                None => self.keep(&record),
            },
            Record::Name { ref source, id, .. } => match known(source) {
                Some(_)
                    if id as usize >= DYNAMIC_MAX
                        || !self.first(&format!("{source} names"), id) =>
                {
                    self.faults.push(format!("{source}: {record:?} contradicts others"));
                }
                Some(n) => {
                    let shelf = self.book.shelves.get_mut(n.index());
                    shelf.into_iter().for_each(|shelf| {
                        shelf.pass_name(id);
                        let named = Named { record: Arc::new(record.clone()), metric: None };
                        shelf.names.insert(id, named);
                    });
                }
                None => self.keep(&record),
            },
            Record::Peer { ref source, .. } => match known(source) {
                Some(n) => self.peer(n, record),
                None => self.stranger(record),
            },
            Record::Row { ref table, ref key, id, left } => {
                if self.book.table(table).is_none() {
                    return self.keep(&record);
                }
                let first = self.first(table, id);
                let Some(domain) = self.book.table(table) else { return };
                if !first || domain.get(key).is_some() {
                    return self.faults.push(format!("{record:?} contradicts others"));
                }
                let holder = Holder::Nobody(left.unwrap_or(self.last));
                domain.put(Entry { name: key.as_str().into(), id, agent: None, holder });
            }
        }
    }

    /// Keeps a record of an unknown source or table, to write it back.
    fn keep(&mut self, record: &Record) {
        self.kept.extend(serde_json::to_string(record));
    }

    /// Keeps a peer of an unknown source. Its id in the domain of all agents is nobody else's.
    fn stranger(&mut self, mut record: Record) {
        if let Record::Peer { agent, .. } = &mut record {
            *agent = self.agent(*agent);
        }
        self.keep(&record);
    }

    /// A peer's id in the domain of all agents, unless another one has it.
    fn agent(&mut self, agent: Option<u32>) -> Option<u32> {
        let agent = agent.filter(|agent| *agent < ID_MAX && self.agent_ids.insert(*agent))?;
        self.book.agents.pass(agent);
        Some(agent)
    }

    /// The id is valid and was not seen in this domain before.
    fn first(&mut self, of: &str, id: u32) -> bool {
        if !self.seen.contains_key(of) {
            self.seen.insert(of.to_owned(), HashSet::new());
        }
        id < ID_MAX && self.seen.get_mut(of).is_some_and(|seen| seen.insert(id))
    }

    fn peer(&mut self, source: SourceId, record: Record) {
        let first = matches!(&record, Record::Peer { source, id, .. } if self.first(source, *id));
        let Some(peers) = self.book.shelves.get(source.index()).map(|s| &s.peers) else { return };
        if !first || matches!(&record, Record::Peer { name, .. } if peers.get(name).is_some()) {
            return self.faults.push(format!("{record:?} contradicts others"));
        }
        let Record::Peer { name, id, agent, left, forgotten, end, address, labels, .. } = record
        else {
            return;
        };
        let departure = match left {
            Some(_) => end.into(),
            None => Departure::regular(RESTARTED),
        };
        let agent = self.agent(agent);
        let name: Arc<str> = name.into();
        let left = left.unwrap_or(self.last);
        self.book.shelves.get_mut(source.index()).into_iter().for_each(|shelf| {
            let holder = Holder::Nobody(left);
            shelf.peers.put(Entry { name: Arc::clone(&name), id, agent, holder });
        });
        if !forgotten {
            self.gone.get_mut(source.index()).into_iter().for_each(|all| {
                all.push(Gone {
                    name: Arc::clone(&name),
                    left,
                    address: address.clone(),
                    labels: labels.clone(),
                    departure: departure.clone(),
                });
            });
        }
    }

    /// Restores metrics with their ids, lowest id first.
    fn names(&mut self) -> Vec<Arc<DynamicMetric>> {
        let mut metrics = Vec::new();
        let shelves = self.book.shelves.iter_mut();
        for (shelf, (n, source)) in shelves.zip(self.book.catalogue.sources()) {
            for named in shelf.names.values_mut() {
                let Record::Name { id, path, persist, unseen, .. } = &*named.record else {
                    continue;
                };
                let spec = source.dynamic.and_then(|d| (d.restore)(persist));
                let restored = spec.ok_or("it is not understood").and_then(|mut spec| {
                    // The old version's files have no checksums: a name may be damaged.
                    if is_path(path) {
                        path.clone_into(&mut spec.path);
                    }
                    self.store.restore_metric(n, *id as usize, spec)
                });
                match restored {
                    Ok(metric) => {
                        if let Some(metric) = &metric
                            && !unseen
                        {
                            metric.seen();
                        }
                        named.metric.clone_from(&metric);
                        metrics.extend(metric);
                    }
                    Err(why) => self
                        .faults
                        .push(format!("metric {id} of {}, {path} {persist:?}: {why}", source.name)),
                }
            }
            let totals = shelf.totals_mark.map_or(0, |mark| mark.next);
            self.store.reserve_ids(n, shelf.names_mark.next as usize, totals as usize);
        }
        metrics
    }

    /// Makes peers instances again that have not been gone too long.
    fn peers(&mut self, now: Now) {
        let limits = self.store.limits();
        let ids = self.book.catalogue.sources().map(|(id, _)| id);
        for (source, mut all) in ids.zip(self.gone.drain(..)) {
            all.sort_unstable_by(|a, b| b.left.cmp(&a.left).then_with(|| a.name.cmp(&b.name)));
            for peer in all.into_iter().take(limits.instances) {
                let gone = Duration::from_secs(
                    u64::try_from(now.wall.sec.saturating_sub(peer.left)).unwrap_or(0),
                );
                if gone > limits.forget {
                    break;
                }
                if let Some(known) =
                    self.store.restore_peer(source, &peer.name, now.monotonic, gone)
                {
                    known.departed(
                        peer.departure,
                        Now { wall: Stamp { sec: peer.left.min(now.wall.sec), nsec: 0 }, ..now },
                    );
                    let labels = peer.labels.into_iter().map(|(k, v)| (k.into(), v));
                    known.remember(peer.address, limits.shown_labels(labels).collect());
                }
            }
        }
        for (shelf, (_, source)) in self.book.shelves.iter_mut().zip(self.book.catalogue.sources())
        {
            // Entries of restored peers have no holder until the peer joins; they left last, so the
            // trim drops them last.
            shelf.peers.trim(KEEP.saturating_mul(limits.instances));
            for (domain, def) in shelf.tables.iter_mut().zip(source.tables) {
                domain.trim(KEEP.saturating_mul(def.max));
            }
        }
    }
}
