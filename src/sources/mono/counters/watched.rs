//! Counters that every Mono 6 on SGen has and that performance engineers watch
//! (docs/protocols/mono-counters.md section 9), and the help texts of single counters.
//!
//! The watched ones are metrics before the first process connects, so that dashboards, rules and
//! logger configurations can name them, and they have the same PMIDs on every host. Append only:
//! their order determines their ids.

use mono_counters::numbers::Numbers;

use super::spec::{Description, restore};
use crate::model::MetricSpec;

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

/// Help for one counter: one line for each that a performance engineer watches, and a warning for
/// those that are wrong in Mono (measured on Mono 6.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    category: &'static str,
    name: &'static str,
    /// One line, without the full stop.
    pub(crate) oneline: &'static str,
    /// What to do with it, or why not to trust it; may be empty.
    pub(crate) more: &'static str,
}

/// The help for a counter, if there is any.
pub(crate) fn known(category: &str, name: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|k| k.name == name && k.category == category)
}

const fn row(
    category: &'static str,
    name: &'static str,
    oneline: &'static str,
    more: &'static str,
) -> Known {
    Known { category, name, oneline, more }
}

const PAUSE: &str = "Its rate is the fraction of wall time that the program stood still for it.";
const MINOR_WHERE: &str =
    "A part of Minor GC time: tells where collections of the nursery spend it.";
const MAJOR_WHERE: &str =
    "A part of Major GC time: tells where collections of the whole heap spend it.";
const LOAD: &str = "Mono gives it the unit PERCENTAGE, but it is the load average of the whole machine, not a fraction of 1. \
                    The kernel PMDA has it too (kernel.all.load).";
const PROC: &str = "Mono reads it from /proc at each sample; the proc PMDA has it too.";

