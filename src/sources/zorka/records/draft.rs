//! The parameters of one record in memory that is used again.

use arrayvec::ArrayVec;

use crate::contract::{EventParam, Peer};
use crate::model::{EventKindId, ParamItem, Stamp};
use crate::sources::zorka::metrics::PARAMS;

const MAX: usize = PARAMS.len();
const _: () = assert!(MAX < u64::BITS as usize, "a bit for each parameter");

/// A parameter: a number, or the end of its text in the draft.
#[derive(Clone, Copy, Debug)]
enum Field {
    Number(u64),
    Text(usize),
}

/// A record that is being made. A parameter is in it once: the first of several counts.
#[derive(Debug, Default)]
pub(super) struct Draft {
    text: String,
    fields: ArrayVec<(ParamItem, Field), MAX>,
    has: u64,
}

impl Draft {
    /// Begins a new record.
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.fields.clear();
        self.has = 0;
    }

    /// The record has the parameter.
    pub(super) const fn has(&self, item: ParamItem) -> bool {
        self.has & 1 << item.get() != 0
    }

    fn add(&mut self, item: ParamItem, field: Field) {
        if self.fields.try_push((item, field)).is_ok() {
            self.has |= 1 << item.get();
        }
    }

    /// Adds a number.
    pub(super) fn number(&mut self, item: ParamItem, value: u64) {
        if !self.has(item) {
            self.add(item, Field::Number(value));
        }
    }

    /// Adds a number that is not 0.
    pub(super) fn positive(&mut self, item: ParamItem, value: u64) {
        if value > 0 {
            self.number(item, value);
        }
    }

    /// Adds the text that `write` appends, if it is not empty.
    pub(super) fn text(&mut self, item: ParamItem, write: impl FnOnce(&mut String)) {
        if self.has(item) {
            return;
        }
        let start = self.text.len();
        write(&mut self.text);
        if self.text.len() > start {
            self.add(item, Field::Text(self.text.len()));
        }
    }

    /// Reports the record.
    pub(super) fn send(&self, kind: EventKindId, stamp: Stamp, flags: u32, peer: &mut Peer) {
        let mut params = ArrayVec::<EventParam<'_>, MAX>::new();
        let mut start = 0;
        for (item, field) in &self.fields {
            params.push(match *field {
                Field::Number(value) => EventParam::number(*item, value),
                Field::Text(end) => {
                    let text = self.text.get(start..end).unwrap_or_default();
                    start = end;
                    EventParam::text(*item, text)
                }
            });
        }
        peer.event(kind, stamp, flags, &params);
    }

    /// Allocated bytes.
    pub(super) fn memory(&self) -> usize {
        self.text.capacity()
    }
}
