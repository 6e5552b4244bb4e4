//! The values of `apm.runtime` and `apm.service`: sums of what the sources have under their own names.

use std::collections::HashMap;
use std::sync::Arc;

use pmda::Results;

use super::scope::{FetchScope, World};
use crate::callbacks::entries::Row as Metric;
use crate::callbacks::instances::Service;
use crate::catalogue::{AGENT_INDOM, Part, SERVICE_INDOM, parts};
use crate::model::{InDom, Leaf, RowItem, SourceId, Units, ValueSource, ValueType};
use crate::store::{Peer, Row};

/// Sums over the rows of peers, by peer.
type Sums = HashMap<*const Peer, u64, foldhash::fast::RandomState>;
/// Those of a metric, of all rows or of those whose name ends with a component.
type OfRows = HashMap<(SourceId, RowItem, Option<&'static str>), Sums>;

/// Adds the values of a leaf to the open set.
pub(super) fn answer(
    metric: &Metric,
    leaf: Leaf,
    scope: &mut FetchScope,
    world: &World<'_>,
    results: &mut Results,
) {
    if metric.indom == InDom::Services {
        let services = Some(world.instances.services());
        return scope.visit(
            world,
            SERVICE_INDOM,
            services.zip(services),
            results,
            |scope, results, inst, of| {
                if let Some(bits) = of_service(leaf, of, scope, world) {
                    results.number(inst, metric.ty, bits);
                }
            },
        );
    }
    let mut sums = OfRows::new();
    let peers = world.instances.peers(AGENT_INDOM);
    scope.visit(world, AGENT_INDOM, peers.zip(peers), results, |scope, results, inst, peer| {
        if let Some(bits) = of_peer(leaf, peer, &mut sums, scope, world, results) {
            results.number(inst, metric.ty, bits);
        }
    });
}

/// The value of a peer.
fn of_peer(
    leaf: Leaf,
    peer: &Peer,
    sums: &mut OfRows,
    scope: &FetchScope,
    world: &World<'_>,
    results: &mut Results,
) -> Option<u64> {
    let source = world.store.catalogue().source(peer.source)?;
    let parts = parts(source, leaf, false)?;
    let keeps = source.keeps_values && !leaf.is_instant();
    if !keeps && !peer.liveness.fresh(scope.now, scope.stale) {
        return None;
    }
    let mut of_rows = |item, name| {
        let made = || rows(peer.source, item, name, world, results);
        sums.entry((peer.source, item, name))
            .or_insert_with(made)
            .get(&std::ptr::from_ref(peer))
            .copied()
    };
    parts.iter().find_map(|part| match *part {
        Part::Metrics(items) => sum(items.iter().map(|item| peer.cells.get(item.get()))),
        Part::Rows(item) => of_rows(item, None),
        Part::Row(item, name) => of_rows(item, Some(name)),
        Part::Dynamic(keys) => {
            dynamic(keys, leaf, peer.source, world, |column| peer.cells.get(column))
        }
        Part::Members => None,
    })
}

/// The sums of a metric over the rows of each peer.
fn rows(
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

/// The value of a service.
fn of_service(leaf: Leaf, service: &Service, scope: &FetchScope, world: &World<'_>) -> Option<u64> {
    let source = world.store.catalogue().source(service.source)?;
    let row: &Row = &service.row;
    let fresh = || !leaf.is_instant() || row.fresh(scope.now, scope.stale);
    let first = |part: &Part| match *part {
        Part::Members => Some(row.members()),
        Part::Rows(item) if fresh() => row.cells.get(item.get()),
        Part::Dynamic(keys) if fresh() => {
            dynamic(keys, leaf, service.source, world, |column| row.brought.get(column))
        }
        _ => None,
    };
    parts(source, leaf, true)?.iter().find_map(first)
}

/// The sum of metrics that peers define, in the units of the leaf.
fn dynamic(
    keys: &[&str],
    leaf: Leaf,
    source: SourceId,
    world: &World<'_>,
    value: impl Fn(u16) -> Option<u64>,
) -> Option<u64> {
    sum(keys.iter().map(|key| {
        let metric = world.entries.rolled_up(source, key)?;
        let ValueSource::Column(column) = metric.value else { return None };
        converted(value(column)?, metric.ty, metric.units, leaf.units())
    }))
}

/// The sum of those that there are.
fn sum(values: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    values.flatten().reduce(u64::wrapping_add)
}

/// A value in other units of the same dimension, as a whole number; less than 0 is 0.
fn converted(bits: u64, ty: ValueType, from: Units, to: Units) -> Option<u64> {
    const TIME: [u64; 4] = [1, 1000, 1_000_000, 1_000_000_000];
    let value = match ty {
        ValueType::U32 | ValueType::U64 => bits,
        ValueType::I32 | ValueType::I64 => u64::try_from(bits.cast_signed()).unwrap_or(0),
        _ => return None,
    };
    let (from, to) = (from.fields(), to.fields());
    let dimensions = |f: pcp_event::UnitFields| (f.dim_space, f.dim_time, f.dim_count);
    if dimensions(from) != dimensions(to) || to.scale_space != 0 || to.scale_time != 0 {
        return None;
    }
    let factor = match dimensions(from) {
        (0, 1, 0) => *TIME.get(usize::from(from.scale_time))?,
        (1, 0, 0) => 1_u64.checked_shl(10 * u32::from(from.scale_space))?,
        _ => 1,
    };
    Some(value.saturating_mul(factor))
}
