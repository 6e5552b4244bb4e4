//! Events of EventSources: which field becomes which parameter of a record, and the packing.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;

use super::parameter::{Parameter, Shape, clean};
use super::text::push;
use crate::contract::{ParamId, Peer};
use crate::events::flags::{END, POINT, START};
use crate::events::{Batch, NumberParam, Param32, Param64, RecordTemplate};
use crate::model::{HeapSize, MetricSpec, Pmid, Stamp, ValueType};
use crate::sources::dotnet::limits::{RECORD_PARAMETERS, RECORD_TEXT};
use crate::sources::dotnet::metrics::{P_BYTES, P_EVENT, P_FIELDS, P_LEVEL, P_PROVIDER, P_THREAD};
use crate::sources::dotnet::wire::nettrace::{Event, EventType, Field, FieldType, Value, Values};

/// Where a value goes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Destination {
    Param32(Param32),
    Param64(Param64),
    Text(Pmid),
    /// The field has no parameter: its text goes into the parameter `fields`.
    Other,
}

/// A type of events of one stream.
#[derive(Debug)]
pub(crate) struct Class {
    provider: Arc<str>,
    id: u32,
    version: u32,
    flags: u32,
    /// Start of each record without ids: provider, event and level.
    start: RecordTemplate,
    thread: Option<NumberParam>,
    /// Of each of its fields.
    pub(super) destinations: Vec<Destination>,
    /// The payload has bytes without a layout: its size is shown.
    pub(super) sized: bool,
}

impl HeapSize for Class {
    fn heap_size(&self) -> usize {
        self.start.memory() + self.destinations.heap_size()
    }
}

/// Parameters that are defined for one process. Slots are odd numbers: the metrics that
/// a process defines have the even ones.
#[derive(Debug, Default)]
pub(crate) struct Definitions {
    slots: HashMap<Box<str>, u32, RandomState>,
    /// Bytes of the keys.
    bytes: usize,
}

impl HeapSize for Definitions {
    fn heap_size(&self) -> usize {
        self.slots.heap_size() + self.bytes
    }
}

/// The fields that are parameters: those of the object without a name that is around the fields of
/// self-describing events (docs/protocols/dotnet.md 3).
pub(super) fn fields(event_type: &EventType) -> &[Field] {
    match event_type.fields.as_slice() {
        [Field { name, kind: FieldType::Object(inner) }] if name.is_empty() => inner,
        fields => fields,
    }
}

/// Whether an event of any EventSource tells of an error of the source itself
/// (docs/protocols/dotnet.md 7).
pub(crate) fn is_message(event_type: &EventType) -> bool {
    event_type.id == 0 && *event_type.name == *"EventSourceMessage"
}

/// The text of such an event.
pub(crate) fn message(event_type: &EventType, payload: &[u8], limit: usize) -> String {
    // PCP strings end at a NUL.
    let mut message = event_type.provider.replace('\0', "");
    message.push_str(": ");
    if let Some(Value::Text(text)) = Values::new(&event_type.fields, payload).named("message") {
        text.push_to(&mut message, limit);
    }
    message
}

impl Definitions {
    /// PMID and type of a parameter; `None` if there is no room for it.
    fn param(&mut self, spec: &MetricSpec, peer: &mut Peer) -> Option<(Pmid, ValueType)> {
        let slot = match self.slots.get(spec.key.as_str()) {
            Some(slot) => *slot,
            None if self.slots.len() >= RECORD_PARAMETERS => return None,
            None => {
                let slot = u32::try_from(2 * self.slots.len() + 1).ok()?;
                peer.define(slot, spec);
                // A refused key is not defined again.
                self.slots.insert(spec.key.as_str().into(), slot);
                self.bytes += spec.key.len();
                slot
            }
        };
        peer.param(ParamId::Slot(slot))
    }

