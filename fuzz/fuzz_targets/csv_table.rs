//! Tables of any records. Whoever reads them, by RFC 4180 or as Grafana does, finds the columns of
//! the header in each line; cells have no control characters, no direction of their own, no
//! formulas, and a length; lines have a number and an order. Cells are what the records had, but for
//! the characters that a cell cannot have. The same records give the same table.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pmdaapm::events::{Batch, Budget, HighRes, Pmid, Record, Records, Scalar, Stream};
use pmdaapm::model::{EventTable, ParamItem, TableCell};
use pmdaapm::store::CsvTable;
use pmdaapm_fuzz::records;

const DURATION: ParamItem = ParamItem::new(1);
const TABLES: [EventTable; 2] = [
    EventTable {
        columns: &[
            ("pod", TableCell::Peer),
            ("duration_ms", TableCell::Milliseconds(DURATION)),
            ("status", TableCell::Status(ParamItem::new(2))),
            ("title", TableCell::Param(ParamItem::new(3))),
            ("procname", TableCell::Named("ctx.procname")),
            ("fields", TableCell::Others(2)),
        ],
        duration: Some(DURATION),
    },
    EventTable {
        columns: &[
            ("counter", TableCell::Counter),
            ("value", TableCell::Value),
            ("delta", TableCell::Delta),
            ("pod", TableCell::Peer),
        ],
        duration: None,
    },
];
/// Bytes of a cell: 4096 of text, each of which can become a character of three, and what ends it.
const CELL: usize = 3 * 4096 + 16;

fn pmid(item: ParamItem) -> Pmid {
    Pmid(item.get().into())
}

fn name(pmid: Pmid) -> Option<&'static str> {
    let names = [None, Some("duration"), None, None, Some("ctx.procname"), Some("p.e.f.g")];
    names.get(pmid.0 as usize).copied().flatten()
}

/// The cells of a line, by RFC 4180 where `""` is a quote, or as Grafana where no quote is escaped.
fn cells(line: &str, doubled: bool) -> Vec<String> {
    let (mut cells, mut cell, mut quoted) = (Vec::new(), String::new(), false);
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && doubled && chars.peek() == Some(&'"') => cell.extend(chars.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(std::mem::take(&mut cell)),
            c => cell.push(c),
        }
    }
    assert!(!quoted, "{line}");
    cells.push(cell);
    cells
}

/// What a cell shows of a text.
fn shown(text: &str) -> String {
    let start = (0..=text.len().min(4096)).rev().find(|end| text.is_char_boundary(*end));
    let (start, cut) = text.split_at(start.unwrap_or_default());
    // What a line, a cell or a terminal would take for its own.
    let alien = |c: char| {
        c.is_control()
            || "\u{61c}\u{200e}\u{200f}\u{2028}\u{2029}\u{feff}".contains(c)
            || ('\u{202a}'..='\u{202e}').contains(&c)
            || ('\u{2066}'..='\u{2069}').contains(&c)
    };
    let start = start.trim_matches(|c: char| alien(c) || c.is_whitespace());
    if start.is_empty() {
        return "-".to_owned();
    }
    let formula = start != "-" && start.starts_with(['=', '+', '-', '@']);
    let mut cell = if formula { "’".to_owned() } else { String::new() };
    cell.extend(start.chars().map(|c| match c {
        '"' => '”',
        '\'' => '’',
        c if alien(c) => ' ',
        c => c,
    }));
    cell + if cut.is_empty() { "" } else { "…" }
}

/// The cell is this value.
fn is_value(cell: &str, value: Option<Scalar<'_>>) -> bool {
    let integer = |n: i128| cell.parse() == Ok(n);
    match value {
        None => cell == "-",
        Some(Scalar::I32(n)) => integer(n.into()),
        Some(Scalar::U32(n)) => integer(n.into()),
        Some(Scalar::I64(n)) => integer(n.into()),
        Some(Scalar::U64(n)) => integer(n.into()),
        Some(Scalar::F32(n)) => {
            cell.parse::<f32>().is_ok_and(|c| c == n || c.is_nan() && n.is_nan())
        }
        Some(Scalar::F64(n)) => {
            cell.parse::<f64>().is_ok_and(|c| c == n || c.is_nan() && n.is_nan())
        }
        Some(Scalar::Text(text)) => cell == shown(&String::from_utf8_lossy(text)),
        Some(_) => true,
    }
}

