//! What a counter is as a metric: type, semantics and units, description and help, the line that is
//! persisted, and its values (docs/protocols/mono-counters.md sections 1, 4 and 8).

use std::collections::BTreeMap;
use std::fmt::Write;

use mono_counters::numbers::{Kind, Numbers, Space, Unit, Variance, kind, unit};

use super::watched::known;
use crate::contract::SampleValue;
use crate::model::{MetricSpec, Place, Semantics, Units, Value, ValueType, component};
use crate::read::{Cursor, Order};
use crate::sources::mono::metrics::PROGRAMS;

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

/// Where the sums of counters over all processes of a program are.
pub(crate) const TOTALS: Place = Place::Rows("program.counter", PROGRAMS);
/// Begins the keys and persisted lines of these sums: no category is called so, and no space.
const PREFIX: &str = "total ";

/// The sum of a metric over all processes of a program; `None`: it is no counter of integers.
pub(crate) fn total(spec: &MetricSpec) -> Option<MetricSpec> {
    let integer = matches!(spec.ty, ValueType::U64 | ValueType::I64);
    if spec.sem != Semantics::Counter || !integer || spec.place != Place::Sampled(NODE) {
        return None;
    }
    Some(MetricSpec {
        key: format!("{PREFIX}{}", spec.key),
        place: TOTALS,
        oneline: format!("{}, of all processes of the program", spec.oneline),
        help: format!(
            "What this counter grew by in all processes of the program while this PMDA ran: it goes on when a process ends and \
             another one starts. What a process had counted before the PMDA started is not in it.\n{}",
            spec.help
        ),
        persist: format!("{PREFIX}{}", spec.persist),
        ..spec.clone()
    })
}

/// `Dynamic::restore`: the metric that `MetricSpec::persist` was made from.
pub(crate) fn restore(line: &str) -> Option<MetricSpec> {
    match line.strip_prefix(PREFIX) {
        Some(line) => total(&Description::restored(line)?.spec()),
        None => Some(Description::restored(line)?.spec()),
    }
}

/// `MONO_COUNTER_PERFCOUNTERS`: the section of user-defined categories.
pub(crate) const USER_SECTION: u32 = 1 << 15;
/// Numbers of their counters, one for both ways that report them, as the log profiler sends them: 64 bits without a unit, an instant value.
pub(crate) const USER_NUMBERS: Numbers =
    Numbers { category: USER_SECTION, kind: kind::LONG, unit: unit::RAW, variance: 0 };

/// Name of such a counter: its metric is `apm.mono.counter.perfcounters.<category>_<counter>`.
pub(crate) fn user_name(category: &str, counter: &str) -> String {
    format!("{category}/{counter}")
}

/// Type, semantics, units and scale of a counter's metric.
///
/// All integers are 64 bits wide, regardless of their width on the wire: the same counter is LONG
/// in one runtime and ULONG in another, and one metric serves both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    pub(crate) kind: Kind,
    pub(crate) unit: Unit,
    pub(crate) variance: Variance,
    pub(crate) ty: ValueType,
    pub(crate) sem: Semantics,
    pub(crate) units: Units,
    /// The metric's value is the wire's times this.
    pub(crate) scale: u32,
}

