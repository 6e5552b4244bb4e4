"""Tables of agents, services, methods and stacks."""

import fnmatch
import sys

from .table import Table, at_text, shown
from .trouble import Trouble
from .values import duration

SECOND, MILLI, MEGA = 1e9, 1e6, float(1 << 20)


def show(reader, command, pattern, rows, as_json):
    """Prints the tables of a command."""
    if command == "folded":
        return folded(reader, pattern, rows)
    tables = {"agents": agents, "services": services, "methods": methods, "stacks": stacks}[command](reader, pattern, rows)
    if not any(table.rows for table in tables):
        exists(reader, command, pattern)
    if reader.archive and not as_json:
        print(reader.heading(), end="\n\n")
    for number, table in enumerate(tables):
        if number and not as_json:
            print()
        table.show(as_json)
    return None


def exists(reader, command, pattern):
    """That a command that shows nothing has nothing to show: a service of that name is there, and what it is about was
    logged."""
    if command == "agents" and reader.archive and not reader.known(AGENT):
        raise Trouble("no agents in this archive: apm.agent was not logged")
    needed = {"methods": METHODS, "stacks": STACKS, "folded": STACKS}.get(command)
    if reader.archive and needed and not reader.known([row[1] for row in needed]):
        raise Trouble("no methods in this archive: those of Java and Zorka are in the groups apm/profiler and apm/zorka of pmlogconf, those of .NET "
                      "in apm/stacks" if command == "methods" else reader.unlogged("no stacks in this archive", "stacks"))
    if command != "agents" and pattern != "*":
        names = sorted({name for found in reader.last([base + leaves[0] for _, base, leaves in SERVICES]).of.values() for name in found})
        there = f"there are {', '.join(names[:20])}{', ...' if len(names) > 20 else ''}" if names else "there are none"
        if not any(fnmatch.fnmatch(name, pattern) for name in names):
            raise Trouble(f"no service {pattern}: {there}")


def timed(between, tables):
    """The tables, with the times of their rates in JSON."""
    begin, end = (at_text(at) for at in between.span[:2]) if between.span else (None, None)
    for table in tables:
        table.also = {"from": begin, "to": end}
    return tables


AGENT = ["apm.agent." + leaf for leaf in ("up", "source", "state", "since", "errors", "lost", "events", "peer")]


def agents(reader, _pattern, rows):
    sample = reader.last(AGENT)
    table = Table("agents", [("AGENT", "agent", None), ("SOURCE", "source", None), ("STATE", "state", None), ("SINCE", "since", None),
                             ("FAULTS", "faults", 0), ("LOST", "lost", 0), ("PEER", "peer", None)])
    for name in sorted(sample.of.get("apm.agent.up", {}), key=lambda n: (not sample.get("apm.agent.up", n), n))[:rows]:
        get = lambda leaf: sample.get("apm.agent." + leaf, name)
        state = get("state") or ("connected" if get("up") else "gone")
        word, reason = in_short(state)
        table.add(name, get("source"), f"{word} {table.note(reason)}" if reason else word, get("since"), get("errors"), get("lost"), get("peer"),
                  state=state, reason=reason)
    return [table]


def in_short(state):
    """A state and its reason: `sending, but REASON` and `gone 3 min ago: REASON`."""
    word, _, reason = state.replace(", but ", ": ", 1).replace("connected, ", "connected: ", 1).partition(": ")
    return word, reason or None


CALLS = ["count", "errors", "time", "suspend.time", "pods", "agents", "latency.p50", "latency.p95", "latency.p99", "latency.max"]
PROGRAM = ["processes", "exceptions.count", "gc.count", "gc.pause.total", "gc.pause.p95", "gc.pause.max", "lock.contention.count",
           "lock.contention.time", "alloc.bytes", "cpu.time"]
MONO = ["processes", "starts", "counter.gc.minor_gc_collections", "counter.gc.major_gc_collections", "counter.gc.minor_gc_time",
        "counter.gc.major_gc_time", "counter.jit.compiled_methods", "counter.system.total_time"]
# The first leaf is there for each service.
SERVICES = [("java", "apm.profiler.service.", CALLS), ("zorka", "apm.zorka.service.", CALLS), ("dotnet", "apm.dotnet.service.", PROGRAM),
            ("mono", "apm.mono.program.", MONO)]


