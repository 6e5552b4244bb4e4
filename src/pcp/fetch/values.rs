//! What a metric's value of one peer is, or of the PMDA itself.

use std::ffi::c_int;
use std::sync::Arc;

use super::{FetchScope, NO_INSTANCE, World};
use crate::catalogue::{AgentCell, Stat};
use crate::model::{EventLeaf, InDom, Pmid, StreamKind, ValueSource, ValueType};
use crate::pcp::contexts::Held;
use crate::pcp::entries::Row;
use crate::store::{Peer, Store};

/// A metric without instances: the PMDA's own, or a parameter, which has no values.
pub(super) fn own(row: &Row, store: &Store, scope: &mut FetchScope) -> c_int {
    match row.value {
        ValueSource::SelfStat => self_stat(row, store, scope),
        ValueSource::Control(control) => {
            if let Some(control_queue) = row.source.and_then(|source| store.control_queue(source)) {
                scope.results.text(NO_INSTANCE, &control_queue.answered(control));
            }
        }
        _ => {}
    }
    0
}

fn self_stat(row: &Row, store: &Store, scope: &mut FetchScope) {
    let bits = match Stat::by_item(row.item) {
        Some(Stat::Version) => return scope.results.text(NO_INSTANCE, env!("CARGO_PKG_VERSION")),
        Some(Stat::ConfigFile) => {
            return scope.results.text(NO_INSTANCE, &store.stats.config_file());
        }
        Some(Stat::AccessReason) => {
            return scope.results.text(NO_INSTANCE, &store.stats.access_reason());
        }
        Some(Stat::Uptime) => {
            u64::try_from(store.stats.uptime(scope.now).as_nanos()).unwrap_or(u64::MAX)
        }
        Some(Stat::CpuUser) => super::super::process::cpu_time().0,
        Some(Stat::CpuSys) => super::super::process::cpu_time().1,
        Some(Stat::MemoryRss) => super::super::process::resident_memory() as u64,
        Some(stat) => store.memory_stat(stat).unwrap_or_else(|| store.stats.get(stat)),
        None => return,
    };
    scope.results.number(NO_INSTANCE, row.ty, bits);
}

/// A metric's value of one peer, if it has one.
pub(super) fn value(row: &Row, inst: u32, peer: &Peer, world: &World<'_>, scope: &mut FetchScope) {
    // What is said of an agent stays true when it has gone; what it said itself does not.
    let agents = row.indom == InDom::Agents;
    let keeps = world.store.catalogue().source(peer.source).is_some_and(|s| s.keeps_values);
    let told = agents || keeps || peer.liveness.fresh(scope.now, scope.stale);
    let bits = match row.value {
        ValueSource::Idle => u64::try_from(peer.liveness.idle(scope.now).as_nanos()).ok(),
        ValueSource::Cell if agents => peer.agent.get(row.item),
        ValueSource::Text if agents && row.item == AgentCell::SOURCE => {
            return scope.results.text(inst, peer.protocol());
        }
        ValueSource::Text if agents => return scope.results.text(inst, &peer.address()),
        ValueSource::Control(control) => return scope.results.text(inst, &peer.answer(control)),
        ValueSource::Event(kind, leaf) => {
            let stream = StreamKind { source: peer.source, kind };
            return event(row, inst, peer, (stream, leaf), world, scope);
        }
        ValueSource::Cell => peer.cells.get(row.item).filter(|_| told),
        ValueSource::Recent => {
            peer.cells.get(row.item).filter(|_| peer.liveness.fresh(scope.now, scope.stale))
        }
        ValueSource::Column(column) if row.ty != ValueType::Text => {
            peer.cells.get(column).filter(|_| told)
        }
        ValueSource::Column(item) => return text(inst, peer.text(item).filter(|_| told), scope),
        ValueSource::Text => return text(inst, peer.text(row.item).filter(|_| told), scope),
        ValueSource::Param | ValueSource::SelfStat => None,
    };
    if let Some(bits) = bits {
        scope.results.number(inst, row.ty, bits);
    }
}

fn text(inst: u32, text: Option<Arc<str>>, scope: &mut FetchScope) {
    if let Some(text) = text {
        scope.results.text(inst, &text);
    }
}

/// A leaf of an event stream.
fn event(
    row: &Row,
    inst: u32,
    peer: &Peer,
    (kind, leaf): (StreamKind, EventLeaf),
    world: &World<'_>,
    scope: &mut FetchScope,
) {
    let World { entries, contexts, .. } = *world;
    let ctx = scope.ctx.cast_signed();
    let filter = || contexts.known(ctx).and_then(|c| c.filter(kind, inst));
    match leaf {
        EventLeaf::Filter => {
            return scope.results.text(inst, &filter().map(Held::text).unwrap_or_default());
        }
        EventLeaf::FilterError => {
            if let Some(why) = contexts.refused(kind, ctx) {
                scope.results.text(inst, why);
            }
            return;
        }
        _ => {}
    }
    let Some(stream) = peer.existing_stream(kind.kind) else { return };
    let stats = stream.stats();
    let number = match leaf {
        EventLeaf::Count => stats.count,
        EventLeaf::Bytes => stats.bytes,
        EventLeaf::Lost => stats.lost,
        EventLeaf::Memory => stats.memory,
        EventLeaf::Clients => stats.clients.into(),
        EventLeaf::Truncated => stats.truncated,
        EventLeaf::Table => {
            let version = (stats.count, entries.rows().len());
            if let Some(text) = scope.tables.get(stream.id(), version) {
                return scope.results.text(inst, &text);
            }
            let prefix = format!("apm.{}.param.", peer.protocol());
            let name = |p: Pmid| entries.by_pmid(p.0).map(|r| r.name.trim_start_matches(&prefix));
            let text: Arc<str> = crate::store::csv(stream, name).into();
            // Making it takes longer than copying it.
            scope.results.budget.step(64 + text.len() as u64 / 8);
            scope.tables.put(stream.id(), version, &text);
            return scope.results.text(inst, &text);
        }
        EventLeaf::Filter | EventLeaf::FilterError => return,
        EventLeaf::Records | EventLeaf::HighResRecords => {
            if let Some(delivery) = scope.deliveries.get(&(kind, inst)) {
                let array = if leaf == EventLeaf::Records { &delivery.low } else { &delivery.high };
                if let Some(array) = array {
                    scope.results.array(inst, array);
                }
            }
            return;
        }
    };
    scope.results.number(inst, row.ty, number);
}
