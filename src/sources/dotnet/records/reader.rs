//! The records of one process.

use super::rate::Rate;
use super::settings::Settings;
use super::text::cut;
use super::waiting::Waiting;
use crate::events::flags::POINT;
use crate::model::{EventKindId, ParamId, Stamp, Update};
use crate::sources::Sink;
use crate::sources::dotnet::limits::RECORD_MESSAGE;
use crate::sources::dotnet::metrics::{EVENT_KINDS, MISSED, P_MESSAGE, SESSION};

/// Makes the records of one process. Records reach their streams with [`Self::release_sorted`] and
/// [`Self::release`].
#[derive(Debug)]
pub struct Records {
    settings: Settings,
    rates: [Rate; EVENT_KINDS.len()],
    waiting: Waiting,
    /// Records not made since the last report.
    missed: u64,
}

impl Records {
    /// No event yet.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self { settings, rates: Default::default(), waiting: Waiting::default(), missed: 0 }
    }

    /// A new stream of the process begins: event types have new numbers.
    pub fn restart(&mut self, sink: &mut dyn Sink) {
        self.waiting.restart(sink);
    }

    /// A report about reading the process, in words.
    pub fn session_report(&mut self, stamp: Stamp, message: &str, sink: &mut dyn Sink) {
        if !self.allows(SESSION, stamp) {
            return;
        }
        let Some(batch) = self.waiting.batch(SESSION) else { return };
        batch.record(stamp, POINT);
        if let Some((pmid, _)) = sink.param(ParamId::Item(P_MESSAGE)) {
            batch.text(pmid, cut(message, RECORD_MESSAGE));
        }
        self.waiting.complete(SESSION, sink);
    }

    /// An event has the flag *sorted*: none that follows it in the stream is older.
    #[inline]
    pub fn sorted(&mut self, stamp: Stamp) {
        self.waiting.sorted(stamp);
    }

    /// Appends the records that no older one can follow: after each piece of the stream.
    pub fn release_sorted(&mut self, sink: &mut dyn Sink) {
        self.waiting.release(false, sink);
        self.report(sink);
    }

    /// Appends all records: at the end of a batch, when the process has nothing more to send for
    /// now, and at the end of the session. After a call without records the memory is freed.
    pub fn release(&mut self, sink: &mut dyn Sink) {
        self.waiting.release(true, sink);
        self.report(sink);
    }

    /// Bytes allocated.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.waiting.memory()
    }

    fn report(&mut self, sink: &mut dyn Sink) {
        let more = std::mem::take(&mut self.missed);
        if more > 0 {
            sink.update(Update::Count { item: MISSED, more });
        }
    }

    /// Whether an event of this kind and time has a record; one that is over the rate counts as
    /// missed.
    #[inline]
    fn allows(&mut self, kind: EventKindId, stamp: Stamp) -> bool {
        if !self.settings.has(kind) {
            return false;
        }
        let Some(rate) = self.rates.get_mut(kind.index()) else { return false };
        let allowed = rate.allows(stamp, self.settings.step);
        self.missed += u64::from(!allowed);
        allowed
    }
}
