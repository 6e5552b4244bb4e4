//! The metrics, the table, the events and the parameters of live sessions (docs/metrics.md, apm.lttng.*); the metric of a
//! field's parameter, and the line that restores it after a restart.

use std::fmt::Write as _;

use crate::catalogue::{ControlDef, InDomDef, TableDef};
use crate::ctf::schema::Scope;
use crate::ctf::{Kind, Node};
use crate::model::TableCell::{Named, Others, Param};
use crate::model::{
    ControlId, EventKind, EventKindId, EventTable, InDom, MetricSpec, Place, Semantics, TableId,
    Units, ValueType, component,
};
use crate::{event_params, listed, peer_metrics, row_metrics};

/// First PMID cluster of this source: its static metrics.
pub(super) const CLUSTER: u16 = 192;

peer_metrics! {
    UP 0 "session.up" U32 Instant None Cell "1 while the session is read, else 0" "0: the relay daemon is not there or has lost the session, the session was destroyed, or another viewer has it; session.state says which.";
    STATE 1 "session.state" Text Discrete None Text "Whether the session is read, and why not" "reading, or what is in the way and what can be done.";
    STREAMS 2 "session.streams" U32 Instant Count Cell "Streams that are open" "One for each processor and channel; of each process where buffers are not shared.";
    PACKETS 3 "session.packets" U64 Counter Count Cell "Packets read" "Sub-buffers that the tracer has written.";
    BYTES 4 "session.bytes" U64 Counter Bytes Cell "Bytes of packets read" "Bytes of the packets as the relay daemon sends them, without padding.";
    EVENTS 5 "session.events" U64 Counter Count Cell "Events decoded" "Each is counted, also in class.count; records of them are event.record.count.";
    DISCARDED 6 "session.discarded" U64 Counter Count Cell "Events that the tracer discarded" "Because its buffers were full: larger or more sub-buffers, fewer events, or a blocking time-out help.";
    PACKETS_LOST 7 "session.packets_lost" U64 Counter Count Cell "Packets that were written and did not come" "Gaps in the packets' numbers: overwritten, cleared (lttng clear), or passed over (session.packets_skipped).";
    PACKETS_SKIPPED 8 "session.packets_skipped" U64 Counter Count Cell "Packets that were passed over" "Too large, or the relay daemon could not read them.";
    DECODE_ERRORS 9 "session.decode_errors" U64 Counter Count Cell "Packets and declarations that could not be decoded" "The rest of such a packet is lost, or the events of such a class. The log says more.";
    RECONNECTS 10 "session.reconnects" U64 Counter Count Cell "Times that the session was attached again" "After the relay daemon or the connection to it had gone, or the session was created anew under its name.";
    LATENCY 11 "session.latency" U64 Instant Nanoseconds Recent "How far the newest packet was behind when it came" "From the end of the newest packet to its decoding, by this host's clock: at most the live timer and the time of one poll, more when something cannot keep up. Clocks of other hosts may differ.";
    FIELDS_OVERFLOW 12 "session.fields_overflow" U64 Counter Count Cell "Fields without a parameter of their own" "Because of limits.names or limits.name_length; records have them in the parameter fields.";
}

/// Cluster of the control metrics, relative to the source's first.
const CONTROL_CLUSTER: u16 = 2;

/// A request of a user; the value is the answer.
macro_rules! request {
    ($item:literal $name:literal $oneline:literal $help:literal) => {
        ControlDef {
            storable: true,
            ..readable(
                $item,
                $name,
                $oneline,
                concat!(
                    $help,
                    " The value is what came of the newest request: ok, or what was in the way."
                ),
            )
        }
    };
}

/// A control that is only read.
const fn readable(
    item: u16,
    name: &'static str,
    oneline: &'static str,
    help: &'static str,
) -> ControlDef {
    ControlDef {
        name,
        cluster: CLUSTER + CONTROL_CLUSTER,
        item,
        indom: InDom::Null,
        storable: false,
        needs_text: true,
        takes: |_| true,
        oneline,
        help,
    }
}

