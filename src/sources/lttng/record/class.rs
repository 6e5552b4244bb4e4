//! Event record classes: which field becomes which parameter of a record.

use std::collections::HashMap;
use std::sync::Arc;

use super::super::metrics::{
    CLASS_BYTES, CLASS_COUNT, CLASSES, FIELDS_OVERFLOW, Field, P_CPU, P_EVENT, P_FIELDS, P_STREAM,
    is_byte, provider,
};
use crate::contract::{ParamId, Peer};
use crate::ctf::schema::{Encoding, Mappings, Scope};
use crate::ctf::show::IntegerFormat;
use crate::ctf::{EventPlan, Kind, Node, NodeId};
use crate::events::flags::{END, POINT, START};
use crate::events::{Batch, NumberParam, Param32, Param64, RecordTemplate, glob};
use crate::model::{HeapSize, MetricSpec, Pmid, Stamp, ValueType};

/// Which events become records: those that match a pattern of `records` and none of `count_only`.
/// All other events are only counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordFilter {
    /// Patterns of `provider:event`.
    pub records: Vec<String>,
    /// Patterns of `provider:event` of events that are only counted.
    pub count_only: Vec<String>,
    /// Most bytes of the text of an array or structure. A longer text is cut and counted.
    pub field_size: usize,
}

/// Default of [`RecordFilter::field_size`].
pub const FIELD_SIZE: usize = 64 << 10;

impl Default for RecordFilter {
    fn default() -> Self {
        Self { records: vec!["*".into()], count_only: Vec::new(), field_size: FIELD_SIZE }
    }
}

impl RecordFilter {
    fn matches(&self, event: &str) -> bool {
        let fits =
            |patterns: &[String]| patterns.iter().any(|p| glob(p.as_bytes(), event.as_bytes()));
        fits(&self.records) && !fits(&self.count_only)
    }
}

/// Where a decoded value goes.
#[derive(Clone, Debug)]
pub(crate) enum Destination {
    /// Nowhere: only the decoder needs the value, or no parameter can show it.
    Skip,
    /// Into the text of the array or structure around it.
    Inner,
    Param32(Param32),
    Param64(Param64),
    Enumeration(Box<Enumeration>),
    Text(Pmid, Encoding),
    /// Array, structure or bytes: one text.
    Compound(Pmid),
    /// Array of numbers without mappings: one text.
    NumberArray(Box<NumberArray>),
    /// Array of bytes: one text in hexadecimal.
    Bytes(Pmid),
    /// The field has no parameter: its text goes into the parameter `fields`.
    Other,
}

impl Destination {
    /// What the size of the parameters depends on. Values within arrays depend on the array.
    const fn sizes(&self) -> Sizes {
        match self {
            Self::Skip | Self::Inner | Self::Param32(_) | Self::Param64(_) => Sizes::Alike,
            Self::Text(..) | Self::NumberArray(_) | Self::Bytes(_) => Sizes::Texts,
            Self::Enumeration(_) => Sizes::Labels,
            Self::Compound(_) | Self::Other => Sizes::Unknown,
        }
    }

    /// Bytes of the parameter that is a number.
    const fn number_size(&self) -> usize {
        match self {
            Self::Param32(_) => Param32::SIZE,
            Self::Param64(_) => Param64::SIZE,
            Self::Enumeration(enumeration) => enumeration.number.size(),
            _ => 0,
        }
    }
}

/// What the sizes of a class's records depend on; the later ones include the earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Sizes {
    /// Nothing: all parameters are numbers.
    Alike,
    /// Lengths of strings and of arrays of numbers.
    Texts,
    /// Labels of enumerations.
    Labels,
    /// The records must be packed.
    Unknown,
}

/// An enumeration: one parameter for its number, and one for its label unless `limits.names` is
/// reached.
#[derive(Clone, Debug)]
pub(crate) struct Enumeration {
    pub(crate) number: NumberParam,
    pub(crate) label: Option<Pmid>,
    pub(crate) labels: Arc<Mappings>,
}

