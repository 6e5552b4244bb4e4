//! Tables of event records as CSV text: a header line, then one line for each record, or for each
//! parameter of it. All readers find the same cells, those that know quotes of RFC 4180 and
//! Grafana's, which has no escape for a quote and no line break within a cell.

use std::cell::Cell;
use std::collections::HashMap;
use std::fmt::Write;

use crate::events::{HighRes, Parameter, Record, Records, Scalar, Stream};
use crate::model::{EventTable, ParamItem, Pmid, TableCell};

/// Most records of a table.
const RECORDS: usize = 50;
/// Most lines of a table with a line for each parameter; the newest record is always whole.
const LINES: usize = 200;
/// Most bytes of a text in a cell: a longer one is cut and ends with [`MORE`].
const CELL: usize = 4096;
/// The same of a cell of [`TableCell::Long`].
const LONG: usize = 16 << 10;
/// The end of a text that was cut.
const MORE: char = '…';
/// A cell without a value. Grafana drops an empty cell at the end of a line.
const NOTHING: &str = "-";

/// Seconds of the years 1970 to 9999, which have four digits, but for the last day of them, which has no date here.
const YEARS: std::ops::Range<i64> = 0..253_402_207_200;

/// A kind's table of one peer.
#[expect(missing_debug_implementations, reason = "functions")]
pub struct CsvTable<'t> {
    table: EventTable,
    peer: &'t str,
    /// The PMID of a parameter that the source always has.
    pmid: &'t dyn Fn(ParamItem) -> Pmid,
    /// A parameter's name.
    name: &'t dyn Fn(Pmid) -> Option<&'t str>,
    /// The parameters that have a column.
    columns: Vec<Pmid>,
    unnamed: Cell<bool>,
}

impl<'t> CsvTable<'t> {
    /// `pmid`: the PMID of a parameter that the source always has. `name`: a parameter's name.
    #[must_use]
    pub fn new(
        table: EventTable,
        peer: &'t str,
        pmid: &'t dyn Fn(ParamItem) -> Pmid,
        name: &'t dyn Fn(Pmid) -> Option<&'t str>,
    ) -> Self {
        use TableCell::{Long, Milliseconds, Param, Status};
        let items = table.columns.iter().filter_map(|(_, cell)| match cell {
            Param(item) | Long(item) | Milliseconds(item) | Status(item) => Some(pmid(*item)),
            _ => None,
        });
        let columns = items.collect();
        Self { table, peer, pmid, name, columns, unnamed: Cell::new(false) }
    }

    /// The newest records, the newest first.
    #[must_use]
    pub fn newest(&self, stream: &Stream) -> String {
        let deltas = self.table.line_for_each_parameter();
        let packed = stream.newest(if deltas { 2 * RECORDS } else { RECORDS });
        let records = decode(&packed);
        if deltas { self.parameters(&records) } else { self.lines(records.iter().rev()) }
    }

    /// Packed records in their order.
    #[must_use]
    pub fn records(&self, packed: &[u8]) -> String {
        self.lines(decode(packed).iter())
    }

    /// A parameter had no name yet, so that the text may change without a new record.
    #[must_use]
    pub const fn unnamed(&self) -> bool {
        self.unnamed.get()
    }

    fn lines<'r>(&self, records: impl Iterator<Item = &'r Record<'r>>) -> String {
        let mut out = self.table.header();
        for record in records {
            begin_line(&mut out, record);
            for (_, cell) in self.table.columns {
                out.push(',');
                self.cell(*cell, record, &mut out);
            }
        }
        out
    }

    fn cell(&self, cell: TableCell, record: &Record<'_>, out: &mut String) {
        let find = |item| {
            let pmid = (self.pmid)(item);
            record.params.iter().find(|p| p.pmid == pmid).map(|p| p.value)
        };
        match cell {
            TableCell::Peer => push_text(out, self.peer.as_bytes()),
            TableCell::Param(item) => push(out, find(item)),
            TableCell::Long(item) => match find(item) {
                Some(Scalar::Text(text)) => push_cell(out, text, LONG),
                other => push(out, other),
            },
            TableCell::Milliseconds(item) => match find(item) {
                Some(Scalar::U64(ns)) => push_milliseconds(out, ns),
                other => push(out, other),
            },
            TableCell::Status(item) => {
                let ok = matches!(find(item), None | Some(Scalar::U32(0)));
                out.push_str(if ok { "ok" } else { "error" });
            }
            TableCell::Named(name) => {
                let found = record.params.iter().find(|p| (self.name)(p.pmid) == Some(name));
                push(out, found.map(|p| p.value));
            }
            TableCell::Others(skip) => self.others(skip, record, out),
            TableCell::Counter | TableCell::Value | TableCell::Delta => out.push_str(NOTHING),
        }
    }

    fn others(&self, skip: usize, record: &Record<'_>, out: &mut String) {
        let mut all = String::new();
        let has_column = |name: &str| {
            let named = |cell: &TableCell| matches!(cell, TableCell::Named(own) if *own == name);
            self.table.columns.iter().any(|(_, cell)| named(cell))
        };
        for param in record.params.iter().filter(|p| !self.columns.contains(&p.pmid)) {
            if all.len() > CELL {
                break;
            }
            let space = if all.is_empty() { "" } else { " " };
            let _ = match self.known(param) {
                Some(name) if has_column(name) => continue,
                Some(name) => write!(all, "{space}{}=", after(name, skip)),
                None => write!(all, "{space}{}=", param.pmid.0),
            };
            match param.value {
                Scalar::Text(text) => all.push_str(&String::from_utf8_lossy(start(text, CELL))),
                number => _ = write!(all, "{number}"),
            }
        }
        push_text(out, all.as_bytes());
    }

    fn known(&self, param: &Parameter<'_>) -> Option<&'t str> {
        let name = (self.name)(param.pmid);
        self.unnamed.set(self.unnamed.get() || name.is_none());
        name
    }

    /// A line for each parameter. The oldest records serve only to find differences.
    fn parameters(&self, records: &[Record<'_>]) -> String {
        let mut lines = 0;
        let fits = |record: &&Record<'_>| {
            lines += record.params.len();
            lines <= LINES
        };
        let newest = records.iter().rev().take(RECORDS);
        let shown = newest.take_while(fits).count().max(1);
        let (mut before, mut blocks) = (HashMap::new(), Vec::new());
        for (at, record) in records.iter().enumerate() {
            let mut block = String::new();
            for param in &record.params {
                let old = before.insert(param.pmid, param.value);
                if records.len() - at <= shown {
                    begin_line(&mut block, record);
                    for (_, cell) in self.table.columns {
                        block.push(',');
                        self.parameter_cell(*cell, param, old, &mut block);
                    }
                }
            }
            blocks.push(block);
        }
        blocks.push(self.table.header());
        blocks.into_iter().rev().collect()
    }

    fn parameter_cell(
        &self,
        cell: TableCell,
        param: &Parameter<'_>,
        old: Option<Scalar<'_>>,
        out: &mut String,
    ) {
        match cell {
            TableCell::Peer => push_text(out, self.peer.as_bytes()),
            TableCell::Counter => match self.known(param) {
                Some(name) => push_text(out, name.as_bytes()),
                None => _ = write!(out, "{}", param.pmid.0),
            },
            TableCell::Value => push(out, Some(param.value)),
            TableCell::Delta => match old.and_then(|old| difference(param.value, old)) {
                Some(difference) => out.push_str(&difference),
                None => out.push_str(NOTHING),
            },
            _ => out.push_str(NOTHING),
        }
    }
}

