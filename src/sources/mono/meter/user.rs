//! Counters of user-defined categories (`System.Diagnostics.PerformanceCounter`): one metric for
//! both ways that report them, the log profiler's stream and the area in /dev/shm.

use mono_counters::numbers::{Numbers, kind, unit};

/// `MONO_COUNTER_PERFCOUNTERS`: the section of user-defined categories.
pub(crate) const SECTION: u32 = 1 << 15;
/// Numbers of the metric, as the log profiler sends them: 64 bits without a unit, an instant value.
pub(crate) const NUMBERS: Numbers =
    Numbers { category: SECTION, kind: kind::LONG, unit: unit::RAW, variance: 0 };

/// Name of the counter: its metric is `apm.mono.counter.perfcounters.<category>_<counter>`.
pub(crate) fn name(category: &str, counter: &str) -> String {
    format!("{category}/{counter}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Semantics, ValueType};
    use crate::sources::mono::meter::spec::Description;
    use mono_counters::numbers::Space;

    #[test]
    fn the_metric_of_a_user_counter() {
        let spec = Description {
            space: Space::E3,
            numbers: NUMBERS,
            category: Space::E3.category(SECTION).into_owned(),
            name: name("Shop", "orders done"),
            occurrence: 1,
        }
        .spec();
        assert_eq!(spec.path, "perfcounters.shop_orders_done");
        assert_eq!(spec.key, "PerfCounters/Shop/orders done");
        assert_eq!((spec.ty, spec.sem), (ValueType::I64, Semantics::Instant));
    }
}