#[rustfmt::skip]
const KNOWN: &[Known] = &[
    row("System", "Process Id", "Process id of the Mono program", "Sent by the apm agent module so that the process can be told; in a container it is the id within the container."),
    row("Runtime", "Command Line", "Command line of the Mono program", "Sent by the apm agent module so that the process can be told. Arguments are joined by blanks and cut at 1000 bytes."),

    row("GC", "Minor GC collections", "Collections of the nursery", "A high rate is a high rate of allocation, or a nursery that is too small for it."),
    row("GC", "Major GC collections", "Collections of the whole heap", "They should be rare beside minor ones."),
    row("GC", "Minor GC time", "Time in collections of the nursery", PAUSE),
    row("GC", "Major GC time", "Time that the program stood still for collections of the whole heap", PAUSE),
    row("GC", "Major GC time concurrent", "Time of the concurrent phase of collections of the whole heap", "Runs beside the program: it costs processor time, not pauses."),
    row("GC", "Collection max time", "Longest collection so far", "A high-water mark: it never goes down, so it has no rate."),
    row("GC", "World stop", "Time to stop all threads for collections", "Grows when threads are slow to reach a safe point."),
    row("GC", "World restart", "Time to let all threads go on after collections", "Grows with the number of threads."),
    row("GC", "Memgov alloc", "Heap of the SGen collector now, nursery and large objects included", ""),
    row("GC", "Memgov max alloc", "Largest heap of the SGen collector so far", "A high-water mark: it never goes down, so it has no rate."),
    row("GC", "# major blocks allocated", "Blocks of the major heap allocated", "Minus the freed ones: blocks in use. A growing difference with a flat heap is fragmentation."),
    row("GC", "# major blocks freed", "Blocks of the major heap freed", "See # major blocks allocated."),
    row("GC", "Number of pinned objects", "Objects that collections found pinned", "Pinned objects cannot be moved and fragment the heap; buffers handed to native code pin."),
    row("GC", "Coop Do Polling", "Safe points that threads passed", "Counts millions a second in tight loops; Mono's 32 bits wrap within half an hour, the metric does not."),
    row("GC", "Minor scan remembered set", "Time in the remembered set during collections of the nursery", MINOR_WHERE),
    row("GC", "Minor scan major blocks", "Time in blocks of the major heap during collections of the nursery", MINOR_WHERE),
    row("GC", "Minor scan los", "Time in large objects during collections of the nursery", MINOR_WHERE),
    row("GC", "Minor scan roots", "Time in roots during collections of the nursery", MINOR_WHERE),
    row("GC", "Minor pinning", "Time to find pinned objects during collections of the nursery", MINOR_WHERE),
    row("GC", "Major sweep", "Time to sweep the major heap", MAJOR_WHERE),
    row("GC", "Major LOS sweep", "Time to sweep large objects", MAJOR_WHERE),

    row("JIT", "Compiled methods", "Methods compiled at run time", "Should level off after the start; a program that goes on compiling makes code at run time."),
    row("JIT", "Methods from AOT", "Methods taken from ahead-of-time compiled images", "Beside Compiled methods it shows what ahead-of-time compilation saves."),
    row("JIT", "Total time spent JITting", "Time in the JIT compiler, all threads together", "Its rate is the number of processors busy with compiling."),
    row("JIT", "Compiled CIL code size", "CIL code given to the JIT compiler", ""),
    row("JIT", "Native code size", "Machine code made by the JIT compiler", "Beside Compiled CIL code size it shows how much code grows by compilation."),
    row("JIT", "Dynamic code allocs", "Dynamic methods that got code memory", "Minus Dynamic code frees: dynamic methods alive. Growth without end is a leak of generated code."),
    row("JIT", "Dynamic code frees", "Dynamic methods whose code memory was freed", "See Dynamic code allocs."),
    row("JIT", "Dynamic code bytes", "Code memory given to dynamic methods", "See Dynamic code allocs."),
    row("JIT", "Calls to trampolines", "Calls that went through a trampoline", "First calls of methods, mostly; a rate that stays high is a program that never warms up."),
    row("JIT", "JIT compile waited others", "Compilations that waited for another thread compiling the same method", "Contention while the program warms up."),
    row("JIT", "JIT compile overload wait", "Compilations that waited because too many were running", "Contention while the program warms up."),

    row("Generics", "Inflated methods size", "Memory of instantiated generic methods", "Growth without end: ever new type arguments."),
    row("Generics", "Inflated classes size", "Memory of instantiated generic classes", "Growth without end: ever new type arguments."),
    row("Metadata", "MonoClass size", "Memory of class descriptions", "Grows with every class that is used; never freed before its assembly is."),
    row("Metadata", "MonoMethod size", "Memory of method descriptions", "Grows with every method that is used; never freed before its assembly is."),
    row("Metadata", "MonoClassGenericInst count", "Instantiated generic classes", "Growth without end: ever new type arguments."),

    row("Runtime", "Valloc code", "Memory mapped for machine code", "Growth after the start is generated code: see JIT/Dynamic code allocs."),
    row("Runtime", "Valloc SGen nursery", "Memory mapped for the nursery", "4 MiB unless MONO_GC_PARAMS says otherwise."),
    row("Runtime", "Valloc SGen LOS", "Memory mapped for large objects", "Objects over 8000 bytes live here and are only freed by major collections."),
    row("Runtime", "Valloc SGen mark&sweep", "Memory mapped for the major heap", ""),

    row("System", "User Time", "Processor time of the process in user mode", "Moves in steps of 10 ms. Mono reads it from /proc at each sample; the proc PMDA has it too."),
    row("System", "System Time", "Processor time of the process in the kernel", "Moves in steps of 10 ms. Mono reads it from /proc at each sample; the proc PMDA has it too."),
    row("System", "Total Time", "WRONG in Mono: twice the processor time in user mode", "Mono adds the same field of /proc/PID/stat twice. Use User Time + System Time."),
    row("System", "Working Set", "Resident memory of the process", PROC),
    row("System", "Private Bytes", "Memory of the process that is not shared", PROC),
    row("System", "Virtual Bytes", "Address space of the process", PROC),
    row("System", "Page File Bytes", "Memory of the process that is swapped out", PROC),
    row("System", "Page Faults", "WRONG in Mono: twice the minor page faults of the process", "Mono adds the same field of /proc/PID/stat twice; major faults are not in it. Halve it, or use the proc PMDA."),
    row("System", "CPU Load Average - 1min", "Load average of the machine over one minute", LOAD),
    row("System", "CPU Load Average - 5min", "Load average of the machine over five minutes", LOAD),
    row("System", "CPU Load Average - 15min", "Load average of the machine over 15 minutes", LOAD),
];

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

    #[test]
    fn every_row_is_found_by_its_name_and_says_something_short() {
        for k in KNOWN {
            assert_eq!(known(k.category, k.name), Some(k), "{} twice", k.name);
            assert!(
                (10..=90).contains(&k.oneline.len()) && !k.oneline.ends_with('.'),
                "{}",
                k.oneline
            );
        }
        assert_eq!(known("JIT", "Minor GC time"), None);
    }
}
