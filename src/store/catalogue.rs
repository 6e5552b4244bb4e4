//! Every static metric with its full name: the PMDA registers it, and `pmns`, `help` and README's
//! table are made from it.

use super::peer::AgentCell;
use super::registry::DynamicMetric;
use super::self_stats::{self};
use crate::model::{Area, EventKind, EventLeaf, MetricDef, Origin, Semantics, Units, ValueType};
use crate::sources::{PARAM_CLUSTER, SOURCES, SourceTable};

/// Serial number of the instance domain of all agents.
pub const AGENT_INDOM: u32 = 0;
const SELF_CLUSTER: u16 = 0;
const AGENT_CLUSTER: u16 = 1;

/// A metric and whose it is.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Full name: `apm.mono.samples`.
    pub name: String,
    /// Position in `SOURCES`; `None` for `apm.self` and `apm.agent`.
    pub source: Option<usize>,
    /// The rest.
    pub def: MetricDef,
}

/// All static metrics.
#[must_use]
pub fn catalogue() -> Vec<Entry> {
    let entry = |prefix: &str, source, def: MetricDef| Entry {
        name: format!("apm.{prefix}.{}", def.name),
        source,
        def,
    };
    let mut all: Vec<Entry> =
        agent_metrics().into_iter().map(|d| entry("agent", None, d)).collect();
    for (i, source) in SOURCES.iter().enumerate() {
        let metrics = (source.metrics)().into_iter().chain(params(source));
        let leaves = source.events.iter().zip(0..).flat_map(|(kind, n)| event_leaves(*kind, n));
        all.extend(metrics.chain(leaves).map(|d| entry(source.name, Some(i), d)));
    }
    all.extend(self_metrics().into_iter().map(|d| entry("self", None, d)));
    all
}

/// The parameter metric that goes with a dynamic metric, described like it but without instances
/// and values.
#[must_use]
pub fn param_entry(metric: &DynamicMetric) -> (String, String) {
    let oneline = format!("Parameter: {}", metric.spec.oneline);
    let values =
        SOURCES.get(metric.source).and_then(|s| s.dynamic).is_some_and(|d| d.node.is_some());
    let what = if values {
        format!(": the value of {} that a record brought", metric.spec.key)
    } else {
        String::new()
    };
    let help = format!(
        "Parameter of event records{what}. It has no values of its own.\n{}",
        metric.spec.help
    );
    (oneline, help)
}

fn self_metrics() -> Vec<MetricDef> {
    self_stats::ROWS
        .iter()
        .map(|row| MetricDef {
            name: row.name.into(),
            cluster: SELF_CLUSTER,
            item: row.stat as u16,
            ty: row.ty,
            sem: row.sem,
            units: row.units,
            area: Area::Own,
            origin: Origin::SelfStat,
            oneline: row.oneline.into(),
            help: row.help.into(),
        })
        .collect()
}

