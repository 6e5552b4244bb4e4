//! Metrics that every source has beside the rows of its table: the leaves of its event kinds, and
//! `param.lost`.

use super::entry::Entry;
use super::table::{PARAM_CLUSTER, SourceTable};
use crate::model::{
    ControlId, EventKind, EventKindId, EventLeaf, InDom, MetricDef, Semantics, SourceId, TableCell,
    Units, ValueSource, ValueType,
};

/// All static metrics of one source. `truncated`: help of the leaf of that name.
pub(super) fn entries(id: SourceId, source: &SourceTable, truncated: &str) -> Vec<Entry> {
    let of_metric = |m: &MetricDef| Entry {
        name: format!("apm.{}.{}", source.name, m.name),
        source: Some(id),
        cluster: source.cluster_of(m.indom).unwrap_or_default(),
        item: m.item,
        ty: m.ty,
        sem: m.sem,
        units: m.units,
        indom: m.indom,
        value: m.value,
        oneline: m.oneline.into(),
        help: m.help.into(),
    };
    let mut all: Vec<Entry> =
        source.metrics.iter().chain(source.row_metrics).map(of_metric).collect();
    all.extend(controls(id, source));
    all.extend(params(id, source));
    for (n, kind) in (0..).zip(source.events) {
        all.extend(event_leaves(id, source, (EventKindId::new(n), *kind), truncated));
    }
    all
}

fn controls(id: SourceId, source: &SourceTable) -> impl Iterator<Item = Entry> {
    (0..).zip(source.controls).map(move |(n, control)| Entry {
        name: format!("apm.{}.{}", source.name, control.name),
        source: Some(id),
        cluster: control.cluster,
        item: control.item,
        ty: ValueType::Text,
        sem: Semantics::Discrete,
        units: Units::None,
        indom: control.indom,
        value: ValueSource::Control(ControlId::new(n)),
        oneline: control.oneline.into(),
        help: control.help.into(),
    })
}

/// The metrics `param.*` of a source.
fn params(id: SourceId, source: &SourceTable) -> Vec<Entry> {
    let param = |name: &str, item, ty, sem, units| Entry {
        name: format!("apm.{}.param.{name}", source.name),
        source: Some(id),
        cluster: source.cluster + PARAM_CLUSTER,
        item,
        ty,
        sem,
        units,
        indom: InDom::Null,
        value: ValueSource::Param,
        oneline: "".into(),
        help: "Parameter of event records. It has no values of its own.".into(),
    };
    let own = source.params.iter().map(|p| {
        let sem = if p.ty == ValueType::Text { Semantics::Discrete } else { Semantics::Instant };
        Entry {
            oneline: format!("Parameter: {}", p.oneline).into(),
            ..param(p.name, p.item.get(), p.ty, sem, p.units)
        }
    });
    let lost = Entry {
        oneline: "Parameter: records that this client has missed".into(),
        help: "Parameter of a record that is put before the others in highres_records when \
               records were dropped before this client had seen them. It tells their number, since \
               PCP's protocol loses the count of a MISSED record in high-resolution arrays. It has \
               no values of its own."
            .into(),
        ..param("lost", 0, ValueType::U64, Semantics::Instant, Units::Count)
    };
    // A source without records has none.
    let lost = (!source.events.is_empty() || source.dynamic.is_some()).then_some(lost);
    lost.into_iter().chain(own).collect()
}

/// Help of both tables: what is in their cells.
const TABLE_CELLS: &str = "A cell without a value is -. A cell has no control characters, quotes are typographic, and a text of more than 4,096 bytes \
    is cut and ends with …: every reader of CSV finds the same cells, also Grafana (a Vector target with format csv_table). \
    The filter of a client does not apply.";

