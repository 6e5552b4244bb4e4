//! Lines of `pcp apm events`.

use std::collections::HashMap;
use std::io::BufRead;
use std::sync::Arc;

use serde_json::{Map, Value as Json};

use crate::model::{Flags, Instance, Origin, Record, Value};

/// Bytes of a line.
const MOST_LINE: u64 = 16 << 20;

/// Why a line cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LinesError {
    /// The stream failed.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The line is no record.
    #[error("line {0} is no record of `pcp apm events`: {1}")]
    Line(u64, String),
}

/// The records of lines, one after another.
#[derive(Debug)]
pub struct Lines<R> {
    lines: R,
    number: u64,
    host: Arc<str>,
    origins: HashMap<(String, String, String), Arc<Origin>>,
    names: HashMap<String, Arc<str>>,
}

impl<R: BufRead> Lines<R> {
    /// `host`: for lines without one.
    pub fn new(lines: R, host: &str) -> Self {
        Self { lines, number: 0, host: host.into(), origins: HashMap::new(), names: HashMap::new() }
    }

    fn record(&mut self, line: &str) -> Result<Record, String> {
        let line: Map<String, Json> = serde_json::from_str(line).map_err(|e| e.to_string())?;
        let text = |name: &str| line.get(name).and_then(Json::as_str).unwrap_or_default();
        let time = nanoseconds(text("time")).ok_or("its time is none")?;
        let origin = self.origin(&line);
        let words = line.get("flags").and_then(Json::as_array);
        let flags = words.into_iter().flatten().filter_map(Json::as_str).fold(0, |flags, word| {
            let known = Flags::WORDS.iter().find(|(name, _)| *name == word);
            flags | known.map_or(0, |(_, flag)| flag.0)
        });
        let missed = line.get("missed").and_then(Json::as_u64).unwrap_or(0);
        let mut parameters = Vec::new();
        for (name, value) in line.get("parameters").and_then(Json::as_object).into_iter().flatten()
        {
            let name = self.names.entry(name.clone()).or_insert_with(|| name.as_str().into());
            parameters.push((name.clone(), scalar(value)));
        }
        Ok(Record { time, origin, flags: Flags(flags), missed, paired: None, parameters })
    }

    fn origin(&mut self, line: &Map<String, Json>) -> Arc<Origin> {
        let text = |name: &str| line.get(name).and_then(Json::as_str).unwrap_or_default();
        let key = (text("source").to_owned(), text("kind").to_owned(), text("instance").to_owned());
        let labels = line.get("labels").and_then(Json::as_object);
        let labels = labels.into_iter().flatten().map(|(name, value)| {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            (name.as_str().into(), value.into())
        });
        let labels = labels.collect();
        let host = match text("host") {
            "" => &*self.host,
            host => host,
        };
        if let Some(origin) = self.origins.get(&key)
            && origin.instance.labels == labels
            && *origin.instance.host == *host
        {
            return origin.clone();
        }
        let host = host.into();
        let instance = Instance { name: key.2.as_str().into(), labels, host };
        let origin = Arc::new(Origin::new(&key.0, &key.1, Arc::new(instance)));
        self.origins.insert(key, origin.clone());
        origin
    }
}

impl<R: BufRead> Iterator for Lines<R> {
    type Item = Result<Record, LinesError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let mut line = String::new();
            let mut some = std::io::Read::take(&mut self.lines, MOST_LINE);
            match some.read_line(&mut line) {
                Ok(0) => return None,
                Ok(_) => self.number += 1,
                Err(e) => return Some(Err(e.into())),
            }
            if !line.trim().is_empty() {
                let number = self.number;
                return Some(self.record(&line).map_err(|e| LinesError::Line(number, e)));
            }
        }
    }
}

fn scalar(value: &Json) -> Value {
    match value {
        Json::Number(n) => n.as_i64().map(Value::Int).unwrap_or_else(|| {
            n.as_u64().map_or_else(|| Value::Float(n.as_f64().unwrap_or(0.0)), Value::Uint)
        }),
        Json::String(text) => Value::Text(text.as_str().into()),
        other => Value::Text(other.to_string().into()),
    }
}

/// `2026-11-23T16:50:13.903000000Z` as ns since 1970.
fn nanoseconds(text: &str) -> Option<i64> {
    let time: jiff::Timestamp = text.parse().ok()?;
    i64::try_from(time.as_nanosecond()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_of_two_hosts_are_two() {
        let line = |host: &str| {
            format!(
                r#"{{"time":"2026-11-23T16:50:13Z","source":"jvm","kind":"gc","instance":"a:1"{host}}}"#
            )
        };
        let [a, b, none] = [r#","host":"a""#, r#","host":"b""#, ""].map(line);
        let text = [&*a, &b, &a, &none].join("\n");
        let hosts = Lines::new(text.as_bytes(), "here")
            .map(|record| record.expect("a record").origin.instance.host.to_string());
        assert_eq!(hosts.collect::<Vec<_>>(), ["a", "b", "a", "here"]);
    }
}
