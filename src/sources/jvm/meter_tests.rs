use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};

use super::*;
use crate::contract::Recorded;
use crate::model::{MetricDef, RowItem};
use crate::sources::Source;
use crate::sources::jvm::Jvm;
use crate::sources::jvm::state::{POOLS, Who};
use crate::sources::jvm::tests::captures;

const SECOND: Duration = Duration::from_secs(1);

/// Values and rows by the names of metrics.
type Named = (BTreeMap<&'static str, Json>, BTreeMap<(&'static str, String), u64>);

fn recorded() -> Recorded {
    Recorded::new(&Jvm::TABLE)
}

fn name(metrics: &[MetricDef], is: impl Fn(&MetricDef) -> bool) -> &'static str {
    metrics.iter().find(|metric| is(metric)).expect("a metric").name
}

fn row_name(item: RowItem) -> &'static str {
    let indom = crate::model::InDom::Table(item.table());
    name(m::ROW_METRICS, |metric| metric.indom == indom && metric.item == item.get())
}

fn named(seen: &Recorded) -> Named {
    let log = seen.log();
    let json = |value: &Value| match value {
        Value::U32(value) => json!(value),
        Value::U64(value) => json!(value),
        Value::I64(value) => json!(value),
        Value::F64(value) => json!(value),
        Value::Text(text) => json!(&**text),
        other => panic!("{other:?}"),
    };
    let values = log
        .values
        .iter()
        .map(|(of, value)| (name(m::METRICS, |metric| metric.item == of.get()), json(value)));
    // What the store adds up is not of the process.
    let rows = log.rows.iter().filter(|((item, _), _)| item.table() != m::SERVICES);
    let rows = rows.map(|((item, key), value)| ((row_name(*item), key.clone()), *value));
    (values.collect(), rows.collect())
}

/// What the process has added to the starts of its service.
fn starts(seen: &Recorded) -> u64 {
    seen.rows(m::SERVICE_STARTS).values().sum()
}

fn value(seen: &Recorded, name: &str) -> Json {
    named(seen).0.remove(name).unwrap_or(Json::Null)
}

fn meter(is_new: bool) -> Meter {
    let comm = "java".to_owned();
    let who =
        Who { pid: 77, inner_pid: 1, owner: "www".to_owned(), is_new, comm, ..Who::default() };
    Meter::new(who, None)
}

/// A meter that has read a region, and what it has shown.
fn shown(region: &[u8], is_new: bool) -> (Meter, Recorded) {
    let (mut meter, mut seen) = (meter(is_new), recorded());
    meter.learn(region, SECOND);
    meter.start(&mut seen);
    meter.read(region, SECOND, &mut seen);
    meter.tick(&mut seen);
    (meter, seen)
}

/// As expect.py of the captures' tools has it.
fn as_expected(seen: &Recorded, want: &Map<String, Json>) -> Map<String, Json> {
    let (values, rows) = named(seen);
    let mut all = Map::new();
    for (metric, value) in want {
        let got = match value {
            Json::Object(_) => {
                let rows = rows.iter().filter(|((name, _), _)| name == metric);
                let rows = rows.map(|((_, key), value)| (key.clone(), json!(value)));
                Json::Object(rows.collect())
            }
            _ if metric == "name" => {
                let name = seen.identity().unwrap().name;
                json!(name.strip_suffix(":77").unwrap())
            }
            _ => values.get(metric.as_str()).cloned().unwrap_or(Json::Null),
        };
        all.insert(metric.clone(), got);
    }
    all
}

#[test]
fn all_captures_show_what_an_independent_decoder_expects() {
    for (file, region, want) in captures() {
        let Some(want) = want.get("metrics").and_then(Json::as_object) else { continue };
        let (_, seen) = shown(&region, false);
        // What has no name of its own has that of the main thread, and no cause is none.
        let mut want = want.clone();
        want.retain(|metric, value| {
            *value != json!("") && !(metric == "gc.last_cause" && *value == json!("No GC"))
        });
        assert_eq!(as_expected(&seen, &want), want, "{file}");
        let (_, rows) = named(&seen);
        let shown = rows.keys().filter(|(name, _)| !want.contains_key(*name)).count();
        assert_eq!(shown, 0, "{file}: {rows:?}");
    }
}

#[test]
fn what_does_not_change_is_not_said_again() {
    let (_, region, _) = captures().swap_remove(0);
    let (mut meter, mut seen) = shown(&region, false);
    let before = seen.log_mut().rows.clone();
    let mut log = seen.log_mut();
    log.values.clear();
    log.conditions.clear();
    drop(log);
    meter.read(&region, SECOND, &mut seen);
    meter.tick(&mut seen);
    let log = seen.log();
    assert_eq!((log.values.len(), log.conditions.len()), (0, 0), "{:?}", log.values);
    assert_eq!(log.rows, before);
}