listed! {
    /// Requests to the session daemon, and reports. They have no instance: the text of a request
    /// names the session.
    CONTROLS: ControlDef as ControlId;
    /// Create or destroy a session.
    SESSION = request!(
        0 "control.session"
        "Create or destroy a live session (storable)"
        "create NAME [KEY=VALUE ...] with the keys of [[lttng.session]] in the configuration, lists separated by commas; filter= comes last and is everything behind it, without quotes around it; with start=true it is started, else it waits for control.start. Or destroy NAME. Only sessions that this PMDA has created can be changed."
    );
    /// Enable events.
    ENABLE = request!(
        1 "control.enable"
        "Enable events of a session (storable)"
        "NAME PATTERN[,PATTERN...], for example s1 demo:*,other:tick; events= before the patterns is allowed."
    );
    /// Add context fields.
    CONTEXT = request!(
        2 "control.context"
        "Add context fields to a session (storable)"
        "NAME CONTEXT[,CONTEXT...], for example s1 vpid,vtid; before its first start. contexts= before them is allowed."
    );
    /// Start a session.
    START = request!(
        3 "control.start"
        "Start a session (storable)"
        "NAME."
    );
    /// Stop a session.
    STOP = request!(
        4 "control.stop"
        "Stop a session (storable)"
        "NAME."
    );
    /// State of the sessions.
    STATUS = readable(
        5,
        "control.status",
        "How the sessions are that the PMDA makes",
        "A line for each session: its name, a code, and what is the matter and what can be done. Codes: ok, pending, stopped, destroyed, not_installed, no_sessiond, not_permitted, relayd_unreachable, relayd_lost, no_application, no_event, not_ours, per_pid_tail, no_consumer, no_domain, refused, timeout, failed.",
    );
    /// State of the relay daemons.
    RELAYS = readable(
        6,
        "relay.status",
        "How the relay daemons are",
        "A line for each relay daemon of the configuration: its address, a code (connected, unreachable, idle), and what is the matter and what can be done.",
    );
}

listed! {
    /// The table. Archives contain its id, so this never changes.
    TABLES: TableDef as TableId;
    /// Rows `HOST/SESSION::PROVIDER:EVENT`.
    CLASSES = TableDef {
        name: "class",
        cluster: CLUSTER + 8,
        indom: InDomDef {
            serial: 30,
            oneline: "Classes of events of live sessions",
            help: "One instance for each class of events of which one has come: HOST/SESSION::PROVIDER:EVENT.",
        },
        of_peer: true,
        max: 16_384,
        per_peer: 0,
        score: CLASS_COUNT,
        initial: Vec::new,
    };
}

row_metrics! {
    CLASS_COUNT CLASSES 0 "class.count" U64 Counter Count "Events of the class" "Whether or not they become records.";
    CLASS_BYTES CLASSES 1 "class.bytes" U64 Counter Bytes "Bytes of events of the class" "In their packets, headers and alignment included.";
}

listed! {
    /// Kinds of events.
    KINDS: EventKind as EventKindId;
    /// Events of the trace.
    RECORD = EventKind {
        name: "record",
        cluster: CLUSTER + 1,
        what: "an event of the trace, at its time in the trace's clock",
        help: "Parameters: event (its name), cpu, stream (channel and processor), then contexts (param.ctx.*) and fields \
               (param.PROVIDER.EVENT.FIELD), typed; of enumerations the number and, in FIELD_label, its label or all of them; arrays and nested \
               structures as text, arrays of bytes in hexadecimal. Bytes that are no UTF-8 are U+FFFD in texts. Names that end in _begin, _start or _entry have the flag START, those in _end, _stop or _exit END.",
        table: EventTable {
            columns: &[
                ("event", Param(P_EVENT)),
                ("cpu", Param(P_CPU)),
                ("procname", Named("ctx.procname")),
                ("fields", Others(2)),
            ],
            duration: None,
        },
    };
}