#[derive(Clone, Debug)]
pub(crate) struct NumberArray {
    pub(crate) pmid: Pmid,
    /// Format of the elements.
    pub(crate) form: IntegerFormat,
}

/// An event record class of one trace.
#[derive(Clone, Debug)]
pub(crate) struct EventClass {
    pub(crate) name: Arc<str>,
    pub(crate) flags: u32,
    /// Events become records; else they are only counted.
    pub(crate) recorded: bool,
    pub(crate) destinations: Arc<[Destination]>,
    /// Nodes of the class, for the texts of arrays and structures.
    pub(crate) nodes: Arc<[Node]>,
    /// Row of the table `class`.
    row: u32,
    /// Start of each record in the current packet: event name, processor and stream.
    prepared: RecordTemplate,
    packet: u64,
    pub(crate) sizes: Sizes,
    /// Bytes of all parameters of a record that are numbers.
    numbers: usize,
    pub(crate) count: u64,
    pub(crate) bits: u64,
}

/// Estimated bytes of a parameter's key: provider, event, field and type.
const PARAM_KEY: usize = 64;

/// Parameters and rows that are defined for one session.
#[derive(Debug, Default)]
pub(crate) struct Definitions {
    host: String,
    session: String,
    slots: HashMap<String, u32>,
    rows: u32,
}

/// Origin of the events of a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PacketOrigin<'a> {
    pub(crate) stream: &'a str,
    pub(crate) cpu: Option<u64>,
    /// Number of the packet within its session.
    pub(crate) packet: u64,
}

impl HeapSize for Definitions {
    /// The size of keys is estimated.
    fn heap_size(&self) -> usize {
        let keys = self.slots.capacity() * PARAM_KEY;
        self.host.heap_size() + self.session.heap_size() + self.slots.heap_size() + keys
    }
}

impl Definitions {
    /// Nothing is defined yet.
    pub(crate) fn new(host: &str, session: &str) -> Self {
        Self { host: host.into(), session: session.into(), ..Self::default() }
    }

    /// Sets the labels of a class's row.
    fn label(&self, plan: &EventPlan, row: u32, peer: &mut Peer) {
        let (host, session) = (self.host.as_str(), self.session.as_str());
        let mut labels = vec![
            ("host", host),
            ("session", session),
            ("provider", provider(&plan.name)),
            ("event", &*plan.name),
        ];
        let level = plan.log_level.and_then(|n| LOG_LEVELS.get(usize::try_from(n).ok()?));
        labels.extend(level.map(|level| ("loglevel", *level)));
        peer.row_labels(CLASSES, row, &labels);
    }

    /// PMID and type of a field's parameter; `None` when a limit refuses it.
    fn param(&mut self, spec: &MetricSpec, peer: &mut Peer) -> Option<(Pmid, ValueType)> {
        let next = u32::try_from(self.slots.len()).unwrap_or(u32::MAX);
        let slot = match self.slots.get(&spec.key) {
            Some(slot) => *slot,
            None => {
                peer.define(next, spec);
                // A refused key is not defined again on this connection. The metadata's limits
                // bound the number of keys.
                self.slots.insert(spec.key.clone(), next);
                next
            }
        };
        peer.param(ParamId::Slot(slot))
    }

    /// Defines a class at its first event.
    pub(crate) fn class(
        &mut self,
        plan: &EventPlan,
        session: &str,
        filter: &RecordFilter,
        peer: &mut Peer,
    ) -> EventClass {
        let row = self.rows;
        self.rows += 1;
        let key: String = format!("{session}::{}", plan.name)
            .chars()
            .map(|c| if c.is_whitespace() { '_' } else { c })
            .collect();
        peer.row(CLASSES, row, Some(&key));
        self.label(plan, row, peer);
        let recorded = filter.matches(&plan.name);
        let destinations = if recorded { self.destinations(plan, peer) } else { Vec::new() };
        let sizes = destinations.iter().map(Destination::sizes).max().unwrap_or(Sizes::Alike);
        let numbers = destinations.iter().map(Destination::number_size).sum();
        EventClass {
            name: Arc::clone(&plan.name),
            flags: flags(&plan.name),
            recorded,
            destinations: destinations.into(),
            nodes: plan.nodes().into(),
            row,
            prepared: RecordTemplate::default(),
            packet: 0,
            sizes,
            numbers,
            count: 0,
            bits: 0,
        }
    }

