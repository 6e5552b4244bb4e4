use super::*;
use crate::model::{MetricDef, RowItem};
use crate::{listed, peer_metrics};

const INDOM: InDomDef = InDomDef { serial: 7, oneline: "Toys", help: "One for each toy." };
const TOY: SourceTable = SourceTable {
    metrics: METRICS,
    tables: TABLES,
    example: "car:1",
    ..SourceTable::new("toy", 64, INDOM)
};
const OTHER_TOY: SourceTable = SourceTable::new("other", 128, InDomDef { serial: 8, ..INDOM });

peer_metrics! {
    WHEELS 0 "wheels" U32 Instant Count Cell "Wheels" "How many.";
    COLOUR 1 "colour" Text Discrete None Text "Colour" "The paint.";
}

listed! {
    /// Tables.
    TABLES: TableDef as TableId;
    /// Rows of parts.
    PARTS = TableDef {
        name: "part",
        cluster: 66,
        indom: InDomDef { serial: 9, ..INDOM },
        of_peer: true,
        max: 10,
        per_peer: 0,
        score: RowItem::new(PARTS, 0),
        initial: Vec::new,
    };
}

const ITEM: RowItem = RowItem::new(PARTS, 0);
const OTHER_ITEM: RowItem = RowItem::new(TableId::new(1), 0);
const SERVICE: Services = Services {
    table: PARTS,
    of_peer: ServiceOf::Label("part"),
    leaves: &[],
    sums: &[ServiceSum::Of(WHEELS, ITEM)],
    rows: &[ServiceRows { sums: &[(OTHER_ITEM, ITEM)], label: None }],
};

/// The first contradiction.
fn error(sources: &[SourceTable]) -> String {
    errors(sources).remove(0)
}

fn errors(sources: &[SourceTable]) -> Vec<String> {
    let error = Catalogue::new(sources).expect_err("a contradiction").to_string();
    error.lines().map(str::to_owned).collect()
}

#[test]
fn ids_are_positions_and_everything_is_found_by_them() {
    assert_eq!((WHEELS.get(), COLOUR.get(), PARTS.index()), (0, 1, 0));
    let catalogue = Catalogue::new(&[OTHER_TOY, TOY]).expect("sound");
    let id = catalogue.id("toy").expect("built in");
    assert_eq!((id.index(), catalogue.name(id), catalogue.id("mine")), (1, "toy", None));
    assert_eq!(catalogue.table(id, PARTS).map(|t| t.name), Some("part"));
    assert_eq!(catalogue.of_cluster(65).map(|s| s.name), Some("toy"));
    assert_eq!(catalogue.indom_help(9), Some(("Toys", "One for each toy.")));
    let wheels = catalogue.entries().iter().find(|e| e.name == "apm.toy.wheels").expect("there");
    assert_eq!((wheels.cluster, wheels.item, wheels.source), (64, 0, Some(id)));
    let listed = catalogue.entries().iter().find(|e| e.name == "apm.agent.source").expect("there");
    assert_eq!(listed.help, "other or toy.");
}

#[test]
fn an_error_has_both_places() {
    let twice = |id: &str, a: &str, b: &str| format!("{id} is given twice: to {a} and to {b}");
    assert_eq!(
        error(&[TOY, SourceTable { cluster: 128, ..TOY }]),
        twice("the name toy", "toy", "toy")
    );
    assert_eq!(
        error(&[TOY, SourceTable { cluster: 100, ..OTHER_TOY }]),
        twice("cluster 100", "toy", "other")
    );
    assert_eq!(
        error(&[SourceTable { cluster: 1, ..OTHER_TOY }]),
        twice("cluster 1", "the PMDA", "other")
    );
    let same = SourceTable { indom: InDomDef { serial: 9, ..INDOM }, ..OTHER_TOY };
    assert_eq!(error(&[TOY, same]), twice("instance domain 9", "toy.part", "other"));
    const AGAIN: &[MetricDef] = &[METRICS[0], MetricDef { name: "doors", ..METRICS[0] }];
    assert_eq!(
        error(&[SourceTable { metrics: AGAIN, ..TOY }]),
        twice("PMID 64.0", "apm.toy.wheels", "apm.toy.doors")
    );
    const NODE: &[MetricDef] = &[METRICS[0], MetricDef { name: "wheels.size", ..METRICS[1] }];
    assert_eq!(
        error(&[SourceTable { metrics: NODE, ..TOY }]),
        twice("apm.toy.wheels", "apm.toy.wheels", "apm.toy.wheels.size")
    );
}

