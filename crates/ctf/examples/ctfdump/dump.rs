//! Lines of text, as babeltrace2 prints them.

// Tests take this file from its place.
#[path = "counts.rs"]
mod counts;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;

use counts::Counts;
use ctf::fs::Session;
use ctf::schema::{ClockClass, EnvValue, Schema};
use ctf::show::TextFormatter;
use ctf::{Discarded, Event, MergeVisitor, NodeId, Packed, Packet, PacketError, Trace, Visitor};

const SECOND: u64 = 1_000_000_000;
/// Bytes of lines that are written at once, and how many events are read before that is looked at.
const BLOCK: usize = 64 << 10;
const EVENTS: usize = 256;

/// The kind of output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum How {
    /// Events with dates.
    #[default]
    Dates,
    /// Events with values of their clocks.
    Cycles,
    /// The number of events of each class.
    Counts,
}

/// Losses, errors and counts.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// Lines about discarded events and packets, as babeltrace prints them.
    pub(crate) lost: Vec<String>,
    /// Packets and files that cannot be read.
    pub(crate) errors: Vec<String>,
    /// Events of each class.
    pub(crate) counts: BTreeMap<String, u64>,
}

/// Prints all events.
pub(crate) fn dump(session: &Session, how: How, out: &mut dyn Write) -> std::io::Result<Report> {
    let mut reader = session.reader();
    let sources =
        (0..).map_while(|n| reader.stream(n)).map(|(trace, path)| Source::new(trace, path));
    let mut lines = Lines {
        how,
        sources: sources.collect(),
        previous: None,
        date: Dates::default(),
        text: TextFormatter::default(),
        report: Report::default(),
        whole: 0,
    };
    if how == How::Counts {
        let mut counts = Counts::new(lines);
        loop {
            match reader.read(usize::MAX, &mut counts) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => counts.lines.report.errors.push(error.to_string()),
            }
        }
        let report = counts.report();
        for (name, count) in &report.counts {
            writeln!(out, "{count:>10} {name}")?;
        }
        return Ok(report);
    }
    loop {
        match reader.read(EVENTS, &mut lines) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => lines.report.errors.push(error.to_string()),
        }
        if lines.whole >= BLOCK {
            lines.write(out)?;
        }
    }
    lines.write(out)?;
    Ok(lines.report)
}

/// The common parts of a stream's lines.
struct Source<'t> {
    /// The first file of the stream.
    name: String,
    /// `host:process:(pid) `
    origin: String,
    /// See [`newer`].
    newer: bool,
    schema: &'t Schema,
    clock: Option<&'t ClockClass>,
    /// The packet context as text.
    context: String,
    /// End time of the previous packet.
    end: Option<u64>,
}

/// Whether the trace is of tracer 2.15 or later, which only babeltrace 2.1 and later can read. If
/// so, values with several mappings are shown in the notation of 2.1, otherwise in that of 2.0.
fn newer(schema: &Schema) -> bool {
    let version = |key| if let Some(EnvValue::Integer(n)) = schema.env(key) { *n } else { 0 };
    (version("tracer_major"), version("tracer_minor")) >= (2, 15)
}

impl<'t> Source<'t> {
    fn new(trace: &'t Trace, path: &Path) -> Self {
        let schema = trace.schema();
        let mut parts = Vec::new();
        for key in ["hostname", "procname", "vpid"] {
            match schema.env(key) {
                Some(EnvValue::Text(text)) => parts.push(text.to_string()),
                Some(EnvValue::Integer(n)) => parts.push(format!("({n})")),
                None => {}
            }
        }
        let mut origin = parts.join(":");
        if !origin.is_empty() {
            origin.push(' ');
        }
        Self {
            name: path.display().to_string(),
            origin,
            newer: newer(schema),
            schema,
            clock: None,
            context: String::new(),
            end: None,
        }
    }
}

struct Lines<'t> {
    how: How,
    sources: Vec<Source<'t>>,
    /// Time of the previous event.
    previous: Option<i128>,
    date: Dates,
    text: TextFormatter<'t>,
    report: Report,
    /// Bytes of the text that are lines of complete events.
    whole: usize,
}

/// The text of times. Most are within the second of the one before.
#[derive(Debug, Default)]
struct Dates {
    second: Option<i128>,
    /// `2026-11-21 02:06:31.`
    text: String,
}

impl Dates {
    /// `2026-11-21 02:06:31.545313367`
    fn write(&mut self, nanoseconds: i128, out: &mut String) {
        let whole = i128::from(SECOND);
        let (second, part) = match u64::try_from(nanoseconds) {
            Ok(nanoseconds) => (i128::from(nanoseconds / SECOND), nanoseconds % SECOND),
            Err(_) => (
                nanoseconds.div_euclid(whole),
                u64::try_from(nanoseconds.rem_euclid(whole)).unwrap_or_default(),
            ),
        };
        if self.second != Some(second) {
            (self.second, self.text) = (Some(second), date(second));
        }
        out.push_str(&self.text);
        padded(part, 9, out);
    }
}

/// Appends at least so many digits, at most 20.
fn padded(mut value: u64, digits: usize, out: &mut String) {
    let (mut ascii, mut first) = ([b'0'; 20], 20 - digits);
    for (at, digit) in ascii.iter_mut().enumerate().rev() {
        if value == 0 {
            break;
        }
        *digit = b'0' + u8::try_from(value % 10).unwrap_or_default();
        (value, first) = (value / 10, first.min(at));
    }
    let shown = ascii.get(first..).unwrap_or_default();
    out.push_str(std::str::from_utf8(shown).unwrap_or_default());
}

