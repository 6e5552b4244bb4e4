//! Chrome's traces in JSON, for viewers that do not read Perfetto's own. The file should be named
//! `*.trace.json`: speedscope takes one named `*.chrome.json` for something else.
//!
//! Times are those since the first one. As microseconds since 1970 they would have steps of 0.25 in viewers,
//! which keep doubles.

use std::io::{self, Write};

use serde_json::{Map, Value as Json, json};

use crate::meaning::Attribute;
use crate::timeline::{Format, Number, Said, Track};

/// A trace as it is written. It can be read when it is whole: readers miss the last bracket of an object.
#[derive(Debug)]
pub struct Chrome<W> {
    file: W,
    first: i64,
    some: bool,
    /// The process of each track, what an instant there is of, and its name.
    tracks: Vec<(u32, char, Box<str>)>,
}

/// Microseconds, to the nanosecond.
struct Micros(i64);

impl std::fmt::Display for Micros {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let number = self.0.unsigned_abs();
        write!(f, "{sign}{}.{:03}", number / 1000, number % 1000)
    }
}

impl<W: Write> Chrome<W> {
    /// Writes to a file.
    pub fn new(file: W) -> Self {
        Self { file, first: 0, some: false, tracks: Vec::new() }
    }

    /// Writes `{"ph":PH,"pid":PID,"tid":TID` of an event, with a comma before it.
    fn open(&mut self, ph: char, pid: u32, tid: u32) -> io::Result<()> {
        let gap = if self.some { ",\n" } else { "\n" };
        self.some = true;
        write!(self.file, "{gap}{{\"ph\":\"{ph}\",\"pid\":{pid},\"tid\":{tid}")
    }

    fn pid(&self, track: u32) -> u32 {
        self.tracks.get(track as usize).map_or(0, |(pid, ..)| *pid)
    }

    fn since(&self, at: i64) -> Micros {
        Micros(at.saturating_sub(self.first))
    }

    fn name(&mut self, pid: u32, tid: u32, what: &str, name: &str) -> io::Result<()> {
        self.open('M', pid, tid)?;
        let args = json!({ "name": name });
        write!(self.file, ",\"name\":\"{what}\",\"args\":{args}}}")
    }
}

impl<W: Write> Format for Chrome<W> {
    fn start(&mut self, first: i64) -> io::Result<()> {
        self.first = first;
        write!(
            self.file,
            "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"first_unix_nano\":\"{first}\"}},\"traceEvents\":["
        )
    }

    fn track(&mut self, number: u32, _id: u64, track: &Track<'_>) -> io::Result<()> {
        match track {
            Track::Process { pid, name } => {
                self.tracks.push((*pid, 'p', "".into()));
                self.name(*pid, 0, "process_name", name)
            }
            Track::Thread { pid, name, .. } => {
                self.tracks.push((*pid, 't', "".into()));
                self.name(*pid, number, "thread_name", name)
            }
            Track::Counter { pid, name, .. } => {
                self.tracks.push((*pid, 't', (*name).into()));
                Ok(())
            }
        }
    }

    fn encode(&mut self, said: &Said<'_>, out: &mut Vec<u8>) -> io::Result<()> {
        let mut args = Map::new();
        for (name, value) in said.attributes.iter() {
            let value = match value {
                Attribute::Text(text) => Json::from(&**text),
                // More digits than a double has are kept as a text.
                Attribute::Int(number) if number.unsigned_abs() > 1 << 53 => {
                    number.to_string().into()
                }
                Attribute::Int(number) => (*number).into(),
                Attribute::Float(number) => (*number).into(),
                Attribute::Bool(is_so) => (*is_so).into(),
            };
            args.insert(name.to_owned(), value);
        }
        if let Some(trace) = said.trace {
            args.insert("trace".to_owned(), trace.to_string().into());
        }
        let (name, category) = (Json::from(said.name), Json::from(said.category));
        write!(out, ",\"name\":{name},\"cat\":{category},\"args\":{}}}", Json::Object(args))
    }

    fn begin(
        &mut self,
        track: u32,
        (start, end): (i64, i64),
        said: &[u8],
        _flows: &[u64],
    ) -> io::Result<()> {
        self.open('X', self.pid(track), track)?;
        let (at, length) = (self.since(start), Micros(end.saturating_sub(start)));
        write!(self.file, ",\"ts\":{at},\"dur\":{length}")?;
        self.file.write_all(said)
    }

    fn end(&mut self, _track: u32, _at: i64) -> io::Result<()> {
        Ok(())
    }

    fn instant(&mut self, track: u32, at: i64, said: &[u8], _flows: &[u64]) -> io::Result<()> {
        self.open('i', self.pid(track), track)?;
        let of = self.tracks.get(track as usize).map_or('t', |(_, of, _)| *of);
        write!(self.file, ",\"s\":\"{of}\",\"ts\":{}", self.since(at))?;
        self.file.write_all(said)
    }

    fn counter(&mut self, track: u32, at: i64, value: Number) -> io::Result<()> {
        self.open('C', self.pid(track), 0)?;
        let name = self.tracks.get(track as usize).map_or("", |(.., name)| name);
        let name = Json::from(name);
        let value = match value {
            Number::Int(number) => Json::from(number),
            Number::Float(number) => Json::from(number),
        };
        let at = self.since(at);
        write!(self.file, ",\"ts\":{at},\"name\":{name},\"args\":{{\"value\":{value}}}}}")
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }

    fn finish(&mut self) -> io::Result<()> {
        self.file.write_all(b"\n]}\n")?;
        self.file.flush()
    }
}
