"""Tables of agents, services, methods and stacks."""

import fnmatch
import json
import re
import sys

SECOND, MILLI, MEGA = 1e9, 1e6, float(1 << 20)


# What a peer's text must not do to a terminal: control it, or turn the direction of a line.
UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


def to_json(value):
    """A line of JSON that a terminal may show: only the line's own escapes stand for controls."""
    return UNSAFE.sub(lambda c: f"\\u{ord(c[0]):04x}", json.dumps(value, ensure_ascii=False))


def shown(text):
    """A text that a terminal may show."""
    return UNSAFE.sub("\N{REPLACEMENT CHARACTER}", text)


class Table:
    """Rows for people, or lines of JSON: columns are (heading, key, digits); digits `None` is text."""

    def __init__(self, title, columns):
        self.title, self.columns, self.rows = title, columns, []

    def add(self, *cells):
        self.rows.append(cells)

    def text(self, cell, digits):
        if cell is None:
            return "-"
        return shown(str(cell)) if digits is None else f"{cell:.{digits}f}"

    def lines(self):
        cells = [[self.text(cell, digits) for cell, (_, _, digits) in zip(row, self.columns)] for row in self.rows]
        heads = [heading for heading, _, _ in self.columns]
        wide = [max([len(head)] + [len(row[n]) for row in cells]) for n, head in enumerate(heads)]
        last = len(heads) - 1
        for row in [heads] + cells:
            parts = [cell.ljust(wide[n]) if self.columns[n][2] is None else cell.rjust(wide[n]) for n, cell in enumerate(row)]
            yield "  ".join(parts[:last] + [parts[last].rstrip()])

    def show(self, as_json):
        if as_json:
            for row in self.rows:
                print(to_json({**({"table": self.title} if self.title else {}),
                               **{key: cell for cell, (_, key, _) in zip(row, self.columns) if cell is not None}}))
        else:
            print("\n".join(self.lines()))


AGENT = ["apm.agent." + leaf for leaf in ("up", "source", "state", "since", "errors", "lost", "events", "peer")]


def agents(reader, _pattern, _rows):
    sample = reader.last(AGENT)
    table = Table("agents", [("AGENT", "agent", None), ("SOURCE", "source", None), ("STATE", "state", None), ("SINCE", "since", None),
                             ("FAULTS", "faults", 0), ("LOST", "lost", 0), ("PEER", "peer", None)])
    for name in sorted(sample.of.get("apm.agent.up", {}), key=lambda n: (not sample.get("apm.agent.up", n), n)):
        get = lambda leaf: sample.get("apm.agent." + leaf, name)
        state = get("state") or ("connected" if get("up") else "gone")
        table.add(name, get("source"), state, get("since"), get("errors"), get("lost"), get("peer"))
    return [table]


CALLS = ["count", "errors", "time", "suspend.time", "pods", "agents", "latency.p50", "latency.p95", "latency.p99", "latency.max"]
PROGRAM = ["processes", "exceptions.count", "gc.count", "gc.pause.total", "gc.pause.p95", "gc.pause.max", "lock.contention.count",
           "lock.contention.time", "alloc.bytes", "cpu.time"]
MONO = ["processes", "starts", "counter.gc.minor_gc_collections", "counter.gc.major_gc_collections", "counter.gc.minor_gc_time",
        "counter.gc.major_gc_time", "counter.jit.compiled_methods", "counter.system.total_time"]


def services(reader, pattern, rows):
    sources = [("java", "apm.profiler.service."), ("zorka", "apm.zorka.service."), ("dotnet", "apm.dotnet.service."), ("mono", "apm.mono.program.")]
    leaves = {"dotnet": PROGRAM, "mono": MONO}
    groups = [[base + leaf for leaf in leaves.get(source, CALLS)] for source, base in sources]
    calls = Table("services", [("SERVICE", "service", None), ("SOURCE", "source", None), ("PODS", "pods", 0), ("CALLS/S", "calls_per_s", 1),
                               ("ERRORS/S", "errors_per_s", 2), ("AVG MS", "average_ms", 1), ("P50 MS", "p50_ms", 1), ("P95 MS", "p95_ms", 1),
                               ("P99 MS", "p99_ms", 1), ("MAX MS", "max_ms", 1), ("PAUSED %", "paused_percent", 2)])
    dotnet = Table("dotnet", [("PROGRAM", "program", None), ("SOURCE", "source", None), ("RUNNING", "processes", 0), ("THROWN/S", "exceptions_per_s", 1),
                              ("GCS/S", "collections_per_s", 1), ("GC %", "gc_percent", 2), ("PAUSE P95 MS", "pause_p95_ms", 2), ("MAX MS", "pause_max_ms", 2),
                              ("WAITS/S", "waits_per_s", 1), ("WAITING", "threads_waiting", 2), ("ALLOC MB/S", "alloc_mb_per_s", 2), ("CPU %", "cpu_percent", 1)])
    mono = Table("mono", [("PROGRAM", "program", None), ("SOURCE", "source", None), ("RUNNING", "processes", 0), ("STARTS", "starts", 0),
                          ("MINOR/S", "minor_gcs_per_s", 1), ("MAJOR/S", "major_gcs_per_s", 1), ("GC %", "gc_percent", 2),
                          ("COMPILED/S", "compiled_per_s", 1), ("CPU %", "cpu_percent", 1)])
    for (source, base), b in zip(sources, reader.between(groups)):
        first = base + leaves.get(source, CALLS)[0]
        by = base + {"dotnet": "gc.pause.total", "mono": "counter.system.total_time"}.get(source, "time")
        chosen = sorted((n for n in b.instances(first) if fnmatch.fnmatch(n, pattern)), key=lambda n: (-(b.delta(by, n) or 0), n))
        for name in chosen[:rows]:
            now = lambda leaf, scale=1.0: b.now(base + leaf, name, scale)
            rate = lambda leaf, scale=1.0: b.rate(base + leaf, name, scale)
            if source == "dotnet":
                dotnet.add(name, source, now("processes"), rate("exceptions.count"), rate("gc.count"), rate("gc.pause.total", SECOND / 100),
                           now("gc.pause.p95", MILLI), now("gc.pause.max", MILLI), rate("lock.contention.count"),
                           rate("lock.contention.time", SECOND), rate("alloc.bytes", MEGA), rate("cpu.time", SECOND / 100))
            elif source == "mono":
                times = [rate(f"counter.gc.{kind}_gc_time", SECOND / 100) for kind in ("minor", "major")]
                share = sum(t for t in times if t is not None) if any(t is not None for t in times) else None
                mono.add(name, source, now("processes"), now("starts"), rate("counter.gc.minor_gc_collections"), rate("counter.gc.major_gc_collections"),
                         share, rate("counter.jit.compiled_methods"), rate("counter.system.total_time", SECOND / 100))
            else:
                pods = now("pods") if source == "java" else now("agents")
                calls.add(name, source, pods, rate("count"), rate("errors"), b.ratio(base + "time", base + "count", name, MILLI),
                          *[now("latency." + leaf, MILLI) for leaf in ("p50", "p95", "p99", "max")], rate("suspend.time", SECOND / 100))
    return [table for table in (calls, dotnet, mono) if table.rows] or [calls]


