//! Packs one record with static parameters.

use super::lookup::Origin;
use super::text::{push_guid, push_utf16};
use crate::contract::{ParamId, Peer};
use crate::events::flags::{ID, PARENT};
use crate::events::{Batch, TextWriter};
use crate::model::{ParamItem, Stamp};
use crate::sources::dotnet::metrics::{P_ID, P_PARENT, P_THREAD, P_THREAD_NAME};

/// The newest record of a batch.
pub(super) struct Writer<'w> {
    pub(super) batch: &'w mut Batch,
    pub(super) peer: &'w Peer,
}

impl Writer<'_> {
    /// Begins a record with the ids of its activity, which come first.
    pub(super) fn begin(&mut self, stamp: Stamp, flags: u32, origin: &Origin<'_>) {
        let (id, parent) = (*origin.activity != [0; 16], *origin.related != [0; 16]);
        let ids = if id { ID } else { 0 } | if parent { PARENT } else { 0 };
        self.batch.record(stamp, flags | ids);
        self.guid(P_ID, origin.activity);
        self.guid(P_PARENT, origin.related);
    }

    /// Adds the thread.
    pub(super) fn thread(&mut self, thread: u64, name: &str) {
        self.number(P_THREAD, thread);
        self.text(P_THREAD_NAME, name);
    }

    /// Adds a number, given as its bits in the type of its parameter.
    pub(super) fn number(&mut self, item: ParamItem, bits: u64) {
        if let Some((pmid, ty)) = self.peer.param(ParamId::Item(item)) {
            self.batch.number(pmid, ty, bits);
        }
    }

    /// Adds a number that is known.
    pub(super) fn known(&mut self, item: ParamItem, bits: Option<u64>) {
        if let Some(bits) = bits {
            self.number(item, bits);
        }
    }

    /// Adds a text that is not empty.
    pub(super) fn text(&mut self, item: ParamItem, text: &str) {
        if let (false, Some((pmid, _))) = (text.is_empty(), self.peer.param(ParamId::Item(item))) {
            self.batch.text(pmid, text);
        }
    }

    /// Adds a text of at most `limit` bytes.
    pub(super) fn utf16(&mut self, item: ParamItem, units: &[u8], limit: usize) {
        let mut whole = true;
        self.write(item, |out| whole = push_utf16(units, limit, out));
        if !whole {
            self.batch.count_truncated();
        }
    }

    /// Adds an id that is not all zeros.
    pub(super) fn guid(&mut self, item: ParamItem, id: &[u8; 16]) {
        if *id != [0; 16] {
            self.write(item, |out| push_guid(id, out));
        }
    }

    /// Adds the text that `write` writes.
    pub(super) fn write(&mut self, item: ParamItem, write: impl FnOnce(&mut TextWriter<'_>)) {
        if let Some((pmid, _)) = self.peer.param(ParamId::Item(item)) {
            self.batch.begin_text();
            write(&mut self.batch.text_writer());
            self.batch.end_text(pmid);
        }
    }
}
