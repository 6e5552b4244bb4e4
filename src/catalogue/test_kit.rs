//! Two sources for the tests of modules that know no protocol.

use std::sync::Arc;

use super::Catalogue;
use super::table::{Dynamic, InDomDef, SourceTable, TableDef};
use crate::model::{
    EventKind, EventKindId, EventTable, MetricSpec, Place, RowItem, Semantics, SourceId, TableCell,
    TableId, Units, ValueType,
};
use crate::{listed, peer_metrics, row_metrics};

/// A source whose peers define metrics.
pub(crate) const TOY: SourceId = SourceId::new(0);
/// A source with tables.
pub(crate) const SHOP: SourceId = SourceId::new(1);

peer_metrics! {
    WHEELS 0 "wheels" U32 Instant Count Cell "Wheels" "How many.";
    COLOUR 1 "colour" Text Discrete None Text "Colour" "The paint.";
}

listed! {
    /// Kinds of events.
    EVENTS: EventKind as EventKindId;
    /// Samples of the toys.
    SAMPLE = EventKind { name: "sample", cluster: 65, what: "one sample", help: "Of a toy.", table: EventTable { columns: &[("toy", TableCell::Peer)], duration: None } };
}

listed! {
    /// Tables.
    TABLES: TableDef as TableId;
    /// Rows of peers.
    STREAM = TableDef { of_peer: true, ..table("stream", 132, 20, STREAM_BYTES) };
    /// Rows that always exist.
    BUCKET = TableDef {
        max: 18,
        initial: || vec!["0-1".into(), "1-2".into()],
        ..table("bucket", 133, 21, BUCKET_COUNT)
    };
}

row_metrics! {
    STREAM_BYTES STREAM 0 "stream.bytes" U64 Counter Bytes "Bytes" "Of a stream.";
    STREAM_DELAY STREAM 1 "stream.delay" U64 Instant Nanoseconds Recent "Delay" "Of the last minute.";
    BUCKET_COUNT BUCKET 0 "bucket.count" U64 Counter Count "Sales" "By price.";
    BUCKET_MAX BUCKET 9 "bucket.max" U64 Instant Count "Best sale" "By price.";
}

/// A shared table of its own cluster and instance domain.
pub(crate) const fn table(
    name: &'static str,
    cluster: u16,
    serial: u32,
    score: RowItem,
) -> TableDef {
    TableDef {
        name,
        cluster,
        indom: InDomDef { serial, oneline: "Rows", help: "Of a table." },
        of_peer: false,
        max: 16_384,
        per_peer: 0,
        score,
        initial: Vec::new,
    }
}

const fn peers(serial: u32) -> InDomDef {
    InDomDef { serial, oneline: "Peers", help: "Of a source." }
}

/// The line that [`restore`] parses.
pub(crate) fn persist(key: &str) -> String {
    format!("toy {key}")
}

fn restore(persist: &str) -> Option<MetricSpec> {
    let key = persist.strip_prefix("toy ")?;
    Some(MetricSpec {
        key: key.into(),
        place: Place::Sampled("counter"),
        path: format!("gc.{key}"),
        ty: ValueType::U64,
        sem: Semantics::Counter,
        units: Units::Count,
        oneline: String::new(),
        help: String::new(),
        labels: vec![],
        persist: persist.into(),
    })
}

/// A metric that a toy defines.
pub(crate) fn brought(key: &str) -> MetricSpec {
    restore(&persist(key)).expect("its own line")
}

/// Places of what a shop defines.
pub(crate) const GAUGES: Place = Place::Peers("gauge");
pub(crate) const SERIES: Place = Place::Rows("series", STREAM);
const PLACES: &[(Place, &str)] =
    &[(GAUGES, "Gauges"), (SERIES, "Series"), (Place::Param, "Fields of records")];

fn restore_ware(persist: &str) -> Option<MetricSpec> {
    let (place, path) = persist.split_once(' ')?;
    let place = match place {
        "gauge" => GAUGES,
        "series" => SERIES,
        "field" => Place::Param,
        _ => return None,
    };
    let sem = if path.ends_with("count") { Semantics::Counter } else { Semantics::Instant };
    let ty = if sem == Semantics::Counter { ValueType::U64 } else { ValueType::F64 };
    Some(MetricSpec {
        key: persist.into(),
        place,
        path: path.into(),
        ty,
        sem,
        units: Units::None,
        oneline: "a ware".into(),
        help: "Of a shop.".into(),
        labels: vec![("ware", path.into())],
        persist: persist.into(),
    })
}

/// A metric that a shop defines: `gauge PATH`, `series PATH` or `field PATH`. One whose path ends in
/// `count` is a counter and an integer, others are floating.
pub(crate) fn ware(persist: &str) -> MetricSpec {
    restore_ware(persist).expect("its own line")
}

/// The catalogue of both sources.
pub(crate) fn catalogue() -> Arc<Catalogue> {
    let dynamic = Dynamic {
        places: &[(Place::Sampled("counter"), "Counters of toys")],
        restore,
        initial: Vec::new,
    };
    let toy = SourceTable {
        metrics: METRICS,
        events: EVENTS,
        dynamic: Some(dynamic),
        ..SourceTable::new("toy", 64, peers(1))
    };
    let shop = SourceTable {
        tables: TABLES,
        row_metrics: ROW_METRICS,
        dynamic: Some(Dynamic { places: PLACES, restore: restore_ware, initial: Vec::new }),
        keeps_values: true,
        ..SourceTable::new("shop", 128, peers(2))
    };
    Arc::new(Catalogue::new(&[toy, shop]).expect("sound"))
}
