//! From Mono's types, units and variances to PCP's: the tables of docs/protocols/mono-counters.md
//! section 8.

use crate::model::{Semantics, Units, ValueType};
use mono_counters::numbers::{Kind, Numbers, Space, Unit, Variance};

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

#[cfg(test)]
mod tests {
    use super::*;

    const MONOTONIC: u32 = 1 << 28;
    const CONSTANT: u32 = 1 << 29;
    const VARIABLE: u32 = 1 << 30;

    fn e3(kind: u32, unit: u32, variance: u32, name: &str) -> (ValueType, Semantics, Units, u32) {
        let m = Mapping::of(
            Space::E3,
            Numbers { category: 0x100, kind, unit: unit << 24, variance },
            name,
        );
        (m.ty, m.sem, m.units, m.scale)
    }

    #[test]
    fn tables_of_section_8() {
        use Semantics::{Counter, Discrete, Instant};
        use ValueType::{F64, I64, Text, U64};
        for ((kind, unit, variance, name), expected) in [
            ((0, 0, MONOTONIC, "Compiled methods"), (U64, Counter, Units::Count, 1)),
            ((0, 0, MONOTONIC, "Native code size"), (U64, Counter, Units::Bytes, 1)),
            ((0, 0, MONOTONIC, "RGCTX bytes allocated"), (U64, Counter, Units::Bytes, 1)),
            ((4, 0, MONOTONIC, "Dynamic code bytes"), (U64, Counter, Units::Bytes, 1)),
            ((0, 0, MONOTONIC, "sizes"), (U64, Counter, Units::Count, 1)),
            ((0, 0, MONOTONIC, "Max basic blocks"), (U64, Instant, Units::Count, 1)),
            ((0, 0, MONOTONIC, "Maximum"), (U64, Counter, Units::Count, 1)),
            ((2, 1, MONOTONIC, "Memgov max alloc"), (U64, Instant, Units::Bytes, 1)),
            ((4, 2, MONOTONIC, "Collection max time"), (U64, Instant, Units::Nanoseconds, 100)),
            ((3, 2, MONOTONIC, "Major GC time"), (U64, Counter, Units::Nanoseconds, 100)),
            ((2, 1, VARIABLE, "Memgov alloc"), (I64, Instant, Units::Bytes, 1)),
            ((5, 4, VARIABLE, "CPU Load Average - 1min"), (F64, Instant, Units::None, 1)),
            ((5, 2, MONOTONIC, "seconds"), (F64, Counter, Units::None, 1)),
            ((7, 0, MONOTONIC, "interval"), (U64, Counter, Units::Nanoseconds, 1000)),
            ((6, 0, CONSTANT, "Version"), (Text, Discrete, Units::None, 1)),
            ((6, 0, VARIABLE, "text bytes"), (Text, Discrete, Units::None, 1)),
            ((0, 0, CONSTANT, "Process Id"), (I64, Discrete, Units::None, 1)),
            ((0, 3, VARIABLE, "threads"), (I64, Instant, Units::Count, 1)),
            ((0, 0, VARIABLE, "threads"), (I64, Instant, Units::None, 1)),
            ((0, 77, 0, "what"), (I64, Instant, Units::None, 1)),
        ] {
            assert_eq!(e3(kind, unit, variance, name), expected, "{name}");
        }
    }

    #[test]
    fn quantity_is_no_size_and_config_no_count() {
        let units = |space, unit| {
            Mapping::of(space, Numbers { category: 1, kind: 0, unit, variance: 2 }, "x").units
        };
        assert_eq!((units(Space::E1, 1), units(Space::E2, 1)), (Units::None, Units::Bytes));
        assert_eq!((units(Space::E1, 4), units(Space::E2, 3)), (Units::None, Units::Count));
    }
}