fn agent_metrics() -> Vec<MetricDef> {
    use AgentCell::{BytesIn, BytesOut, ConnectTime, Connects, Errors, Events, Messages, Up};
    use Semantics::{Counter, Discrete, Instant};
    use ValueType::{I64, Text, U32, U64};
    let metric =
        |name: &str, item, ty, sem, units, origin, oneline: &'static str, help: &'static str| {
            MetricDef {
                name: name.into(),
                cluster: AGENT_CLUSTER,
                item,
                ty,
                sem,
                units,
                area: Area::Agents,
                origin,
                oneline: oneline.into(),
                help: help.into(),
            }
        };
    let cell = |name, item: AgentCell, ty, sem, units, oneline, help| {
        metric(name, item as u16, ty, sem, units, Origin::Cell, oneline, help)
    };
    #[rustfmt::skip]
    let all = vec![
        cell("up", Up, U32, Instant, Units::None, "1 while the agent is connected, else 0",
            "Keeps its value when the agent has gone, so that a rule can watch it."),
        metric("source", AgentCell::SOURCE, Text, Discrete, Units::None, Origin::Text, "Protocol of the agent",
            "mono, profiler, zorka or lttng."),
        metric("peer", AgentCell::PEER, Text, Discrete, Units::None, Origin::Text, "Where the agent is",
            "Address and port of the connection, or file: and the path of a file that is followed."),
        cell("connects", Connects, U64, Counter, Units::Count, "Connections of this agent",
            "Grows by one with each connection; a fast growth is an agent that cannot stay connected."),
        cell("connect_time", ConnectTime, I64, Discrete, Units::Milliseconds, "Start of the newest connection",
            "Milliseconds since 1970-01-01 00:00 UTC."),
        metric("idle", 5, U64, Instant, Units::Nanoseconds, Origin::Idle, "Time since the last message of this agent",
            "Time since a whole message of this agent was read. More than a few sampling intervals means that the program hangs or is stopped, or that its host has gone without a word."),
        cell("bytes.in", BytesIn, U64, Counter, Units::Bytes, "Bytes read from this agent", "Bytes of its protocol, counted from when it said who it is."),
        cell("bytes.out", BytesOut, U64, Counter, Units::Bytes, "Bytes sent to this agent", "Requests and acknowledgements."),
        cell("messages", Messages, U64, Counter, Units::Count, "Messages read from this agent", "Whole messages of its protocol."),
        cell("errors", Errors, U64, Counter, Units::Count, "Faults of this agent",
            "Bad records, refused requests, and connections closed because of bad bytes. The log says more."),
        cell("events", Events, U64, Counter, Units::Count, "Event records of this agent", "Records appended to its event streams."),
    ];
    all
}

/// `param.*` that every source has.
fn params(source: &SourceTable) -> Vec<MetricDef> {
    let own = source.params.iter().map(|p| MetricDef {
        name: format!("param.{}", p.name),
        cluster: source.cluster + PARAM_CLUSTER,
        item: p.item,
        ty: p.ty,
        sem: if p.ty == ValueType::Text { Semantics::Discrete } else { Semantics::Instant },
        units: p.units,
        area: Area::Own,
        origin: Origin::Param,
        oneline: format!("Parameter: {}", p.oneline).into(),
        help: "Parameter of event records. It has no values of its own.".into(),
    });
    let lost = MetricDef {
        name: "param.lost".into(),
        cluster: source.cluster + PARAM_CLUSTER,
        item: 0,
        ty: ValueType::U64,
        sem: Semantics::Instant,
        units: Units::Count,
        area: Area::Own,
        origin: Origin::Param,
        oneline: "Parameter: records that this client has missed".into(),
        help: "Parameter of a record that is put before the others in highres_records when records were dropped before \
               this client had seen them. It tells their number, since PCP's protocol loses the count of a MISSED record \
               in high-resolution arrays. It has no values of its own."
            .into(),
    };
    std::iter::once(lost).chain(own).collect()
}

