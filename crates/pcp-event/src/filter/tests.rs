use std::cell::Cell;
use std::collections::HashSet;

use proptest::prelude::*;

use super::error::{DEPTH_MAX, NAMES_MAX, PARAMETERS_MAX, STARS_MAX, TERMS_MAX};
use super::*;
use crate::batch::Batch;
use crate::flags;
use crate::types::ids::{Pmid, ValueType};
use crate::types::stamp::Stamp;

/// Parameters: 1 is a number, 2 a text, 3 a double; two are called `size`, one of them a text.
struct Known;

const ALL: &[(&str, u32, ValueType)] = &[
    ("apm.x.param.call.duration", 1, ValueType::U64),
    ("apm.x.param.call.method", 2, ValueType::Text),
    ("apm.x.param.ratio", 3, ValueType::F64),
    ("apm.x.param.in.size", 4, ValueType::I32),
    ("apm.x.param.out.size", 5, ValueType::Text),
    ("apm.x.param.ctx.vtid", 6, ValueType::U32),
];

impl ParameterNames for Known {
    fn known(&self) -> usize {
        ALL.len()
    }

    /// Parameter 1 is in microseconds.
    fn time_unit(&self, pmid: Pmid) -> Option<u64> {
        (pmid.0 == 1).then_some(1000)
    }

    fn find(&self, name: &str, from: usize) -> Vec<(Pmid, ValueType)> {
        let ends = |full: &str| {
            full.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        ALL.iter()
            .skip(from)
            .filter(|(full, ..)| ends(full))
            .map(|(_, id, ty)| (Pmid(*id), *ty))
            .collect()
    }
}

/// Every name is one parameter.
struct Anything;

impl ParameterNames for Anything {
    fn find(&self, _: &str, _: usize) -> Vec<(Pmid, ValueType)> {
        vec![(Pmid(1), ValueType::U64)]
    }
}

/// Every name is many parameters.
struct Crowd;

impl ParameterNames for Crowd {
    fn find(&self, _: &str, _: usize) -> Vec<(Pmid, ValueType)> {
        (0..=u32::try_from(PARAMETERS_MAX / 2).unwrap_or(0))
            .map(|n| (Pmid(n), ValueType::U64))
            .collect()
    }
}

/// The first N of [`ALL`].
struct First(usize, std::cell::Cell<usize>);

impl ParameterNames for First {
    fn known(&self) -> usize {
        self.0
    }

    fn find(&self, name: &str, from: usize) -> Vec<(Pmid, ValueType)> {
        self.1.set(self.1.get() + 1);
        let known: HashSet<u32> = ALL.iter().take(self.0).map(|(_, id, _)| *id).collect();
        Known.find(name, from).into_iter().filter(|(pmid, _)| known.contains(&pmid.0)).collect()
    }
}

#[test]
fn new_parameters_are_looked_up_once_for_each_name() {
    let mut filter =
        Filter::parse("size == -7 || size == 9 || size < duration", &First(5, Cell::default()))
            .expect("sound");
    assert!(filter.matcher("x").matches(&record()));
    let none = Filter::parse("size == -7", &First(3, Cell::default())).expect_err("no size yet");
    assert!(none.message.contains("size"));
    let few = First(4, Cell::default());
    let mut one = Filter::parse("size == \"x*\" || size == 1", &few).map_err(|e| e.message);
    assert!(one.is_err(), "size is a number so far");
    one = Filter::parse("size == 1", &few).map_err(|e| e.message);
    let (mut one, all) = (one.expect("sound"), First(6, Cell::default()));
    assert_eq!((one.names.len(), one.parameters.len()), (1, 1));
    one.refresh(&all);
    one.refresh(&all);
    assert_eq!((one.parameters.len(), all.1.get()), (2, 1));
    filter.refresh(&all);
    assert_eq!(all.1.get(), 3, "two names");
}

/// [`First`], and there may be more.
struct Growing(First);

impl ParameterNames for Growing {
    fn known(&self) -> usize {
        self.0.known()
    }

    fn find(&self, name: &str, from: usize) -> Vec<(Pmid, ValueType)> {
        self.0.find(name, from)
    }

