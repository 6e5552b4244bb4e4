//! The numbers of category, type, unit and variance in a header, in their three spaces
//! (`docs/protocols/mono-counters.md` section 4).
//!
//! | space | origin | category | type | unit | variance |
//! |---|---|---|---|---|---|
//! | E1 | earliest headers of March 2014 | 0..9 | 0..3 | 0..4 | 1..3 |
//! | E2 | agents B and C, 2014 | 0..8 | 0..3 | 0..5 | 1..3 |
//! | E3 | public mono-counters.h since May 2014 | 1 << 8..17 | 0..7 | n << 24 | 1 << 28..30 |
//!
//! A connection uses one space.

use std::borrow::Cow;

/// A number space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// The earliest headers of March 2014.
    E1,
    /// Agents B and C of 2014.
    E2,
    /// The public mono-counters.h since May 2014.
    E3,
}

/// The four numbers of a header, as on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbers {
    /// Category, a section bit in E3.
    pub category: u32,
    /// Type: see [`Space::kind`].
    pub kind: u32,
    /// Unit: see [`Space::unit`].
    pub unit: u32,
    /// Variance: see [`Space::variance`].
    pub variance: u32,
}

/// Type of a counter's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// 32 bits, signed.
    Int,
    /// 32 bits, unsigned.
    Uint,
    /// Signed, as wide as a pointer of the agent's host.
    Word,
    /// 64 bits, signed.
    Long,
    /// 64 bits, unsigned.
    Ulong,
    /// 64-bit IEEE float.
    Double,
    /// Bytes, padded with NULs.
    Text,
    /// 64 bits of microseconds, for any unit.
    TimeInterval,
    /// A number that is not in the space.
    Unknown,
}

/// Unit of a counter's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// RAW of E3, NONE of E1 and E2.
    Raw,
    /// Bytes.
    Bytes,
    /// E1 only; the counted thing is unknown.
    Quantity,
    /// Ticks of 100 ns.
    Time,
    /// COUNT of E3, EVENT and EVENTS of the others.
    Count,
    /// Percent.
    Percentage,
    /// A setting.
    Config,
    /// A number that is not in the space.
    Unknown,
}

/// The way a counter's values change over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variance {
    /// Only grows; also the value for counters whose author chose none.
    Monotonic,
    /// Never changes.
    Constant,
    /// Grows and shrinks.
    Variable,
    /// A number that is not in the space.
    Unknown,
}

/// Category bits of E3 (`MONO_COUNTER_*` sections of mono-counters.h).
pub mod section {
    /// `MONO_COUNTER_GC`.
    pub const GC: u32 = 1 << 9;
    /// `MONO_COUNTER_RUNTIME`.
    pub const RUNTIME: u32 = 1 << 13;
    /// `MONO_COUNTER_SYSTEM`.
    pub const SYSTEM: u32 = 1 << 14;
    /// The lowest section, `MONO_COUNTER_JIT`.
    pub const FIRST: u32 = 1 << 8;
    /// The highest bit of the field; later runtimes may set bits above `MONO_COUNTER_INTERP`.
    pub const LAST: u32 = 1 << 23;
}

/// Types of E3.
pub mod kind {
    /// `MONO_COUNTER_INT`.
    pub const INT: u32 = 0;
    /// `MONO_COUNTER_UINT`.
    pub const UINT: u32 = 1;
    /// `MONO_COUNTER_WORD`.
    pub const WORD: u32 = 2;
    /// `MONO_COUNTER_LONG`.
    pub const LONG: u32 = 3;
    /// `MONO_COUNTER_ULONG`.
    pub const ULONG: u32 = 4;
    /// `MONO_COUNTER_DOUBLE`.
    pub const DOUBLE: u32 = 5;
    /// `MONO_COUNTER_STRING`: the registered size, padded with NULs.
    pub const STRING: u32 = 6;
    /// `MONO_COUNTER_TIME_INTERVAL`.
    pub const TIME_INTERVAL: u32 = 7;
}

/// Units of E3.
pub mod unit {
    /// `MONO_COUNTER_RAW`.
    pub const RAW: u32 = 0;
    /// `MONO_COUNTER_BYTES`.
    pub const BYTES: u32 = 1 << 24;
    /// `MONO_COUNTER_TIME`.
    pub const TIME: u32 = 2 << 24;
    /// `MONO_COUNTER_COUNT`.
    pub const COUNT: u32 = 3 << 24;
    /// `MONO_COUNTER_PERCENTAGE`.
    pub const PERCENTAGE: u32 = 4 << 24;
}

