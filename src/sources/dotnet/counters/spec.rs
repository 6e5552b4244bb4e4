//! The metrics that processes define: their descriptions, from facts and back from the line that is
//! persisted, their units (docs/protocols/dotnet.md 7) and slots.

use std::fmt::Write;

use crate::contract::Peer;
use crate::model::{MetricSpec, Semantics, Units, ValueType, component, cut};
use crate::sources::dotnet::limits;
use crate::sources::dotnet::metrics::{COUNTERS, METERS};

/// Bytes of a text of the process in help.
const TEXT: usize = 600;

const MEAN: &str =
    "Mean of the last interval, or the value that was polled; no value if nothing was measured.";
const TOTAL: &str =
    "The counter's value: since the process's start if it is observed, else since reading began.";

/// What a metric has of its counter or instrument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Facet {
    /// EventCounter: sum of increments.
    Sum,
    /// EventCounter: mean of an interval, or a polled value.
    Mean,
    /// EventCounter: least value of an interval.
    Min,
    /// EventCounter: greatest value of an interval.
    Max,
    /// EventCounter: number of values.
    Count,
    /// Instrument: a counter.
    Total,
    /// Instrument: a gauge or what goes up and down.
    Level,
    /// Histogram: number of values.
    Values,
    /// Histogram: their sum.
    ValueSum,
    /// Histogram: median of an interval.
    P50,
    /// Histogram: 95 of 100 values of an interval are not above.
    P95,
    /// Histogram: 99 of 100.
    P99,
}

impl Facet {
    const ALL: [Self; 12] = [
        Self::Sum,
        Self::Mean,
        Self::Min,
        Self::Max,
        Self::Count,
        Self::Total,
        Self::Level,
        Self::Values,
        Self::ValueSum,
        Self::P50,
        Self::P95,
        Self::P99,
    ];

    /// The word in keys and persisted lines, which never changes; the end of the name; what it is. A PCP name
    /// is a value or has names below it, so those of an EventCounter stand beside its mean.
    const fn words(self) -> [&'static str; 3] {
        match self {
            Self::Sum => ["sum", "", "Sum of its increments since reading began."],
            Self::Mean => ["mean", "", MEAN],
            Self::Min => ["min", "_min", "Least value of the last interval."],
            Self::Max => ["max", "_max", "Greatest value of the last interval."],
            Self::Count => ["count", "_count", "Number of values since reading began."],
            Self::Total => ["total", "", TOTAL],
            Self::Level => {
                ["level", "", "The last value; none if the process no longer reports it."]
            }
            Self::Values => ["values", ".count", "Number of values since reading began."],
            Self::ValueSum => ["valuesum", ".sum", "Sum of the values since reading began."],
            Self::P50 => ["p50", ".p50", "Median of the values of the last interval."],
            Self::P95 => ["p95", ".p95", "95th percentile of the values of the last interval."],
            Self::P99 => ["p99", ".p99", "99th percentile of the values of the last interval."],
        }
    }

    /// It is of an instrument, not of an EventCounter.
    const fn is_meter(self) -> bool {
        !matches!(self, Self::Sum | Self::Mean | Self::Min | Self::Max | Self::Count)
    }

    /// A counter, which stays when it is no longer reported.
    pub(super) const fn is_counter(self) -> bool {
        matches!(self, Self::Sum | Self::Count | Self::Total | Self::Values | Self::ValueSum)
    }
}

/// The facts from which the description of a metric is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Description<'a> {
    pub(super) facet: Facet,
    /// The process's unit.
    pub(super) unit: &'a str,
    /// The provider or meter.
    pub(super) group: &'a str,
    /// The counter or instrument.
    pub(super) name: &'a str,
    /// The process's words about it.
    pub(super) text: &'a str,
}

impl Description<'_> {
    /// The units of its values, and the factor to them.
    pub(super) fn unit(&self) -> Unit {
        let (meter, text) = (self.facet.is_meter(), self.unit);
        let known = if meter { ucum(text) } else { display(text) };
        match self.facet {
            Facet::Count | Facet::Values => Unit { units: Units::Count, factor: 1.0 },
            Facet::Sum | Facet::Total => known.unwrap_or(Unit { units: Units::Count, factor: 1.0 }),
            _ => known.unwrap_or(Unit { units: Units::None, factor: 1.0 }),
        }
    }

    /// The metric.
    pub(super) fn spec(&self) -> MetricSpec {
        let Self { facet, group, name, .. } = *self;
        let kinds =
            if facet.is_meter() { ["meter", "instrument"] } else { ["provider", "counter"] };
        let text = clean(self.text, TEXT);
        let key = self.key();
        let mut help = format!("{} {name:?} of {} {group:?}.", upper(kinds[1]), kinds[0]);
        if !text.is_empty() {
            let _ = write!(help, " In the program's words: {text}.");
        }
        if !self.unit.is_empty() {
            let _ = write!(help, " Its unit is {:?}.", self.unit);
        }
        let [_, ending, what] = facet.words();
        let _ = write!(help, "\n{what}");
        MetricSpec {
            path: format!("{}.{}{ending}", component(group), component(name)),
            place: if facet.is_meter() { METERS } else { COUNTERS },
            ty: ValueType::F64,
            sem: if facet.is_counter() { Semantics::Counter } else { Semantics::Instant },
            units: self.unit().units,
            oneline: if text.is_empty() { format!("{group} {name}") } else { clean(&text, 120) },
            help: clean_help(&help),
            labels: vec![(kinds[0], clean(group, TEXT)), (kinds[1], clean(name, TEXT))],
            persist: format!("{key} {text}"),
            key,
        }
    }

    /// `sum ms System.Net.Http requests-started`: without blanks in a word. Programs that differ in
    /// the unit or kind of a counter have a metric each.
    fn key(&self) -> String {
        let [word, ..] = self.facet.words();
        let mut key = word.to_owned();
        for word in [self.unit, self.group, self.name] {
            key.push(' ');
            escape(word, &mut key);
        }
        key
    }
}

