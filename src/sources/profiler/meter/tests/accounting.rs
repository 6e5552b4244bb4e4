use std::collections::BTreeMap;

use super::*;
use crate::contract::Recorded;
use crate::sources::Source;
use crate::sources::profiler::Profiler;
use crate::sources::profiler::dictionary::Text;
use crate::sources::profiler::dictionary::shared::Interner;

#[test]
fn buckets_hold_their_lower_ends() {
    for (ms, name) in [
        (0, "0-1"),
        (1, "1-2"),
        (2, "2-5"),
        (9, "5-10"),
        (10, "10-20"),
        (99_999, "50000-100000"),
        (u64::MAX, "100000-inf"),
    ] {
        assert_eq!(m::buckets()[bucket_of(&m::EDGES, ms)], name, "{ms}");
    }
}

/// Calls by method.
fn calls(rows: &Recorded) -> BTreeMap<String, u64> {
    rows.counted(m::METHOD_COUNT)
}

#[test]
fn sums_wait_for_the_name_and_only_then_belong_to_the_rest() {
    let (mut methods, mut rows) = (RootMethods::default(), Recorded::new(&Profiler::TABLE));
    rows.row(m::METHODS, REST, None);
    let mut words = Dictionary::new(Arc::new(Interner::new(1 << 20)));
    let second = Duration::from_secs;
    for id in [1, 2, 3, 2] {
        methods.add(id, &[5, 1, 0, 0, 0], second(0), &words, &mut rows);
    }
    assert!(calls(&rows).is_empty(), "{:?}", calls(&rows));
    words.put(Some(2), Text::new(&[0, b'b'], 1));
    methods.word(2, words.get(2).map(|w| &**w), &mut rows);
    methods.word(3, None, &mut rows);
    methods.add(2, &[5, 1, 0, 0, 0], second(1), &words, &mut rows);
    methods.expire(second(10), false, &mut rows);
    assert_eq!(calls(&rows), [("b".to_owned(), 3), ("other".to_owned(), 1)].into());
    assert_eq!((methods.name(2), methods.name(1)), (Some("b"), None));
    methods.expire(second(11), false, &mut rows);
    assert_eq!(calls(&rows)["other"], 2);
    for id in 100..10_000 {
        methods.add(id, &[0, 1, 0, 0, 0], second(0), &words, &mut rows);
    }
    assert_eq!(methods.unnamed.len(), limits::UNNAMED);
    methods.reset_dictionary(&mut rows);
    assert_eq!((calls(&rows)["other"], methods.unnamed.len()), (2 + 9900, 0));
}

#[test]
fn a_method_has_a_row_however_many_there_were() {
    let (mut methods, mut rows) = (RootMethods::default(), Recorded::new(&Profiler::TABLE));
    let mut words = Dictionary::new(Arc::new(Interner::new(1 << 20)));
    words.put(Some(0), Text::new(&[0, b'b'], 1));
    for _ in 0..2 * SLOTS {
        methods.add(0, &[5, 1, 0, 0, 0], Duration::ZERO, &words, &mut rows);
        methods.reset_dictionary(&mut rows);
    }
    assert_eq!(calls(&rows), [("b".to_owned(), 2 * u64::from(SLOTS))].into());
}

#[test]
fn methods_and_others() {
    for (word, name) in [
        ("void com.x.Main.run(int, java.lang.String[]) (Main.java:7) [app.jar]", "com.x.Main.run"),
        (
            "java.net.URL java.lang.ClassLoader.getResource(java.lang.String) (ClassLoader.java:1395)",
            "java.lang.ClassLoader.getResource",
        ),
        ("void Demo.lambda$main$0() (Demo.java:3) [cls/app/]", "Demo.lambda$main$0"),
        ("call.info", "call.info"),
        ("", "#"),
        ("(", "("),
        ("a\tb", "a_b"),
    ] {
        assert_eq!(method_name(word), name, "{word}");
    }
}

#[test]
fn the_report_of_losses_is_known_by_its_method() {
    assert!(is_loss_report(
        "void com.netcracker.profiler.ESC_CORRUPTED_CALLS.log() (Dumper.java:200) [profiler-runtime.jar]"
    ));
    assert!(!is_loss_report(
        "void com.x.Main.run(com.netcracker.profiler.ESC_CORRUPTED_CALLS.log) (Main.java:1)"
    ));
    assert!(!is_loss_report("ESC_CORRUPTED_CALLS.log") && !is_loss_report(""));
}