    fn destinations(&mut self, plan: &EventPlan, peer: &mut Peer) -> Vec<Destination> {
        let nodes = plan.nodes();
        let mut overflow = 0;
        let destinations =
            nodes.iter().zip((1..).map(|next| nodes.get(next))).map(|(node, next)| {
                if node.parent.is_some_and(|parent| !is_scope(parent, nodes)) {
                    return Destination::Inner;
                }
                if !is_field(node, nodes) {
                    return Destination::Skip;
                }
                let param = self.param(&Field::of(&plan.name, node, next, false).spec(), peer);
                let Some((pmid, ty)) = param else {
                    overflow += 1;
                    return Destination::Other;
                };
                match (&node.mappings, node.kind, NumberParam::new(pmid, ty)) {
                    (Some(labels), Kind::Unsigned(_) | Kind::Signed(_), Some(number)) => {
                        let label =
                            self.param(&Field::of(&plan.name, node, next, true).spec(), peer);
                        let label = label.map(|(pmid, _)| pmid);
                        Destination::Enumeration(Box::new(Enumeration {
                            number,
                            label,
                            labels: Arc::clone(labels),
                        }))
                    }
                    (_, Kind::String(encoding), _) => Destination::Text(pmid, encoding),
                    (_, kind, _) if !kind.is_value() || kind == Kind::Blob => {
                        let of_array = next.filter(|of| {
                            matches!(kind, Kind::Array(_))
                                && of.kind.is_value()
                                && of.mappings.is_none()
                        });
                        of_array.map_or(Destination::Compound(pmid), |of| {
                            if is_byte(of) {
                                return Destination::Bytes(pmid);
                            }
                            Destination::NumberArray(Box::new(NumberArray {
                                pmid,
                                form: IntegerFormat::new(of.kind, of.base),
                            }))
                        })
                    }
                    (_, _, Some(NumberParam::Bits32(param))) => Destination::Param32(param),
                    (_, _, Some(NumberParam::Bits64(param))) => Destination::Param64(param),
                    // The metric is not numeric.
                    _ => Destination::Skip,
                }
            });
        let destinations = destinations.collect();
        if overflow > 0 {
            peer.add(FIELDS_OVERFLOW, overflow);
        }
        destinations
    }
}

fn is_scope(id: NodeId, nodes: &[Node]) -> bool {
    nodes.get(id.index()).is_some_and(|node| node.parent.is_none())
}

/// Whether a node is a field of a scope. The length field of a sequence does not count.
fn is_field(node: &Node, nodes: &[Node]) -> bool {
    let shown = matches!(node.scope, Scope::CommonContext | Scope::Context | Scope::Payload)
        && !node.hidden;
    if !shown || !node.parent.is_some_and(|parent| is_scope(parent, nodes)) {
        return false;
    }
    let of = node.name.strip_prefix('_').and_then(|n| n.strip_suffix("_length"));
    let is_length = |array: &Node| {
        array.parent == node.parent
            && Some(&*array.name) == of
            && matches!(array.kind, Kind::Array(None) | Kind::String(_) | Kind::Blob)
    };
    !nodes.iter().any(is_length)
}

/// Names of log levels by number (lttng-ust(3)). Kernel events have no log level.
const LOG_LEVELS: [&str; 15] = [
    "TRACE_EMERG",
    "TRACE_ALERT",
    "TRACE_CRIT",
    "TRACE_ERR",
    "TRACE_WARNING",
    "TRACE_NOTICE",
    "TRACE_INFO",
    "TRACE_DEBUG_SYSTEM",
    "TRACE_DEBUG_PROGRAM",
    "TRACE_DEBUG_PROCESS",
    "TRACE_DEBUG_MODULE",
    "TRACE_DEBUG_UNIT",
    "TRACE_DEBUG_FUNCTION",
    "TRACE_DEBUG_LINE",
    "TRACE_DEBUG",
];