fn decode(packed: &[u8]) -> Vec<Record<'_>> {
    Records::<HighRes>::packed(packed).map_while(Result::ok).collect()
}

fn begin_line(out: &mut String, record: &Record<'_>) {
    out.push('\n');
    // A year before 0 has a sign, which spreadsheets take for a formula.
    if YEARS.contains(&record.stamp.sec) {
        let _ = write!(out, "{:.9}", record.stamp);
    } else {
        out.push_str(NOTHING);
    }
}

/// The name without its first `skip` components, if it has more.
fn after(name: &str, skip: usize) -> &str {
    name.splitn(skip + 1, '.').nth(skip).unwrap_or(name)
}

/// The present number less the old one of the same type.
fn difference(now: Scalar<'_>, old: Scalar<'_>) -> Option<String> {
    use Scalar::{F32, F64, I32, I64, U32, U64};
    let integer = |scalar| match scalar {
        I32(n) => Some(i128::from(n)),
        U32(n) => Some(n.into()),
        I64(n) => Some(n.into()),
        U64(n) => Some(n.into()),
        _ => None,
    };
    match (now, old) {
        (F64(now), F64(old)) => Some((now - old).to_string()),
        (F32(now), F32(old)) => Some((now - old).to_string()),
        _ => Some((integer(now)? - integer(old)?).to_string()),
    }
}

fn push(out: &mut String, value: Option<Scalar<'_>>) {
    match value {
        None => out.push_str(NOTHING),
        Some(Scalar::Text(text)) => push_text(out, text),
        Some(number) => _ = write!(out, "{number}"),
    }
}

/// Appends a text of at most [`CELL`] bytes.
fn push_text(out: &mut String, text: &[u8]) {
    push_cell(out, text, CELL);
}

/// Nanoseconds as milliseconds, without zeros at the end.
fn push_milliseconds(out: &mut String, ns: u64) {
    let (whole, rest) = (ns / 1_000_000, ns % 1_000_000);
    let _ = match rest {
        0 => write!(out, "{whole}"),
        _ => write!(out, "{}", format!("{whole}.{rest:06}").trim_end_matches('0')),
    };
}

/// The part of a text that a cell shows, whole characters if it is UTF-8.
fn start(text: &[u8], most: usize) -> &[u8] {
    let boundary = |end: &usize| text.get(*end).is_none_or(|byte| byte & 0xc0 != 0x80);
    let end = (0..=most.min(text.len())).rev().find(boundary).unwrap_or_default();
    text.get(..end).unwrap_or_default()
}

/// Control characters, other ends of lines, and what turns the direction of a line.
fn is_blank(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{61c}' | '\u{200e}' | '\u{200f}')
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Quotes become typographic, blanks at both ends go. Only a cell with a comma is quoted. Before a
/// text that a spreadsheet would compute there is an apostrophe, typographic too.
fn push_cell(out: &mut String, text: &[u8], most: usize) {
    let shown = String::from_utf8_lossy(start(text, most));
    let cell = shown.trim_matches(|c: char| c.is_whitespace() || is_blank(c));
    if cell.is_empty() {
        return out.push_str(NOTHING);
    }
    let quote = if cell.contains(',') { "\"" } else { "" };
    out.push_str(quote);
    if cell.starts_with(['=', '+', '-', '@']) && cell != NOTHING {
        out.push('’');
    }
    out.extend(cell.chars().map(|c| match c {
        '\'' => '’',
        '"' => '”',
        c if is_blank(c) => ' ',
        c => c,
    }));
    if start(text, most).len() < text.len() {
        out.push(MORE);
    }
    out.push_str(quote);
}

#[cfg(test)]
#[path = "csv_tests.rs"]
mod tests;