    fn grows(&self) -> bool {
        true
    }
}

#[test]
fn a_name_that_is_not_known_yet_matches_nothing_until_it_is() {
    let growing = |known| Growing(First(known, Cell::default()));
    let parse = |text| Filter::parse(text, &growing(0)).expect(text);
    let matches = |filter: &Filter| filter.matcher("x").matches(&record());
    for text in
        ["duration > 3", "method == \"GET*\"", "duration", "in.size < ratio", "3 < duration"]
    {
        let mut filter = parse(text);
        assert!(!matches(&filter), "{text}");
        assert!(filter.unknown().next().is_some(), "{text}");
        filter.refresh(&growing(6));
        assert!(matches(&filter), "{text}");
        assert_eq!(filter.unknown().next(), None, "{text}");
    }
    // What is written for another type than comes is false.
    let mut other = parse("method == 3 || duration == \"x\"");
    other.refresh(&growing(6));
    assert!(!matches(&other));
    for wrong in ["duration >", "duration > \"x\"", "duration > 5ms", "duration = 5"] {
        assert!(Filter::parse(wrong, &growing(0)).is_err(), "{wrong}");
    }
}

/// 1795000000.25 s, POINT, duration 120, method "GET /a*b", ratio 0.5, in.size -7.
fn record() -> Vec<u8> {
    let mut batch = Batch::default();
    batch.record(Stamp { sec: 1_795_000_000, nsec: 250_000_000 }, flags::POINT);
    batch.number(Pmid(1), ValueType::U64, 120);
    batch.text(Pmid(2), "GET /a*b");
    batch.number(Pmid(3), ValueType::F64, 0.5_f64.to_bits());
    batch.number(Pmid(4), ValueType::I32, (-7_i32).cast_unsigned().into());
    batch.seal();
    batch.bytes
}

fn keeps(text: &str) -> bool {
    Filter::parse(text, &Known)
        .unwrap_or_else(|e| panic!("{text}: {e}"))
        .matcher("app:12")
        .matches(&record())
}

#[test]
fn comparisons() {
    for yes in [
        "duration == 120",
        "duration==0x78&&ratio>.4",
        "call.duration >= 0170",
        "apm.x.param.call.duration < 1e3",
        "120 == duration",
        "ratio != 0.25",
        "ratio < 1",
        "size == -7",
        "size < 0 && size > -8",
        "duration",
        "!(duration == 121)",
        "!!duration",
        "method",
        "flags == 1",
        "timestamp > 1795000000 && timestamp < 1795000000.5",
        "instance == \"app:*\"",
        "instance != \"other\"",
        "method == \"GET *\"",
        "method == \"*a\\*b\"",
        "method == \"*\"",
        "method == \"*E* */*\"",
        "method != \"POST*\"",
        "method == \"GET /a*b\"",
        "duration < 1 || (duration > 100 && duration < 200)",
        "duration == 1 && duration == 2 || duration == 120",
        "!($ctx.vtid == 1)",
        "duration > size",
        "duration == 120us",
        "duration == 120000ns && 0.00012s == duration && duration == .12ms",
        "duration > 119.9us && duration < 120001ns",
        "duration > -1s",
    ] {
        assert!(keeps(yes), "{yes}");
    }
    for no in [
        "duration != 120",
        "vtid == 0",
        "vtid != 0",
        "vtid",
        "!duration",
        "method == \"get*\"",
        "method == \"*a*bc\"",
        "method == \"GET /a\\*\"",
        "method == \"GET\"",
        "instance == \"app\"",
        "duration < 120 || duration > 120",
        "size == \"x*\"",
        "ratio == 1",
        "instance == \"app:12*12\"",
    ] {
        assert!(!keeps(no), "{no}");
    }
}

#[test]
fn errors_name_the_column_and_what_is_expected() {
    for (text, column, part) in [
        ("", 1, "expected a name, a number or a text in double quotes, found the end"),
        ("durration > 5", 1, "no parameter is called `durration`"),
        ("duration >", 11, "expected a name, a number or a text"),
        ("duration > \"x\"", 10, "== and != only"),
        ("duration == \"x\"", 1, "`duration` is a number: expected a number"),
        ("ratio > 1 && method == 5", 14, "`method` is a text: expected a text in double quotes"),
        ("5 == method", 6, "`method` is a text"),
        ("method == \"abc", 11, "double quote at the end"),
        ("method == \"a\\n\"", 13, "expected \\*"),
        ("duration = 5", 10, "found `=`"),
        ("duration == 5 duration == 6", 15, "expected &&, || or the end, found `duration`"),
        ("(duration == 5", 15, "expected &&, || or ), found the end"),
        ("duration == 5)", 14, "expected &&, || or the end, found `)`"),
        ("duration == 0xzz", 13, "is not a number"),
        ("duration == 1.2.3", 13, "is not a number"),
        ("duration == 08", 13, "is not a number"),
        ("5", 2, "expected == != < <= > or >="),
        ("\u{e9}", 1, "found `\u{e9}`"),
        ("method == \"\u{e9}\" &", 15, "found `&`"),
        ("duration == -method", 14, "expected a number"),
        ("duration & 1", 10, "found `&`"),
        ("duration > 100mz", 12, "and times: 5ns, 10us, 100ms, 1.5s"),
        ("duration > 1.2.3s", 12, "is not a number"),
        ("duration > .s", 12, "is not a number"),
        ("duration > s", 12, "no parameter is called `s`"),
        ("vtid > 100ms", 8, "the values of `vtid` have no unit of time"),
        ("1s < timestamp", 1, "the values of `timestamp` have no unit of time"),
        ("1s < 2s", 1, "no other time"),
        ("1s < 2", 1, "expected a name beside a time"),
        ("1s", 3, "expected == !="),
        ("method == 1s", 11, "no unit of time"),
    ] {
        let e = Filter::parse(text, &Known).expect_err(text);
        assert_eq!(e.column, column, "{text}: {e}");
        assert!(e.message.contains(part), "{text}: {e}");
    }
}

#[test]
fn size_and_depth_are_limited() {
    let deep = |n: usize| format!("{}duration{}", "(".repeat(n), ")".repeat(n));
    assert!(Filter::parse(&deep(DEPTH_MAX - 1), &Known).is_ok());
    assert!(Filter::parse(&deep(DEPTH_MAX), &Known).is_err_and(|e| e.message.contains("64")));
    assert!(Filter::parse(&"!".repeat(4000), &Known).is_err());
    let long = format!("duration == 1{}", " ".repeat(FILTER_MAX));
    assert!(Filter::parse(&long, &Known).is_err_and(|e| e.message.contains("4096")));
    assert!(Filter::parse(&vec!["duration == 120"; TERMS_MAX].join(" || "), &Known).is_ok());
    let many = Filter::parse(&vec!["duration == 120"; TERMS_MAX + 1].join(" || "), &Known);
    assert!(many.is_err_and(|e| e.message.contains("128 comparisons")));
    let stars = format!("method == \"{}\"", "*a".repeat(STARS_MAX + 1));
    assert!(Filter::parse(&stars, &Known).is_err_and(|e| e.message.contains("128 times *")));
    let names: Vec<_> = (0..=NAMES_MAX).map(|n| format!("n{n}")).collect();
    assert!(
        Filter::parse(&names.join("&&"), &Anything)
            .is_err_and(|e| e.message.contains("32 different names"))
    );
    let two = Filter::parse("a && b", &Crowd).map(|f| f.text.clone());
    assert!(two.is_err_and(|e| e.message.contains("16384 parameters") && e.column == 6));
}

proptest! {
    #[test]
    fn nothing_panics(text in "[a-z0-9 ()!&|<>=\"*.$\\\\-]{0,60}|(duration|method|size|[0-9]+|==|<|&&|\\|\\||!|\\(|\\)|\"a\\*\"| ){0,30}", cut in 0..120usize) {
        if let Ok(filter) = Filter::parse(&text, &Known) {
            let record = record();
            let _ = filter.matcher("x").matches(record.split_at(cut.min(record.len())).0);
        }
    }
}
