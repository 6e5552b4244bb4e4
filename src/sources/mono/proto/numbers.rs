//! The numbers that stand for category, type, unit and variance in a header, and their three spaces
//! (spec 4).
//!
//! | space | where from | category | type | unit | variance |
//! |---|---|---|---|---|---|
//! | E1 | earliest headers of March 2014 | 0..9 | 0..3 | 0..4 | 1..3 |
//! | E2 | agents B and C, 2014 | 0..8 | 0..3 | 0..5 | 1..3 |
//! | E3 | public mono-counters.h since May 2014 | 1 << 8..17 | 0..7 | n << 24 | 1 << 28..30 |
//!
//! A connection uses one space. Numbers that it does not have are kept: the counter is exported all
//! the same, with its category called `unknown_<hex>` and its width taken from the wire.

use std::borrow::Cow;

/// A number space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Space {
    E1,
    E2,
    E3,
}

/// The four numbers of a header, as they were on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Numbers {
    pub(crate) category: u32,
    pub(crate) kind: u32,
    pub(crate) unit: u32,
    pub(crate) variance: u32,
}

/// Type of a counter's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Int,
    Uint,
    Word,
    Long,
    Ulong,
    Double,
    Text,
    /// Microseconds, whatever the unit says.
    TimeInterval,
    Unknown,
}

/// What a counter's values count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// RAW of E3, NONE of E1 and E2.
    Raw,
    Bytes,
    /// E1 only; not said of what.
    Quantity,
    Time,
    /// COUNT of E3, EVENT and EVENTS of the others.
    Count,
    Percentage,
    Config,
    Unknown,
}

/// How a counter's values move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variance {
    Monotonic,
    Constant,
    Variable,
    Unknown,
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
/// From bit 8 on.
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
/// Only E1 has this one.
const IO: u32 = 9;
/// Prefix that the agents of 2014 write before a category's name.
const PREFIX: &str = "Mono ";

/// Counters whose category number 7 says that it is SYS of E2 and not THREAD of E1.
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
    pub(crate) const fn of(category: u32) -> Self {
        if category >= 0x100 { Self::E3 } else { Self::E2 }
    }

    /// E1 or E2, decided by all headers of Hello: E1 only if category 9 occurs and no System
    /// counter is in category 7.
    pub(crate) fn refine<'a>(self, headers: impl Iterator<Item = (u32, &'a str)>) -> Self {
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
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::E1 => "E1",
            Self::E2 => "E2",
            Self::E3 => "E3",
        }
    }

    /// The opposite of [`Self::name`].
    pub(crate) fn named(name: &str) -> Option<Self> {
        [Self::E1, Self::E2, Self::E3].into_iter().find(|s| s.name() == name)
    }

    /// The category may occur in a stream that is read strictly (spec 3.2): later runtimes may have
    /// set further bits.
    pub(crate) const fn plausible_category(self, category: u32) -> bool {
        match self {
            Self::E1 | Self::E2 => category <= IO,
            Self::E3 => category.is_power_of_two() && 1 << 8 <= category && category <= 1 << 23,
        }
    }

    /// What a category is called in metric names, patterns and answers.
    pub(crate) fn category(self, number: u32) -> Cow<'static, str> {
        let index = match self {
            Self::E1 | Self::E2 => number as usize,
            Self::E3 if number.is_power_of_two() && number >= 1 << 8 => {
                number.trailing_zeros() as usize - 8
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

    /// A custom counter's category and name, which share the name of its header.
    pub(crate) fn custom(self, number: u32, name: &str) -> Option<(&str, &str)> {
        if self == Self::E2 && number == CUSTOM { name.split_once(':') } else { None }
    }

    /// The type that a number stands for.
    pub(crate) const fn kind(self, number: u32) -> Kind {
        match (self, number) {
            (_, 0) => Kind::Int,
            (_, 2) => Kind::Word,
            (Self::E3, 1) => Kind::Uint,
            (_, 1) | (Self::E3, 3) => Kind::Long,
            (_, 3) | (Self::E3, 5) => Kind::Double,
            (Self::E3, 4) => Kind::Ulong,
            (Self::E3, 6) => Kind::Text,
            (Self::E3, 7) => Kind::TimeInterval,
            _ => Kind::Unknown,
        }
    }

    /// The unit that a number stands for.
    pub(crate) const fn unit(self, number: u32) -> Unit {
        const TIME: u32 = 2 << 24;
        const COUNT: u32 = 3 << 24;
        const PERCENTAGE: u32 = 4 << 24;
        match (self, number) {
            (_, 0) => Unit::Raw,
            (Self::E1, 1) => Unit::Quantity,
            (Self::E2, 1) | (Self::E3, 0x0100_0000) => Unit::Bytes,
            (Self::E1 | Self::E2, 2) | (Self::E3, TIME) => Unit::Time,
            (Self::E1 | Self::E2, 3) | (Self::E3, COUNT) => Unit::Count,
            (Self::E1 | Self::E2, 4) => Unit::Config,
            (Self::E2, 5) | (Self::E3, PERCENTAGE) => Unit::Percentage,
            _ => Unit::Unknown,
        }
    }

    /// The variance that a number stands for.
    pub(crate) const fn variance(self, number: u32) -> Variance {
        match (self, number) {
            (Self::E3, 0x1000_0000) | (Self::E1 | Self::E2, 2) => Variance::Monotonic,
            (Self::E3, 0x2000_0000) | (Self::E1 | Self::E2, 1) => Variance::Constant,
            (Self::E3, 0x4000_0000) | (Self::E1 | Self::E2, 3) => Variance::Variable,
            _ => Variance::Unknown,
        }
    }
}

/// A category's name without the `Mono ` of 2014.
pub(crate) fn bare_category(category: &str) -> &str {
    match category.split_at_checked(PREFIX.len()) {
        Some((prefix, bare)) if prefix.eq_ignore_ascii_case(PREFIX) => bare,
        _ => category,
    }
}

/// The name under which agents of 2014 know a category (C's text of E2); a custom source's is its
/// own.
pub(crate) fn category_of_2014(category: &str) -> String {
    let bare = bare_category(category);
    let known =
        CATEGORIES_E2.iter().find(|name| **name != "Custom" && name.eq_ignore_ascii_case(bare));
    known.map_or_else(|| category.to_owned(), |name| format!("{PREFIX}{name}"))
}

/// The name under which agents of the note know a category, if it is one of mono-counters.h.
pub(crate) fn category_of_note(category: &str) -> &str {
    let bare = bare_category(category);
    CATEGORIES_E3.iter().find(|name| name.eq_ignore_ascii_case(bare)).map_or(category, |name| name)
}

impl Kind {
    /// What mono-counters.h calls it.
    pub(crate) const fn name(self) -> &'static str {
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
    /// What mono-counters.h calls it.
    pub(crate) const fn name(self) -> &'static str {
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
    /// What mono-counters.h calls it.
    pub(crate) const fn name(self) -> &'static str {
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
