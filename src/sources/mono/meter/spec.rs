//! From a header to the description of a metric, and back from the line that is persisted
//! (docs/protocols/mono-counters.md section 8).

use std::fmt::Write;

use super::known::known;
use super::mapping::Mapping;
use crate::model::{MetricSpec, Place, Semantics, component};
use mono_counters::numbers::{Kind, Numbers, Space, Unit, Variance};

/// Node of the counters.
pub(crate) const NODE: &str = "counter";

/// The facts from which the description of a metric is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Description {
    pub(crate) space: Space,
    /// Only the name of the category matters.
    pub(crate) numbers: Numbers,
    pub(crate) category: String,
    pub(crate) name: String,
    /// 1, or more for the second and later counters of the same name in one connection.
    pub(crate) occurrence: u32,
}

impl Description {
    /// The name of the counter in answers and in the persisted line: `GC/Minor GC time`, for the
    /// second of a name `GC/x #2`.
    pub(crate) fn key(&self) -> String {
        let mut key = format!("{}/{}", self.category, self.name);
        if self.occurrence > 1 {
            let _ = write!(key, " #{}", self.occurrence);
        }
        key
    }

    /// The metric.
    pub(crate) fn spec(&self) -> MetricSpec {
        let mapping = Mapping::of(self.space, self.numbers, &self.name);
        let mut path = format!("{}.{}", component(&self.category), component(&self.name));
        if self.occurrence > 1 {
            let _ = write!(path, "_{}", self.occurrence);
        }
        let known = known(&self.category, &self.name);
        let key = self.key();
        MetricSpec {
            place: Place::Sampled(NODE),
            path,
            ty: mapping.ty,
            sem: mapping.sem,
            units: mapping.units,
            oneline: known.map_or_else(|| format!("Mono counter {key}"), |k| k.oneline.to_owned()),
            help: self.help(&mapping, known.map_or("", |k| k.more)),
            labels: vec![("category", self.category.clone()), ("counter", self.name.clone())],
            persist: self.persist(),
            key,
        }
    }

    fn help(&self, mapping: &Mapping, more: &str) -> String {
        let Numbers { kind, unit, variance, .. } = self.numbers;
        let raw = |name: &str, number: u32| {
            if name == "unknown" { format!("unknown ({number:#x})") } else { name.into() }
        };
        let mut help = format!(
            "Mono calls it \"{}\" in category {}: type {}, unit {}, variance {}.",
            self.name,
            self.category,
            raw(mapping.kind.name(), kind),
            raw(mapping.unit.name(), unit),
            raw(mapping.variance.name(), variance),
        );
        help.push_str(match (mapping.kind, mapping.unit, mapping.scale) {
            (Kind::TimeInterval, ..) => " Microseconds in Mono, nanoseconds here.",
            (_, Unit::Time, 100) => " Steps of 100 ns in Mono, nanoseconds here.",
            (Kind::Double, Unit::Time, _) => {
                " Mono does not say of what unit of time; the value is as sent."
            }
            _ => "",
        });
        if mapping.sem == Semantics::Instant && mapping.variance == Variance::Monotonic {
            help.push_str(" By its name a high-water mark, so it is no counter with a rate.");
        } else if mapping.variance == Variance::Monotonic {
            help.push_str(
                " MONOTONIC is also what Mono says when the counter's author said nothing.",
            );
        }
        if !more.is_empty() {
            help.push('\n');
            help.push_str(more);
        }
        help.push_str("\nThe value is the last that the process sent; it sends a counter only when it has changed.");
        help
    }

    /// `E3 4 2000000 10000000 GC/Minor GC time`: space; type, unit and variance in hexadecimal;
    /// category and name, with `#2` before them for a second counter of the same name.
    fn persist(&self) -> String {
        let Numbers { kind, unit, variance, .. } = self.numbers;
        let mut line = format!("{} {kind:x} {unit:x} {variance:x} ", self.space.name());
        if self.occurrence > 1 {
            let _ = write!(line, "#{} ", self.occurrence);
        }
        let _ = write!(line, "{}/{}", self.category, self.name);
        line
    }

    pub(super) fn restored(line: &str) -> Option<Self> {
        let mut fields = line.splitn(5, ' ');
        let space = Space::named(fields.next()?)?;
        let mut number = || u32::from_str_radix(fields.next()?, 16).ok();
        let numbers =
            Numbers { category: 0, kind: number()?, unit: number()?, variance: number()? };
        let rest = fields.next()?;
        let (occurrence, rest) = match rest.strip_prefix('#') {
            Some(rest) => {
                rest.split_once(' ').and_then(|(n, rest)| Some((n.parse().ok()?, rest)))?
            }
            None => (1, rest),
        };
        let (category, name) = rest
            .split_once('/')
            .filter(|(category, name)| !category.is_empty() && !name.is_empty())
            // It would be written as a number the next time.
            .filter(|(category, _)| !category.starts_with('#'))?;
        if rest.chars().any(char::is_control) || occurrence == 0 {
            return None;
        }
        Some(Self {
            space,
            numbers,
            category: category.to_owned(),
            name: name.to_owned(),
            occurrence,
        })
    }
}

/// `Dynamic::restore`: the metric that `MetricSpec::persist` was made from.
pub(crate) fn restore(line: &str) -> Option<MetricSpec> {
    Some(Description::restored(line)?.spec())
}

#[cfg(test)]
#[path = "spec_tests.rs"]
mod tests;
