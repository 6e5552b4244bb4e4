//! What does not change while a JVM runs: versions, collector, names, limits.

use std::borrow::Cow;

use crate::sources::jvm::name::Names;
use crate::sources::jvm::reader::Hints;
use crate::sources::jvm::wire::{Counter, Values};

use super::flags::Flags;

/// How memory is collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Collector {
    Serial,
    Parallel,
    Cms,
    G1,
    Zgc,
    ZgcGenerational,
    Shenandoah,
    Epsilon,
}

impl Collector {
    /// As people write it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Serial => "Serial",
            Self::Parallel => "Parallel",
            Self::Cms => "CMS",
            Self::G1 => "G1",
            Self::Zgc => "ZGC",
            Self::ZgcGenerational => "ZGC generational",
            Self::Shenandoah => "Shenandoah",
            Self::Epsilon => "Epsilon",
        }
    }

    /// By the policy, else by the names of collectors, else by the arguments: ZGC of 11 and Epsilon
    /// have neither.
    fn of(values: Values<'_>) -> Option<Self> {
        let signs: [(Counter, &[u8], Self); 9] = [
            (Counter::PolicyName, b"Copy:MSC", Self::Serial),
            (Counter::PolicyName, b"ParScav:MSC", Self::Parallel),
            (Counter::PolicyName, b"ParNew:CMS", Self::Cms),
            (Counter::PolicyName, b"GarbageFirst", Self::G1),
            (Counter::Name1, b"Shenandoah", Self::Shenandoah),
            (Counter::Name0, b"ZGC minor", Self::ZgcGenerational),
            (Counter::Name2, b"Z ", Self::Zgc),
            (Counter::VmArgs, b"-XX:+UseZGC", Self::Zgc),
            (Counter::VmArgs, b"-XX:+UseEpsilonGC", Self::Epsilon),
        ];
        let has = |counter, word| memchr::memmem::find(values.text(counter)?, word);
        signs.into_iter().find(|sign| has(sign.0, sign.1).is_some()).map(|sign| sign.2)
    }

    /// Whether generations share the heap in fixed parts, so that its limit is the sum of theirs. Of
    /// others each generation could be the whole heap.
    pub(super) const fn is_parted(self, release: Option<u32>) -> bool {
        match self {
            Self::Serial | Self::Cms => true,
            Self::Parallel => matches!(release, None | Some(..28)),
            _ => false,
        }
    }

    /// Whether spaces have limits of their own.
    pub(super) const fn limits_spaces(self) -> bool {
        matches!(self, Self::Serial | Self::Parallel | Self::Cms)
    }
}

/// Facts of a JVM. A text has no control characters; what the region lacks is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Facts {
    /// java.version: `17.0.9`, `1.8.0_504`.
    pub(crate) version: Option<Box<str>>,
    /// `8`, `11`, `17`, …
    pub(crate) release: Option<u32>,
    /// Name and version of the virtual machine.
    pub(crate) vm: Option<Box<str>>,
    /// Vendor of the virtual machine.
    pub(crate) vendor: Option<Box<str>>,
    /// `mixed mode, sharing`.
    pub(crate) mode: Option<Box<str>>,
    /// Main class or jar with its arguments, which may be secrets: no label. Empty within another
    /// program.
    pub(crate) command: Option<Box<str>>,
    pub(crate) collector: Option<Collector>,
    pub(crate) names: Names,
    pub(crate) flags: Flags,
    /// When the JVM began to start, in milliseconds since 1970 by its own clock.
    pub(crate) began: Option<u64>,
    /// Whether it lets others attach.
    pub(crate) attach: Option<bool>,
    /// Whether [`Heap::total`](super::memory::Heap::total) and the pools of the heap are brought up to date
    /// between collections: not with ZGC, and with Serial, Parallel and CMS up to 24 only.
    pub(crate) live_heap: bool,
    /// What is needed for its names and labels is there: it comes a moment after the region is ready.
    pub(crate) is_complete: bool,
    /// Ticks a second, above 0. `None`: no times can be told.
    pub(super) frequency: Option<u64>,
}