/// Variances of E3.
pub mod variance {
    /// `MONO_COUNTER_MONOTONIC`.
    pub const MONOTONIC: u32 = 1 << 28;
    /// `MONO_COUNTER_CONSTANT`.
    pub const CONSTANT: u32 = 1 << 29;
    /// `MONO_COUNTER_VARIABLE`.
    pub const VARIABLE: u32 = 1 << 30;
}

const CATEGORIES_E1: [&str; 10] = [
    "JIT",
    "GC",
    "Metadata",
    "Generics",
    "Security",
    "Remoting",
    "Exceptions",
    "Thread",
    "ThreadPool",
    "IO",
];
const CATEGORIES_E2: [&str; 9] =
    ["JIT", "GC", "Metadata", "Generics", "Security", "Thread", "ThreadPool", "System", "Custom"];
/// The names of the sections of E3, from [`section::FIRST`] on.
const CATEGORIES_E3: [&str; 10] = [
    "JIT",
    "GC",
    "Metadata",
    "Generics",
    "Security",
    "Runtime",
    "System",
    "PerfCounters",
    "Profiler",
    "Interp",
];
/// Counters of custom sources in E2: the header has this category and the name `CATEGORY:NAME`.
const CUSTOM: u32 = 8;
/// Exists only in E1.
const IO: u32 = 9;
/// Prefix that the agents of 2014 write before a category's name.
const PREFIX: &str = "Mono ";

/// Counters of SYS, category 7 of E2. A header with one of these names proves that category 7 is
/// not THREAD of E1.
const SYSTEM_NAMES: [&str; 7] = [
    "User Time",
    "System Time",
    "Total Time",
    "Working Set",
    "Private Bytes",
    "Virtual Bytes",
    "Page Faults",
];

impl Space {
    /// The space of a connection by the category of its first header. E1 looks like E2 at first:
    /// see [`Self::refine`].
    #[must_use]
    #[inline]
    pub const fn of(category: u32) -> Self {
        if category >= section::FIRST { Self::E3 } else { Self::E2 }
    }

