use std::sync::Arc;
use std::time::Duration;

use crate::catalogue::test_kit::table;
use crate::catalogue::{
    Catalogue, InDomDef, ServiceOf, ServiceRows, ServiceSum, Services, SourceTable, TableDef,
};
use crate::contract::{Identity, Peer, Service};
use crate::model::{Departure, Now, RowItem, SourceId, TableId, Value};
use crate::store::{Limits, RequestQueue, Store};
use crate::{listed, peer_metrics, row_metrics};

const FARM: SourceId = SourceId::new(0);

peer_metrics! {
    EGGS 0 "eggs" U64 Counter Count Cell "Eggs" "Of a hen.";
    STEPS 1 "steps" U64 Counter Count Cell "Steps" "Since it hatched.";
}

listed! {
    /// Tables.
    TABLES: TableDef as TableId;
    FIELDS = TableDef { of_peer: true, ..table("field", 132, 20, FIELD_SEEDS) };
    FEET = TableDef { of_peer: true, ..table("foot", 133, 21, FOOT_STEPS) };
    WAYS = table("way", 134, 22, WAY_TIME);
    FLOCKS = table("flock", 135, 23, FLOCK_EGGS);
    FLOCK_FIELDS = table("flock_field", 136, 24, FLOCK_FIELD_SEEDS);
    FLOCK_WAYS = table("flock_way", 137, 25, FLOCK_WAY_TIME);
}

row_metrics! {
    FIELD_SEEDS FIELDS 0 "field.seeds" U64 Counter Count "Seeds" "By field.";
    FOOT_STEPS FEET 0 "foot.steps" U64 Counter Count "Steps" "By foot.";
    WAY_TIME WAYS 0 "way.time" U64 Counter Nanoseconds "Time" "By way.";
    FLOCK_EGGS FLOCKS 0 "flock.eggs" U64 Counter Count "Eggs" "Of a flock.";
    FLOCK_STEPS FLOCKS 1 "flock.steps" U64 Counter Count "Steps" "Of a flock.";
    FLOCK_FEET FLOCKS 2 "flock.feet" U64 Counter Count "Steps by foot" "Of a flock.";
    FLOCK_LEFT FLOCKS 3 "flock.left" U64 Counter Count "Seeds of the first field" "Of a flock.";
    FLOCK_FIELD_SEEDS FLOCK_FIELDS 0 "flock.field.seeds" U64 Counter Count "Seeds" "By field.";
    FLOCK_WAY_TIME FLOCK_WAYS 0 "flock.way.time" U64 Counter Nanoseconds "Time" "By way.";
}

const SERVICE: Services = Services {
    table: FLOCKS,
    of_peer: ServiceOf::Label("flock"),
    leaves: &[],
    sums: &[
        ServiceSum::Of(EGGS, FLOCK_EGGS),
        ServiceSum::Of(STEPS, FLOCK_STEPS),
        ServiceSum::OfRows(FOOT_STEPS, None, FLOCK_FEET),
        ServiceSum::OfRows(FIELD_SEEDS, Some(0), FLOCK_LEFT),
    ],
    rows: &[
        ServiceRows { sums: &[(FIELD_SEEDS, FLOCK_FIELD_SEEDS)], label: Some("field") },
        ServiceRows { sums: &[(WAY_TIME, FLOCK_WAY_TIME)], label: None },
    ],
};

fn farm() -> Arc<Store> {
    let peers = InDomDef { serial: 1, oneline: "Hens", help: "Of a farm." };
    let table = SourceTable {
        metrics: METRICS,
        row_metrics: ROW_METRICS,
        tables: TABLES,
        service: Some(SERVICE),
        keeps_values: true,
        ..SourceTable::new("farm", 128, peers)
    };
    let catalogue = Arc::new(Catalogue::new(&[table]).expect("sound"));
    Store::new(catalogue, 400, Limits::default(), 1 << 20)
}

struct Hen(Peer);

impl Hen {
    fn new(store: &Arc<Store>, name: &str, service: Service) -> Self {
        let mut hen = Self(store.peer_of(FARM, &Arc::new(RequestQueue::new(|| ()))));
        hen.is(name, service);
        hen
    }

    fn is(&mut self, name: &str, service: Service) {
        let service = Some(service);
        self.0.is(Identity { name: name.into(), service, ..Identity::default() });
    }

    /// Steps so far, of the hen and of a foot.
    fn steps(&mut self, all: u64, foot: u64) {
        self.0.set(STEPS, Value::U64(all));
        self.0.row(FEET, 1, Some("hen:1::left"));
        self.0.row_set(1, FOOT_STEPS, foot);
    }

