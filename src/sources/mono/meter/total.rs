//! Sums of counters over all processes of a program.

use super::spec;
use crate::model::{MetricSpec, Place, Semantics, ValueType};
use crate::sources::mono::metrics::PROGRAMS;

/// Where they are.
pub(crate) const PLACE: Place = Place::Rows("program.counter", PROGRAMS);
/// Begins their keys and persisted lines: no category is called so, and no space.
const PREFIX: &str = "total ";

/// The sum of a metric over all processes of a program; `None`: it is no counter of integers.
pub(crate) fn of(spec: &MetricSpec) -> Option<MetricSpec> {
    let integer = matches!(spec.ty, ValueType::U64 | ValueType::I64);
    if spec.sem != Semantics::Counter || !integer || spec.place != Place::Sampled(spec::NODE) {
        return None;
    }
    Some(MetricSpec {
        key: format!("{PREFIX}{}", spec.key),
        place: PLACE,
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
        Some(line) => of(&spec::restore(line)?),
        None => spec::restore(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_of_counters_and_restored() {
        let counter = restore("E3 4 2000000 10000000 GC/Minor GC time").expect("a counter");
        assert_eq!(counter.sem, Semantics::Counter);
        let total = of(&counter).expect("an integer");
        assert_eq!((total.path.as_str(), total.place), (counter.path.as_str(), PLACE));
        assert_eq!(restore(&total.persist).as_ref(), Some(&total));
        assert_eq!(of(&total), None, "no sums of sums");
        let gauge = restore("E3 3 0 40000000 GC/x").expect("a gauge");
        assert_eq!((gauge.sem == Semantics::Counter, of(&gauge)), (false, None));
    }
}