/// `2026-11-21 02:06:31.`
fn date(seconds: i128) -> String {
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Days to a date of the Gregorian calendar, with years that begin in March.
    let era_day = days + 719_468;
    let (era, day) = (era_day.div_euclid(146_097), era_day.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i128::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.")
}

impl<'t> Lines<'t> {
    /// Writes the lines of complete events.
    fn write(&mut self, out: &mut dyn Write) -> std::io::Result<()> {
        self.text.line.truncate(self.whole);
        self.whole = 0;
        out.write_all(self.text.line.as_bytes())?;
        self.text.line.clear();
        Ok(())
    }

    fn time(&mut self, cycles: u64, nanoseconds: i128) {
        let line = &mut self.text.line;
        line.push('[');
        let now = if self.how == How::Cycles {
            padded(cycles, 20, line);
            i128::from(cycles)
        } else {
            self.date.write(nanoseconds, line);
            nanoseconds
        };
        line.push_str("] (");
        match (self.previous.replace(now).map(|before| u64::try_from(now - before)), self.how) {
            (Some(Ok(delta)), How::Cycles) => {
                line.push('+');
                padded(delta, 12, line);
            }
            (Some(Ok(delta)), _) => {
                line.push('+');
                padded(delta / SECOND, 1, line);
                line.push('.');
                padded(delta % SECOND, 9, line);
            }
            (_, How::Cycles) => line.push_str("+????????????"),
            // Also a step back, between clocks that are not the same.
            _ => line.push_str("+?.?????????"),
        }
        line.push_str(") ");
    }

    fn lost(&mut self, n: usize, what: &str, count: u64, times: Option<(u64, u64)>) {
        let Some(source) = self.sources.get(n) else { return };
        let mut line = format!(
            "WARNING: Tracer discarded {count} {what}{} ",
            if count == 1 { "" } else { "s" }
        );
        match times.zip(source.clock) {
            Some(((begin, end), clock)) => {
                line.push_str("between [");
                self.date.write(clock.nanoseconds(begin), &mut line);
                line.push_str("] and [");
                self.date.write(clock.nanoseconds(end), &mut line);
                line.push(']');
            }
            None => line.push_str("(unknown time range)"),
        }
        let _ = write!(line, " within stream \"{}\"", source.name);
        self.report.lost.push(line);
    }
}

impl<'t, 'a> MergeVisitor<'t, 'a> for Lines<'t> {
    fn packet(&mut self, n: usize, packet: &Packet<'t, 'a>, lost: Discarded) {
        let info = packet.info();
        if info.foreign {
            let name = self.sources.get(n).map_or("", |source| &*source.name);
            self.report.lost.push(format!(
                "WARNING: packet with the UUID of another trace in stream \"{name}\""
            ));
        }
        let before = if let Some(source) = self.sources.get_mut(n) {
            source.clock = packet.stream().clock.and_then(|clock| source.schema.clocks.get(clock));
            std::mem::replace(&mut source.end, info.end)
        } else {
            None
        };
        if lost.events > 0 {
            let times = info.begin.zip(info.end).map(|(begin, end)| (before.unwrap_or(begin), end));
            self.lost(n, "event", lost.events, times);
        }
        if lost.packets > 0 {
            self.lost(n, "packet", lost.packets, before.zip(info.begin));
        }
        let line = std::mem::take(&mut self.text.line);
        self.text.begin(packet.stream().context_nodes(), packet.stream().context_scopes(), false);
        if let Err(fault) = packet.visit_context(&mut self.text) {
            self.report.errors.push(fault.to_string());
        }
        self.text.end();
        let context = std::mem::replace(&mut self.text.line, line);
        if let Some(source) = self.sources.get_mut(n) {
            source.context = context;
        }
    }

    fn fault(&mut self, n: usize, fault: &PacketError) {
        let name = self.sources.get(n).map_or("", |source| &*source.name);
        self.report.errors.push(format!("{name}: {fault}"));
    }

    fn event(&mut self, n: usize, event: &Event<'t>, nanoseconds: Option<i128>) {
        // A line that was not completed is dropped.
        self.text.line.truncate(self.whole);
        if let Some(nanoseconds) = nanoseconds {
            self.time(event.cycles, nanoseconds);
        }
        let Some(source) = self.sources.get(n) else { return };
        let line = &mut self.text.line;
        line.push_str(&source.origin);
        line.push_str(&event.class.name);
        line.push_str(": ");
        line.push_str(&source.context);
        self.text.braces = source.newer;
        self.text.begin(event.class.nodes(), event.class.scopes(), !source.context.is_empty());
    }

    fn done(&mut self, _: usize) {
        self.text.end();
        self.text.line.push('\n');
        self.whole = self.text.line.len();
    }
}

impl<'a> Visitor<'a> for Lines<'_> {
    fn unsigned(&mut self, node: NodeId, value: u64) {
        self.text.unsigned(node, value);
    }

    fn signed(&mut self, node: NodeId, value: i64) {
        self.text.signed(node, value);
    }

    fn float(&mut self, node: NodeId, value: f64) {
        self.text.float(node, value);
    }

    fn string(&mut self, node: NodeId, value: &'a [u8]) {
        self.text.string(node, value);
    }

    fn blob(&mut self, node: NodeId, value: &'a [u8]) {
        self.text.blob(node, value);
    }

    fn packed(&mut self, node: NodeId, items: Packed<'a>) {
        self.text.packed(node, items);
    }

    fn open(&mut self, node: NodeId, count: u64) {
        self.text.open(node, count);
    }

    fn close(&mut self, node: NodeId) {
        self.text.close(node);
    }
}