/// Flags of records by the suffix of the event name.
fn flags(name: &str) -> u32 {
    let ends = |all: &[&str]| all.iter().any(|end| name.ends_with(end));
    if ends(&["_begin", "_start", "_entry"]) {
        START
    } else if ends(&["_end", "_stop", "_exit"]) {
        END
    } else {
        POINT
    }
}

impl EventClass {
    /// Begins a record.
    #[inline]
    pub(crate) fn begin(
        &mut self,
        stamp: Stamp,
        origin: &PacketOrigin<'_>,
        common: &CommonParams,
        batch: &mut Batch,
    ) {
        if self.packet == origin.packet {
            return batch.record_from(stamp, &self.prepared);
        }
        self.begin_first(stamp, origin, common, batch);
    }

    /// Begins the first record of a packet and keeps its start as the template of the others.
    #[cold]
    fn begin_first(
        &mut self,
        stamp: Stamp,
        origin: &PacketOrigin<'_>,
        common: &CommonParams,
        batch: &mut Batch,
    ) {
        batch.record(stamp, self.flags);
        let CommonParams { event, cpu, stream, .. } = common;
        if let Some((pmid, _)) = event {
            batch.text(*pmid, &self.name);
        }
        if let (Some((pmid, ty)), Some(number)) = (cpu, origin.cpu) {
            batch.number(*pmid, *ty, number);
        }
        if let Some((pmid, _)) = stream {
            batch.text(*pmid, origin.stream);
        }
        self.prepared = RecordTemplate::of(batch);
        self.packet = origin.packet;
    }

    /// Bytes of each record of a packet, without texts of fields. The batch is empty, and stays so.
    #[inline]
    pub(crate) fn least_size(
        &mut self,
        origin: &PacketOrigin<'_>,
        common: &CommonParams,
        batch: &mut Batch,
    ) -> usize {
        if self.packet != origin.packet {
            self.begin_first(Stamp::default(), origin, common, batch);
            batch.clear();
        }
        self.prepared.size() + self.numbers
    }

    /// A copy that no packet has used.
    pub(crate) fn unused(&self) -> Self {
        Self { packet: 0, prepared: RecordTemplate::default(), ..self.clone() }
    }

    /// Reports the counts since the last call.
    pub(crate) fn tell(&mut self, peer: &mut Peer) {
        let more = std::mem::take(&mut self.count);
        if more > 0 {
            let bytes = std::mem::take(&mut self.bits) / 8;
            peer.row_add(self.row, CLASS_COUNT, more);
            peer.row_add(self.row, CLASS_BYTES, bytes);
        }
    }
}

/// Parameters that are no fields of an event record class, with their types.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommonParams {
    event: Option<(Pmid, ValueType)>,
    cpu: Option<(Pmid, ValueType)>,
    stream: Option<(Pmid, ValueType)>,
    /// Fields without a parameter.
    pub(crate) fields: Option<(Pmid, ValueType)>,
}

impl CommonParams {
    pub(crate) fn new(peer: &Peer) -> Self {
        let [event, cpu, stream, fields] =
            [P_EVENT, P_CPU, P_STREAM, P_FIELDS].map(|item| peer.param(ParamId::Item(item)));
        Self { event, cpu, stream, fields }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_by_name() {
        assert_eq!(
            ["a:b_begin", "a:syscall_exit", "a:restart", "x_stop"].map(flags),
            [START, END, POINT, END]
        );
    }

    #[test]
    fn choices() {
        let filter = RecordFilter {
            records: vec!["demo:*".into()],
            count_only: vec!["*:tick".into()],
            ..RecordFilter::default()
        };
        assert_eq!(
            ["demo:all", "demo:tick", "other:all"].map(|e| filter.matches(e)),
            [true, false, false]
        );
        assert!(RecordFilter::default().matches("anything"));
    }
}
