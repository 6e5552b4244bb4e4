//! The metrics, the table, the events and the parameters of live sessions (design/metrics.md,
//! apm.lttng.*).

use super::super::TableDef;
use super::super::define::{event_params, peer_metrics};
use crate::model::{Area, ControlVerb, EventKind, MetricDef, Origin, Semantics, Units, ValueType};

/// First PMID cluster of this source: its static metrics.
pub(super) const CLUSTER: u16 = 192;

peer_metrics! {
    CLUSTER;
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

/// The static metrics, those of the table and the controls.
pub(super) fn metrics() -> Vec<MetricDef> {
    own_metrics().chain(table_metrics()).chain(control_metrics()).collect()
}

/// Cluster of the control metrics, relative to the source's first.
const CONTROL_CLUSTER: u16 = 2;

/// Requests to the session daemon. Those without instances: the text names the session.
fn control_metrics() -> impl Iterator<Item = MetricDef> {
    use ControlVerb::{Context, Enable, Relays, Session, Start, Status, Stop};
    let answer = "The value is what came of the newest request: ok, or what was in the way.";
    let metric = move |name: &str, item, verb, oneline: &'static str, help: &str| MetricDef {
        name: name.to_owned(),
        cluster: CLUSTER + CONTROL_CLUSTER,
        item,
        ty: ValueType::Text,
        sem: Semantics::Discrete,
        units: Units::None,
        area: Area::Own,
        origin: Origin::Control(verb),
        oneline: oneline.into(),
        help: format!("{help} {}", if matches!(verb, Status | Relays) { "" } else { answer })
            .trim_end()
            .to_owned()
            .into(),
    };
    [
        metric("control.session", 0, Session, "Create or destroy a live session (storable)",
            "create NAME [KEY=VALUE ...] with the keys of [[lttng.session]] in the configuration, lists separated by commas; filter= comes last and is everything behind it, without quotes around it; with start=true it is started, else it waits for control.start. Or destroy NAME. Only sessions that this PMDA has created can be changed."),
        metric("control.enable", 1, Enable, "Enable events of a session (storable)", "NAME PATTERN[,PATTERN...], for example s1 demo:*,other:tick; events= before the patterns is allowed."),
        metric("control.context", 2, Context, "Add context fields to a session (storable)", "NAME CONTEXT[,CONTEXT...], for example s1 vpid,vtid; before its first start. contexts= before them is allowed."),
        metric("control.start", 3, Start, "Start a session (storable)", "NAME."),
        metric("control.stop", 4, Stop, "Stop a session (storable)", "NAME."),
        metric("control.status", 5, Status, "How the sessions are that the PMDA makes",
            "A line for each session: its name, a code, and what is the matter and what can be done. Codes: ok, pending, stopped, destroyed, not_installed, no_sessiond, not_permitted, relayd_unreachable, relayd_lost, no_application, no_event, not_ours, per_pid_tail, no_consumer, no_domain, refused, timeout, failed."),
        metric("relay.status", 6, Relays, "How the relay daemons are",
            "A line for each relay daemon of the configuration: its address, a code (connected, unreachable, idle), and what is the matter and what can be done."),
    ]
    .into_iter()
}

/// Rows `HOST/SESSION::PROVIDER:EVENT`.
pub(super) const CLASSES: u8 = 0;
pub(super) const CLASS_COUNT: u16 = 0;
pub(super) const CLASS_BYTES: u16 = 1;

/// The table. Ids in here are in archives: never change them.
pub(super) const TABLES: &[TableDef] = &[TableDef {
    name: "class",
    indom: 30,
    indom_help: (
        "Classes of events of live sessions",
        "One instance for each class of events of which one has come: HOST/SESSION::PROVIDER:EVENT.",
    ),
    of_peer: true,
    max: 16_384,
    score: CLASS_COUNT,
    initial: Vec::new,
}];

/// Cluster of the table's metrics, relative to the source's first.
const TABLE_CLUSTER: u16 = 8;

fn table_metrics() -> impl Iterator<Item = MetricDef> {
    let metric =
        |name: &'static str, item, units, oneline: &'static str, help: &'static str| MetricDef {
            name: name.into(),
            cluster: CLUSTER + TABLE_CLUSTER,
            item,
            ty: ValueType::U64,
            sem: Semantics::Counter,
            units,
            area: Area::Table(CLASSES),
            origin: Origin::Cell,
            oneline: oneline.into(),
            help: help.into(),
        };
    [
        metric(
            "class.count",
            CLASS_COUNT,
            Units::Count,
            "Events of the class",
            "Whether or not they become records.",
        ),
        metric(
            "class.bytes",
            CLASS_BYTES,
            Units::Bytes,
            "Bytes of events of the class",
            "In their packets, headers and alignment included.",
        ),
    ]
    .into_iter()
}

/// Kinds of events.
pub(super) const KINDS: &[EventKind] = &[EventKind {
    name: "record",
    cluster: CLUSTER + 1,
    what: "an event of the trace, at its time in the trace's clock",
    help: "Parameters: event (its name), cpu, stream (channel and processor), then contexts (param.ctx.*) and fields \
           (param.PROVIDER.EVENT.FIELD), typed; of enumerations the number and, in FIELD_label, its label or all of them; arrays and nested \
           structures as text, arrays of bytes in hexadecimal. Bytes that are no UTF-8 are U+FFFD in texts. Names that end in _begin, _start or _entry have the flag START, those in _end, _stop or _exit END.",
}];
pub(super) const RECORD: u8 = 0;

event_params! {
    P_EVENT 1 "event" Text None "name of the event, PROVIDER:EVENT";
    P_CPU 2 "cpu" U32 None "processor";
    P_STREAM 3 "stream" Text None "channel and processor";
    P_FIELDS 4 "fields" Text None "fields that have no parameter of their own, name=value";
}

/// Names below `param` that providers cannot have.
pub(super) const RESERVED: &[&str] = &["lost", "event", "cpu", "stream", "fields", "ctx"];

/// One line and the help text of the instance domain of sessions.
pub(super) const INDOM_HELP: (&str, &str) = (
    "Live sessions of LTTng",
    "One instance for each session that is or was read, called HOST/SESSION. Kernel, 64-bit and 32-bit programs of one session are \
     sessions of their own for the relay daemon and one instance here. It stays for a while after the session is gone (limits.forget).",
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn params_are_found_by_their_items() {
        assert!(PARAMS.iter().zip(1..).all(|(p, item)| p.item == item));
        assert!(PARAMS.iter().all(|p| RESERVED.contains(&p.name)));
    }
}
