//! The value of a metric of one peer, or of the PMDA itself.

use std::sync::Arc;
use std::time::Duration;

use pmda::process::{cpu_time, resident_memory};
use pmda::{IN_NULL, Results};

use super::scope::{FetchScope, World};
use super::tables;
use crate::callbacks::contexts::SharedFilter;
use crate::callbacks::entries::Row;
use crate::catalogue::{AgentCell, Stat};
use crate::events::StreamStats;
use crate::model::{EventLeaf, InDom, Leaf, StreamKind, ValueSource};
use crate::store::{Peer, Store};

/// Adds the value of a metric without instances: one of the PMDA, or a parameter, which has no
/// values.
pub(super) fn own(row: &Row, store: &Store, now: Duration, results: &mut Results) {
    match row.value {
        ValueSource::SelfStat => self_stat(row, store, now, results),
        ValueSource::Control(control) => {
            if let Some(control_queue) = row.source.and_then(|source| store.control_queue(source)) {
                results.text(IN_NULL, &control_queue.answered(control));
            }
        }
        _ => {}
    }
}

fn self_stat(row: &Row, store: &Store, now: Duration, results: &mut Results) {
    let bits = match Stat::by_item(row.item) {
        Some(Stat::Version) => return results.text(IN_NULL, env!("PMDAAPM_VERSION")),
        Some(Stat::ConfigFile) => {
            return results.text(IN_NULL, &store.stats.config_file());
        }
        Some(Stat::Confinement) => {
            return results.text(IN_NULL, &store.stats.confinement());
        }
        Some(Stat::AccessReason) => {
            return results.text(IN_NULL, &store.stats.access_reason());
        }
        Some(Stat::Uptime) => nanoseconds(store.stats.uptime(now)),
        Some(Stat::CpuUser) => nanoseconds(cpu_time().0),
        Some(Stat::CpuSys) => nanoseconds(cpu_time().1),
        Some(Stat::MemoryRss) => resident_memory() as u64,
        Some(stat) => store.memory_stat(stat).unwrap_or_else(|| store.stats.get(stat)),
        None => return,
    };
    results.number(IN_NULL, row.ty, bits);
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The value of a metric for one peer, if it has one: all but the numbers of its cells.
pub(super) fn value(
    row: &Row,
    inst: u32,
    peer: &Peer,
    world: &World<'_>,
    scope: &mut FetchScope,
    results: &mut Results,
) {
    // Values of `apm.agent` stay valid when the agent is gone; values that it sent do not.
    let agents = row.indom == InDom::Agents;
    let source = world.store.catalogue().source(peer.source);
    let keeps = source.is_some_and(|s| s.keeps_values);
    let of_runtime = source.is_some_and(|s| !s.runtime.is_empty());
    let current = agents || keeps || peer.liveness.fresh(scope.now, scope.stale);
    let bits = match row.value {
        ValueSource::Idle => u64::try_from(peer.liveness.idle(scope.now).as_nanos()).ok(),
        ValueSource::Text if agents && row.item == AgentCell::SOURCE => {
            return results.text(inst, peer.protocol());
        }
        ValueSource::Text if agents && row.item == AgentCell::NAME => {
            return results.text(inst, &peer.agent_name());
        }
        ValueSource::Text if agents && row.item == AgentCell::SERVICE => {
            return text(inst, peer.service(), results);
        }
        ValueSource::Text if agents && row.item == AgentCell::STATE => {
            return results.text(inst, &peer.state(scope.now, scope.stale));
        }
        ValueSource::Text if agents && row.item == AgentCell::SINCE => {
            return text(inst, peer.since().map(Arc::from), results);
        }
        ValueSource::Text if agents => return results.text(inst, &peer.address()),
        ValueSource::Control(control) => return results.text(inst, &peer.answer(control)),
        ValueSource::Event(kind, leaf) => {
            let stream = StreamKind { source: peer.source, kind };
            return event(row, inst, peer, (stream, leaf), world, scope, results);
        }
        ValueSource::Column(item) => {
            return text(inst, peer.text(item).filter(|_| current), results);
        }
        ValueSource::RecentColumn(column) => {
            let fresh = peer.liveness.fresh(scope.now, scope.stale);
            return text(inst, peer.text(column).filter(|_| fresh), results);
        }
        ValueSource::Text => return text(inst, peer.text(row.item).filter(|_| current), results),
        // Numbers are answered by `Columns`.
        ValueSource::Cell | ValueSource::Recent => None,
        // Numbers by `roll_ups`.
        ValueSource::RollUp(Leaf::State) if of_runtime => {
            return results.text(inst, &peer.state(scope.now, scope.stale));
        }
        ValueSource::RollUp(Leaf::Since) if of_runtime => {
            return text(inst, peer.since().map(Arc::from), results);
        }
        ValueSource::RollUp(_) => None,
        ValueSource::Param | ValueSource::SelfStat | ValueSource::Members => None,
    };
    if let Some(bits) = bits {
        results.number(inst, row.ty, bits);
    }
}

fn text(inst: u32, text: Option<Arc<str>>, results: &mut Results) {
    if let Some(text) = text {
        results.text(inst, &text);
    }
}

/// The value of a leaf of an event stream.
fn event(
    row: &Row,
    inst: u32,
    peer: &Peer,
    (kind, leaf): (StreamKind, EventLeaf),
    world: &World<'_>,
    scope: &mut FetchScope,
    results: &mut Results,
) {
    let contexts = world.contexts;
    let ctx = scope.context;
    let filter = || contexts.known(ctx).and_then(|c| c.filter(kind, inst));
    match leaf {
        EventLeaf::Filter => {
            return results.text(inst, &filter().map(SharedFilter::text).unwrap_or_default());
        }
        EventLeaf::FilterError => {
            if let Some(why) = contexts.refused(kind, ctx) {
                results.text(inst, why);
            }
            return;
        }
        _ => {}
    }
    let stream = peer.existing_stream(kind.kind);
    // A stream without records takes no memory until a client reads it.
    let stats = match stream {
        Some(stream) => stream.stats(),
        None if peer.was_attached() => StreamStats::default(),
        None => return,
    };
    let number = match leaf {
        EventLeaf::Count => stats.count,
        EventLeaf::Bytes => stats.bytes,
        EventLeaf::Lost => stats.lost,
        EventLeaf::Memory => stats.memory,
        EventLeaf::Clients => stats.clients.into(),
        EventLeaf::Truncated => stats.truncated,
        EventLeaf::Table | EventLeaf::Slowest => {
            if let Some(stream) = stream {
                tables::answer((inst, peer, stream), (kind, leaf), world, scope, results);
            }
            return;
        }
        EventLeaf::Filter | EventLeaf::FilterError => return,
        EventLeaf::Records | EventLeaf::HighResRecords => {
            let delivery = scope.deliveries.get_mut(&(kind, inst));
            let array = delivery.and_then(|delivery| match leaf {
                EventLeaf::Records => delivery.low.take(),
                _ => delivery.high.take(),
            });
            if let Some(array) = array {
                results.array(inst, array);
            }
            return;
        }
    };
    results.number(inst, row.ty, number);
}