/// `Dynamic::restore`: the metric that `MetricSpec::persist` was made from.
pub(crate) fn restore(line: &str) -> Option<MetricSpec> {
    let mut words = line.splitn(5, ' ');
    let word = words.next()?;
    let facet = Facet::ALL.into_iter().find(|facet| facet.words().first() == Some(&word))?;
    let mut next = || words.next().and_then(unescape);
    let (unit, group, name) = (next()?, next()?, next()?);
    let text = words.next()?;
    Some(Description { facet, unit: &unit, group: &group, name: &name, text }.spec())
}

/// Appends a word without blanks and control characters; `%` alone is an empty one.
fn escape(word: &str, out: &mut String) {
    if word.is_empty() {
        out.push('%');
    }
    for c in word.chars() {
        if c == '%' || c.is_whitespace() || c.is_control() {
            let _ = write!(out, "%{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
}

fn unescape(word: &str) -> Option<String> {
    if word == "%" {
        return Some(String::new());
    }
    let mut parts = word.split('%');
    let mut out = parts.next()?.to_owned();
    for part in parts {
        let (code, rest) = part.split_at_checked(4)?;
        out.push(char::from_u32(u32::from_str_radix(code, 16).ok()?)?);
        out.push_str(rest);
    }
    Some(out)
}

/// At most `limit` bytes, with a blank for each control character, without dots at the end. Of what
/// is clean nothing is taken: a text that is restored is the same.
pub(super) fn clean(text: &str, limit: usize) -> String {
    let text: String =
        cut(text, limit).chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    text.trim_start().trim_end_matches(|c: char| c == '.' || c.is_whitespace()).to_owned()
}

fn clean_help(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' { ' ' } else { c }).collect()
}

fn upper(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map_or_else(String::new, |c| c.to_ascii_uppercase().to_string() + chars.as_str())
}

/// PCP's units, and the factor from the process's unit to them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Unit {
    pub(super) units: Units,
    pub(super) factor: f64,
}

const fn unit(units: Units, factor: f64) -> Option<Unit> {
    Some(Unit { units, factor })
}

/// The unit of an EventCounter: `DisplayUnits`. `None`: the text is none that is known.
/// System.Runtime's MB are 10^6 bytes, so all of them are.
pub(super) fn display(text: &str) -> Option<Unit> {
    match text {
        "B" | "bytes" | "Bytes" => unit(Units::Bytes, 1.0),
        "KB" | "kB" => unit(Units::Bytes, 1e3),
        "MB" => unit(Units::Bytes, 1e6),
        "GB" => unit(Units::Bytes, 1e9),
        "ns" => unit(Units::Nanoseconds, 1.0),
        "us" | "\u{b5}s" | "\u{3bc}s" => unit(Units::Milliseconds, 1e-3),
        "ms" | "msec" | "milliseconds" => unit(Units::Milliseconds, 1.0),
        "s" | "sec" | "seconds" => unit(Units::Seconds, 1.0),
        "%" => unit(Units::None, 1.0),
        _ => None,
    }
}

/// The unit of an instrument, in UCUM's terms. `None`: the text is none that is known.
pub(super) fn ucum(text: &str) -> Option<Unit> {
    if text.starts_with('{') {
        // What is counted: {request}.
        return match text.split_once('}')? {
            (_, "") => unit(Units::Count, 1.0),
            (_, "/s") => unit(Units::CountPerSecond, 1.0),
            _ => None,
        };
    }
    match text {
        "s" => unit(Units::Seconds, 1.0),
        "ms" => unit(Units::Milliseconds, 1.0),
        "us" => unit(Units::Milliseconds, 1e-3),
        "ns" => unit(Units::Nanoseconds, 1.0),
        "min" => unit(Units::Seconds, 60.0),
        "h" => unit(Units::Seconds, 3600.0),
        "d" => unit(Units::Seconds, 86_400.0),
        "By" => unit(Units::Bytes, 1.0),
        "kBy" => unit(Units::Bytes, 1e3),
        "MBy" => unit(Units::Bytes, 1e6),
        "GBy" => unit(Units::Bytes, 1e9),
        "KiBy" => unit(Units::Bytes, 1024.0),
        "MiBy" => unit(Units::Bytes, 1_048_576.0),
        "GiBy" => unit(Units::Bytes, 1_073_741_824.0),
        "%" | "1" | "Cel" => unit(Units::None, 1.0),
        _ => None,
    }
}

/// Slots of one process's metrics. They are even: those of fields in records are odd.
#[derive(Debug, Default)]
pub(super) struct Names {
    next: u32,
}

impl Names {
    /// The slot of a new metric. `None`: the process has too many.
    pub(super) fn define(&mut self, facts: &Description<'_>, peer: &mut Peer) -> Option<u32> {
        if self.next as usize >= limits::DYNAMIC_METRICS {
            peer.unshown(1);
            return None;
        }
        let slot = 2 * self.next;
        self.next += 1;
        peer.define(slot, &facts.spec());
        Some(slot)
    }
}

const HOSTING: &str = "Microsoft.AspNetCore.Hosting";
/// Kind, name and display name. Their order determines ids: only append.
const HOSTING_COUNTERS: [(Facet, &str, &str); 4] = [
    (Facet::Sum, "requests-per-second", "Request Rate"),
    (Facet::Mean, "total-requests", "Total Requests"),
    (Facet::Mean, "current-requests", "Current Requests"),
    (Facet::Mean, "failed-requests", "Failed Requests"),
];

/// `Dynamic::initial`: counters that exist before a process has reported one, since a node of the name
/// space without a leaf would look broken. They are those of ASP.NET Core's host, in the runtime's own
/// words.
pub(crate) fn known() -> Vec<MetricSpec> {
    HOSTING_COUNTERS
        .map(|(facet, name, text)| {
            Description { facet, unit: "", group: HOSTING, name, text }.spec()
        })
        .to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn what_is_persisted_is_restored() {
        for facet in Facet::ALL {
            for (unit, group, name, text) in [
                ("ms", "System.Net.Http", "requests-started", "Requests Started"),
                ("", "", "", ""),
                ("a % b\n", "x y", "100%", "two\nlines."),
                ("{request}", "Ünï", "\u{2028}", " \u{1}"),
                ("", "a", "b", "Dots and blanks. . .\t. "),
            ] {
                let spec = Description { facet, unit, group, name, text }.spec();
                assert!(!spec.persist.contains(char::is_control), "{}", spec.persist);
                assert_eq!(restore(&spec.persist), Some(spec));
            }
        }
        for line in
            ["", "sum", "sum ms a", "sum ms a b", "x ms a b c", "sum %zz a b c", "sum %1 a b c"]
        {
            assert_eq!(restore(line), None, "{line}");
        }
    }

    #[test]
    fn names_are_provider_and_counter() {
        let facts =
            |facet, unit| Description { facet, unit, group: "My-App", name: "a.b-c", text: "" };
        for (facet, path) in [
            (Facet::Sum, "my_app.a_b_c"),
            (Facet::Min, "my_app.a_b_c_min"),
            (Facet::Values, "my_app.a_b_c.count"),
            (Facet::P99, "my_app.a_b_c.p99"),
        ] {
            assert_eq!(facts(facet, "").spec().path, path);
        }
        assert_eq!(facts(Facet::Sum, "MB").unit(), Unit { units: Units::Bytes, factor: 1e6 });
        assert_eq!(facts(Facet::Count, "MB").unit().units, Units::Count);
        assert_eq!(facts(Facet::Level, "MB").unit().units, Units::None);
        assert_ne!(facts(Facet::Sum, "MB").key(), facts(Facet::Sum, "B").key());
    }

    #[test]
    fn units_of_both_kinds_become_those_of_pcp() {
        for (text, units, factor) in
            [("B", Units::Bytes, 1.0), ("MB", Units::Bytes, 1e6), ("ms", Units::Milliseconds, 1.0)]
        {
            assert_eq!(display(text), unit(units, factor), "{text}");
        }
        assert_eq!([display(""), display("widgets")], [None, None]);
        for (text, units, factor) in [
            ("By", Units::Bytes, 1.0),
            ("KiBy", Units::Bytes, 1024.0),
            ("{request}", Units::Count, 1.0),
            ("{request}/s", Units::CountPerSecond, 1.0),
            ("Cel", Units::None, 1.0),
            ("s", Units::Seconds, 1.0),
        ] {
            assert_eq!(ucum(text), unit(units, factor), "{text}");
        }
        assert_eq!([ucum(""), ucum("{x"), ucum("{x}/h"), ucum("B")], [None; 4]);
    }
}
