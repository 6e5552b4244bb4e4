use super::*;
use crate::events::{Batch, Budget};
use crate::model::{Stamp, ValueType};

const DURATION: ParamItem = ParamItem::new(1);
const ERROR: ParamItem = ParamItem::new(2);
const TITLE: ParamItem = ParamItem::new(3);
const CALLS: EventTable = EventTable {
    columns: &[
        ("pod", TableCell::Peer),
        ("duration_ms", TableCell::Milliseconds(DURATION)),
        ("status", TableCell::Status(ERROR)),
        ("title", TableCell::Param(TITLE)),
        ("procname", TableCell::Named("ctx.procname")),
        ("fields", TableCell::Others(2)),
    ],
    duration: Some(DURATION),
};
const SAMPLES: EventTable = EventTable {
    columns: &[
        ("counter", TableCell::Counter),
        ("value", TableCell::Value),
        ("delta", TableCell::Delta),
    ],
    duration: None,
};
const TIME: &str = "1970-01-01T00:00:00.000000000Z";

fn pmid(item: ParamItem) -> Pmid {
    Pmid(item.get().into())
}

fn name(pmid: Pmid) -> Option<&'static str> {
    [None, Some("duration"), None, None, Some("ctx.procname"), Some("p.e.f.g"), Some("gc.minor")]
        .get(pmid.0 as usize)
        .copied()
        .flatten()
}

/// A stream of records with these parameters: numbers are U64.
fn stream(records: &[&[(u32, Result<u64, &str>)]]) -> Stream {
    let (stream, mut batch) = (Stream::new(&Budget::new(8 << 20)), Batch::default());
    for record in records {
        batch.record(Stamp::default(), 1);
        for (id, value) in *record {
            match value {
                Ok(number) => batch.number(Pmid(*id), ValueType::U64, *number),
                Err(text) => batch.text(Pmid(*id), text),
            }
        }
    }
    stream.append(&mut batch);
    stream
}

#[test]
fn a_text_is_no_formula_and_turns_no_line() {
    let cell = |text: &str| {
        let mut out = String::new();
        push_text(&mut out, text.as_bytes());
        out
    };
    for text in ["=1+1", "+1", "-1", "@sum(a1)", " \t=cmd"] {
        let bare = text.trim();
        assert_eq!(cell(text), format!("’{bare}"));
    }
    assert_eq!(
        (cell("a=1"), cell("-"), cell("=a,b")),
        ("a=1".into(), "-".into(), "\"’=a,b\"".into())
    );
    assert_eq!(cell("a\u{202e}b\u{9b}c\u{7f}d\u{2066}"), "a b c d");
}

#[test]
fn a_line_for_each_record_newest_first() {
    let first: &[_] = &[(1, Ok(1_500_000)), (3, Err("a,\"b\"\nit's")), (5, Err("x y")), (6, Ok(7))];
    let second: &[_] =
        &[(4, Err(" java ")), (9, Ok(1)), (2, Ok(1)), (1, Ok(2_000_000_000)), (3, Err("\t"))];
    let table = CsvTable::new(CALLS, "ns/pod,1", &pmid, &name);
    let text = table.newest(&stream(&[first, second, &[]]));
    assert_eq!(
        text,
        format!(
            "time,pod,duration_ms,status,title,procname,fields\n\
             {TIME},\"ns/pod,1\",-,ok,-,-,-\n\
             {TIME},\"ns/pod,1\",2000,error,-,java,9=1\n\
             {TIME},\"ns/pod,1\",1.5,ok,\"a,”b” it’s\",-,f.g=x y gc.minor=7"
        )
    );
    assert!(table.unnamed());
    let table = CsvTable::new(CALLS, "p", &pmid, &name);
    let text = table.newest(&stream(&vec![first; 60]));
    assert!(text.lines().count() == 51 && !table.unnamed(), "{text}");
}

