//! One stream of a session: from its bytes to updates.
//!
//! ```text
//!  bytes ─▶ nettrace::Reader ─▶ visit (routes by type) ─┬─▶ clr ─▶ meter ─▶ records
//!                                                       └─▶ counters
//! ```

mod clock;
mod frames;
mod parts;
mod route;
mod visit;

pub use clock::Ticks;
pub use parts::{MergedLatencies, Parts};

use bytes::BytesMut;

use super::metrics as m;
use super::nettrace::Reader;
use crate::contract::Peer;
use crate::model::{MetricItem, Now};
use visit::{State, Visit};

/// The stream of one CollectTracing session.
#[derive(Debug, Default)]
pub struct Stream {
    reader: Reader,
    state: State,
    /// Events, bytes and losses that were reported.
    events: u64,
    bytes: u64,
    lost: u64,
}

impl Stream {
    /// Decodes bytes of the stream; leaves a partial token. `ticks`: the host's clock at `now`.
    ///
    /// # Errors
    /// In words: the stream cannot be decoded any further.
    pub fn feed(
        &mut self,
        now: Now,
        ticks: Ticks,
        input: &mut BytesMut,
        parts: &mut Parts,
        peer: &mut Peer,
    ) -> Result<(), String> {
        self.state.clock.at(now, ticks);
        let mut visit = Visit { state: &mut self.state, parts, peer, now };
        self.reader.feed(input, &mut visit).map_err(|error| error.to_string())
    }

    /// Its first bytes were read.
    #[must_use]
    pub const fn began(&self) -> bool {
        self.reader.offset() > 0
    }

    /// Its end tag was read.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.reader.ended()
    }

    /// EventCounters came since the last call.
    pub const fn take_counted(&mut self) -> bool {
        std::mem::replace(&mut self.state.counted, false)
    }

    /// Events of the runtime itself came since the last call.
    pub const fn take_heard(&mut self) -> bool {
        std::mem::replace(&mut self.state.heard, false)
    }

    /// Ends a batch: sums reach the metrics.
    pub fn report(&mut self, now: Now, parts: &mut Parts, peer: &mut Peer) {
        let bytes = self.reader.offset();
        let lost = self.reader.losses().lost();
        let count = |item: MetricItem, more: u64, peer: &mut Peer| {
            if more > 0 {
                peer.add(item, more);
            }
        };
        count(m::BYTES, bytes - std::mem::replace(&mut self.bytes, bytes), peer);
        count(m::LOST, lost - std::mem::replace(&mut self.lost, lost), peer);
        let events = self.reader.events();
        let events = events - std::mem::replace(&mut self.events, events);
        count(m::EVENTS, events, peer);
        count(m::UNKNOWN, std::mem::take(&mut self.state.unknown), peer);
        count(m::BAD, std::mem::take(&mut self.state.bad), peer);
        let newest = std::mem::take(&mut self.state.newest);
        if events > 0
            && let Some(lag) = self.state.clock.age(newest)
        {
            peer.set(m::LAG, lag);
        }
        while let Some(report) = parts.counters.report() {
            parts.records.session_report(self.state.clock.stamp(report.time), &report.text, peer);
        }
        parts.report(now, peer);
    }

    /// Bytes in use.
    #[must_use]
    pub fn held(&self) -> usize {
        size_of::<Self>() + self.reader.held() + self.state.held()
    }
}
