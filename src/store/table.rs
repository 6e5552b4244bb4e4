//! The newest event records as CSV for Grafana's CSV table: a header line, then one line for each parameter.

use crate::events::{HighRes, Records, Stream};
use crate::model::Pmid;
use std::fmt::Write;

/// Records looked at, newest last.
const RECORDS: usize = 50;
/// Most lines, newest kept: the text is fetched whole at each refresh.
const LINES: usize = 200;

/// Header `time,parameter,value`; `name` gives a parameter's name. No newline or quote is left inside a cell.
#[must_use]
pub fn csv(stream: &Stream, name: impl Fn(Pmid) -> Option<String>) -> String {
    let packed = stream.newest(RECORDS);
    let mut lines = Vec::new();
    for record in Records::<HighRes>::packed(&packed).map_while(Result::ok) {
        for p in &record.params {
            let name = name(p.pmid).unwrap_or_else(|| p.pmid.0.to_string());
            lines.push(format!("{},{},{}", record.stamp, cell(&name), cell(&p.value.to_string())));
        }
    }
    let mut out = String::from("time,parameter,value");
    for line in lines.iter().skip(lines.len().saturating_sub(LINES)) {
        let _ = write!(out, "\n{line}");
    }
    out
}

fn cell(text: &str) -> String {
    let clean: String = text.chars().map(|c| if c.is_control() || c == '"' { ' ' } else { c }).collect();
    if clean.contains(',') { format!("\"{clean}\"") } else { clean }
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
        let text = csv(&stream, |p| (p.0 == 1).then(|| "gc.minor".to_owned()));
        let expected = "time,parameter,value\n1970-01-01T00:00:00.000Z,gc.minor,7\n1970-01-01T00:00:00.000Z,2,\"a, b  c\"";
        assert_eq!(text, expected);
    }
}
