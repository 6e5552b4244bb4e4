//! The source in PCP's terms. Archives contain the ids: they never change.

use crate::catalogue::{
    InDomDef, Part, RollUp, ServiceOf, ServiceSum, Services, SourceTable, TableDef,
};
use crate::model::{EventKind, EventKindId, EventTable, Leaf, TableCell, TableId};

/// First PMID cluster. That of events is the next one, those of tables follow.
const CLUSTER: u16 = 1024;
/// Most tracks of a peer that have rows of their own.
pub(super) const TRACKS_MAX: usize = 16;

crate::peer_metrics! {
    SPEED 0 "speed" I64 Instant None Cell
        "The newest speed that the peer sent"
        "The number of its newest line \"speed NUMBER\".";
    LINES 1 "lines" U64 Counter Count Cell
        "Lines of the peer"
        "Lines read from the peer, hello included. A peer that connects again goes on from its old value.";
    MISSED 2 "missed" U64 Counter Count Cell
        "Lines without an event record"
        "Lines that would have been records beyond those that a peer may have in a second.";
}

crate::listed! {
    /// Tables of rows.
    TABLES: TableDef as TableId;
    /// Rows `peer::track`: they go with their peer.
    TRACKS = TableDef {
        name: "track",
        cluster: CLUSTER + 2,
        indom: InDomDef {
            serial: 1001,
            oneline: "Tracks of toys",
            help: "One instance for each track of each peer: NAME::TRACK, and NAME::other for tracks that have no row.",
        },
        of_peer: true,
        max: 1000,
        per_peer: TRACKS_MAX,
        score: TRACK_LAPS,
        initial: Vec::new,
    };
    /// Rows: names of fleets, which are the services of this source. They stay when their peers go.
    FLEETS = TableDef {
        name: "fleet",
        cluster: CLUSTER + 3,
        indom: InDomDef {
            serial: 1002,
            oneline: "Fleets of toys",
            help: "One instance for each fleet that a peer gave in its first line.",
        },
        of_peer: false,
        max: 100,
        per_peer: 0,
        score: FLEET_LINES,
        initial: Vec::new,
    };
}

crate::row_metrics! {
    TRACK_LAPS TRACKS 0 "track.laps" U64 Counter Count
        "Laps by track"
        "Lines \"lap TRACK\" of the peer.";
    FLEET_LINES FLEETS 0 "fleet.lines" U64 Counter Count
        "Lines of the peers of a fleet"
        "Sum of apm.toy.lines over the peers of the fleet, also of those that have gone.";
}

crate::event_params! {
    TEXT 1 "text" Text None "the line";
}

crate::listed! {
    /// Kinds of events.
    EVENTS: EventKind as EventKindId;
    /// Lines.
    LINE = EventKind {
        name: "line",
        cluster: CLUSTER + 1,
        what: "one line of a peer that is no command",
        help: "The line is in the parameter text.",
        table: EventTable { columns: &[("text", TableCell::Param(TEXT))], duration: None },
    };
}

/// The store adds to the row of a peer's service what the peer counts.
const SERVICE: Services = Services {
    table: FLEETS,
    // The label of peers whose value all their instances have as label `service`.
    of_peer: ServiceOf::Label("fleet"),
    leaves: &[RollUp { leaf: Leaf::Instances, parts: &[Part::Members] }],
    sums: &[ServiceSum::Of(LINES, FLEET_LINES)],
    rows: &[],
};

pub(super) const TABLE: SourceTable = SourceTable {
    example: "car",
    metrics: METRICS,
    row_metrics: ROW_METRICS,
    tables: TABLES,
    service: Some(SERVICE),
    events: EVENTS,
    params: PARAMS,
    ..SourceTable::new(
        "toy",
        CLUSTER,
        InDomDef {
            serial: 1000,
            oneline: "Toys",
            help: "One instance for each name that a peer gave in its first line, and NAME:PID for each process of the name toy.program.",
        },
    )
};
