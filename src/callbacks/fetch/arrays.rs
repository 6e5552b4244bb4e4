//! Event arrays of one answer: all streams share what the other values leave of the budget.

use std::cell::RefCell;

use pmda::{InDom, Results, block_bytes};

use super::scope::{FetchScope, World};
use crate::catalogue::PARAM_CLUSTER;
use crate::events::{HighRes, Hold, Limits, ReadRequest, RecordFilter, RecordMatcher, Records};
use crate::model::{Pmid, StreamKind};
use crate::store::Peer;

/// Most bytes of event records of one answer, in both resolutions together; the rest comes with the
/// next fetch.
const ARRAY_BYTES: usize = 8 << 20;
/// Most bytes of event records of one stream in one resolution, for each second since the client's
/// last fetch of it.
const STREAM_BYTES: usize = 1 << 20;
/// Bytes of a stream's two arrays without records: headers and MISSED records.
const EMPTY_BYTES: usize = 256;
/// Most bytes of records that filters examine in one fetch; the rest comes with the next fetch.
const SCAN_BYTES: usize = 32 << 20;
/// Filter steps that take as long as one step of the budget.
const FILTER_STEPS: u64 = 4;

/// Reads an equal share of each stream of the request, so that all arrays together fit the budget.
pub(super) fn deliver(scope: &mut FetchScope, world: &World<'_>, results: &mut Results) {
    let mut jobs: Vec<(StreamKind, u32, &Peer)> = Vec::new();
    let wants = std::mem::take(&mut scope.wants);
    let catalogue = world.store.catalogue();
    let (client, now) = (scope.context.0.cast_unsigned(), scope.now);
    for stream in wants.keys() {
        if scope.hidden.contains(&stream.source) {
            continue;
        }
        let Some(source) = catalogue.source(stream.source) else { continue };
        let serial = source.indom.serial;
        let indom = InDom::new(world.store.domain(), serial);
        if world.profile.includes_new(indom) {
            world.store.reads(client, *stream, scope.now);
        } else {
            world.store.reads_some(client, *stream);
        }
        let peers = world.instances.peers(serial);
        scope.visit(world, serial, peers.zip(peers), results, |_, _, inst, peer| {
            // A stream is there from the attach of its peer on, and made when the first client asks.
            let made = peer.was_attached() && world.store.stream(peer, stream.kind, now).is_some();
            if made || peer.existing_stream(stream.kind).is_some() {
                jobs.push((*stream, inst, peer));
            }
        });
    }
    let mut room = results.budget.bytes().min(ARRAY_BYTES);
    scope.crowded = jobs.len().saturating_mul(EMPTY_BYTES) > room;
    if !scope.crowded && !jobs.is_empty() {
        scope.turn = scope.turn.wrapping_add(1);
        let first = scope.turn % jobs.len();
        jobs.rotate_left(first);
        let mut scan = SCAN_BYTES;
        for (left, (kind, inst, peer)) in (1..=jobs.len()).rev().zip(jobs) {
            let Some(stream) = peer.existing_stream(kind.kind) else { continue };
            let want = wants.get(&kind).copied().unwrap_or_default();
            let arrays = (usize::from(want.low) + usize::from(want.high)).max(1);
            let share = (room / left).saturating_sub(EMPTY_BYTES) / arrays;
            let limits = Limits {
                records: if results.budget.steps() == 0 { 0 } else { scope.max_records },
                rate: STREAM_BYTES,
                bytes: share,
                single_record: room.saturating_sub(left * EMPTY_BYTES) / arrays,
                filter_bytes: scan,
            };
            let cluster = catalogue.source(peer.source).map_or(0, |s| s.cluster + PARAM_CLUSTER);
            let lost = Pmid::new(world.store.domain(), cluster, 0);
            let filter = world.contexts.known(scope.context).and_then(|c| c.filter(kind, inst));
            let names = world.entries.parameters(peer.source);
            let filter = filter.map(|shared| shared.refreshed(&names));
            let matcher = filter.as_ref().map(|f| f.matcher(&peer.name));
            let keeps = matcher.as_ref().map(|m| |record: &[u8]| m.matches(record));
            let budget = RefCell::new(&mut results.budget);
            let may_continue = || {
                let steps = matcher.as_ref().map_or(0, RecordMatcher::take_steps);
                budget.borrow_mut().step(1 + steps / FILTER_STEPS)
            };
            let unnamed = |record: &[u8]| !named(record, world);
            let hold = Hold { any: &|| world.store.defined() > world.shown, record: &unnamed };
            let mut request = ReadRequest {
                hold: Some(hold),
                may_continue: Some(&may_continue),
                now: scope.now,
                ..ReadRequest::new(want, limits, lost)
            };
            request.filter = keeps.as_ref().map(|k| k as RecordFilter<'_>);
            if peer.was_read() {
                world.store.count_seen(1);
            }
            let delivery = stream.read(client, &request);
            let made = [&delivery.low, &delivery.high]
                .into_iter()
                .flatten()
                .map(|array| block_bytes(array.len()));
            let made: usize = made.sum();
            room = room.saturating_sub(made);
            scan = scan.saturating_sub(delivery.scanned);
            results.budget.step(32 + (made + delivery.scanned) as u64 / 256);
            scope.deliveries.insert((kind, inst), delivery);
        }
    }
    scope.wants = wants;
}

/// Whether all parameters of a record have names. A metric is hidden until the disk has its id, but its records come.
fn named(record: &[u8], world: &World<'_>) -> bool {
    Records::<HighRes>::packed(record).flatten().all(|record| {
        record.params.iter().all(|param| world.entries.by_pmid(param.pmid.0).is_some())
    })
}
