use super::*;
use crate::model::{Units, ValueType};

const MONOTONIC: u32 = 1 << 28;
const CONSTANT: u32 = 1 << 29;
const VARIABLE: u32 = 1 << 30;
const TIME: u32 = 2 << 24;

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

#[test]
fn sums_are_of_counters_and_restored() {
    let counter = restore("E3 4 2000000 10000000 GC/Minor GC time").expect("a counter");
    assert_eq!(counter.sem, Semantics::Counter);
    let sum = total(&counter).expect("an integer");
    assert_eq!((sum.path.as_str(), sum.place), (counter.path.as_str(), TOTALS));
    assert_eq!(restore(&sum.persist).as_ref(), Some(&sum));
    assert_eq!(total(&sum), None, "no sums of sums");
    let gauge = restore("E3 3 0 40000000 GC/x").expect("a gauge");
    assert_eq!((gauge.sem == Semantics::Counter, total(&gauge)), (false, None));
}

#[test]
fn the_metric_of_a_user_counter() {
    let spec = Description {
        space: Space::E3,
        numbers: USER_NUMBERS,
        category: Space::E3.category(USER_SECTION).into_owned(),
        name: user_name("Shop", "orders done"),
        occurrence: 1,
    }
    .spec();
    assert_eq!(spec.path, "perfcounters.shop_orders_done");
    assert_eq!(spec.key, "PerfCounters/Shop/orders done");
    assert_eq!((spec.ty, spec.sem), (ValueType::I64, Semantics::Instant));
}

fn e3(kind: u32, unit: u32, variance: u32, name: &str) -> (ValueType, Semantics, Units, u32) {
    let m =
        Mapping::of(Space::E3, Numbers { category: 0x100, kind, unit: unit << 24, variance }, name);
    (m.ty, m.sem, m.units, m.scale)
}

#[test]
fn tables_of_section_8() {
    use Semantics::{Counter, Discrete, Instant};
    use ValueType::{F64, I64, Text, U64};
    for ((kind, unit, variance, name), expected) in [
        ((0, 0, MONOTONIC, "Compiled methods"), (U64, Counter, Units::Count, 1)),
        ((0, 0, MONOTONIC, "Native code size"), (U64, Counter, Units::Bytes, 1)),
        ((0, 0, MONOTONIC, "RGCTX bytes allocated"), (U64, Counter, Units::Bytes, 1)),
        ((4, 0, MONOTONIC, "Dynamic code bytes"), (U64, Counter, Units::Bytes, 1)),
        ((0, 0, MONOTONIC, "sizes"), (U64, Counter, Units::Count, 1)),
        ((0, 0, MONOTONIC, "Max basic blocks"), (U64, Instant, Units::Count, 1)),
        ((0, 0, MONOTONIC, "Maximum"), (U64, Counter, Units::Count, 1)),
        ((2, 1, MONOTONIC, "Memgov max alloc"), (U64, Instant, Units::Bytes, 1)),
        ((4, 2, MONOTONIC, "Collection max time"), (U64, Instant, Units::Nanoseconds, 100)),
        ((3, 2, MONOTONIC, "Major GC time"), (U64, Counter, Units::Nanoseconds, 100)),
        ((2, 1, VARIABLE, "Memgov alloc"), (I64, Instant, Units::Bytes, 1)),
        ((5, 4, VARIABLE, "CPU Load Average - 1min"), (F64, Instant, Units::None, 1)),
        ((5, 2, MONOTONIC, "seconds"), (F64, Counter, Units::None, 1)),
        ((7, 0, MONOTONIC, "interval"), (U64, Counter, Units::Nanoseconds, 1000)),
        ((6, 0, CONSTANT, "Version"), (Text, Discrete, Units::None, 1)),
        ((6, 0, VARIABLE, "text bytes"), (Text, Discrete, Units::None, 1)),
        ((0, 0, CONSTANT, "Process Id"), (I64, Discrete, Units::None, 1)),
        ((0, 3, VARIABLE, "threads"), (I64, Instant, Units::Count, 1)),
        ((0, 0, VARIABLE, "threads"), (I64, Instant, Units::None, 1)),
        ((0, 77, 0, "what"), (I64, Instant, Units::None, 1)),
    ] {
        assert_eq!(e3(kind, unit, variance, name), expected, "{name}");
    }
}

#[test]
fn quantity_is_no_size_and_config_no_count() {
    let units = |space, unit| {
        Mapping::of(space, Numbers { category: 1, kind: 0, unit, variance: 2 }, "x").units
    };
    assert_eq!((units(Space::E1, 1), units(Space::E2, 1)), (Units::None, Units::Bytes));
    assert_eq!((units(Space::E1, 4), units(Space::E2, 3)), (Units::None, Units::Count));
}

struct Reader(Mapping, Order, BTreeMap<u16, (u32, u64)>);