#[test]
fn a_line_for_each_parameter_with_its_difference() {
    let table = CsvTable::new(SAMPLES, "p", &pmid, &name);
    let text = table.newest(&stream(&[&[(6, Ok(7)), (8, Err("a"))], &[], &[(6, Ok(5))]]));
    let time = TIME;
    assert_eq!(
        text,
        format!(
            "time,counter,value,delta\n{time},gc.minor,5,-2\n{time},gc.minor,7,-\n{time},8,a,-"
        )
    );
    let many = |n: u32| (0..n).map(|n| (n + 100, Ok(1))).collect::<Vec<_>>();
    let (some, more) = (many(70), many(300));
    let lines = |records: &[&[_]]| table.newest(&stream(records)).lines().count();
    assert_eq!(lines(&[&some, &some, &some]), 1 + 140, "only whole records");
    assert_eq!(lines(&[&some, &more]), 1 + 300, "the newest is always whole");
    assert_eq!(lines(&vec![&some[..2]; 80]), 1 + 100, "of 80 records the newest 50");
    let text = table.newest(&stream(&vec![&some[..2]; 80]));
    assert!(text.lines().skip(1).all(|line| line.ends_with(",1,0")), "{text}");
}

#[test]
fn differences_of_all_types() {
    use Scalar::{F32, F64, I32, I64, Text, U32, U64};
    let of = |a, b| difference(a, b).unwrap_or_default();
    assert_eq!(of(U64(0), U64(u64::MAX)), "-18446744073709551615");
    assert_eq!(of(I64(i64::MIN), I64(1)), "-9223372036854775809");
    assert_eq!((of(I32(3), I32(-4)), of(U32(1), U32(2))), ("7".into(), "-1".into()));
    assert_eq!((of(F64(1.5), F64(0.25)), of(F32(1.0), F32(0.5))), ("1.25".into(), "0.5".into()));
    assert_eq!((of(Text(b"a"), Text(b"a")), of(F64(1.0), U64(1))), Default::default());
}

#[test]
fn cells_of_hostile_texts() {
    let cell = |text: &[u8]| {
        let mut out = String::new();
        push_text(&mut out, text);
        out
    };
    for (text, expected) in [
        ("", "-"),
        (" \u{1}\n\u{feff}", "-"),
        ("\0a\u{2028}b\r\n", "a b"),
        ("\"", "”"),
        ("don't,", "\"don’t,\""),
        ("1+2", "1+2"),
    ] {
        assert_eq!(cell(text.as_bytes()), expected);
    }
    assert_eq!(cell(b"\xff\xfe,"), "\"\u{fffd}\u{fffd},\"");
    assert_eq!(cell(&[0x80; 5000]), "-", "no boundary");
    let long = "é,".repeat(3000);
    let cut = cell(long.as_bytes());
    assert!(cut.ends_with("…\"") && cut.len() < CELL + 8 && long.starts_with(&cut[1..100]));
    assert_eq!(cell("x".repeat(CELL).as_bytes()).len(), CELL);
    let fields = "y".repeat(3000);
    let record: &[_] = &[(6, Err(&*fields)), (6, Err(&*fields)), (6, Err(&*fields))];
    let text = CsvTable::new(CALLS, "p", &pmid, &name).newest(&stream(&[record]));
    assert!(text.len() < CELL + 300 && text.ends_with('…'), "{}", text.len());
}

#[test]
fn a_time_has_a_year_of_four_digits() {
    let time = |sec| {
        let mut batch = Batch::default();
        batch.record(Stamp { sec, nsec: 7 }, 1);
        let text = CsvTable::new(CALLS, "p", &pmid, &name).records(batch.packed());
        text.lines().nth(1).and_then(|line| Some(line.split_once(',')?.0.to_owned()))
    };
    assert_eq!(time(0).as_deref(), Some("1970-01-01T00:00:00.000000007Z"));
    assert_eq!(time(253_402_207_199).as_deref(), Some("9999-12-30T21:59:59.000000007Z"));
    for sec in [i64::MIN, -1, 253_402_207_200, i64::MAX] {
        assert_eq!(time(sec).as_deref(), Some("-"));
    }
}