def services(reader, pattern, rows):
    groups = [[base + leaf for leaf in leaves] for _, base, leaves in SERVICES]
    calls = Table("services", [("SERVICE", "service", None), ("SOURCE", "source", None), ("PODS", "pods", 0), ("CALLS/S", "calls_per_s", 1),
                               ("ERRORS/S", "errors_per_s", 2), ("AVG MS", "average_ms", 1), ("P50 MS", "p50_ms", 1), ("P95 MS", "p95_ms", 1),
                               ("P99 MS", "p99_ms", 1), ("MAX MS", "max_ms", 1), ("PAUSED %", "paused_percent", 2)])
    dotnet = Table("dotnet", [("PROGRAM", "program", None), ("SOURCE", "source", None), ("RUNNING", "processes", 0), ("THROWN/S", "exceptions_per_s", 1),
                              ("GCS/S", "collections_per_s", 1), ("GC %", "gc_percent", 2), ("PAUSE P95 MS", "pause_p95_ms", 2), ("MAX MS", "pause_max_ms", 2),
                              ("WAITS/S", "waits_per_s", 1), ("WAITING", "threads_waiting", 2), ("ALLOC MB/S", "alloc_mb_per_s", 2), ("CPU %", "cpu_percent", 1)])
    mono = Table("mono", [("PROGRAM", "program", None), ("SOURCE", "source", None), ("RUNNING", "processes", 0), ("STARTS", "starts", 0),
                          ("MINOR/S", "minor_gcs_per_s", 1), ("MAJOR/S", "major_gcs_per_s", 1), ("GC %", "gc_percent", 2),
                          ("COMPILED/S", "compiled_per_s", 1), ("CPU %", "cpu_percent", 1)])
    for (source, base, leaves), b in zip(SERVICES, reader.between(groups)):
        names = dict.fromkeys(name for leaf in leaves for name in b.instances(base + leaf))
        by = base + {"dotnet": "gc.pause.total", "mono": "counter.system.total_time"}.get(source, "time")
        chosen = sorted((n for n in names if fnmatch.fnmatch(n, pattern)), key=lambda n: (-(b.delta(by, n) or 0), n))
        for name in chosen[:rows]:
            now = lambda leaf, scale=1.0: b.now(base + leaf, name, scale)
            rate = lambda leaf, scale=1.0: b.rate(base + leaf, name, scale)
            seen = max((b.seconds(base + leaf, name) or 0 for leaf in leaves), default=0) or None
            if source == "dotnet":
                dotnet.add(name, source, now("processes"), rate("exceptions.count"), rate("gc.count"), rate("gc.pause.total", SECOND / 100),
                           now("gc.pause.p95", MILLI), now("gc.pause.max", MILLI), rate("lock.contention.count"),
                           rate("lock.contention.time", SECOND), rate("alloc.bytes", MEGA), rate("cpu.time", SECOND / 100), seconds=seen)
            elif source == "mono":
                times = [rate(f"counter.gc.{kind}_gc_time", SECOND / 100) for kind in ("minor", "major")]
                share = sum(t for t in times if t is not None) if any(t is not None for t in times) else None
                mono.add(name, source, now("processes"), now("starts"), rate("counter.gc.minor_gc_collections"), rate("counter.gc.major_gc_collections"),
                         share, rate("counter.jit.compiled_methods"), rate("counter.system.total_time", SECOND / 100), seconds=seen)
            else:
                pods = now("pods") if source == "java" else now("agents")
                calls.add(name, source, pods, rate("count"), rate("errors"), b.ratio(base + "time", base + "count", name, MILLI),
                          *[now("latency." + leaf, MILLI) for leaf in ("p50", "p95", "p99", "max")], rate("suspend.time", SECOND / 100), seconds=seen)
    return timed(b, [table for table in (calls, dotnet, mono) if table.rows] or [calls])


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
                spent_then, seconds = programs.get((service, method), (0, 0))
                programs[service, method] = spent_then + b.rate(spent, name, MILLI), max(seconds, b.seconds(spent, name))
            else:
                found.append((b.rate(spent, name, MILLI), b.rate(count, name), b.ratio(spent, count, name, MILLI),
                              b.rate(errors, name), source, service, method, b.seconds(spent, name)))
    found += [(spent, None, None, None, "dotnet", *key, seconds) for key, (spent, seconds) in programs.items()]
    table = Table("methods", [*spent_in(reader), ("CALLS" if reader.total else "CALLS/S", "calls" if reader.total else "calls_per_s", 1), ("AVG MS", "average_ms", 2), ("ERRORS" if reader.total else "ERRORS/S", "errors" if reader.total else "errors_per_s", 2), ("SOURCE", "source", None), ("SERVICE", "service", None), ("METHOD", "method", None)])
    for row in sorted(found, key=lambda row: -row[0])[:rows]:
        table.add(*row[:-1], seconds=None if reader.total else row[-1])
    return timed(b, [table])


def stacks(reader, pattern, rows):
    found = []
    for (source, spent), b in zip(STACKS, reader.between([[row[1]] for row in STACKS])):
        for name in b.instances(spent):
            service, _, frames = name.partition(",")
            if fnmatch.fnmatch(service, pattern) and b.delta(spent, name):
                found.append((b.rate(spent, name, MILLI), source, service, frames, b.seconds(spent, name)))
    table = Table("stacks", [*spent_in(reader), ("SOURCE", "source", None), ("SERVICE", "service", None), ("STACK", "stack", None)])
    for row in sorted(found, key=lambda row: -row[0])[:rows]:
        table.add(*row[:-1], seconds=None if reader.total else row[-1])
    return timed(b, [table])


def folded(reader, pattern, rows):
    """All that has been counted; between -S and -T of an archive what was added."""
    metrics = [metric for _, metric in STACKS]
    if reader.archive:
        found = [(name, b.delta(metric, name)) for metric, b in zip(metrics, reader.between([[m] for m in metrics])) for name in b.instances(metric)]
    else:
        sample = reader.last(metrics)
        found = [pair for metric in metrics for pair in sample.of.get(metric, {}).items()]
    lines = [(name, round(ns / 1000)) for name, ns in found if ns and ns >= 500 and fnmatch.fnmatch(name.split(",")[0], pattern)]
    for name, us in sorted(lines, key=lambda line: (-line[1], line[0]))[:rows]:
        print(shown(name).replace(";", ":").replace(",", ";"), us)
    if not lines:
        exists(reader, "folded", pattern)
        print("pcp-apm: no stacks: the profiles of the agents are off, or nothing has run", file=sys.stderr)
