//! The values of `apm.runtime` and `apm.service`: sums of what the sources have under their own names.

use std::collections::HashMap;
use std::sync::Arc;

use pmda::Results;

use super::scope::{FetchScope, World};
use crate::callbacks::entries::Row as Metric;
use crate::catalogue::{AGENT_INDOM, Part, SERVICE_INDOM};
use crate::model::{InDom, Leaf, MetricItem, RowItem, SourceId, Units, ValueSource, ValueType};
use crate::store::{Peer, Row};

/// Sums over the rows of peers, by peer.
type Sums = HashMap<*const Peer, u64, foldhash::fast::RandomState>;

/// What a leaf is made of in a source, looked up once for all its peers or services.
#[derive(Debug, Default)]
struct Made {
    parts: Vec<Found>,
    /// Values stay when the peer is silent or gone.
    keeps: bool,
}

#[derive(Debug)]
enum Found {
    Metrics(&'static [MetricItem]),
    /// Of the peers' rows.
    Rows(Sums),
    /// Of the row of a service itself.
    Row(RowItem),
    Dynamic(Vec<Column>),
    Members,
}

/// A metric that peers define.
#[derive(Clone, Copy, Debug)]
struct Column {
    number: u16,
    signed: bool,
    /// Its unit in that of the leaf.
    factor: u64,
}

/// Adds the values of a leaf to the open set.
pub(super) fn answer(
    metric: &Metric,
    leaf: Leaf,
    scope: &mut FetchScope,
    world: &World<'_>,
    results: &mut Results,
) {
    let (of_service, instant) = (metric.indom == InDom::Services, leaf.is_instant());
    let sources = world.store.catalogue().sources();
    let made: Vec<Made> =
        sources.map(|(source, _)| made(source, leaf, of_service, world, results)).collect();
    let of = |source: SourceId| made.get(source.index());
    if of_service {
        let services = Some(world.instances.services());
        let all = services.zip(services);
        return scope.visit(world, SERVICE_INDOM, all, results, |scope, results, inst, service| {
            let row = &service.row;
            let fresh = !instant || row.fresh(scope.now, scope.stale);
            let value = of(service.source).and_then(|made| of_row(made, row, fresh));
            if let Some(bits) = value {
                results.number(inst, metric.ty, bits);
            }
        });
    }
    let peers = world.instances.peers(AGENT_INDOM);
    scope.visit(world, AGENT_INDOM, peers.zip(peers), results, |scope, results, inst, peer| {
        let shown = |made: &&Made| made.keeps || peer.liveness.fresh(scope.now, scope.stale);
        let value = of(peer.source).filter(shown).and_then(|made| of_peer(made, peer));
        if let Some(bits) = value {
            results.number(inst, metric.ty, bits);
        }
    });
}

/// What a leaf is made of in a source.
fn made(
    source: SourceId,
    leaf: Leaf,
    of_service: bool,
    world: &World<'_>,
    results: &mut Results,
) -> Made {
    let Some(table) = world.store.catalogue().source(source) else { return Made::default() };
    let found = |part: &Part| match *part {
        Part::Metrics(items) => Found::Metrics(items),
        Part::Rows(item) if of_service => Found::Row(item),
        Part::Rows(item) => Found::Rows(sums(source, item, None, world, results)),
        Part::Row(item, name) => Found::Rows(sums(source, item, Some(name), world, results)),
        Part::Dynamic(keys) => {
            let column = |key: &&str| {
                let metric = world.entries.rolled_up(source, key)?;
                let ValueSource::Column(number) = metric.value else { return None };
                let signed = match metric.ty {
                    ValueType::U32 | ValueType::U64 => false,
                    ValueType::I32 | ValueType::I64 => true,
                    _ => return None,
                };
                Some(Column { number, signed, factor: factor(metric.units, leaf.units())? })
            };
            Found::Dynamic(keys.iter().filter_map(column).collect())
        }
        Part::Members => Found::Members,
    };
    let parts = table.parts(leaf, of_service).iter().map(found).collect();
    Made { parts, keeps: table.keeps_values && !leaf.is_instant() }
}

/// The sums of a metric over the rows of each peer, or over those whose name ends with a component.
fn sums(
    source: SourceId,
    item: RowItem,
    name: Option<&str>,
    world: &World<'_>,
    results: &mut Results,
) -> Sums {
    let mut sums = Sums::default();
    let table = world.store.catalogue().table(source, item.table());
    let rows = table.and_then(|table| world.instances.rows(table.indom.serial));
    let called = |row: &Row| {
        name.is_none_or(|name| row.key.strip_suffix(name).is_some_and(|rest| rest.ends_with("::")))
    };
    for row in rows.into_iter().flat_map(|rows| rows.values()).filter(|row| called(row)) {
        results.budget.step(1);
        if let (Some(peer), Some(value)) = (&row.peer, row.cells.get(item.get())) {
            let sum = sums.entry(Arc::as_ptr(peer)).or_default();
            *sum = sum.wrapping_add(value);
        }
    }
    sums
}

/// The value of a peer: the first part that it has.
fn of_peer(made: &Made, peer: &Peer) -> Option<u64> {
    made.parts.iter().find_map(|part| match part {
        Found::Metrics(items) => sum(items.iter().map(|item| peer.cells.get(item.get()))),
        Found::Rows(sums) => sums.get(&std::ptr::from_ref(peer)).copied(),
        Found::Dynamic(columns) => dynamic(columns, |number| peer.cells.get(number)),
        Found::Row(_) | Found::Members => None,
    })
}

/// The value of a service. `fresh`: values that mean now may be shown.
fn of_row(made: &Made, row: &Row, fresh: bool) -> Option<u64> {
    made.parts.iter().find_map(|part| match part {
        Found::Members => Some(row.members()),
        Found::Row(item) if fresh => row.cells.get(item.get()),
        Found::Dynamic(columns) if fresh => dynamic(columns, |number| row.brought.get(number)),
        _ => None,
    })
}

/// The sum of metrics that peers define, in the units of the leaf; less than 0 is 0.
fn dynamic(columns: &[Column], value: impl Fn(u16) -> Option<u64>) -> Option<u64> {
    sum(columns.iter().map(|column| {
        let bits = value(column.number)?;
        let value = if column.signed { bits.cast_signed().max(0).cast_unsigned() } else { bits };
        Some(value.saturating_mul(column.factor))
    }))
}

/// The sum of those that there are.
fn sum(values: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    values.flatten().reduce(u64::wrapping_add)
}

/// A unit in another of the same dimension that is not larger: the smallest one.
fn factor(from: Units, to: Units) -> Option<u64> {
    const TIME: [u64; 4] = [1, 1000, 1_000_000, 1_000_000_000];
    let (from, to) = (from.fields(), to.fields());
    let dimensions = |f: pcp_event::UnitFields| (f.dim_space, f.dim_time, f.dim_count);
    if dimensions(from) != dimensions(to) || to.scale_space != 0 || to.scale_time != 0 {
        return None;
    }
    match dimensions(from) {
        (0, 1, 0) => TIME.get(usize::from(from.scale_time)).copied(),
        (1, 0, 0) => 1_u64.checked_shl(10 * u32::from(from.scale_space)),
        _ => Some(1),
    }
}
