//! What calls add to the numbers of their pod, at once when they come; what hangs on names that
//! come later follows them.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::latency::Latency;
use super::methods::Methods;
use super::totals::{Totals, ns};
use crate::model::{Now, Update, Value};
use crate::sources::Sink;
use crate::sources::profiler::limits;
use crate::sources::profiler::metrics as m;
use crate::sources::profiler::records::entry::Entry;
use crate::sources::profiler::streams::record::Call;
use crate::sources::profiler::words::{Mark, Words};

/// Counters, histogram, latency and root methods of one connection.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    pub(crate) totals: Totals,
    pub(crate) methods: Methods,
    buckets: [u64; m::EDGES.len()],
    latency: Latency,
    /// Calls by parameter and method, where the parameter has no name yet: it may turn out to be
    /// `call.red`.
    unmarked: HashMap<(u32, u32), u64, RandomState>,
}

impl Numbers {
    /// Bytes allocated.
    pub(crate) fn memory(&self) -> usize {
        self.methods.memory() + self.unmarked.capacity() * (size_of::<((u32, u32), u64)>() + 1)
    }

    /// A call; `named`: it has all its names.
    pub(crate) fn call(
        &mut self,
        call: &Call<'_>,
        entry: &Entry,
        named: bool,
        now: Now,
        words: &Words,
        sink: &mut dyn Sink,
    ) {
        self.totals.call(call);
        if let Some(sum) = self.buckets.get_mut(bucket(call.duration_ms) as usize) {
            *sum += 1;
        }
        self.latency.record(now.mono, call.duration_ms);
        let marked = |mark| words.mark(mark).is_some_and(|id| entry.has(id));
        let error = marked(Mark::Red);
        self.totals.add(m::ERRORS, error.into());
        self.totals.add(m::IDLE, marked(Mark::Idle).into());
        let sums = [1, error.into(), ns(call.duration_ms), ns(call.cpu_ms), call.memory];
        self.methods.add(call.method, &sums, now.mono, words, sink);
        if !named {
            self.unmarked(entry, words);
        }
    }

    fn unmarked(&mut self, entry: &Entry, words: &Words) {
        let mut last = None;
        // The values of a parameter come one behind the other.
        for (id, _) in entry.params.iter().filter(|(id, _)| words.get(*id).is_none()) {
            let key = (*id, entry.method);
            if last.replace(*id) != Some(*id)
                && (self.unmarked.len() < limits::UNNAMED || self.unmarked.contains_key(&key))
            {
                *self.unmarked.entry(key).or_default() += 1;
            }
        }
    }

    /// A word has come, or was refused.
    pub(crate) fn word(
        &mut self,
        id: u32,
        word: Option<&str>,
        now: Now,
        words: &Words,
        sink: &mut dyn Sink,
    ) {
        self.methods.word(id, word, sink);
        if self.unmarked.is_empty() {
            return;
        }
        let (red, idle) = (words.mark(Mark::Red) == Some(id), words.mark(Mark::Idle) == Some(id));
        let Self { totals, methods, unmarked, .. } = self;
        unmarked.retain(|(param, method), calls| {
            if *param != id {
                return true;
            }
            if red {
                totals.add(m::ERRORS, *calls);
                methods.add(*method, &[0, *calls, 0, 0, 0], now.mono, words, sink);
            }
            if idle {
                totals.add(m::IDLE, *calls);
            }
            false
        });
    }

    /// Ids mean something else from now on.
    pub(crate) fn forget_words(&mut self) {
        self.methods.forget_words();
        self.unmarked = HashMap::default();
    }

    /// Tells what was added since the last time.
    pub(crate) fn tell(&mut self, sink: &mut dyn Sink) {
        self.totals.tell(sink);
        for (slot, sum) in (0..).zip(&mut self.buckets) {
            let more = std::mem::take(sum);
            if more > 0 {
                sink.update(Update::RowCount { table: m::BUCKETS, slot, item: 0, more });
            }
        }
        self.methods.tell(sink);
    }

    /// Tells the percentiles of the last minute if they have changed.
    pub(crate) fn tell_latency(&mut self, now: Now, sink: &mut dyn Sink) {
        let items = [m::P50, m::P95, m::P99, m::MAX];
        match self.latency.changed(now.mono) {
            Some(Some(p)) => {
                for (item, ms) in items.into_iter().zip([p.p50, p.p95, p.p99, p.max]) {
                    sink.update(Update::Set { item, value: Value::U64(ns(ms)) });
                }
            }
            Some(None) => items.into_iter().for_each(|item| sink.update(Update::Unset { item })),
            None => {}
        }
    }
}

/// The bucket of a duration.
fn bucket(ms: u64) -> u32 {
    let above = m::EDGES.partition_point(|edge| *edge <= ms);
    u32::try_from(above.saturating_sub(1)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_hold_their_lower_ends() {
        for (ms, name) in [
            (0, "0-1"),
            (1, "1-2"),
            (2, "2-5"),
            (9, "5-10"),
            (10, "10-20"),
            (99_999, "50000-100000"),
            (u64::MAX, "100000-inf"),
        ] {
            assert_eq!(m::buckets()[bucket(ms) as usize], name, "{ms}");
        }
    }
}
