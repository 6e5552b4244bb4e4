//! What one read of a connection adds to the counters of its pod: told once, and not for each
//! record.

use crate::model::Update;
use crate::sources::Sink;
use crate::sources::profiler::metrics as m;
use crate::sources::profiler::streams::record::Call;

/// Sums by item number of the static metrics.
#[derive(Debug)]
pub(crate) struct Totals {
    sums: [u64; 64],
}

impl Default for Totals {
    fn default() -> Self {
        Self { sums: [0; 64] }
    }
}

/// Nanoseconds of milliseconds.
pub(crate) const fn ns(ms: u64) -> u64 {
    ms.saturating_mul(1_000_000)
}

impl Totals {
    pub(crate) fn add(&mut self, item: u16, more: u64) {
        if let Some(sum) = self.sums.get_mut(usize::from(item)) {
            *sum = sum.wrapping_add(more);
        }
    }

    /// Everything of a call that needs no names.
    pub(crate) fn call(&mut self, call: &Call<'_>) {
        self.add(m::CALLS, 1);
        self.add(m::TIME, ns(call.duration_ms));
        self.add(m::CPU, ns(call.cpu_ms));
        self.add(m::WAIT, ns(call.wait_ms));
        self.add(m::QUEUE_WAIT, ns(call.queue_wait_ms.into()));
        self.add(m::MEMORY, call.memory);
        self.add(m::NESTED, call.calls.into());
        self.add(m::TRANSACTIONS, call.transactions);
        self.add(m::FILE_READ, call.file_read);
        self.add(m::FILE_WRITTEN, call.file_written);
        self.add(m::NET_READ, call.net_read);
        self.add(m::NET_WRITTEN, call.net_written);
        self.add(m::LOG_WRITTEN, call.logs_written.into());
        self.add(m::LOG_GENERATED, call.logs_generated);
    }

    /// Tells the sums and begins again.
    pub(crate) fn tell(&mut self, sink: &mut dyn Sink) {
        for (item, sum) in (0..).zip(&mut self.sums) {
            let more = std::mem::take(sum);
            if more > 0 {
                sink.update(Update::Count { item, more });
            }
        }
    }
}
