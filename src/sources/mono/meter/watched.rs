//! Counters that every Mono 6 on SGen has and that performance engineers watch
//! (docs/protocols/mono-counters.md section 9). They are metrics before the first process connects,
//! so that dashboards, rules and logger configurations can name them, and they have the same PMIDs
//! on every host. Append only: their order determines their ids.

use super::spec::{Description, restore};
use crate::model::MetricSpec;
use mono_counters::numbers::Numbers;

/// Lines of `MetricSpec::persist`, from the headers of Mono 6.8.
const WATCHED: &[&str] = &[
    "E3 0 0 20000000 System/Process Id",
    "E3 6 0 20000000 Runtime/Command Line",
    "E3 4 2000000 10000000 GC/Collection max time",
    "E3 4 0 10000000 GC/Number of pinned objects",
    "E3 4 2000000 10000000 GC/World stop",
    "E3 4 2000000 10000000 GC/World restart",
    "E3 4 0 10000000 GC/# major blocks allocated",
    "E3 4 0 10000000 GC/# major blocks freed",
    "E3 2 1000000 40000000 GC/Memgov alloc",
    "E3 2 1000000 10000000 GC/Memgov max alloc",
    "E3 0 0 10000000 GC/Minor GC collections",
    "E3 0 0 10000000 GC/Major GC collections",
    "E3 4 2000000 10000000 GC/Minor GC time",
    "E3 3 2000000 10000000 GC/Major GC time",
    "E3 3 2000000 10000000 GC/Major GC time concurrent",
    "E3 4 0 10000000 JIT/Dynamic code allocs",
    "E3 4 0 10000000 JIT/Dynamic code bytes",
    "E3 0 0 10000000 JIT/Calls to trampolines",
    "E3 0 0 10000000 JIT/Compiled methods",
    "E3 0 0 10000000 JIT/Methods from AOT",
    "E3 3 2000000 10000000 JIT/Total time spent JITting",
    "E3 0 0 10000000 JIT/Compiled CIL code size",
    "E3 0 0 10000000 JIT/Native code size",
    "E3 0 0 10000000 JIT/JIT compile waited others",
    "E3 2 1000000 40000000 Runtime/Valloc code",
    "E3 2 1000000 40000000 Runtime/Valloc SGen nursery",
    "E3 2 1000000 40000000 Runtime/Valloc SGen LOS",
    "E3 2 1000000 40000000 Runtime/Valloc SGen mark&sweep",
    "E3 3 2000000 10000000 System/User Time",
    "E3 3 2000000 10000000 System/System Time",
    "E3 3 1000000 40000000 System/Working Set",
    "E3 3 1000000 40000000 System/Private Bytes",
    "E3 3 1000000 40000000 System/Virtual Bytes",
    "E3 0 0 10000000 Generics/Inflated methods size",
    "E3 0 0 10000000 Generics/Inflated classes size",
    "E3 0 0 10000000 Metadata/MonoMethod size",
    "E3 0 0 10000000 Metadata/MonoClassGenericInst count",
    "E3 0 0 10000000 Metadata/MonoClass size",
];

/// The metrics.
pub(crate) fn watched() -> Vec<MetricSpec> {
    WATCHED.iter().filter_map(|line| restore(line)).collect()
}

/// Type, unit and variance of a watched counter, for peers that do not send them. The category is
/// that of the caller.
pub(crate) fn numbers(category: u32, of: &str, name: &str) -> Option<Numbers> {
    let line = WATCHED.iter().find(|line| {
        let rest = line.strip_suffix(name).and_then(|rest| rest.strip_suffix('/'));
        rest.and_then(|rest| rest.strip_suffix(of)).is_some_and(|rest| rest.ends_with(' '))
    })?;
    Some(Numbers { category, ..Description::restored(line)?.numbers })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_understood_and_explained() {
        let specs = watched();
        assert_eq!(specs.len(), WATCHED.len());
        for (spec, line) in specs.iter().zip(WATCHED) {
            assert_eq!(spec.persist, *line);
            assert!(!spec.oneline.starts_with("Mono counter "), "{line} has no help of its own");
        }
    }

    #[test]
    fn numbers_are_found_by_category_and_name() {
        let expected =
            Numbers { category: 0x200, kind: 4, unit: 0x200_0000, variance: 0x1000_0000 };
        assert_eq!(numbers(0x200, "GC", "Minor GC time"), Some(expected));
        for (category, name) in [("GC", "GC time"), ("C", "Minor GC time"), ("JIT", "x"), ("", "")]
        {
            assert_eq!(numbers(0x200, category, name), None, "{category}/{name}");
        }
    }
}