METHODS = [("java", "apm.profiler.service.method.time", "apm.profiler.service.method.count", "apm.profiler.service.method.errors"),
           ("zorka", "apm.zorka.service.method.self_time", "apm.zorka.service.method.count", "apm.zorka.service.method.errors"),
           ("dotnet", "apm.dotnet.profile.methods.self", None, None)]
STACKS = [("java", "apm.profiler.service.stack.time"), ("zorka", "apm.zorka.service.stack.time"), ("dotnet", "apm.dotnet.service.stack.time")]


def spent_in(reader):
    """The first column: time in a second, or all of it."""
    return [("MS", "ms", 0)] if reader.total else [("MS/S", "ms_per_s", 2)]


def methods(reader, pattern, rows):
    found, programs = [], {}
    groups = [[m for m in row[1:] if m] for row in METHODS]
    for (source, spent, count, errors), b in zip(METHODS, reader.between(groups)):
        for name in b.instances(spent):
            service, _, method = name.rpartition("::")
            if source == "dotnet":  # the rows of a process
                service = service.rpartition(":")[0]
            if not fnmatch.fnmatch(service, pattern) or not b.delta(spent, name):
                continue
            if source == "dotnet":
                programs[service, method] = programs.get((service, method), 0) + b.rate(spent, name, MILLI)
            else:
                found.append((b.rate(spent, name, MILLI), b.rate(count, name), b.ratio(spent, count, name, MILLI),
                              b.rate(errors, name), source, service, method))
    found += [(spent, None, None, None, "dotnet", *key) for key, spent in programs.items()]
    table = Table("methods", [*spent_in(reader), ("CALLS" if reader.total else "CALLS/S", "calls" if reader.total else "calls_per_s", 1), ("AVG MS", "average_ms", 2), ("ERRORS" if reader.total else "ERRORS/S", "errors" if reader.total else "errors_per_s", 2), ("SOURCE", "source", None), ("SERVICE", "service", None), ("METHOD", "method", None)])
    for row in sorted(found, key=lambda row: -row[0])[:rows]:
        table.add(*row)
    return [table]


def stacks(reader, pattern, rows):
    found = []
    for (source, spent), b in zip(STACKS, reader.between([[row[1]] for row in STACKS])):
        for name in b.instances(spent):
            service, _, frames = name.partition(",")
            if fnmatch.fnmatch(service, pattern) and b.delta(spent, name):
                found.append((b.rate(spent, name, MILLI), source, service, frames))
    table = Table("stacks", [*spent_in(reader), ("SOURCE", "source", None), ("SERVICE", "service", None), ("STACK", "stack", None)])
    for row in sorted(found, key=lambda row: -row[0])[:rows]:
        table.add(*row)
    return [table]


def folded(reader, pattern):
    """All that has been counted; between -S and -T of an archive what was added."""
    metrics = [metric for _, metric in STACKS]
    if reader.archive:
        found = [(name, b.delta(metric, name)) for metric, b in zip(metrics, reader.between([[m] for m in metrics])) for name in b.instances(metric)]
    else:
        sample = reader.last(metrics)
        found = [pair for metric in metrics for pair in sample.of.get(metric, {}).items()]
    lines = [(name, ns // 1000) for name, ns in found if ns // 1000 and fnmatch.fnmatch(name.split(",")[0], pattern)]
    for name, us in sorted(lines, key=lambda line: (-line[1], line[0])):
        print(shown(name).replace(";", ":").replace(",", ";"), us)
    if not lines:
        print("pcp-apm: no stacks: the profiles of the agents are off, or nothing has run", file=sys.stderr)
