//! Packs an event into a record.

use super::class::{Class, Destination, fields};
use super::value::push;
use crate::contract::{ParamId, Peer};
use crate::events::Batch;
use crate::model::Pmid;
use crate::sources::dotnet::limits::RECORD_TEXT;
use crate::sources::dotnet::metrics::{P_BYTES, P_FIELDS};
use crate::sources::dotnet::nettrace::{Event, Field, Value, Values};

/// Buffers that are used again from event to event.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    part: String,
    others: String,
}

/// Adds the fields of an event to its record. `false`: the payload has less than its fields.
#[inline]
pub(crate) fn pack(
    event: &Event<'_>,
    class: &Class,
    buffers: &mut Buffers,
    batch: &mut Batch,
    peer: &Peer,
) -> bool {
    if class.sized && !event.payload.is_empty() {
        size(event, batch, peer);
    }
    let mut values = Values::new(fields(event.event_type), event.payload);
    for destination in &class.destinations {
        let Some((field, value)) = values.next() else { break };
        match (destination, value) {
            (Destination::Param32(param), Value::I64(value)) => {
                batch.param32(param, value.cast_unsigned());
            }
            (Destination::Param32(param), Value::U64(value)) => batch.param32(param, value),
            (Destination::Param32(param), Value::Bool(value)) => batch.param32(param, value.into()),
            (Destination::Param64(param), Value::I64(value)) => {
                batch.param64(param, value.cast_unsigned());
            }
            (Destination::Param64(param), Value::U64(value)) => batch.param64(param, value),
            (Destination::Param64(param), Value::F64(value)) => {
                batch.param64(param, value.to_bits());
            }
            (Destination::Text(pmid), value) => text(*pmid, value, buffers, batch),
            (Destination::Other, value) => buffers.other(field, value, batch),
            _ => debug_assert!(false, "the value of {} is of another type", field.name),
        }
    }
    if !buffers.others.is_empty() {
        buffers.end_others(batch, peer);
    }
    values.missing() == 0
}

#[inline]
fn text(pmid: Pmid, value: Value<'_>, buffers: &mut Buffers, batch: &mut Batch) {
    batch.begin_text();
    let whole = push(value, &mut buffers.part, &mut batch.text_writer());
    batch.end_text(pmid);
    if !whole {
        batch.count_truncated();
    }
}

#[cold]
fn size(event: &Event<'_>, batch: &mut Batch, peer: &Peer) {
    if let Some((pmid, ty)) = peer.param(ParamId::Item(P_BYTES)) {
        batch.number(pmid, ty, event.payload.len() as u64);
    }
}

impl Buffers {
    /// Appends `name=value` to the parameter `fields`.
    #[cold]
    fn other(&mut self, field: &Field, value: Value<'_>, batch: &mut Batch) {
        if self.others.len() >= RECORD_TEXT {
            return batch.count_truncated();
        }
        if !self.others.is_empty() {
            self.others.push(' ');
        }
        self.others.push_str(&field.name);
        self.others.push('=');
        batch.begin_text();
        let whole = push(value, &mut self.part, &mut batch.text_writer());
        self.others.push_str(&batch.text_writer().text());
        batch.discard_text();
        if !whole {
            batch.count_truncated();
        }
    }

    #[cold]
    fn end_others(&mut self, batch: &mut Batch, peer: &Peer) {
        if let Some((pmid, _)) = peer.param(ParamId::Item(P_FIELDS)) {
            batch.text(pmid, &self.others);
        }
        self.others.clear();
    }

    /// Bytes allocated.
    pub(crate) fn memory(&self) -> usize {
        self.part.capacity() + self.others.capacity()
    }
}