event_params! {
    P_EVENT 1 "event" Text None "name of the event, PROVIDER:EVENT";
    P_CPU 2 "cpu" U32 None "processor";
    P_STREAM 3 "stream" Text None "channel and processor";
    P_FIELDS 4 "fields" Text None "fields that have no parameter of their own, name=value";
}

/// Names below `param` that providers cannot have.
pub(super) const RESERVED: &[&str] = &["lost", "event", "cpu", "stream", "fields", "ctx"];

/// The instance domain of sessions.
pub(super) const INDOM: InDomDef = InDomDef {
    serial: 3,
    oneline: "Live sessions of LTTng",
    help: "One instance for each session that is or was read, called HOST/SESSION. Kernel, 64-bit and 32-bit programs of one session are \
     sessions of their own for the relay daemon and one instance here. It stays for a while after the session is gone (limits.forget).",
};

/// Properties of a field, from which its metric is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field<'a> {
    /// `provider:event`; `None` for a context, which all events share.
    pub(crate) event: Option<&'a str>,
    pub(crate) name: &'a str,
    pub(crate) ty: ValueType,
    /// The metric shows the label of an enumeration; else the number.
    pub(crate) label: bool,
    /// Type and labels in words.
    pub(crate) about: String,
}

/// The provider in `PROVIDER:EVENT`. Names of kernel events have no provider.
pub(crate) fn provider(event: &str) -> &str {
    event.split_once(':').map_or(KERNEL, |(provider, _)| provider)
}
const KERNEL: &str = "kernel";

/// Most labels of an enumeration in a help text. No label follows once the text is longer than
/// `ABOUT` bytes.
const LABELS: usize = 32;
const ABOUT: usize = 600;

/// Whether arrays of this element are shown as bytes in hexadecimal.
pub(crate) fn is_byte(element: &Node) -> bool {
    matches!(element.kind, Kind::Unsigned(8) | Kind::Signed(8)) && element.mappings.is_none()
}

/// Type and labels in words: `unsigned integer of 8 bits: RED = 0, GREEN = 1..2`. If `node` is an
/// array, `next` is its element.
fn about(node: &Node, next: Option<&Node>) -> String {
    let bytes = matches!(node.kind, Kind::Array(_)) && next.is_some_and(is_byte);
    let mut text = match node.kind {
        Kind::Unsigned(0) => "unsigned integer of variable length".to_owned(),
        Kind::Unsigned(bits) => format!("unsigned integer of {bits} bits"),
        Kind::Signed(0) => "signed integer of variable length".to_owned(),
        Kind::Signed(bits) => format!("signed integer of {bits} bits"),
        Kind::Boolean(bits) => format!("truth value of {bits} bits"),
        Kind::BitMap(bits) => format!("set of {bits} bits"),
        Kind::Float(bits) => format!("floating-point number of {bits} bits"),
        Kind::String(_) => "text".to_owned(),
        Kind::Blob => "bytes, shown in hexadecimal".to_owned(),
        Kind::Structure => "structure, shown as {name=value,...}".to_owned(),
        Kind::Array(Some(length)) if bytes => {
            format!("array of {length} bytes, shown in hexadecimal")
        }
        Kind::Array(None) if bytes => "sequence of bytes, shown in hexadecimal".to_owned(),
        Kind::Array(Some(length)) => format!("array of {length}, shown as [value,...]"),
        Kind::Array(None) => "sequence, shown as [value,...]".to_owned(),
        Kind::Variant | Kind::Optional => "one of several types, or none".to_owned(),
    };
    let labels = node.mappings.as_ref().map(|l| l.all()).unwrap_or_default();
    for (n, label) in labels.iter().enumerate() {
        if n >= LABELS || text.len() > ABOUT {
            text.push_str(", ...");
            break;
        }
        let ranges = label.ranges.iter().map(|(low, high)| {
            if low == high { format!("{low}") } else { format!("{low}..{high}") }
        });
        let clean: String = label.name.chars().filter(|c| !c.is_control()).take(80).collect();
        let _ = write!(
            text,
            "{} {clean} = {}",
            if n == 0 { ":" } else { "," },
            ranges.take(4).collect::<Vec<_>>().join(" ")
        );
    }
    text
}