impl Mapping {
    pub(crate) fn of(space: Space, numbers: Numbers, name: &str) -> Self {
        let (kind, unit) = (space.kind(numbers.kind), space.unit(numbers.unit));
        let variance = space.variance(numbers.variance);
        let monotonic = variance == Variance::Monotonic;
        let ty = match kind {
            Kind::Text => ValueType::Text,
            Kind::Double => ValueType::F64,
            _ if monotonic => ValueType::U64,
            _ => ValueType::I64,
        };
        let sem = match variance {
            _ if kind == Kind::Text => Semantics::Discrete,
            // A registration without a variance gets MONOTONIC, but a high-water mark has no
            // rate.
            Variance::Monotonic if has_word(name, "max") => Semantics::Instant,
            Variance::Monotonic => Semantics::Counter,
            Variance::Variable | Variance::Unknown => Semantics::Instant,
            Variance::Constant => Semantics::Discrete,
        };
        let (units, scale) = match (kind, unit) {
            (Kind::Text, _) => (Units::None, 1),
            (Kind::TimeInterval, _) => (Units::Nanoseconds, 1000),
            // The unit of a double that is a time is not defined.
            (Kind::Double, Unit::Time) => (Units::None, 1),
            (_, Unit::Time) => (Units::Nanoseconds, 100),
            (_, Unit::Bytes) => (Units::Bytes, 1),
            (_, Unit::Count) => (Units::Count, 1),
            (_, Unit::Raw) if counts_bytes(name) => (Units::Bytes, 1),
            (_, Unit::Raw) if monotonic => (Units::Count, 1),
            (_, Unit::Raw | Unit::Percentage | Unit::Config | Unit::Quantity | Unit::Unknown) => {
                (Units::None, 1)
            }
        };
        Self { kind, unit, variance, ty, sem, units, scale }
    }
}

/// Whether the name is that of a size: most of Mono's sizes have no unit.
fn counts_bytes(name: &str) -> bool {
    let last = words(name).last().unwrap_or_default();
    last.eq_ignore_ascii_case("size")
        || last.eq_ignore_ascii_case("bytes")
        || name.to_ascii_lowercase().ends_with("bytes allocated")
}

fn has_word(name: &str, word: &str) -> bool {
    words(name).any(|w| w.eq_ignore_ascii_case(word))
}

fn words(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|w| !w.is_empty())
}

/// The metric's value; `None` for a size without meaning: a text that was never sampled, an unknown
/// type of odd width. `widen` makes 64 bits of a 32-bit counter with a scale, because the store
/// widens without a scale.
pub(super) fn read(
    mapping: Mapping,
    order: Order,
    bytes: &[u8],
    widen: impl FnOnce(u32) -> u64,
) -> Option<SampleValue> {
    let mut c = Cursor::new(bytes, order);
    let Mapping { kind, ty, sem, scale, .. } = mapping;
    let wide: i128 = match (kind, bytes.len()) {
        (_, 0) => return None,
        (Kind::Text, _) => {
            let text = bytes.split(|b| *b == 0).next().unwrap_or_default();
            return Some(Value::text(&String::from_utf8_lossy(text)).into());
        }
        (Kind::Double, _) => {
            return c.u64().map(|bits| Value::F64(f64::from_bits(bits)).into());
        }
        (Kind::Int | Kind::Uint | Kind::Unknown, 4) if sem == Semantics::Counter => {
            let bits = c.u32()?;
            if scale == 1 {
                return Some(SampleValue::Wrapping32(bits));
            }
            widen(bits).into()
        }
        (Kind::Uint, 4) => c.u32()?.into(),
        (_, 4) => c.i32()?.into(),
        (Kind::Ulong, _) => c.u64()?.into(),
        (_, 8) => c.i64()?.into(),
        _ => return None,
    };
    let wide = wide.saturating_mul(scale.into());
    let value = match ty {
        ValueType::U64 => Value::U64(u64::try_from(wide.max(0)).unwrap_or(u64::MAX)),
        _ => Value::I64(i64::try_from(wide).unwrap_or(if wide < 0 { i64::MIN } else { i64::MAX })),
    };
    Some(value.into())
}

/// Widens a counter by its differences modulo 2^32, added up.
pub(super) fn widen(all: &mut BTreeMap<u16, (u32, u64)>, index: u16, bits: u32) -> u64 {
    let (before, total) = all.entry(index).or_insert((bits, bits.into()));
    *total += u64::from(bits.wrapping_sub(*before));
    *before = bits;
    *total
}

#[cfg(test)]
#[path = "spec_tests.rs"]
mod tests;