    fn at(&mut self, seconds: u64) {
        self.0.set_now(Now { monotonic: Duration::from_secs(seconds), ..Now::default() });
        self.0.flush();
    }
}

fn flock(name: &str, is_new: bool) -> Service {
    let labels = vec![("flock", name.to_owned())];
    Service { name: name.into(), labels, is_new, ..Service::default() }
}

/// A cell of a row.
fn sum(store: &Store, item: RowItem, key: &str) -> Option<u64> {
    let row = store.row(FARM, item.table(), None, (key != "other").then_some(key))?;
    row.cells.get(item.get())
}

#[test]
fn what_peers_add_is_delivered_soon_and_at_the_end() {
    let store = farm();
    let mut hens = ["a", "b"].map(|name| Hen::new(&store, name, flock("red", true)));
    assert_eq!(sum(&store, FLOCK_EGGS, "red"), Some(0));
    for hen in &mut hens {
        hen.0.add(EGGS, 3);
        hen.0.flush();
    }
    assert_eq!(sum(&store, FLOCK_EGGS, "red"), Some(6));
    for hen in &mut hens {
        hen.0.add(EGGS, 3);
        hen.0.flush();
    }
    assert_eq!(sum(&store, FLOCK_EGGS, "red"), Some(6), "not each time: all write there");
    hens[0].at(1);
    assert_eq!(sum(&store, FLOCK_EGGS, "red"), Some(9));
    hens[1].0.finish(false, Departure::default());
    assert_eq!(sum(&store, FLOCK_EGGS, "red"), Some(12));
    // It has another name now.
    hens[0].0.add(EGGS, 1);
    hens[0].is("c", flock("blue", false));
    hens[0].0.add(EGGS, 10);
    hens[0].at(3);
    assert_eq!(
        (sum(&store, FLOCK_EGGS, "red"), sum(&store, FLOCK_EGGS, "blue")),
        (Some(13), Some(10))
    );
}

#[test]
fn of_counters_that_are_set_what_they_grew_by_counts() {
    for (is_new, before, steps, feet) in
        [(true, vec![], 100, 70), (true, vec![(FOOT_STEPS, 1, 65)], 100, 5), (false, vec![], 0, 0)]
    {
        let store = farm();
        let mut hen = Hen::new(&store, "hen:1", Service { before, ..flock("red", is_new) });
        let sums = |store: &Store| {
            [FLOCK_STEPS, FLOCK_FEET].map(|item| sum(store, item, "red").expect("there"))
        };
        hen.steps(100, 70);
        hen.at(1);
        assert_eq!(sums(&store), [steps, feet]);
        // One that goes back counts when it is above again.
        hen.steps(90, 60);
        hen.steps(120, 71);
        hen.at(2);
        assert_eq!(sums(&store), [steps + 20, feet + 1]);
    }
}

#[test]
fn rows_of_a_peer_are_rows_of_its_service() {
    let store = farm();
    let mut hen = Hen::new(&store, "hen:1", flock("red,1", true));
    for (slot, key) in [(0, Some("hen:1::north")), (1, Some("hen:1::south")), (2, None)] {
        hen.0.row(FIELDS, slot, key);
        hen.0.row_add(slot, FIELD_SEEDS, 5);
    }
    let long = format!("a,{}", "x".repeat(895));
    for (slot, key) in [(0, "a,b"), (1, &*long), (2, "other")] {
        hen.0.row(WAYS, slot, Some(key));
        hen.0.row_add(slot, WAY_TIME, 7);
    }
    hen.at(1);
    for (key, seeds) in [("red,1::north", 5), ("red,1::south", 5), ("other", 5)] {
        assert_eq!(sum(&store, FLOCK_FIELD_SEEDS, key), Some(seeds), "{key}");
    }
    assert_eq!(sum(&store, FLOCK_LEFT, "red,1"), Some(5), "of one slot");
    for (key, time) in [("red;1,a,b", 7), ("red;1,a", 7), ("other", 7)] {
        assert_eq!(sum(&store, FLOCK_WAY_TIME, key), Some(time), "{key}");
    }
    let north = store.row(FARM, FLOCK_FIELDS, None, Some("red,1::north")).expect("bound").labels();
    let labels: Vec<_> = north.iter().map(|(name, value)| (&**name, &**value)).collect();
    assert_eq!(labels, [("flock", "red,1"), ("field", "north")]);
    hen.0.free_rows(FIELDS);
    hen.0.row_add(0, FIELD_SEEDS, 5);
    assert_eq!(sum(&store, FLOCK_FIELD_SEEDS, "red,1::north"), Some(5), "no slot is bound");
}