    /// E1 or E2, decided by all headers of Hello: E1 only if category 9 occurs and no System
    /// counter is in category 7.
    #[must_use]
    #[inline]
    pub fn refine<'a>(self, headers: impl Iterator<Item = (u32, &'a str)>) -> Self {
        if self == Self::E3 {
            return self;
        }
        let (mut io, mut system) = (false, false);
        for (category, name) in headers {
            io |= category == IO;
            system |= category == 7 && SYSTEM_NAMES.contains(&name);
        }
        if io && !system { Self::E1 } else { Self::E2 }
    }

    /// The name of the space in persisted descriptions.
    #[must_use]
    #[inline]
    pub const fn name(self) -> &'static str {
        match self {
            Self::E1 => "E1",
            Self::E2 => "E2",
            Self::E3 => "E3",
        }
    }

    /// The space with this [`Self::name`].
    #[must_use]
    #[inline]
    pub fn named(name: &str) -> Option<Self> {
        [Self::E1, Self::E2, Self::E3].into_iter().find(|s| s.name() == name)
    }

    /// Whether a strict reader accepts the category (`docs/protocols/mono-counters.md` section
    /// 3.2). Later runtimes may have more sections.
    #[must_use]
    #[inline]
    pub const fn plausible_category(self, category: u32) -> bool {
        match self {
            Self::E1 | Self::E2 => category <= IO,
            Self::E3 => {
                category.is_power_of_two()
                    && section::FIRST <= category
                    && category <= section::LAST
            }
        }
    }

    /// The name of a category in metric names, patterns and answers; `unknown_<hex>` for a number
    /// that is not in the space.
    #[must_use]
    #[inline]
    pub fn category(self, number: u32) -> Cow<'static, str> {
        let index = match self {
            Self::E1 | Self::E2 => number as usize,
            Self::E3 if number.is_power_of_two() && number >= section::FIRST => {
                (number / section::FIRST).trailing_zeros() as usize
            }
            Self::E3 => usize::MAX,
        };
        let names: &[&str] = match self {
            Self::E2 if number != IO => &CATEGORIES_E2,
            Self::E1 | Self::E2 => &CATEGORIES_E1,
            Self::E3 => &CATEGORIES_E3,
        };
        names
            .get(index)
            .map_or_else(|| Cow::Owned(format!("unknown_{number:x}")), |name| Cow::Borrowed(*name))
    }

    /// Splits a custom counter's header name into category and name.
    #[must_use]
    #[inline]
    pub fn custom(self, number: u32, name: &str) -> Option<(&str, &str)> {
        if self == Self::E2 && number == CUSTOM { name.split_once(':') } else { None }
    }

    /// The type for a number.
    #[must_use]
    #[inline]
    pub const fn kind(self, number: u32) -> Kind {
        match (self, number) {
            (_, kind::INT) => Kind::Int,
            (_, kind::WORD) => Kind::Word,
            (Self::E3, kind::UINT) => Kind::Uint,
            (_, 1) | (Self::E3, kind::LONG) => Kind::Long,
            (_, 3) | (Self::E3, kind::DOUBLE) => Kind::Double,
            (Self::E3, kind::ULONG) => Kind::Ulong,
            (Self::E3, kind::STRING) => Kind::Text,
            (Self::E3, kind::TIME_INTERVAL) => Kind::TimeInterval,
            _ => Kind::Unknown,
        }
    }

    /// The unit for a number.
    #[must_use]
    #[inline]
    pub const fn unit(self, number: u32) -> Unit {
        match (self, number) {
            (_, unit::RAW) => Unit::Raw,
            (Self::E1, 1) => Unit::Quantity,
            (Self::E2, 1) | (Self::E3, unit::BYTES) => Unit::Bytes,
            (Self::E1 | Self::E2, 2) | (Self::E3, unit::TIME) => Unit::Time,
            (Self::E1 | Self::E2, 3) | (Self::E3, unit::COUNT) => Unit::Count,
            (Self::E1 | Self::E2, 4) => Unit::Config,
            (Self::E2, 5) | (Self::E3, unit::PERCENTAGE) => Unit::Percentage,
            _ => Unit::Unknown,
        }
    }

    /// The variance for a number.
    #[must_use]
    #[inline]
    pub const fn variance(self, number: u32) -> Variance {
        match (self, number) {
            (Self::E3, variance::MONOTONIC) | (Self::E1 | Self::E2, 2) => Variance::Monotonic,
            (Self::E3, variance::CONSTANT) | (Self::E1 | Self::E2, 1) => Variance::Constant,
            (Self::E3, variance::VARIABLE) | (Self::E1 | Self::E2, 3) => Variance::Variable,
            _ => Variance::Unknown,
        }
    }
}

/// All sections of E3 with their names.
pub fn sections() -> impl Iterator<Item = (u32, &'static str)> {
    (0..).map(|bit| section::FIRST << bit).zip(CATEGORIES_E3)
}

/// A category's name without the `Mono ` of 2014.
#[must_use]
pub fn bare_category(category: &str) -> &str {
    match category.split_at_checked(PREFIX.len()) {
        Some((prefix, bare)) if prefix.eq_ignore_ascii_case(PREFIX) => bare,
        _ => category,
    }
}

/// The name of a category in the agents of 2014 (C's text of E2). The name of a custom source's
/// category is unchanged.
#[must_use]
pub fn category_of_2014(category: &str) -> String {
    let bare = bare_category(category);
    let known =
        CATEGORIES_E2.iter().find(|name| **name != "Custom" && name.eq_ignore_ascii_case(bare));
    known.map_or_else(|| category.to_owned(), |name| format!("{PREFIX}{name}"))
}

/// The name of a category in the agents of the note; unchanged if it is not one of mono-counters.h.
#[must_use]
pub fn category_of_note(category: &str) -> &str {
    let bare = bare_category(category);
    CATEGORIES_E3.iter().find(|name| name.eq_ignore_ascii_case(bare)).map_or(category, |name| name)
}

impl Kind {
    /// The name in mono-counters.h.
    #[must_use]
    #[inline]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Int => "INT",
            Self::Uint => "UINT",
            Self::Word => "WORD",
            Self::Long => "LONG",
            Self::Ulong => "ULONG",
            Self::Double => "DOUBLE",
            Self::Text => "STRING",
            Self::TimeInterval => "TIME_INTERVAL",
            Self::Unknown => "unknown",
        }
    }
}

