//! The newest event records as CSV for Grafana's CSV table: a header line, then one line for each parameter.

use crate::events::{HighRes, Records, Stream};
use crate::model::Pmid;
use std::borrow::Cow;
use std::fmt::Write;

/// Records looked at, newest last.
const RECORDS: usize = 50;
/// Most lines, newest kept: the text is fetched whole at each refresh.
const LINES: usize = 100;

/// Header `time,parameter,value`; `name` gives a parameter's name. No newline or quote is left inside a cell.
#[must_use]
pub fn csv<'n>(stream: &Stream, name: impl Fn(Pmid) -> Option<&'n str>) -> String {
    let packed = stream.newest(RECORDS);
    let records: Vec<_> = Records::<HighRes>::packed(&packed).map_while(Result::ok).collect();
    let mut skip = records.iter().map(|r| r.params.len()).sum::<usize>().saturating_sub(LINES);
    let mut out = String::from("time,parameter,value");
    for record in &records {
        let shown = record.params.get(skip..).unwrap_or_default();
        skip = skip.saturating_sub(record.params.len());
        if shown.is_empty() {
            continue;
        }
        let time = record.stamp.to_string();
        for p in shown {
            let value = p.value.to_string();
            let _ = match name(p.pmid) {
                Some(name) => write!(out, "\n{time},{},{}", cell(name), cell(&value)),
                None => write!(out, "\n{time},{},{}", p.pmid.0, cell(&value)),
            };
        }
    }
    out
}

fn cell(text: &str) -> Cow<'_, str> {
    if !text.contains(|c: char| c.is_control() || c == '"' || c == ',') {
        return text.into();
    }
    let clean: String = text.chars().map(|c| if c.is_control() || c == '"' { ' ' } else { c }).collect();
    if clean.contains(',') { format!("\"{clean}\"").into() } else { clean.into() }
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
        let expected = "time,parameter,value\n1970-01-01T00:00:00.000Z,gc.minor,7\n1970-01-01T00:00:00.000Z,2,\"a, b  c\"";
        assert_eq!(text, expected);
    }
}
