//! Counters of a stream, as the module's: the same metrics, values and updates.
//!
//! The stream has differences of integers and absolute values of all else. A difference that is
//! lost makes its counter unknown for ever, so the counter is removed.

use crate::heap_size;
use crate::model::MetricItem;
use mono_counters::numbers::section::FIRST;
use mono_counters::numbers::{Numbers, Space, kind};

use crate::contract::SampleValue;
use crate::read::Order;
use crate::sources::mono::agent::Settings;
use crate::sources::mono::counters::identity::IdentityCounter;
use crate::sources::mono::counters::{Bounds, Counters, Header};
use crate::sources::mono::counters::{spec, watched};
use crate::sources::mono::events::{Runtime, jit_item};
use crate::sources::mono::limits;
use crate::sources::mono::mlpd::{Counter, Value};

/// A counter of the stream.
#[derive(Clone, Copy, Debug, Default)]
struct Wire {
    /// Its numbers are known.
    described: bool,
    /// Values of 32 bits.
    narrow: bool,
    /// Values are differences.
    differs: bool,
    /// It is of a user-defined category.
    is_user: bool,
    /// A difference is lost.
    lost: bool,
    /// It is a metric with a name of its own as well, which has its value times this.
    named: Option<(MetricItem, u64)>,
    /// Sum of the differences, modulo 2^64.
    sum: u64,
}

/// Which of its counters the stream feeds now: another way to the process may have them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Feeds {
    /// Those of the runtime.
    pub(super) runtime: bool,
    /// Those of user-defined categories.
    pub(super) user: bool,
    /// The number of compiled methods.
    pub(super) methods: bool,
}

/// What a value is for: the store, and the identity of the process.
pub(super) type Read = (Option<SampleValue>, Option<(IdentityCounter, SampleValue)>);

impl Wire {
    /// The sum with this difference, or the value itself.
    const fn add(&mut self, value: Value<'_>) -> u64 {
        let number = match value {
            Value::Signed(number) => number.cast_unsigned(),
            Value::Unsigned(number) => number,
            Value::Double(_) | Value::Text(_) => 0,
        };
        self.sum = if self.differs { self.sum.wrapping_add(number) } else { number };
        self.sum
    }
}

/// The counters of one stream.
#[derive(Debug)]
pub(super) struct StreamCounters {
    pub(super) counters: Counters,
    /// By index.
    wires: Vec<Wire>,
    feeds: Feeds,
    /// Values that another way feeds, since the last report.
    pub(super) duplicates: u64,
}

heap_size!(StreamCounters { counters, wires });

impl StreamCounters {
    pub(super) fn new(settings: &Settings) -> Self {
        let bounds = Bounds { name_length: settings.name_length, names: settings.names };
        Self {
            counters: Counters::new(Order::Little, settings.select.clone(), bounds),
            wires: Vec::new(),
            feeds: Feeds { runtime: true, user: true, methods: true },
            duplicates: 0,
        }
    }

    /// A counter is described.
    pub(super) fn describe(&mut self, counter: &Counter<'_>) {
        let index =
            u16::try_from(counter.index).ok().filter(|i| usize::from(*i) < limits::COUNTERS);
        let section = u32::try_from(counter.section).ok().filter(|section| *section >= FIRST);
        // What is over every bound has no metric.
        let (Some(index), Some(section)) = (index, section) else { return };
        let name = String::from_utf8_lossy(counter.name);
        let is_user = section == spec::USER_SECTION;
        let (name, numbers) = match is_user {
            true => {
                let category = String::from_utf8_lossy(counter.category);
                (spec::user_name(&category, &name).into(), spec::USER_NUMBERS)
            }
            false => {
                let numbers = numbers(section, &name, counter);
                (name, numbers)
            }
        };
        let at = usize::from(index);
        if self.wires.len() <= at {
            self.wires.resize(at + 1, Wire::default());
        }
        let Some(wire) = self.wires.get_mut(at).filter(|wire| !wire.described) else { return };
        let number = !matches!(numbers.kind, kind::DOUBLE | kind::STRING);
        *wire = Wire {
            described: true,
            narrow: matches!(numbers.kind, kind::INT | kind::UINT),
            differs: number && !is_user,
            is_user,
            lost: false,
            named: jit_item(&Space::E3.category(section), &name),
            sum: 0,
        };
        self.counters.announce(&Header { numbers, name: &name, index });
    }

    /// The compiled methods are those of the stream.
    pub(super) const fn feeds_methods(&self) -> bool {
        self.feeds.methods
    }

    /// A sample begins.
    pub(super) fn begin(&mut self, feeds: Feeds) {
        let before = std::mem::replace(&mut self.feeds, feeds);
        if (feeds.runtime && !before.runtime) || (feeds.user && !before.user) {
            self.counters.resend();
        }
    }

    /// A sampled value, if it is to be shown.
    pub(super) fn value(
        &mut self,
        index: u64,
        value: Value<'_>,
        runtime: &mut Runtime,
    ) -> Option<(u16, Read)> {
        let index = u16::try_from(index).ok()?;
        let wire = self.wires.get_mut(usize::from(index))?;
        if !wire.described || wire.lost {
            return None;
        }
        let (double, sum);
        let bytes = match value {
            Value::Text(text) => text.unwrap_or_default(),
            Value::Double(number) => {
                double = number.to_le_bytes();
                &double
            }
            Value::Signed(_) | Value::Unsigned(_) => {
                sum = wire.add(value).to_le_bytes();
                if wire.narrow { sum.get(..4).unwrap_or_default() } else { &sum }
            }
        };
        let read = self.counters.value(index, bytes);
        if !(if wire.is_user { self.feeds.user } else { self.feeds.runtime }) {
            self.duplicates += 1;
            return None;
        }
        if let Some((item, scale)) = wire.named {
            runtime.total(item, wire.sum.saturating_mul(scale));
        }
        Some((index, read))
    }

    /// Differences are lost: their counters are unknown from now on.
    pub(super) fn lose(&mut self) {
        for (index, wire) in (0u16..).zip(&mut self.wires) {
            if wire.described && wire.differs && !std::mem::replace(&mut wire.lost, true) {
                self.counters.remove(index);
            }
        }
    }

    /// A sample is complete: tables that only descriptions need are dropped.
    pub(super) fn settle(&mut self) {
        self.counters.settle();
        self.wires.shrink_to_fit();
    }
}

/// The numbers of a counter of the runtime. Versions 13 and 14 have neither unit nor variance:
/// those of watched counters are known, others have none.
fn numbers(section: u32, name: &str, counter: &Counter<'_>) -> Numbers {
    let kind = u32::try_from(counter.kind).unwrap_or(u32::MAX);
    let word = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    match (counter.unit, counter.variance) {
        (Some(unit), Some(variance)) => {
            Numbers { category: section, kind, unit: word(unit), variance: word(variance) }
        }
        _ => watched::numbers(section, &Space::E3.category(section), name)
            .filter(|numbers| is_text(numbers.kind) == is_text(kind))
            .unwrap_or(Numbers { category: section, kind, unit: 0, variance: 0 }),
    }
}

const fn is_text(kind: u32) -> bool {
    kind == kind::STRING
}