#[test]
fn all_contradictions_are_told_at_once() {
    const METRIC: &[MetricDef] = &[MetricDef { item: 128, name: "Wheels", ..METRICS[0] }];
    let other = SourceTable { cluster: 1, name: "toy", ..OTHER_TOY };
    let bad = SourceTable { metrics: METRIC, ..TOY };
    assert_eq!(
        errors(&[bad, other]),
        [
            "toy.Wheels: the item is out of range: 128, must be below 128",
            "the name toy is given twice: to toy and to toy",
            "cluster 1 is given twice: to the PMDA and to toy",
            "cluster 64 is given twice: to toy and to toy",
            "apm.toy.Wheels: a component of a name is [a-z][a-z0-9_]+",
        ]
    );
}

#[test]
fn the_compiler_refuses_what_it_can_see() {
    let refused = |check: &dyn Fn()| {
        let check = std::panic::AssertUnwindSafe(check);
        std::panic::catch_unwind(check).is_err()
    };
    TOY.assert_sound();
    assert_apart(&[TOY, OTHER_TOY]);
    const OUTSIDE: &[TableDef] = &[TableDef { cluster: 80, ..TABLES[0] }];
    let serial = InDomDef { serial: 9, ..INDOM };
    assert!(refused(&|| SourceTable { tables: OUTSIDE, ..TOY }.assert_sound()));
    assert!(refused(&|| SourceTable { cluster: 3, ..OTHER_TOY }.assert_sound()));
    assert!(refused(&|| SourceTable { cluster: 4050, ..OTHER_TOY }.assert_sound()));
    for (sums, rows) in [
        (&[ServiceSum::Of(WHEELS, OTHER_ITEM)][..], &[][..]),
        (&[], &[ServiceRows { sums: &[], label: None }][..]),
        (&[], &[ServiceRows { sums: &[(ITEM, ITEM), (OTHER_ITEM, ITEM)], label: None }]),
    ] {
        let service = Some(Services { sums, rows, ..SERVICE });
        assert!(refused(&|| SourceTable { service, ..TOY }.assert_sound()), "{sums:?} {rows:?}");
    }
    SourceTable { service: Some(SERVICE), ..TOY }.assert_sound();
    assert!(refused(&|| assert_apart(&[TOY, SourceTable { cluster: 127, ..OTHER_TOY }])));
    assert!(refused(&|| assert_apart(&[TOY, SourceTable { indom: serial, ..OTHER_TOY }])));
}

#[test]
fn names_and_items_are_within_their_bounds() {
    const ALIAS: &[MetricDef] = &[MetricDef { item: 128, ..METRICS[0] }];
    assert_eq!(
        error(&[SourceTable { metrics: ALIAS, ..TOY }]),
        "toy.wheels: the item is out of range: 128, must be below 128"
    );
    assert!(error(&[SourceTable { name: "Toy", ..TOY }]).starts_with("Toy: a component"));
    assert!(error(&[SourceTable { name: "self", ..TOY }]).contains("the PMDA and to self"));
    let far = SourceTable { cluster: 4050, tables: &[], ..TOY };
    assert!(error(&[far]).contains("the last cluster is out of range: 4113"));
    const OUTSIDE: &[TableDef] = &[TableDef { cluster: 80, ..TABLES[0] }];
    assert_eq!(
        error(&[SourceTable { tables: OUTSIDE, ..TOY }]),
        "toy.part: the cluster is out of range: 80, must be 64 to 78"
    );
}
