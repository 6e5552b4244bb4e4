use super::*;
use crate::model::{Units, ValueType};

const MONOTONIC: u32 = 1 << 28;

fn description(category: &str, name: &str, occurrence: u32) -> Description {
    let numbers = Numbers { category: 0, kind: 4, unit: 2 << 24, variance: MONOTONIC };
    Description {
        space: Space::E3,
        numbers,
        category: category.into(),
        name: name.into(),
        occurrence,
    }
}

#[test]
fn a_time_says_what_it_is() {
    let spec = description("GC", "Minor GC time", 1).spec();
    assert_eq!((spec.key.as_str(), spec.path.as_str()), ("GC/Minor GC time", "gc.minor_gc_time"));
    assert_eq!(
        (spec.ty, spec.sem, spec.units),
        (ValueType::U64, Semantics::Counter, Units::Nanoseconds)
    );
    assert_eq!(spec.persist, "E3 4 2000000 10000000 GC/Minor GC time");
    assert_eq!(
        spec.labels,
        [("category", "GC".to_owned()), ("counter", "Minor GC time".to_owned())]
    );
    assert_eq!(spec.oneline, "Time in collections of the nursery");
    for part in [
        "\"Minor GC time\"",
        "category GC",
        "ULONG",
        "unit TIME",
        "MONOTONIC",
        "100 ns",
        "fraction of wall time",
    ] {
        assert!(spec.help.contains(part), "{part} in {}", spec.help);
    }
}

#[test]
fn a_second_counter_of_the_same_name_has_a_number() {
    let spec = description("JIT", "Event: x", 2).spec();
    assert_eq!((spec.key.as_str(), spec.path.as_str()), ("JIT/Event: x #2", "jit.event_x_2"));
    assert_eq!(spec.persist, "E3 4 2000000 10000000 #2 JIT/Event: x");
}

#[test]
fn wrong_counters_are_said_to_be_wrong() {
    for name in ["Total Time", "Page Faults"] {
        let spec = description("System", name, 1).spec();
        assert!(
            spec.oneline.starts_with("WRONG in Mono: twice") && spec.help.contains("twice"),
            "{name}"
        );
    }
    assert!(
        description("System", "CPU Load Average - 5min", 1).spec().help.contains("not a fraction")
    );
}

#[test]
fn restored_descriptions_are_the_same() {
    for (category, name, occurrence) in [
        ("GC", "Minor GC time", 1),
        ("GC", "a/b #3", 1),
        ("JIT", "a/b #3", 2),
        ("unknown_300", "#", 1),
        ("System", "two  blanks", 9),
    ] {
        let spec = description(category, name, occurrence).spec();
        assert_eq!(restore(&spec.persist), Some(spec), "{category}/{name} {occurrence}");
    }
    let odd = Numbers { category: 0, kind: u32::MAX, unit: 5, variance: 0 };
    for space in [Space::E1, Space::E2, Space::E3] {
        let spec =
            Description { space, numbers: odd, ..description("Custom", "W:w size", 1) }.spec();
        assert!(spec.help.contains("unknown (0xffffffff)"), "{}", spec.help);
        assert_eq!(restore(&spec.persist), Some(spec));
    }
}

#[test]
fn other_lines_are_not_restored() {
    for line in [
        "",
        "E4 0 0 0 GC/x",
        "E3 0 0 GC/x",
        "E3 0 0 g GC/x",
        "E3 0 0 0 GC",
        "E3 0 0 0 /x",
        "E3 0 0 0 #0 GC/x",
        "E3 0 0 0 #x GC/x",
        "E3 0 0 0 #1 #2 GC/x",
        "E3 0 0 0 G\u{1}/x",
    ] {
        assert_eq!(restore(line), None, "{line}");
    }
    assert_eq!(restore("E3 0 0 10000000 GC/Minor GC collections").unwrap().ty, ValueType::U64);
}