/// The line is this record: all columns but the last.
fn is_record(line: &[String], peer: &str, record: &Record<'_>) {
    let [time, pod, duration, status, title, procname, _] = line else { panic!("{line:?}") };
    let end = format!(":{:02}.{:09}Z", record.stamp.sec % 60, record.stamp.nsec);
    assert!(time.starts_with("2026-11-18T11:") && time.ends_with(&end), "{time}: {end}");
    assert_eq!(*pod, shown(peer));
    let find = |id| record.params.iter().find(|p| p.pmid == Pmid(id)).map(|p| p.value);
    match find(1) {
        Some(Scalar::U64(ns)) => {
            let (whole, rest) = duration.split_once('.').unwrap_or((duration, ""));
            assert!(rest.len() <= 6 && !rest.ends_with('0'), "{duration}");
            assert_eq!(format!("{whole}{rest:0<6}").parse(), Ok(ns), "{duration}");
        }
        other => assert!(is_value(duration, other), "{duration}: {other:?}"),
    }
    assert_eq!(status == "ok", matches!(find(2), None | Some(Scalar::U32(0))));
    for (cell, value) in [(title, find(3)), (procname, find(4))] {
        assert!(is_value(cell, value), "{cell}: {value:?}");
    }
}

/// The lines of a table behind its header.
fn check(table: &EventTable, text: &str) -> Vec<Vec<String>> {
    let columns = table.columns.len() + 1;
    let mut lines = text.split('\n');
    assert_eq!(lines.next(), Some(&*table.header()));
    let lines = lines.map(|line| {
        let found = cells(line, true);
        assert_eq!(found, cells(line, false));
        assert_eq!(found.len(), columns, "{line}");
        for cell in &found {
            assert!(!cell.is_empty() && cell.len() <= CELL, "{}", cell.len());
            assert!(
                !cell.contains(|c: char| c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c))
            );
            let number = cell == "-" || cell.parse::<f64>().is_ok();
            assert!(number || !cell.starts_with(['=', '+', '-', '@']), "{cell}");
        }
        found
    });
    lines.collect()
}

/// Times have the form of ISO 8601.
fn in_order(lines: &[Vec<String>], newest_first: bool) -> bool {
    let times = lines.iter().map(|line| &line[0]);
    if newest_first { times.rev().is_sorted() } else { times.is_sorted() }
}

fuzz_target!(|data: &[u8]| {
    let Some((&head, data)) = data.split_first() else { return };
    let (peer, data) = data.split_at(usize::from(head >> 2).min(data.len()));
    // Also longer ones than a cell, which are in each line.
    let (times, most) = if head & 3 == 3 { (200, 4) } else { (1, 200) };
    let peer = String::from_utf8_lossy(peer).repeat(times);
    let (stream, mut batch) = (Stream::new(&Budget::new(1 << 20)), Batch::default());
    records::append(data, 8, most, &mut batch);
    let packed = batch.packed().to_vec();
    let all: Vec<_> = Records::<HighRes>::packed(&packed).map(|r| r.expect("a record")).collect();
    stream.append(&mut batch);
    for table in TABLES {
        let csv = CsvTable::new(table, &peer, &pmid, &|pmid| name(pmid));
        let text = csv.newest(&stream);
        let newest = check(&table, &text);
        assert!(in_order(&newest, true));
        assert_eq!(csv.newest(&stream), text);
        if table.line_for_each_parameter() {
            // The newest record is always whole: one has at most 7 parameters here.
            assert!(newest.len() <= 200);
            let records = all.iter().rev().flat_map(|record| &record.params);
            for (line, param) in newest.iter().zip(records) {
                assert!(is_value(&line[2], Some(param.value)), "{line:?} {param:?}");
            }
            continue;
        }
        assert_eq!(newest.len(), all.len().min(50));
        newest.iter().zip(all.iter().rev()).for_each(|(line, of)| is_record(line, &peer, of));
        let lines = check(&table, &csv.records(&packed));
        assert!(in_order(&lines, false) && lines.len() == all.len());
        lines.iter().zip(&all).for_each(|(line, of)| is_record(line, &peer, of));
        // Bytes that are no records, or cut ones.
        for bytes in [data, &packed[..packed.len() / 2]] {
            check(&table, &csv.records(bytes));
        }
    }
});