    /// Defines the parameters of a type at its first event.
    pub(crate) fn class(&mut self, event_type: &EventType, peer: &mut Peer) -> Class {
        let name: Box<str> = if event_type.name.is_empty() {
            event_type.id.to_string().into()
        } else {
            event_type.name.clone()
        };
        let fields = fields(event_type);
        let (provider, event) = (clean(&event_type.provider), clean(&name));
        let mut seen = HashMap::<Cow<'_, str>, u32, RandomState>::default();
        let destinations = fields.iter().map(|field| {
            let name = clean(&field.name);
            let count = seen.entry(name.clone()).or_default();
            let nth = std::mem::replace(count, *count + 1);
            let parameter = Parameter {
                shape: Shape::of(&field.kind),
                provider: &provider,
                event: &event,
                field: &name,
                nth,
            };
            let Some((pmid, ty)) = self.param(&parameter.spec(), peer) else {
                return Destination::Other;
            };
            match NumberParam::new(pmid, ty) {
                Some(NumberParam::Bits32(param)) => Destination::Param32(param),
                Some(NumberParam::Bits64(param)) => Destination::Param64(param),
                None => Destination::Text(pmid),
            }
        });
        let destinations = destinations.collect();
        let flags = flags(event_type);
        Class {
            provider: Arc::clone(&event_type.provider),
            id: event_type.id,
            version: event_type.version,
            destinations,
            flags,
            sized: fields.is_empty() || !event_type.complete,
            start: start(event_type, &name, flags, peer),
            thread: peer.param(P_THREAD.into()).and_then(|(pmid, ty)| NumberParam::new(pmid, ty)),
        }
    }
}

impl Class {
    /// Begins a record. Ids, and flags for them, come before all else: `begin` adds them, if there
    /// are any.
    #[inline]
    pub(crate) fn begin(
        &self,
        event: &Event<'_>,
        stamp: Stamp,
        batch: &mut Batch,
        begin: impl FnOnce(&mut Batch, u32),
    ) {
        if *event.activity == [0; 16] && *event.related == [0; 16] {
            batch.record_from(stamp, &self.start);
        } else {
            begin(batch, self.flags);
            batch.copy_params(&self.start);
        }
        if let Some(thread) = &self.thread {
            batch.number_param(thread, event.thread);
        }
    }

    /// The class was made for this type. An index of a stream can have a new meaning.
    #[inline]
    pub(crate) fn is_of(&self, event_type: &EventType) -> bool {
        Arc::ptr_eq(&self.provider, &event_type.provider)
            && self.id == event_type.id
            && self.version == event_type.version
            && self.destinations.len() == fields(event_type).len()
    }
}

/// The parameters that all events of the type have.
fn start(event_type: &EventType, name: &str, flags: u32, peer: &Peer) -> RecordTemplate {
    let mut batch = Batch::default();
    batch.record(Stamp::default(), flags);
    let mut record = peer.newest(&mut batch);
    record.text(P_PROVIDER, &event_type.provider);
    record.text(P_EVENT, name);
    record.number(P_LEVEL, event_type.level.into());
    RecordTemplate::of(&batch)
}

/// Opcodes 1 and 2, or names that end so, begin and end activities.
fn flags(event_type: &EventType) -> u32 {
    match event_type.opcode {
        1 => START,
        2 => END,
        0 if event_type.name.ends_with("Start") => START,
        0 if event_type.name.ends_with("Stop") => END,
        _ => POINT,
    }
}

/// Buffers that are used again from event to event.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    part: String,
    others: String,
}

crate::heap_size!(Buffers { part, others });

/// Adds the fields of an event to its record. `false`: the payload has less than its fields.
#[inline]
pub(crate) fn pack(
    event: &Event<'_>,
    class: &Class,
    buffers: &mut Buffers,
    batch: &mut Batch,
    peer: &Peer,
) -> bool {
    if class.sized {
        peer.newest(batch).positive(P_BYTES, event.payload.len() as u64);
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
        batch.begin_text();
        let part = &mut self.part;
        let whole = batch.text_writer().pair(|to| to.push(&field.name), |to| push(value, part, to));
        self.others.push_str(&batch.text_writer().text());
        batch.discard_text();
        if !whole {
            batch.count_truncated();
        }
    }

    #[cold]
    fn end_others(&mut self, batch: &mut Batch, peer: &Peer) {
        peer.newest(batch).text(P_FIELDS, &self.others);
        self.others.clear();
    }
}