/// The leaves below `event.<kind>`.
fn event_leaves(
    id: SourceId,
    source: &SourceTable,
    (position, kind): (EventKindId, EventKind),
    truncated: &str,
) -> Vec<Entry> {
    use EventLeaf::{
        Bytes, Clients, Count, Filter, FilterError, HighResRecords, Lost, Memory, Records, Slowest,
        Table, Truncated,
    };
    use Semantics::{Counter, Discrete, Instant};
    use ValueType::{Event, HighResEvent, Text, U64};
    let leaf = |name: &str, item, leaf, ty, sem, units, oneline: &str, help: &str| Entry {
        name: format!("apm.{}.event.{}.{name}", source.name, kind.name),
        source: Some(id),
        cluster: kind.cluster,
        item,
        ty,
        sem,
        units,
        indom: InDom::Peers,
        value: ValueSource::Event(position, leaf),
        oneline: oneline.to_owned().into(),
        help: format!("{help}\nA record is {}.", kind.what).into(),
    };
    let records = format!(
        "New event records for this client, as {{}}. Each client sees every record once, in order; a client that is too slow \
         gets a MISSED record with the number of those dropped, at the end of the array. A new client starts with the \
         oldest record kept. At most events.max_records come for each second since its last fetch, the rest with the next. {}",
        kind.help
    );
    let header = kind.table.header().replace(',', ", ");
    let long = kind.table.columns.iter().find(|(_, cell)| matches!(cell, TableCell::Long(_)));
    let cells = match long {
        Some((name, _)) => format!("{TABLE_CELLS} The column {name} has up to 16 KiB."),
        None => TABLE_CELLS.to_owned(),
    };
    let lines = if kind.table.line_for_each_parameter() {
        "one line for each parameter of the newest 50 whole records, the newest record first, at most 200 lines unless one record alone has more"
    } else {
        "one line for each of the newest 50 records, the newest first"
    };
    #[rustfmt::skip]
    let mut all = vec![
        leaf("records", 0, Records, Event, Instant, Units::None,
            &format!("Event records ({})", kind.name), &records.replace("{}", "PM_TYPE_EVENT with microseconds")),
        leaf("highres_records", 1, HighResRecords, HighResEvent, Instant, Units::None,
            &format!("Event records ({}), nanoseconds", kind.name), &records.replace("{}", "PM_TYPE_HIGHRES_EVENT with nanoseconds")),
        leaf("count", 2, Count, U64, Counter, Units::Count, "Event records so far", "Records ever appended to the stream."),
        leaf("bytes", 3, Bytes, U64, Counter, Units::Bytes, "Bytes of event records so far", "Packed high-resolution bytes ever appended to the stream."),
        leaf("lost", 4, Lost, U64, Counter, Units::Count, "Records dropped unseen",
            "Records that were dropped to make room before the slowest client that was reading had seen them. Raise events.memory, fetch more often, or raise events.max_records."),
        leaf("memory", 5, Memory, U64, Instant, Units::Bytes, "Memory of the stream", "Bytes of records held now, copies of the slowest included; all streams share events.memory evenly."),
        leaf("clients", 6, Clients, U64, Instant, Units::Count, "Clients of the stream", "PCP client contexts that read this stream."),
        leaf("table", 7, Table, Text, Discrete, Units::None, "Newest records as a CSV table",
            &format!("The newest records as text: a header line ({header}) and {lines}. {cells}")),
        leaf("filter", 8, Filter, Text, Discrete, Units::None, "Which records this client wants (storable)",
            "An expression over the parameters of a record; the client that stores it gets only records for which it is true, in records and highres_records, from all instances or from the one that is stored to. Empty: all records. Other clients are not concerned, and it ends with the client's context. \
             A name is the end of a parameter's name, from a dot on; timestamp (seconds since 1970), flags and instance are always there. Comparisons == != < <= > >=, and && || ! ( ); numbers 12 0x1f 2.5; texts in double quotes with * for anything. A comparison with a parameter that a record lacks is false. \
             Example: instance == \"app*\" && flags == 1. The value is the text in force. What is wrong with a refused one is in filter_error and in the log; records passed over are not missed. A store to records or highres_records sets it too, as pmevent -x does. At most 128 comparisons, 32 different names."),
        leaf("filter_error", 9, FilterError, Text, Discrete, Units::None, "The newest filter of this client that was refused",
            "The column, what was expected there, and the filter. No value if none was refused, or if the newest one was taken. A user sees it in every context, as pmstore(1) ends with its own; a client of whom nobody knows who it is, in the context that stored it."),
        leaf("truncated", 10, Truncated, U64, Counter, Units::Count, "Parameters cut or left out",
            truncated),
    ];
    if kind.table.duration.is_some() {
        let help = format!(
            "The 50 slowest of the records that came in the last 5 minutes (in steps of 30 s, by the time of arrival) as text, the slowest first: a header line ({header}) and one line for each record. \
             Copies of them are kept when the stream drops its oldest records, in at most a quarter of the stream's share of events.memory; if that has no room, they are fewer. {cells}"
        );
        all.push(leaf(
            "slowest",
            11,
            Slowest,
            Text,
            Discrete,
            Units::None,
            "Slowest records of the last 5 minutes as a CSV table",
            &help,
        ));
    }
    all
}
