//! Housekeeping: forgets peers that have been gone too long, and frees memory.

use std::time::Duration;

use super::{Store, lock};
use crate::model::TableId;
use crate::store::dynamic_metric::DynamicMetric;

/// Most bytes of records that one sweep compresses, in about 40 ms.
const RESTING: usize = 8 << 20;

impl Store {
    /// Called every few seconds: forgets peers gone too long, trims idle streams, measures memory.
    pub fn sweep(&self, now: Duration) {
        let limits = self.limits();
        let mut memory = 0;
        let mut resting = 0;
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
            for stream in table.peers.values().flat_map(|p| p.streams()) {
                stream.trim(now);
                if resting < RESTING {
                    resting += stream.rest();
                }
            }
            memory += table
                .by_key
                .values()
                .map(|m| size_of::<DynamicMetric>() + 4 * m.spec.help.len())
                .sum::<usize>();
        }
        for ((source, _), tables) in self.catalogue.sources().zip(&self.rows) {
            for (n, table) in (0..).zip(tables) {
                self.change_rows(source, TableId::new(n), |def, rows, changes| {
                    rows.promote(def, changes)
                });
                memory += lock(table).memory();
            }
        }
        lock(&self.metrics).set(memory);
        self.relieve(now);
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
