//! Housekeeping: forgets peers that have been gone too long, and frees memory.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{Store, lock};
use crate::store::dynamic_metric::DynamicMetric;
use crate::store::peer::Peer;

/// Bytes of records that one sweep compresses, in about 10 ms: it is the main thread.
const RESTING: usize = 2 << 20;

impl Store {
    /// Called every few seconds: forgets peers gone too long, trims idle streams, measures memory.
    pub fn sweep(&self, now: Duration) {
        let limits = self.limits();
        let mut memory = 0;
        let mut peers: Vec<Arc<Peer>> = Vec::new();
        for table in &self.tables {
            let mut table = lock(table);
            let gone: Vec<String> = (table.peers.values())
                .filter(|p| p.liveness.gone_for(now).is_some_and(|d| d > limits.forget))
                .map(|p| p.name.clone())
                .collect();
            gone.iter().for_each(|name| self.leave(&mut table, name));
            for peer in table.peers.values() {
                // Texts of a stale peer are not shown, unless the source keeps its values.
                if self.catalogue.source(peer.source).is_some_and(|s| !s.keeps_values)
                    && peer.liveness.gone_for(now).is_some_and(|gone| gone > limits.stale)
                {
                    peer.forget_texts();
                }
                peer.charge_cells(&self.memory);
            }
            peers.extend(table.peers.values().cloned());
            memory += table
                .by_key
                .values()
                .chain(table.dropped.values())
                .map(|m| size_of::<DynamicMetric>() + 4 * m.spec.help.len())
                .sum::<usize>();
        }
        self.rest(now, &peers);
        for ((_, source), tables) in self.catalogue.sources().zip(&self.rows) {
            for (def, table) in source.tables.iter().zip(tables) {
                let mut rows = lock(table);
                rows.sweep(def, now);
                memory += rows.memory();
            }
        }
        lock(&self.metrics).set(memory);
        self.relieve(now);
    }

    /// Trims all streams and compresses idle ones, beginning where the last sweep has ended. No table
    /// is locked: peers that come and go need not wait.
    fn rest(&self, now: Duration, peers: &[Arc<Peer>]) {
        peers.iter().flat_map(|p| p.streams()).for_each(|stream| stream.trim(now));
        let start = self.rested.load(Ordering::Relaxed) % peers.len().max(1);
        let (before, after) = peers.split_at(start);
        let (mut bytes, mut done) = (0, 0);
        for peer in after.iter().chain(before) {
            if bytes >= RESTING {
                break;
            }
            bytes += peer.streams().map(|stream| stream.rest()).sum::<usize>();
            done += 1;
        }
        self.rested.store(start + done, Ordering::Relaxed);
    }

    /// When large users have no room left, drops the texts of disconnected peers; if that is not
    /// enough, forgets disconnected peers, longest gone first.
    pub(super) fn relieve(&self, now: Duration) {
        if self.memory.over() == 0 {
            return;
        }
        for table in &self.tables {
            lock(table)
                .peers
                .values()
                .filter(|p| p.liveness.gone_for(now).is_some())
                .for_each(|p| p.forget_texts());
        }
        let mut over = self.memory.over();
        for table in &self.tables {
            let mut table = lock(table);
            let gone = table
                .peers
                .values()
                .filter_map(|p| Some((p.liveness.gone_for(now)?, p.name.clone(), p.charged())));
            let mut gone: Vec<(Duration, String, usize)> = gone.collect();
            gone.sort_by(|a, b| b.cmp(a));
            for (_, name, bytes) in gone {
                if over == 0 {
                    return;
                }
                self.leave(&mut table, &name);
                over = over.saturating_sub(bytes);
            }
        }
    }
}
