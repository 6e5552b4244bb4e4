//! Waits of threads that are no waits for locks.

use super::occurrence::At;
use crate::contract::Peer;
use crate::runtimes::{Layout, Open, Rows};
use crate::sources::dotnet::metrics as m;

const LAYOUT: Layout<1> = Layout { table: m::WAITS, items: [m::WAIT_TIME], label: "wait" };
/// Source of waits by Monitor.Wait.
const MONITOR: u8 = 1;

/// Waits of one process.
#[derive(Debug)]
pub(super) struct Waits {
    /// Beginning and source by thread.
    open: Open<u64, (u64, u8)>,
    rows: Rows<1>,
}

impl Default for Waits {
    fn default() -> Self {
        Self { open: Open::default(), rows: Rows::new(LAYOUT) }
    }
}

impl Waits {
    /// A wait begins.
    pub(super) fn begin(&mut self, at: &At<'_>, source: u8) {
        self.open.begin(at.capture_thread, (at.time, source));
    }

    /// The wait of the thread ends.
    pub(super) fn end(&mut self, owner: &str, at: &At<'_>, peer: &mut Peer) {
        let Some((began, source)) = self.open.end(&at.capture_thread) else { return };
        let time = at.time.saturating_sub(began);
        let name = if source == MONITOR { "monitor" } else { "other" };
        let hash = u64::from(source == MONITOR);
        self.rows.add(owner, hash, [time], peer, |key| key.push_str(name));
    }

    /// Another stream begins.
    pub(super) fn reset(&mut self) {
        self.open = Open::default();
    }

    /// Reports the sums since the last report.
    pub(super) fn report(&mut self, peer: &mut Peer) {
        self.rows.report(peer);
    }

    /// Frees what an idle process does not need.
    pub(super) fn clear(&mut self, peer: &mut Peer) {
        self.open.shrink();
        self.rows.clear(peer);
    }

    /// Allocated bytes.
    pub(super) fn memory(&self) -> usize {
        self.open.memory() + self.rows.memory()
    }
}
