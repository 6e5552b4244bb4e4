use super::*;
use crate::sources::mono::test_kit::{CONSTANT, GC, MONOTONIC, Row, SYSTEM, gc};

fn header<'a>((category, name, kind, unit, variance, index): Row<'a>) -> Header<'a> {
    Header {
        numbers: Numbers { category, kind, unit, variance },
        name,
        index: index.cast_unsigned(),
    }
}

fn counters(select: &[&str], rows: &[Row<'_>]) -> Counters {
    counters_within(limits::COUNTERS, select, rows)
}

fn counters_within(names: usize, select: &[&str], rows: &[Row<'_>]) -> Counters {
    let select = select.iter().filter_map(|p| Pattern::parse(p).ok()).collect();
    let mut counters = Counters::new(Order::Little, select, Bounds { name_length: 20, names });
    rows.iter().for_each(|row| counters.announce(&header(*row)));
    counters.settle();
    counters
}

fn fresh(counters: &mut Counters) -> Vec<String> {
    counters.take_fresh().map(|(slot, spec)| format!("{slot} {}", spec.key)).collect()
}

const ONE: &[u8] = &[1, 0, 0, 0];

#[test]
fn counters_of_one_name_are_told_apart_and_numbers_are_not_used_twice() {
    let mut c = counters(&[], &[gc("x", 0), gc("x", 1), gc("y", 5)]);
    assert_eq!(fresh(&mut c), ["0 GC/x", "1 GC/x #2", "5 GC/y"]);
    c.remove(0);
    c.remove(0);
    assert_eq!(c.sampled(), 2);
    // The second is still sampled, so the new counter is the third.
    c.announce(&header(gc("x", 6)));
    c.remove(5);
    c.announce(&header(gc("y", 7)));
    assert_eq!(fresh(&mut c), ["6 GC/x #3", "7 GC/y"]);
}

#[test]
fn what_is_not_selected_is_kept_for_when_it_is() {
    let mut c = counters(&["GC/a"], &[gc("a", 0), gc("b", 1)]);
    assert_eq!(fresh(&mut c), ["0 GC/a"]);
    assert_eq!(c.value(0, ONE).0, Some(SampleValue::Wrapping32(1)));
    assert_eq!(c.value(1, ONE).0, None);
    c.select(Pattern::parse("GC/*").into_iter().collect());
    assert_eq!(fresh(&mut c), ["1 GC/b"]);
    assert_eq!(c.take_pending().collect::<Vec<_>>(), [(1, SampleValue::Wrapping32(1))]);
    assert_eq!(c.take_pending().count(), 0);
    // Hidden and shown again: the metric is defined already, and the newest value is reported.
    c.select(Pattern::parse("GC/a").into_iter().collect());
    assert_eq!(c.value(1, &[2, 0, 0, 0]).0, None);
    c.force(1);
    assert_eq!(c.value(1, &[3, 0, 0, 0]).0, Some(SampleValue::Wrapping32(3)));
    assert_eq!((fresh(&mut c).len(), c.take_pending().count()), (0, 0));
}

#[test]
fn a_counter_that_comes_back_into_sight_has_its_value() {
    let mut c = counters(&[], &[gc("a", 0)]);
    assert_eq!(c.value(0, ONE).0, Some(SampleValue::Wrapping32(1)));
    c.hide(0);
    assert_eq!(c.take_gone().collect::<Vec<_>>(), [0]);
    c.force(0);
    assert_eq!(c.take_pending().collect::<Vec<_>>(), [(0, SampleValue::Wrapping32(1))]);
    assert_eq!(c.take_gone().count(), 0);
}

#[test]
fn what_is_gone_is_told_once() {
    let mut c = counters(&[], &[gc("a", 0)]);
    c.remove(0);
    c.announce(&header(gc("a", 1)));
    assert_eq!(
        (c.take_gone().collect::<Vec<_>>(), fresh(&mut c)),
        (vec![0], vec!["0 GC/a".into(), "1 GC/a".into()])
    );
    // Both have the same metric: hiding the first again would remove the value of the second.
    c.select(Pattern::parse("GC/*").into_iter().collect());
    assert_eq!(c.take_gone().count(), 0);
}

#[test]
fn a_dropped_counter_is_not_shown_until_it_is_asked_for() {
    let mut c = counters(&[], &[gc("a", 0)]);
    c.hide(0);
    assert!(!c.shown(0) && c.value(0, ONE).0.is_none());
    c.force(0);
    assert!(c.shown(0));
}

#[test]
fn unusable_names_are_told_once() {
    let mut c =
        counters(&[], &[gc("this name is longer than 20", 0), gc("a\u{7f}b", 1), gc("fine", 2)]);
    assert_eq!(fresh(&mut c), ["2 GC/fine"]);
    assert!(
        c.take_name_error()
            .is_some_and(|text| text.contains("limits.name_length") && text.contains("27 bytes"))
    );
    c.announce(&header(gc("this name is longer than 20 too", 3)));
    assert_eq!((c.take_name_error(), c.value(0, ONE)), (None, (None, None)));
    c.force(0);
    assert!(!c.shown(0));
}

#[test]
fn the_counters_that_name_the_process_are_never_unwanted() {
    let pid = (SYSTEM, "Process Id", 0, 0, CONSTANT, 1);
    let mut c = counters(&["JIT/*"], &[gc("a", 0), pid]);
    assert!(c.has_identity());
    assert_eq!(
        (c.unwanted(), c.identifies(1), c.identifies(0), c.identifies(9)),
        (vec![0], Some(true), Some(false), None)
    );
    assert_eq!(c.value(1, ONE), (None, Some((IdentityCounter::Pid, Value::I64(1).into()))));
    c.force(0);
    assert!(c.unwanted().is_empty());
}

#[test]
fn a_custom_counter_goes_by_both_its_names() {
    let c = counters(&[], &[(8, "Widgets:made", 1, 3, 3, 0)]);
    let meant = |pattern| Pattern::parse(pattern).map(|p| c.matching(&p));
    for pattern in ["Widgets/made", "widgets/*", "Custom/Widgets:made", "Custom/*"] {
        assert_eq!(meant(pattern), Ok(vec![0]), "{pattern}");
    }
    assert!(c.has_name("made") && c.has_name("Widgets:made") && !c.has_name("Widgets"));
    assert!(c.as_listed().contains(&listed("Widgets", "made")));
    assert_eq!(c.key(0), "Custom/Widgets:made");
}

#[test]
fn e1_shows_only_when_all_headers_are_there() {
    let mut c = counters(
        &["ThreadPool/*"],
        &[(8, "a", 0, 1, 3, 0), (6, "b", 0, 1, 3, 1), (9, "c", 0, 1, 3, 2)],
    );
    assert_eq!(c.space(), Some(Space::E1));
    // In E2 the category would be the other one.
    assert_eq!(fresh(&mut c), ["0 ThreadPool/a"]);
}

#[test]
fn sparse_indexes_and_many_of_one_name_cost_little() {
    let rows: Vec<_> = (0..i16::MAX).rev().map(|i| (GC, "x", 0, 0, MONOTONIC, i)).collect();
    let mut c = counters(&["GC/x"], &rows);
    assert_eq!((c.sampled(), c.indexes_used()), (32_767, 32_767));
    assert_eq!(c.take_fresh().last().map(|(_, spec)| spec.key.clone()), Some("GC/x #32767".into()));
}

#[test]
fn counters_that_cannot_be_shown_are_not_kept() {
    let names: Vec<String> = (0..1000).map(|n| format!("n{n}")).collect();
    let rows = |n: usize| -> Vec<Row<'_>> {
        (0..).zip(names.iter().take(n)).map(|(index, name)| gc(name, index)).collect()
    };
    let mut few = counters_within(100, &[], &rows(100));
    let mut many = counters_within(100, &[], &rows(1000));
    let grown = |c: &Counters| c.heap_size();
    assert_eq!((fresh(&mut few).len(), fresh(&mut many).len()), (100, 100));
    assert_eq!((few.sampled(), many.sampled(), grown(&few)), (100, 1000, grown(&many)));
    assert_eq!(
        (many.value(99, ONE).0, many.value(100, ONE).0),
        (Some(SampleValue::Wrapping32(1)), None)
    );
    // Selected counters are kept, however many others precede them.
    let mut chosen = counters_within(100, &["GC/n150"], &rows(1000));
    assert_eq!(fresh(&mut chosen), ["150 GC/n150"]);
    // The counters that identify the process are kept, too.
    let mut who = rows(500);
    who.push((SYSTEM, "Process Id", 0, 0, CONSTANT, 500));
    assert!(counters_within(100, &[], &who).has_identity());
}

fn of_rows(names: usize, rows: &[Row<'_>]) -> Counters {
    counters_within(names, &[], rows)
}

#[test]
fn equal_hellos_are_kept_once_and_others_are_told_apart() {
    let long: Vec<String> = (0..300).map(|n| format!("shared {n}")).collect();
    let rows: Vec<Row<'_>> = (0..).zip(&long).map(|(index, name)| gc(name, index)).collect();
    let alone = |rows: &[Row<'_>]| of_rows(1000, rows).heap_size();
    let (one, specs) = (alone(&rows), |c: &mut Counters| {
        c.take_fresh().map(|(slot, spec)| (slot, (*spec).clone())).collect::<Vec<_>>()
    });
    let mut first = of_rows(1000, &rows);
    let wanted = specs(&mut first);
    let mut others: Vec<Counters> = (0..20).map(|_| of_rows(1000, &rows)).collect();
    let kept = |c: &Counters| c.heap_size() < one / 2;
    assert!(kept(&first) && others.iter().all(kept), "{} {one}", first.heap_size());
    for other in &mut others {
        assert_eq!(specs(other), wanted);
    }
    // The metrics are kept for all, and each connection has its own states and values.
    let state = size_of::<Counter>() * rows.len();
    assert!(first.heap_size() < state + one, "{} {one}", first.heap_size());
    others.iter_mut().zip(0u8..).for_each(|(c, n)| {
        assert_eq!(c.value(7, &[n, 0, 0, 0]).0, Some(SampleValue::Wrapping32(n.into())));
    });
    others[3].remove(7);
    assert_eq!((others[3].sampled(), others[4].sampled()), (299, 300));
    assert_eq!((others[3].value(7, ONE).0, others[4].shown(7)), (None, true));
    // An added counter is of its connection only.
    others[3].announce(&header(gc("shared 7", 300)));
    others[4].announce(&header(gc("shared 7", 300)));
    let key = |c: &Counters| c.key(300);
    assert_eq!((key(&others[3]), key(&others[4])), ("GC/shared 7".into(), "GC/shared 7 #2".into()));
    assert_eq!((key(&first), first.indexes_used()), (String::new(), 300));
}

#[test]
fn a_hello_that_only_begins_like_a_known_one_is_its_own() {
    let rows: Vec<Row<'_>> = [("p", 0), ("p", 1), ("q", 2), ("p", 3)].map(|(n, i)| gc(n, i)).into();
    let known = of_rows(100, &rows);
    let keys = |c: &Counters| (0..5).map(|index| c.key(index)).collect::<Vec<_>>();
    assert_eq!(keys(&known), ["GC/p", "GC/p #2", "GC/q", "GC/p #3", ""]);
    // It ends early, goes on, has other numbers, another order, or another limit.
    assert_eq!(keys(&of_rows(100, &rows[..2])), ["GC/p", "GC/p #2", "", "", ""]);
    let more = [&rows[..], &[gc("p", 4)]].concat();
    assert_eq!(keys(&of_rows(100, &more))[3..], ["GC/p #3", "GC/p #4"]);
    let mut other = rows.clone();
    other[3].2 = 3;
    let mut other = of_rows(100, &other);
    assert_eq!(other.value(3, &[1, 0, 0, 0, 0, 0, 0, 0]).0, Some(Value::U64(1).into()));
    let turned: Vec<_> = rows.iter().rev().copied().collect();
    assert_eq!(keys(&of_rows(100, &turned)), ["GC/p #3", "GC/p #2", "GC/q", "GC/p", ""]);
    let few = of_rows(3, &rows);
    assert_eq!(
        (keys(&few)[3].as_str(), few.sampled(), keys(&known)[3].as_str()),
        ("", 4, "GC/p #3")
    );
    // A Hello that is announced again begins anew.
    let mut again = of_rows(100, &rows);
    again.restart();
    again.announce(&header(gc("p", 0)));
    again.announce(&header(gc("z", 1)));
    again.settle();
    assert_eq!(keys(&again), ["GC/p", "GC/z", "", "", ""]);
}

#[test]
fn times_of_32_bits_are_widened_for_each_connection() {
    let time = (GC, "t", 1, 2 << 24, MONOTONIC, 0);
    let (mut one, mut other) = (counters(&[], &[time]), counters(&[], &[time]));
    let read = |c: &mut Counters, bits: u32| c.value(0, &bits.to_le_bytes()).0;
    let value = |ticks: u64| Some(Value::U64(100 * ticks).into());
    assert_eq!(read(&mut one, u32::MAX), value(u32::MAX.into()));
    assert_eq!((read(&mut other, 4), read(&mut one, 4)), (value(4), value((1 << 32) + 4)));
}