/// Value type of the parameter. Arrays and structures are texts.
pub(crate) const fn value_type(kind: Kind) -> ValueType {
    match kind {
        Kind::Unsigned(1..=32) | Kind::Boolean(1..=32) | Kind::BitMap(1..=32) => ValueType::U32,
        Kind::Unsigned(_) | Kind::Boolean(_) | Kind::BitMap(_) => ValueType::U64,
        Kind::Signed(1..=32) => ValueType::I32,
        Kind::Signed(_) => ValueType::I64,
        Kind::Float(_) => ValueType::F64,
        _ => ValueType::Text,
    }
}

impl<'a> Field<'a> {
    /// From a node directly below a scope; `next` is the node after it.
    pub(crate) fn of(event: &'a str, node: &'a Node, next: Option<&Node>, label: bool) -> Self {
        let context = matches!(node.scope, Scope::CommonContext | Scope::Context);
        let ty = if label { ValueType::Text } else { value_type(node.kind) };
        Self {
            event: (!context).then_some(event),
            name: &node.name,
            ty,
            label,
            about: about(node, next),
        }
    }

    /// The metric: `PROVIDER.EVENT.FIELD` or `ctx.NAME`.
    pub(crate) fn spec(&self) -> MetricSpec {
        let Self { event, name, ty, label, about } = self;
        let suffix = if *label { "_label" } else { "" };
        let (path, what, key) = match event {
            None => (
                format!("ctx.{}{suffix}", component(name)),
                format!("context {name}"),
                format!("ctx/{name}"),
            ),
            Some(event) => {
                let (provider, short) = event.split_once(':').unwrap_or((KERNEL, event));
                let mut provider = component(provider);
                if RESERVED.contains(&provider.as_str()) {
                    provider.push('_');
                }
                let path = format!("{provider}.{}.{}{suffix}", component(short), component(name));
                (path, format!("field {name} of {event}"), format!("{event}/{name}"))
            }
        };
        let of = if *label { "label of " } else { "" };
        MetricSpec {
            key: format!("{key}{suffix} {}", ty.name()),
            place: Place::Param,
            path,
            ty: *ty,
            sem: if *ty == ValueType::Text { Semantics::Discrete } else { Semantics::Instant },
            units: Units::None,
            oneline: format!("{of}{what}"),
            help: format!("The {of}{what}. In the trace it is of this type: {about}."),
            labels: event
                .map(|e| ("event", e.to_owned()))
                .into_iter()
                .chain([("field", (*name).to_owned())])
                .collect(),
            persist: self.persist(),
        }
    }

    /// `["U32","demo:tick","seq","unsigned integer of 32 bits"]`. A type with the prefix `l` marks
    /// a label; null instead of the event marks a context.
    fn persist(&self) -> String {
        let ty = format!("{}{}", if self.label { "l" } else { "" }, self.ty.name());
        serde_json::to_string(&(ty, self.event, self.name, &self.about)).unwrap_or_default()
    }
}

/// `Dynamic::restore`: parses a line of `MetricSpec::persist`.
pub(crate) fn restore(line: &str) -> Option<MetricSpec> {
    let (ty, event, name, about): (String, Option<String>, String, String) =
        serde_json::from_str(line).ok()?;
    let (label, ty) = ty.strip_prefix('l').map_or((false, ty.as_str()), |ty| (true, ty));
    let types = [
        ValueType::U32,
        ValueType::U64,
        ValueType::I32,
        ValueType::I64,
        ValueType::F64,
        ValueType::Text,
    ];
    let ty = types.into_iter().find(|t| t.name() == ty)?;
    Some(Field { event: event.as_deref(), name: &name, ty, label, about }.spec())
}

#[cfg(test)]
#[path = "tests/metrics.rs"]
mod metrics_tests;

#[cfg(test)]
#[path = "tests/parameter.rs"]
mod parameter_tests;
