//! The newest event records as CSV for Grafana's CSV table: a header line, then one line for each
//! parameter of whole records.

use std::borrow::Cow;
use std::fmt::Write;

use crate::events::{HighRes, Record, Records, Stream};
use crate::model::Pmid;

/// Most records in the text.
const RECORDS: usize = 50;
/// Most lines; the newest records are kept. The text is fetched whole at each refresh. If the
/// newest record alone has more lines, it is cut.
const LINES: usize = 100;

/// The header is `time,parameter,value,record`. The time has nanoseconds; the last column numbers
/// the records of the stream from 0. `name` looks up a parameter's name. Cells contain no newline.
#[must_use]
pub fn csv<'n>(stream: &Stream, name: impl Fn(Pmid) -> Option<&'n str>) -> String {
    let (first, packed) = stream.newest_numbered(RECORDS);
    let records: Vec<_> =
        (first..).zip(Records::<HighRes>::packed(&packed).map_while(Result::ok)).collect();
    let mut lines = 0;
    let fit = |(_, record): &&(u64, Record<'_>)| {
        lines += record.params.len();
        lines <= LINES
    };
    let whole = records.iter().rev().take_while(fit).count().max(1);
    let mut out = String::from("time,parameter,value,record");
    for (number, record) in records.iter().skip(records.len().saturating_sub(whole)) {
        let time = format!("{:.9}", record.stamp);
        for p in record.params.iter().take(LINES) {
            let value = p.value.to_string();
            let _ = match name(p.pmid) {
                Some(name) => write!(out, "\n{time},{},{},{number}", cell(name), cell(&value)),
                None => write!(out, "\n{time},{},{},{number}", p.pmid.0, cell(&value)),
            };
        }
    }
    out
}

/// Quotes a cell as in RFC 4180, with two additions for Grafana's parser: a cell with a single
/// quote is quoted, since that begins a quoted cell there, and control characters become blanks,
/// since a line break always ends a row. (That parser drops a doubled quote; others read it as one
/// quote.)
fn cell(text: &str) -> Cow<'_, str> {
    if !text.contains(|c: char| c.is_control() || matches!(c, '"' | ',' | '\'')) {
        return text.into();
    }
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\"\""),
            c if c.is_control() => quoted.push(' '),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::{Batch, Budget};
    use crate::model::{Stamp, ValueType};

    #[test]
    fn one_line_for_each_parameter() {
        let stream = Stream::new(&Budget::new(1 << 20));
        let mut batch = Batch::default();
        batch.record(Stamp::default(), 1);
        batch.number(Pmid(1), ValueType::U64, 7);
        batch.text(Pmid(2), "a,\"b\"\nc");
        stream.append(&mut batch);
        let text = csv(&stream, |p| (p.0 == 1).then_some("gc.minor"));
        let time = "1970-01-01T00:00:00.000000000Z";
        assert_eq!(
            text,
            format!(
                "time,parameter,value,record\n{time},gc.minor,7,0\n{time},2,\"a,\"\"b\"\" c\",0"
            )
        );
        assert_eq!(["a b", "pool's", "a\tb", ""].map(cell), ["a b", "\"pool's\"", "\"a b\"", ""]);
    }

    #[test]
    fn records_are_whole_and_have_their_numbers() {
        let stream = Stream::new(&Budget::new(1 << 20));
        let mut batch = Batch::default();
        for (record, params) in [30, 30, 60, 9, 30].into_iter().enumerate() {
            batch.record(Stamp { sec: 0, nsec: u32::try_from(record).unwrap() }, 1);
            (0..params).for_each(|_| batch.number(Pmid(1), ValueType::U64, 7));
        }
        stream.append(&mut batch);
        let text = csv(&stream, |_| None);
        assert_eq!(text.lines().nth(1), Some("1970-01-01T00:00:00.000000002Z,1,7,2"));
        assert_eq!(text.lines().count(), 1 + 60 + 9 + 30);
        batch.record(Stamp::default(), 1);
        (0..150).for_each(|n| batch.number(Pmid(1), ValueType::U64, n));
        stream.append(&mut batch);
        let text = csv(&stream, |_| None);
        assert_eq!(
            text.lines().nth(1),
            Some("1970-01-01T00:00:00.000000000Z,1,0,5"),
            "a record that is too large is cut"
        );
        assert_eq!(text.lines().count(), 1 + LINES);
    }
}