/// The leaves below `event.<kind>`.
fn event_leaves(kind: EventKind, position: u8) -> Vec<MetricDef> {
    use EventLeaf::{
        Bytes, Clients, Count, Filter, FilterError, HighResRecords, Lost, Memory, Records, Table,
        Truncated,
    };
    use Semantics::{Counter, Discrete, Instant};
    use ValueType::{Event, HighResEvent, Text, U64};
    let leaf = |name: &str, item, leaf, ty, sem, units, oneline: &str, help: &str| MetricDef {
        name: format!("event.{}.{name}", kind.name),
        cluster: kind.cluster,
        item,
        ty,
        sem,
        units,
        area: Area::Source,
        origin: Origin::Event(position, leaf),
        oneline: oneline.to_owned().into(),
        help: format!("{help}\nA record is {}.", kind.what).into(),
    };
    let records = format!(
        "New event records for this client, as {{}}. Each client sees every record once, in order; a client that is too slow \
         gets a MISSED record with the number of those dropped, at the end of the array. A new client starts with the \
         oldest record kept. At most events.max_records come for each second since its last fetch, the rest with the next. {}",
        kind.help
    );
    #[rustfmt::skip]
    let all = vec![
        leaf("records", 0, Records, Event, Instant, Units::None,
            &format!("Event records ({})", kind.name), &records.replace("{}", "PM_TYPE_EVENT with microseconds")),
        leaf("highres_records", 1, HighResRecords, HighResEvent, Instant, Units::None,
            &format!("Event records ({}), nanoseconds", kind.name), &records.replace("{}", "PM_TYPE_HIGHRES_EVENT with nanoseconds")),
        leaf("count", 2, Count, U64, Counter, Units::Count, "Event records so far", "Records ever appended to the stream."),
        leaf("bytes", 3, Bytes, U64, Counter, Units::Bytes, "Bytes of event records so far", "Packed high-resolution bytes ever appended to the stream."),
        leaf("lost", 4, Lost, U64, Counter, Units::Count, "Records dropped unseen",
            "Records that were dropped to make room before the slowest client that was reading had seen them. Raise events.memory, fetch more often, or raise events.max_records."),
        leaf("memory", 5, Memory, U64, Instant, Units::Bytes, "Memory of the stream", "Bytes of records held now; all streams share events.memory evenly."),
        leaf("clients", 6, Clients, U64, Instant, Units::Count, "Clients of the stream", "PCP client contexts that read this stream."),
        leaf("table", 7, Table, Text, Discrete, Units::None, "Newest records as a CSV table",
            "The newest records as text: a header line time,parameter,value,record and one line for each parameter of whole records, at most 100 lines; record numbers the records of the stream. For Grafana: a Vector target with format csv_table."),
        leaf("filter", 8, Filter, Text, Discrete, Units::None, "Which records this client wants (storable)",
            "An expression over the parameters of a record; the client that stores it gets only records for which it is true, in records and highres_records, from all instances or from the one that is stored to. Empty: all records. Other clients are not concerned, and it ends with the client's context. \
             A name is the end of a parameter's name, from a dot on; timestamp (seconds since 1970), flags and instance are always there. Comparisons == != < <= > >=, and && || ! ( ); numbers 12 0x1f 2.5; texts in double quotes with * for anything. A comparison with a parameter that a record lacks is false. \
             Example: instance == \"app*\" && flags == 1. The value is the text in force. What is wrong with a refused one is in filter_error and in the log; records passed over are not missed. A store to records or highres_records sets it too, as pmevent -x does. At most 128 comparisons, 32 different names."),
        leaf("filter_error", 9, FilterError, Text, Discrete, Units::None, "The newest filter of this client that was refused",
            "The column, what was expected there, and the filter. No value if none was refused, or if the newest one was taken. A user sees it in every context, as pmstore(1) ends with its own; a client of whom nobody knows who it is, in the context that stored it."),
        leaf("truncated", 10, Truncated, U64, Counter, Units::Count, "Parameters cut or left out",
            "Texts that were cut, and other parameters that were left out, because their record would have been larger than 512 KiB, which is what every fetch can carry; of LTTng also texts of arrays and structures that were cut at lttng.field_size."),
    ];
    all
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_and_pmids_are_unique_and_grafana_can_read_the_names() {
        let all = catalogue();
        let names: HashSet<_> = all.iter().map(|e| e.name.clone()).collect();
        let pmids: HashSet<_> = all.iter().map(|e| (e.def.cluster, e.def.item)).collect();
        assert_eq!((names.len(), pmids.len()), (all.len(), all.len()));
        for e in &all {
            let good = |c: &str| {
                c.len() >= 2
                    && c.starts_with(|f: char| f.is_ascii_lowercase())
                    && c.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
            };
            assert!(e.name.split('.').all(good), "{}", e.name);
            assert!(!e.def.oneline.is_empty() && !e.def.help.is_empty(), "{}", e.name);
            assert!(!names.contains(&format!("{}.", e.name)));
        }
        for e in &all {
            assert!(
                !all.iter().any(|o| o.name.starts_with(&format!("{}.", e.name))),
                "{} is a leaf and a node",
                e.name
            );
        }
    }
}
