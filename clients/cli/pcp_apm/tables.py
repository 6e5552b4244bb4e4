"""Tables of agents, services, runtimes, methods and stacks."""

import fnmatch
import sys

from . import runtimes
from .table import Table, at_text, shown, to_json
from .trouble import Trouble
from .values import Between

MILLI = 1e6


# Why a table of a host at work may be empty.
NONE = dict.fromkeys(("methods", "stacks"), "the profiles of the agents are off, or nothing has run: run it again, with a longer -t, or with --total")


def show(reader, command, pattern, rows, as_json):
    """Prints the tables of a command."""
    if command == "folded":
        return folded(reader, pattern, rows, as_json)
    tables = {"agents": agents, "services": services, "runtimes": processes, "methods": methods, "stacks": stacks}[command](reader, pattern, rows)
    if not any(table.rows for table in tables):
        exists(reader, command, pattern)
        if not reader.archive:
            print(f"pcp-apm: no {command} yet: " + NONE.get(command, "nothing is connected, or nothing is to be read here (docs/setup)"), file=sys.stderr)
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
    needed = {"services": runtimes.SERVICES, "runtimes": runtimes.RUNTIMES}.get(command)
    if reader.archive and needed and not reader.known(needed):
        raise Trouble(f"no {command} in this archive: none was there, or apm.{command[:-1]} was not logged: the group apm/runtimes of pmlogconf")
    needed = {"methods": METHODS, "stacks": STACKS, "folded": STACKS}.get(command)
    if reader.archive and needed and not reader.known([row[3] for row in needed]):
        raise Trouble("no methods in this archive: those of Java and Zorka are in the groups apm/profiler and apm/zorka of pmlogconf, those of .NET, "
                      "Mono and JVMs in apm/stacks" if command == "methods" else reader.unlogged("no stacks in this archive", "stacks"))
    if command != "agents" and pattern != "*":
        what, metrics = ("runtime", runtimes.RUNTIMES) if command == "runtimes" else ("service", runtimes.SERVICES)
        names = sorted({name for found in reader.last(metrics).of.values() for name in found})
        there = f"there are {', '.join(names[:20])}{', ...' if len(names) > 20 else ''}" if names else "there are none"
        if not any(runtimes.matches(name, runtimes.plain(name), pattern) for name in names):
            raise Trouble(f"no {what} {pattern}: {there}")


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


def services(reader, pattern, rows):
    table, between = runtimes.services(reader, pattern, rows)
    return timed(between, [table])


def processes(reader, pattern, rows):
    table, between = runtimes.runtimes(reader, pattern, rows)
    return timed(between, [table])


def of_service(name):
    """(service, rest) of SERVICE::REST: services have no "::" of their own, methods may. The row `other` is of none."""
    return tuple(name.split("::", 1)) if "::" in name else ("", name)


def of_process(name):
    """The same of NAME:PID::REST."""
    process, rest = of_service(name)
    return process.rpartition(":")[0], rest


def of_all(name):
    """The same of what all processes have together."""
    return "", name


def of_stack(name):
    """The same of SERVICE,REST."""
    return name.partition(",")[::2]


# Runtime, halves of a row's name, nanoseconds that one of its counter is, metrics of time, calls and errors. Of a JVM a sample of its
# recordings counts as the 20 ms between two.
METHODS = [("java", of_service, 1, "apm.profiler.service.method.time", "apm.profiler.service.method.count", "apm.profiler.service.method.errors"),
           ("zorka", of_service, 1, "apm.zorka.service.method.self_time", "apm.zorka.service.method.count", "apm.zorka.service.method.errors"),
           ("dotnet", of_process, 1, "apm.dotnet.profile.methods.self"), ("mono", of_all, 1, "apm.mono.profile.methods.self"),
           ("jvm", of_process, 20e6, "apm.jvm.profile.methods.self")]
STACKS = [("java", of_stack, 1, "apm.profiler.service.stack.time"), ("zorka", of_stack, 1, "apm.zorka.service.stack.time"),
          ("dotnet", of_stack, 1, "apm.dotnet.service.stack.time"), ("jvm", of_process, 20e6, "apm.jvm.profile.stacks")]


def spent_in(reader):
    """The first column: time in a second, or all of it."""
    return [("MS", "ms", 0)] if reader.total else [("MS/S", "ms_per_s", 2)]


def spent(reader, table, pattern):
    """What happened, and (ms, seconds that were seen, row of the table, name, service, rest) of what took time. What processes of a service have in common
    is one."""
    [b], found = reader.between([[metric for row in table for metric in row[3:]]]), {}
    for row in table:
        for name in b.instances(row[3]):
            service, rest = row[1](name)
            if fnmatch.fnmatch(service, pattern) and b.delta(row[3], name):
                ms, seconds, *_ = found.get((row[0], service, rest), (0, 0))
                found[row[0], service, rest] = (ms + b.rate(row[3], name, MILLI / row[2]), max(seconds, b.seconds(row[3], name)), row, name, service, rest)
    return b, sorted(found.values(), key=lambda one: -one[0])


def methods(reader, pattern, rows):
    b, found = spent(reader, METHODS, pattern)
    table = Table("methods", [*spent_in(reader), ("CALLS" if reader.total else "CALLS/S", "calls" if reader.total else "calls_per_s", 1), ("AVG MS", "average_ms", 2), ("ERRORS" if reader.total else "ERRORS/S", "errors" if reader.total else "errors_per_s", 2), ("SOURCE", "source", None), ("SERVICE", "service", None), ("METHOD", "method", None)])
    for ms, seconds, (source, _, _, time, *more), name, service, method in found[:rows]:
        count, errors = more or (None, None)
        table.add(ms, b.rate(count, name), b.ratio(time, count, name, MILLI), b.rate(errors, name), source, service, method, seconds=None if reader.total else seconds)
    return timed(b, [table])


def stacks(reader, pattern, rows):
    b, found = spent(reader, STACKS, pattern)
    table = Table("stacks", [*spent_in(reader), ("SOURCE", "source", None), ("SERVICE", "service", None), ("STACK", "stack", None)])
    for ms, seconds, (source, *_), _, service, frames in found[:rows]:
        table.add(ms, source, service, frames, seconds=None if reader.total else seconds)
    return timed(b, [table])


def folded(reader, pattern, rows, as_json):
    """All that has been counted; between -S and -T of an archive what was added."""
    metrics, found = [row[3] for row in STACKS], {}
    b = reader.between([metrics])[0] if reader.archive else Between.total(reader.last(metrics))
    for _, halves, each, metric in STACKS:
        for name in b.instances(metric):
            stack = ",".join(filter(None, halves(name)))
            found[stack] = found.get(stack, 0) + (b.delta(metric, name) or 0) * each
    lines = [(name, round(ns / 1000)) for name, ns in found.items() if ns >= 500 and fnmatch.fnmatch(name.split(",")[0], pattern)]
    for name, us in sorted(lines, key=lambda line: (-line[1], line[0]))[:rows]:
        stack = name.replace(";", ":").replace(",", ";")
        print(to_json({"table": "folded", "stack": stack, "us": us}) if as_json else f"{shown(stack)} {us}")
    if not lines:
        exists(reader, "folded", pattern)
        print("pcp-apm: no stacks: the profiles of the agents are off, or nothing has run", file=sys.stderr)
