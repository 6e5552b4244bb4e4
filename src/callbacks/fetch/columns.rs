//! Numbers of many metrics of the same peers. The peers are walked once for up to [`METRICS`]
//! metrics: with thousands of peers each of them is far away in memory, and its cells lie together.

use pmda::Results;

use super::scope::{FetchScope, World};
use crate::callbacks::entries::Row;
use crate::model::{InDom, Pmid, ValueSource, ValueType};
use crate::store::Cells;

/// Most metrics of one walk.
const METRICS: usize = 64;
/// Most values of one walk, 8 MiB. With 10,000 peers a value of a walk for 64 metrics takes 56 % of
/// the time of one for 13, whose values would stay in the cache.
const VALUES: usize = 1 << 20;

/// A metric to answer.
#[derive(Clone, Copy, Debug)]
struct Column {
    place: usize,
    pmid: Pmid,
    ty: ValueType,
    cell: u16,
    recent: bool,
    /// Of `apm.agent`, whose values stay valid when the agent is gone.
    agents: bool,
}

/// The metrics of one walk, and their values by peer.
#[derive(Debug, Default)]
pub(in crate::callbacks) struct Columns {
    /// Instance domain of the metrics.
    serial: u32,
    /// Values of its source stay valid when the peer is gone.
    keeps: bool,
    /// Most metrics of a walk of that domain.
    most: usize,
    columns: Vec<Column>,
    instances: Vec<u32>,
    /// A bit for each metric that the peer has.
    has: Vec<u64>,
    /// Values by metric, then by peer.
    values: Vec<u64>,
}

impl Column {
    fn new(place: usize, row: &Row) -> Option<Self> {
        let agents = match row.indom {
            InDom::Agents => true,
            InDom::Peers => false,
            InDom::Null | InDom::Services | InDom::Table(_) => return None,
        };
        let (cell, recent) = match row.value {
            ValueSource::Cell => (row.item, false),
            ValueSource::Recent if !agents => (row.item, true),
            ValueSource::Column(column) if !agents => (column, false),
            ValueSource::RecentColumn(column) if !agents => (column, true),
            _ => return None,
        };
        let number = row.ty != ValueType::Text;
        number.then_some(Self { place, pmid: row.pmid, ty: row.ty, cell, recent, agents })
    }
}

impl Columns {
    /// Adds the metric at `place` of the request to the next walk. `false`: it is of another kind or
    /// domain, or the walk has enough.
    pub(super) fn add(&mut self, place: usize, row: &Row, world: &World<'_>) -> bool {
        let Some((column, serial)) = Column::new(place, row).zip(world.entries.serial(row)) else {
            return false;
        };
        if self.columns.is_empty() {
            self.serial = serial;
            let source = row.source.and_then(|source| world.store.catalogue().source(source));
            self.keeps = source.is_some_and(|source| source.keeps_values);
            let peers = world.instances.peers(serial).map_or(0, |peers| peers.len()).max(1);
            self.most = METRICS.min(VALUES / peers).max(1);
        }
        let fits = self.serial == serial && self.columns.len() < self.most;
        if fits {
            self.columns.push(column);
        }
        fits
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Adds the value sets of the metrics; `ended` gets whether each fits.
    pub(super) fn answer(
        &mut self,
        scope: &mut FetchScope,
        world: &World<'_>,
        results: &mut Results,
        mut ended: impl FnMut(bool, Pmid),
    ) {
        if self.is_empty() {
            return;
        }
        let Self { serial, keeps, columns, instances, has, values, .. } = self;
        let peers = world.instances.peers(*serial);
        let room = peers.map_or(0, |peers| scope.count(world, *serial, peers, results));
        values.resize(columns.len() * room, 0);
        let steps = columns.len() as u64;
        let all = peers.zip(peers);
        let done = scope.walk(world, *serial, all, results, |scope, results, inst, peer| {
            let fresh = peer.liveness.fresh(scope.now, scope.stale);
            let at = instances.len();
            let mut bits = 0;
            for (n, column) in columns.iter().enumerate() {
                let cells: &Cells = if column.agents { &peer.agent } else { &peer.cells };
                let current = column.agents || fresh || (*keeps && !column.recent);
                let Some(value) = cells.get(column.cell).filter(|_| current) else { continue };
                if let Some(to) = values.get_mut(n * room + at) {
                    *to = value;
                    bits |= 1 << n;
                }
            }
            instances.push(inst);
            has.push(bits);
            results.budget.step(steps)
        });
        for (n, column) in columns.iter().enumerate() {
            results.begin_set(column.place, column.pmid);
            if done {
                let values = values.get(n * room..).unwrap_or_default();
                let has_it = |bits: u64| bits >> n & 1 == 1;
                if let ([inst], [bits], [value, ..]) = (&**instances, &**has, values) {
                    if has_it(*bits) {
                        results.number(*inst, column.ty, *value);
                    }
                } else {
                    let all = instances.iter().zip(&*has).zip(values);
                    let of_peers = all.filter(|((_, bits), _)| has_it(**bits));
                    results.numbers(column.ty, of_peers.map(|((inst, _), value)| (*inst, *value)));
                }
            } else {
                results.refuse();
            }
            ended(results.end_set(Ok(())), column.pmid);
        }
        columns.clear();
        instances.clear();
        has.clear();
    }

    /// Ends the fetch: memory for more than a few peers is freed.
    pub(super) fn end(&mut self) {
        const KEPT: usize = 4 << 10;
        self.values.clear();
        self.values.shrink_to(KEPT);
        self.instances.shrink_to(KEPT);
        self.has.shrink_to(KEPT);
    }
}