impl Unit {
    /// The name in mono-counters.h.
    #[must_use]
    #[inline]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Raw => "RAW",
            Self::Bytes => "BYTES",
            Self::Quantity => "QUANTITY",
            Self::Time => "TIME",
            Self::Count => "COUNT",
            Self::Percentage => "PERCENTAGE",
            Self::Config => "CONFIG",
            Self::Unknown => "unknown",
        }
    }
}

impl Variance {
    /// The name in mono-counters.h.
    #[must_use]
    #[inline]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Monotonic => "MONOTONIC",
            Self::Constant => "CONSTANT",
            Self::Variable => "VARIABLE",
            Self::Unknown => "unknown",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_number_means_other_things_in_other_spaces() {
        assert_eq!((Space::E2.kind(3), Space::E3.kind(3)), (Kind::Double, Kind::Long));
        assert_eq!((Space::E2.kind(1), Space::E3.kind(1)), (Kind::Long, Kind::Uint));
        assert_eq!(
            (Space::E1.unit(1), Space::E2.unit(1), Space::E3.unit(1)),
            (Unit::Quantity, Unit::Bytes, Unit::Unknown)
        );
        assert_eq!(
            (Space::E2.variance(1), Space::E3.variance(1 << 29)),
            (Variance::Constant, Variance::Constant)
        );
        assert_eq!((Space::E1.unit(5), Space::E2.unit(5)), (Unit::Unknown, Unit::Percentage));
        assert_eq!((Space::E3.kind(0x80), Space::E2.kind(4)), (Kind::Unknown, Kind::Unknown));
    }

    #[test]
    fn categories_have_names_and_unknown_ones_keep_their_number() {
        for (space, number, name) in [
            (Space::E3, 0x100, "JIT"),
            (Space::E3, 0x200, "GC"),
            (Space::E3, 0x4000, "System"),
            (Space::E3, 0x2_0000, "Interp"),
            (Space::E3, 1 << 20, "unknown_100000"),
            (Space::E3, 0x300, "unknown_300"),
            (Space::E3, 3, "unknown_3"),
            (Space::E2, 7, "System"),
            (Space::E2, 8, "Custom"),
            (Space::E2, 9, "IO"),
            (Space::E1, 7, "Thread"),
            (Space::E2, 200, "unknown_c8"),
        ] {
            assert_eq!(space.category(number), name);
        }
        assert!(Space::E3.plausible_category(1 << 23) && !Space::E3.plausible_category(1 << 24));
        assert!(!Space::E3.plausible_category(0x300) && !Space::E2.plausible_category(10));
    }

    #[test]
    fn e1_only_when_io_is_there_and_system_is_not() {
        let refine = |headers: &[(u32, &'static str)]| Space::E2.refine(headers.iter().copied());
        assert_eq!(refine(&[(1, "a"), (7, "b")]), Space::E2);
        assert_eq!(refine(&[(9, "a"), (7, "b")]), Space::E1);
        assert_eq!(refine(&[(9, "a"), (7, "User Time")]), Space::E2);
        assert_eq!(Space::E3.refine([(9, "a")].into_iter()), Space::E3);
    }

    #[test]
    fn categories_are_known_by_every_name_they_have() {
        assert_eq!(
            (bare_category("mono gc"), bare_category("GC"), bare_category("Mono")),
            ("gc", "GC", "Mono")
        );
        assert_eq!(
            (category_of_2014("gc"), category_of_2014("Mono JIT")),
            ("Mono GC".into(), "Mono JIT".into())
        );
        assert_eq!(
            (category_of_2014("Widgets"), category_of_2014("custom")),
            ("Widgets".into(), "custom".into())
        );
        assert_eq!((category_of_note("MONO gc"), category_of_note("Widgets")), ("GC", "Widgets"));
        assert_eq!(Space::E2.custom(8, "Widgets:made"), Some(("Widgets", "made")));
        assert_eq!((Space::E2.custom(1, "a:b"), Space::E3.custom(8, "a:b")), (None, None));
        assert_eq!(
            [Space::E1, Space::E2, Space::E3].map(|s| Space::named(s.name())),
            [Space::E1, Space::E2, Space::E3].map(Some)
        );
    }
}