#[test]
fn what_is_no_longer_read_is_not_shown_as_if_it_were() {
    let (_, region, _) = captures().swap_remove(0);
    let (mut meter, mut seen) = shown(&region, false);
    let read = named(&seen);
    seen.set(m::WORKING_SET, 5_u64);
    meter.used((1, 2), &mut seen);
    // Its user has cut the file.
    meter.read(&region[..64], SECOND, &mut seen);
    meter.tick(&mut seen);
    for hidden in ["gc.heap.total", "gc.pause.count", "session.overflow", "session.entries"] {
        assert!(read.0.contains_key(hidden) && value(&seen, hidden) == Json::Null, "{hidden}");
    }
    assert_eq!(value(&seen, "memory.working_set"), json!(5), "/proc is read all the same");
    let rows: Vec<_> = named(&seen).1.into_keys().map(|(metric, _)| metric).collect();
    assert_eq!(rows, ["cpu.time"; 2]);
    // All of it is back.
    meter.read(&region, SECOND, &mut seen);
    meter.tick(&mut seen);
    let (mut values, mut rows) = named(&seen);
    values.remove("memory.working_set");
    rows.retain(|(metric, _), _| *metric != "cpu.time");
    assert_eq!((values, rows), read);
}

/// Adds to a number of a region.
fn raise(region: &mut [u8], counter: &str, more: i64) {
    let name = memchr::memmem::find(region, format!("{counter}\0").as_bytes()).unwrap();
    let entry = name - 20;
    let data: [u8; 4] = region[entry + 16..entry + 20].try_into().unwrap();
    let at = entry + usize::try_from(i32::from_le_bytes(data)).unwrap();
    let value = i64::from_le_bytes(region[at..at + 8].try_into().unwrap()) + more;
    region[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

#[test]
fn a_pause_while_nothing_was_read_is_not_of_the_last_minute() {
    let (_, mut region, _) =
        captures().into_iter().find(|(file, ..)| file.contains("jdk17-g1-loaded")).unwrap();
    let (mut meter, mut seen) = shown(&region, false);
    let mut collect = || {
        raise(&mut region, "sun.gc.collector.0.invocations", 2);
        raise(&mut region, "sun.gc.collector.0.time", 6_000_000_000);
        region.clone()
    };
    meter.read(&collect(), SECOND, &mut seen);
    assert_eq!(value(&seen, "gc.pause.max"), json!(3_000_000_000_u64));
    meter.unread(State::new(Stage::Refused, "its performance data cannot be read"));
    meter.tick(&mut seen);
    let hour = Duration::from_secs(3600);
    meter.read(&collect(), hour, &mut seen);
    assert_eq!(value(&seen, "gc.pause.max"), Json::Null, "it may have been an hour ago");
    meter.read(&collect(), hour + SECOND, &mut seen);
    assert_eq!(value(&seen, "gc.pause.max"), json!(3_000_000_000_u64));
}

#[test]
fn a_program_that_replaces_another_one_has_its_own_processor_time() {
    let before = Some((9, 4));
    let (mut meter, mut seen) =
        (Meter::new(Who { is_new: true, ..Who::default() }, before), recorded());
    meter.start(&mut seen);
    let service = seen.identity().and_then(|identity| identity.service).unwrap();
    assert_eq!(service.before, [(m::CPU_TIME, USER, 9), (m::CPU_TIME, SYSTEM, 4)]);
    assert_eq!((service.is_new, starts(&seen)), (true, 1));
    meter.used((11, 5), &mut seen);
    assert_eq!(meter.processor_time(), Some((11, 5)));
}

#[test]
fn a_process_is_new_to_its_service_once() {
    let (_, region, _) = captures().swap_remove(0);
    let is_new = |seen: &Recorded| seen.identity().unwrap().service.as_ref().unwrap().is_new;
    let (_, old) = shown(&region, false);
    assert_eq!((is_new(&old), starts(&old)), (false, 0));
    let (mut meter, new) = shown(&region, true);
    assert_eq!((is_new(&new), starts(&new)), (true, 1));
    // It was turned away: nothing has counted.
    let mut again = recorded();
    meter.again();
    meter.start(&mut again);
    assert!(is_new(&again));
    // It has another name now.
    meter.before = Some((1, 2));
    meter.end("its name is another one now", &mut again);
    meter.again();
    let mut renamed = recorded();
    meter.start(&mut renamed);
    let service = renamed.identity().and_then(|identity| identity.service).unwrap();
    assert_eq!(service.before, [], "its old name has counted from there");
    meter.read(&region, SECOND, &mut renamed);
    assert_eq!((is_new(&renamed), starts(&renamed)), (false, 0));
    let (values, rows) = named(&renamed);
    assert!(!values.is_empty() && !rows.is_empty(), "all is shown anew");
}

#[test]
fn a_row_that_is_there_no_longer_has_no_values() {
    let (_, region, _) =
        captures().into_iter().find(|(file, ..)| file.contains("jdk8-par")).unwrap();
    let (mut meter, mut seen) = shown(&region, false);
    let mut figures = meter.told.figures.unwrap();
    let used = |seen: &Recorded| seen.rows(m::POOL_USED);
    let before = used(&seen);
    // The old generation is lost by damage, and those behind it move up.
    let at = figures.pools.iter().flatten().position(|pool| pool.0 == "old").unwrap();
    figures.pools[at..].rotate_left(1);
    figures.pools[POOLS - 1] = None;
    figures.collections[1] = None;
    meter.told.rows.read(&meter.instance, &figures, &mut seen);
    let mut left = before.clone();
    left.remove("old");
    assert_eq!(used(&seen), left);
    assert!(!named(&seen).1.contains_key(&("gc.count", "full".to_owned())));
    let (_, fresh) = shown(&region, false);
    meter.read(&region, SECOND, &mut seen);
    assert_eq!(named(&seen).1, named(&fresh).1, "all of it is back");
}

#[test]
fn what_is_known_later_is_a_label_too() {
    let (_, region, _) = captures().swap_remove(0);
    let labels = |seen: &Recorded| seen.identity().unwrap().labels;
    let (mut meter, mut seen) = (meter(false), recorded());
    meter.unread(State::new(Stage::Denied, "only root"));
    meter.start(&mut seen);
    assert!(!meter.is_renamed() && labels(&seen).iter().all(|(label, _)| *label != "jdk"));
    meter.via("file");
    meter.learn(&region, SECOND);
    assert!(meter.is_renamed());
    meter.again();
    meter.start(&mut seen);
    assert!(labels(&seen).iter().any(|(label, _)| *label == "jdk"));
    meter.tick(&mut seen);
    assert_eq!(value(&seen, "process.via"), json!("file"));
    meter.via("");
    meter.tick(&mut seen);
    assert_eq!(value(&seen, "process.via"), Json::Null, "it is not read any more");
    meter.via("file");
    assert!(!meter.is_renamed());
    meter.known_as(Who { owner: "www-data".to_owned(), ..meter.who().clone() });
    assert!(meter.is_renamed(), "its user has a name by now");
}

#[test]
fn what_a_program_has_left_is_not_the_next_ones() {
    let (_, region, _) = captures().swap_remove(0);
    let shop = || {
        let service = Some("shop".to_owned());
        Meter::new(Who { pid: 77, service, comm: "shop".to_owned(), ..Who::default() }, None)
    };
    let (mut meter, mut seen) = (shop(), recorded());
    meter.learn(&region, SECOND);
    meter.start(&mut seen);
    meter.read(&region, SECOND, &mut seen);
    meter.via("file");
    meter.tick(&mut seen);
    assert!(named(&seen).0.len() > 15);
    // The same process executes what cannot be read, by the same name.
    meter.end("it executes another program", &mut seen);
    let mut next = shop();
    next.unread(State::new(Stage::Denied, "only root"));
    next.start(&mut seen);
    assert_eq!(seen.identity().unwrap().name, "shop:77");
    let left: Vec<_> = named(&seen).0.into_keys().collect();
    assert_eq!(left, ["process.container_pid", "session.reason", "session.state"]);
    // One that is read has no more than what it has when nothing was left.
    let (mut meter, mut alone) = (shop(), recorded());
    for seen in [&mut seen, &mut alone] {
        meter.again();
        meter.learn(&region, SECOND);
        meter.start(seen);
        meter.read(&region, SECOND, seen);
    }
    assert_eq!(named(&seen).0, named(&alone).0);
}

#[test]
fn states_are_told_in_words() {
    let mut seen = recorded();
    let mut young = meter(true);
    young.learn(&[0; 64], SECOND);
    assert!(!young.is_known(SECOND), "it is starting");
    young.learn(&[0; 64], limits::STARTING);
    assert!(young.is_known(limits::STARTING));
    young.start(&mut seen);
    assert_eq!(value(&seen, "session.state"), json!(5));
    assert_eq!(value(&seen, "session.reason"), json!("its performance data is never ready"));
    assert_eq!(seen.identity().unwrap().name, "java:77");
    let mut denied = meter(true);
    denied.unread(State::new(Stage::Denied, "only root"));
    denied.start(&mut seen);
    assert!(
        matches!(seen.log().conditions.last(), Some(Condition::Unread(why)) if why == "only root")
    );
    assert_eq!(value(&seen, "session.state"), json!(1));
    // It can be read now, and is another one by its performance data.
    let (_, region, _) = captures().swap_remove(0);
    denied.learn(&region, SECOND);
    assert!(denied.is_renamed());
    denied.again();
    denied.start(&mut seen);
    assert!(!denied.is_renamed());
    assert_eq!(value(&seen, "session.state"), json!(3));
    denied.end("the process has ended", &mut seen);
    assert_eq!(value(&seen, "session.state"), json!(6));
}

#[test]
fn room_for_what_was_missing() {
    for (used, overflow, size) in [
        (4088, 8096, "65536"),
        (32_760, 40_000, "262144"),
        (1 << 20, 1, "4194304"),
        (0, u64::MAX, "16777216"),
    ] {
        let words = missing(used, overflow);
        assert!(words.ends_with(&format!("(-XX:PerfDataMemorySize={size})")), "{words}");
    }
}
