"""One view of all runtimes: what a service, or a process, pod or agent does, in the same columns whoever brings it.

All figures are those of the common trees apm.service and apm.runtime (docs/metrics.md). A column that nothing has a value
for is left out of the table; in lines of JSON each key is there.
"""

import fnmatch

from .table import Table

SECOND, MILLI, MEGA = 1e9, 1e6, float(1 << 20)
PERCENT = SECOND / 100
SERVICE, RUNTIME = "apm.service.", "apm.runtime."

# (heading, key, digits, how it is made, of which leaves, scale). Steps of counters: a rate, or the ratio of two; else values.
CALLS = [("CALLS/S", "calls_per_s", 1, "rate", ["calls.count"], 1), ("ERRORS/S", "errors_per_s", 2, "rate", ["calls.errors"], 1),
         ("AVG MS", "average_ms", 1, "ratio", ["calls.time", "calls.count"], MILLI)]
LATENCY = [(f"{heading} MS", f"{heading.lower()}_ms", 1, "now", [f"latency.{heading.lower()}"], MILLI) for heading in ("P50", "P95", "P99", "MAX")]
CPU = [("CPU %", "cpu_percent", 1, "rate", ["cpu.time"], PERCENT)]
PAUSED = [("PAUSED %", "paused_percent", 2, "rate", ["gc.pause.time"], PERCENT), ("GCS/S", "collections_per_s", 1, "rate", ["gc.count"], 1)]
PAUSE_MAX = [("PAUSE MAX", "pause_max_ms", 1, "now", ["gc.pause.max"], MILLI)]
PAUSE_P95 = [("PAUSE P95", "pause_p95_ms", 1, "now", ["gc.pause.p95"], MILLI)]
HEAP = [("HEAP MB", "heap_mb", 1, "now", ["heap.used"], MEGA), ("OF MB", "heap_committed_mb", 1, "now", ["heap.committed"], MEGA),
        ("HEAP %", "heap_percent", 1, "part", ["heap.used", "heap.limit"], 1)]
MEMORY = [("RSS MB", "resident_mb", 1, "now", ["memory.resident"], MEGA), ("RSS %", "resident_percent", 1, "part", ["memory.resident", "memory.limit"], 1)]
TROUBLE = [("THROWN/S", "exceptions_per_s", 1, "rate", ["exceptions.count"], 1), ("WAITS/S", "waits_per_s", 1, "rate", ["lock.count"], 1),
           ("WAITING", "threads_waiting", 2, "rate", ["lock.time"], SECOND), ("ALLOC MB/S", "alloc_mb_per_s", 2, "rate", ["alloc.bytes"], MEGA),
           ("JIT %", "jit_percent", 1, "rate", ["jit.time"], PERCENT)]
RESTARTS = [("RESTARTS", "restarts", 0, "now", ["restarts"], 1)]
OF_SERVICES = [("RUNNING", "running", 0, "now", ["instances"], 1), *CALLS, *LATENCY, *CPU, *PAUSED, *PAUSE_P95, *PAUSE_MAX, *TROUBLE, *RESTARTS]
OF_RUNTIMES = [*CPU, *PAUSED, *PAUSE_MAX, *HEAP, *MEMORY, *TROUBLE, *CALLS, *RESTARTS]


def leaves(columns):
    """Each leaf once, in its order."""
    return list(dict.fromkeys(leaf for *_, of, _ in columns for leaf in of))


# Runtimes that are named otherwise than their source, and the source's own metric that has its services.
SOURCE = {"java": "profiler"}
OWN = {"java": "apm.profiler.service.pods", "zorka": "apm.zorka.service.agents", "dotnet": "apm.dotnet.service.processes",
       "mono": "apm.mono.program.processes", "jvm": "apm.jvm.service.processes"}
SERVICES = [SERVICE + leaf for leaf in leaves(OF_SERVICES)]
RUNTIMES = [RUNTIME + leaf for leaf in ("state", *leaves(OF_RUNTIMES))]


def services(reader, pattern, rows):
    """(table, what happened): services and programs, over all of their processes."""
    [between] = reader.between([SERVICES])
    sources = reader.labels(SERVICE + "instances", "runtime")
    known = {name for metric in SERVICES for name in between.instances(metric)}
    if not known <= set(sources):
        # Archives that were put together of others have lost labels.
        own = {name: set(reader.names(desc).values()) for name, _, desc in reader.known(list(OWN.values()))}
        for name in known - set(sources):
            of = [runtime for runtime, metric in OWN.items() if plain(name) in own.get(metric, ()) and f"{SOURCE.get(runtime, runtime)}::{name}" not in known]
            sources[name] = source_of(name) or (of[0] if len(of) == 1 else None)
    return one_view(between, "services", ("SERVICE", "service"), SERVICE, OF_SERVICES, pattern, rows, lambda name: (plain(name), sources[name]))


def runtimes(reader, pattern, rows):
    """(table, what happened): processes, pods and agents."""
    [between] = reader.between([RUNTIMES])
    return one_view(between, "runtimes", ("RUNTIME", "runtime"), RUNTIME, OF_RUNTIMES, pattern, rows, lambda name: (plain(name), source_of(name)))


def source_of(name):
    """The runtime of SOURCE::NAME."""
    source, _, rest = name.partition("::")
    return "java" if source == SOURCE["java"] and rest else source if rest else None


def plain(name):
    """The name in SOURCE::NAME, which services have only where two sources have one of the same name."""
    return name.partition("::")[2] or name


def one_view(between, title, first, base, columns, pattern, rows, named):
    names = {name for leaf in leaves(columns) for name in between.instances(base + leaf)}
    # A peer whose every value is unknown, such as one that may not be read, is one of `pcp apm agents`.
    busy = lambda name: max((between.rate(base + leaf, name) or 0 for leaf in ("calls.time", "cpu.time")), default=0)
    chosen = sorted((name for name in names if matches(name, named(name)[0], pattern)), key=lambda name: (-busy(name), name))[:rows]
    table = Table(title, [(*first, None), ("SOURCE", "source", None), *[column[:3] for column in columns]], leave_out=True)
    for name in chosen:
        seen = max((between.seconds(base + leaf, name) or 0 for leaf in leaves(columns)), default=0) or None
        table.add(*named(name), *[cell(between, how, [base + leaf for leaf in of], name, scale) for *_, how, of, scale in columns], seconds=seen)
    return table, between


def matches(name, shown, pattern):
    return fnmatch.fnmatch(name, pattern) or fnmatch.fnmatch(shown, pattern)


def cell(between, how, metrics, name, scale):
    """A figure of an instance; `None` if it is not known."""
    if how == "rate":
        return between.rate(metrics[0], name, scale)
    if how == "ratio":
        return between.ratio(*metrics, name, scale)
    values = [between.now(metric, name, scale) for metric in metrics]
    if how == "now":
        return values[0]
    return 100 * values[0] / values[1] if values[0] is not None and values[1] else None