impl Facts {
    /// From the constants of a region, and what is known beside it.
    pub(crate) fn new(values: Values<'_>, hints: &Hints) -> Self {
        let text = |counter| values.text(counter).map(|text| Box::from(shown(text)));
        let release = |counter| release(std::str::from_utf8(values.text(counter)?).ok()?);
        let release = release(Counter::Specification).or_else(|| release(Counter::Version));
        let collector = Collector::of(values);
        let vm = match (text(Counter::VmName), text(Counter::VmVersion)) {
            (Some(name), Some(version)) => Some(format!("{name} {version}").into()),
            (name, version) => name.or(version),
        };
        Self {
            version: text(Counter::Version),
            release,
            vm,
            vendor: text(Counter::Vendor),
            mode: text(Counter::VmInfo),
            command: text(Counter::Command),
            collector,
            names: Names::new(values, hints),
            is_complete: collector.is_some()
                && [Counter::Version, Counter::Command, Counter::VmArgs]
                    .iter()
                    .all(|counter| values.text(*counter).is_some()),
            flags: Flags::new(values.text(Counter::VmArgs).unwrap_or_default()),
            began: values.count(Counter::BeginTime).filter(|&began| began > 0),
            attach: values.text(Counter::Capabilities).map(|flags| flags.starts_with(b"1")),
            live_heap: match collector {
                Some(Collector::G1 | Collector::Shenandoah | Collector::Epsilon) => true,
                Some(kind) => kind.limits_spaces() && matches!(release, Some(..25)),
                None => false,
            },
            frequency: values.count(Counter::Frequency).filter(|&hertz| hertz > 0),
        }
    }

    /// Nanoseconds of a counter of ticks. `None`: it is not there.
    pub(super) fn time(&self, values: Values<'_>, counter: Counter) -> Option<u64> {
        self.nanoseconds(values.long(counter)?)
    }

    /// Bytes of its texts.
    pub(crate) fn memory(&self) -> usize {
        let Self { version, vm, vendor, mode, command, names, .. } = self;
        let texts = [version, vm, vendor, mode, command, &names.service];
        let texts: usize = texts.into_iter().flatten().map(|text| text.len()).sum();
        texts + names.program.len()
    }

    /// Rounded down. `None`: below zero, or nobody knows how long a tick is.
    fn nanoseconds(&self, ticks: i64) -> Option<u64> {
        let ticks = u64::try_from(ticks).ok()?;
        match self.frequency? {
            1_000_000_000 => Some(ticks),
            hertz => u64::try_from(u128::from(ticks) * 1_000_000_000 / u128::from(hertz)).ok(),
        }
    }
}

/// The release of `17`, `1.8`, `21.0.8`, `1.8.0_504`, `28-ea`.
fn release(version: &str) -> Option<u32> {
    let number = version.strip_prefix("1.").unwrap_or(version);
    number.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// A text that can be shown: bytes that are no UTF-8 become U+FFFD, control characters blanks.
pub(crate) fn shown(text: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(text);
    if text.contains(char::is_control) { text.replace(char::is_control, " ").into() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases() {
        let of = ["17", "1.8", "21.0.8", "1.8.0_504", "28-ea", "9", "x", "", "1."].map(release);
        let know = [17, 8, 21, 8, 28, 9].map(Some);
        assert_eq!(of, [know.as_slice(), &[None; 3]].concat().as_slice());
        assert_eq!(&*shown(b"a\nb\x1b[2J \xff\xc2\x85"), "a b [2J \u{fffd} ");
    }

    #[test]
    fn ticks() {
        let facts = |hertz| Facts { frequency: Some(hertz), ..Facts::default() };
        assert_eq!(facts(3_000_000).nanoseconds(1_234_567), Some(411_522_333));
        assert_eq!(facts(1_000_000_000).nanoseconds(i64::MAX), Some(i64::MAX.unsigned_abs()));
        assert_eq!(facts(1).nanoseconds(i64::MAX), None);
        assert_eq!(facts(1).nanoseconds(-1), None);
        assert_eq!(Facts::default().nanoseconds(1), None);
    }
}