impl Reader {
    const fn new(mapping: Mapping, order: Order) -> Self {
        Self(mapping, order, BTreeMap::new())
    }

    fn read(&mut self, bytes: &[u8]) -> Option<SampleValue> {
        read(self.0, self.1, bytes, |bits| widen(&mut self.2, 0, bits))
    }
}

fn reader(kind: u32, unit: u32, variance: u32, name: &str) -> Reader {
    Reader::new(
        Mapping::of(Space::E3, Numbers { category: 0x200, kind, unit, variance }, name),
        Order::Little,
    )
}

#[test]
fn integers_take_the_sign_and_width_of_their_metric() {
    for (kind, unit, variance, bytes, expected) in [
        (0, 0, MONOTONIC, &(-1i32).to_le_bytes() as &[u8], SampleValue::Wrapping32(u32::MAX)),
        (1, 0, MONOTONIC, &4_000_000_000u32.to_le_bytes(), SampleValue::Wrapping32(4_000_000_000)),
        (0, 0, VARIABLE, &(-1i32).to_le_bytes(), Value::I64(-1).into()),
        (1, 0, VARIABLE, &4_000_000_000u32.to_le_bytes(), Value::I64(4_000_000_000).into()),
        (2, 0, VARIABLE, &(-2i32).to_le_bytes(), Value::I64(-2).into()),
        (2, 0, VARIABLE, &(-2i64).to_le_bytes(), Value::I64(-2).into()),
        (2, 0, MONOTONIC, &7i32.to_le_bytes(), Value::U64(7).into()),
        (3, 0, MONOTONIC, &(-5i64).to_le_bytes(), Value::U64(0).into()),
        (3, TIME, MONOTONIC, &50_000_000i64.to_le_bytes(), Value::U64(5_000_000_000).into()),
        (4, TIME, MONOTONIC, &((1u64 << 63) + 5).to_le_bytes(), Value::U64(u64::MAX).into()),
        (3, TIME, VARIABLE, &i64::MIN.to_le_bytes(), Value::I64(i64::MIN).into()),
        (4, 0, VARIABLE, &u64::MAX.to_le_bytes(), Value::I64(i64::MAX).into()),
        (7, 0, MONOTONIC, &1500i64.to_le_bytes(), Value::U64(1_500_000).into()),
        (5, 0, VARIABLE, &0.25f64.to_le_bytes(), Value::F64(0.25).into()),
        (9, 0, VARIABLE, &[1, 2, 3, 4], Value::I64(0x0403_0201).into()),
        (9, 0, VARIABLE, &7u64.to_le_bytes(), Value::I64(7).into()),
        (9, 0, MONOTONIC, &7u32.to_le_bytes(), SampleValue::Wrapping32(7)),
    ] {
        assert_eq!(
            reader(kind, unit, variance, "x").read(bytes),
            Some(expected),
            "{kind} {unit:x} {variance:x} {bytes:?}"
        );
    }
}

#[test]
fn a_high_water_mark_does_not_wrap() {
    assert_eq!(
        reader(0, 0, MONOTONIC, "Max x").read(&(-1i32).to_le_bytes()),
        Some(Value::U64(0).into())
    );
    assert_eq!(
        reader(1, 0, MONOTONIC, "Max x").read(&u32::MAX.to_le_bytes()),
        Some(Value::U64(u32::MAX.into()).into())
    );
}

#[test]
fn a_time_of_32_bits_is_widened_before_it_is_scaled() {
    let mut time = reader(1, TIME, MONOTONIC, "x");
    let read = |time: &mut Reader, v: u32| time.read(&v.to_le_bytes());
    assert_eq!(read(&mut time, u32::MAX), Some(Value::U64(429_496_729_500).into()));
    assert_eq!(read(&mut time, 4), Some(Value::U64(429_496_730_000).into()));
}

#[test]
fn texts_end_at_a_nul_and_odd_sizes_say_nothing() {
    assert_eq!(reader(6, 0, VARIABLE, "x").read(b"6.8\0junk"), Some(Value::text("6.8").into()));
    assert_eq!(reader(6, 0, VARIABLE, "x").read(b"a\xffb"), Some(Value::text("a\u{fffd}b").into()));
    assert_eq!(reader(6, 0, VARIABLE, "x").read(b"\0"), Some(Value::text("").into()));
    assert_eq!(reader(6, 0, VARIABLE, "x").read(b""), None);
    assert_eq!(reader(9, 0, VARIABLE, "x").read(&[1, 2, 3]), None);
}

#[test]
fn big_endian_values_are_read_as_such() {
    let mapping =
        Mapping::of(Space::E2, Numbers { category: 1, kind: 3, unit: 0, variance: 3 }, "x");
    assert_eq!(
        Reader::new(mapping, Order::Big).read(&1.5f64.to_be_bytes()),
        Some(Value::F64(1.5).into())
    );
}
