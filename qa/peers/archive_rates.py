#!/usr/bin/python3
"""Rates of pcp apm over an archive whose every value is known: archive_rates.py FOLDER PCP-APM [PYTHON]

Makes an archive of about eleven hours: samples each 60 s, of stacks each 60 s at other times, of .NET each 10 s; two
restarts of the PMDA, after which counters are small again, and one of a single pod; two times without pmlogger (<mark> records: one of
pmlogextract, which joins two archives, and one within an archive); services that come and go. Then asks each command
that shows rates for 30 windows of 10 s, 60 s and 1 h, in JSON, and compares each figure with

  truth        steps between two values of an instance, without a mark between them and not backwards, as far as they are
               within the window, over the time that they take; nothing: the cell must be null
  pmlogsummary the same of windows that begin and end with a sample of that metric
  pmrep        its interpolation between the ends of windows without a restart or a gap; it rounds to whole units
  ends         what is no rate (heap, percentiles, running processes, and all of agents): what pmrep has at the
               end of the window; where they have nothing, nothing, or the newest sample of the window

Prints a line for each comparison with how many figures were compared, and what differs on standard error.
"""

import datetime
import json
import os
import random
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from pcp import pmapi, pmi
import cpmapi as c

from made_archive import SEMANTICS, TYPES, UNITS, catalogue

BEGIN = 1_795_348_800  # 12:00:00 UTC
END = BEGIN + 11 * 3600
RESTARTS = [BEGIN + 5_000, BEGIN + 20_010]
# Of a pod that keeps its name.
POD, POD_RESTART = "profiler::shop/orders/pod", BEGIN + 15_010
GAPS = [(BEGIN + 9_000, BEGIN + 9_900), (BEGIN + 25_000, BEGIN + 25_090)]
# (first, last) of instances that are not always there.
LIVES = {"shop/late": (BEGIN + 12_345, END), "shop/short": (BEGIN, BEGIN + 16_000), "batch": (BEGIN + 19_000, BEGIN + 30_000),
         "jvm::batch:11": (BEGIN + 19_000, BEGIN + 30_000), "mono::shop.exe:9": (BEGIN, BEGIN + 16_000), "mono::shop.exe:10": (BEGIN + 16_050, END)}
SERVICES = ["shop/orders", "shop/late", "shop/short"]
PROGRAMS = ["webshop", "batch", "shop.exe"]
PROCESSES = ["dotnet::webshop:7", "jvm::batch:11", "mono::shop.exe:9", "mono::shop.exe:10", POD]
# metric: (instances, most that it gains in a second, samples each so many s, from this second on). 60 s from 7 s on: not
# at full minutes.
COUNTERS = {
    "apm.profiler.service.method.count": ([f"{s}::M.{m}" for s in SERVICES for m in "ab"], 20, 60, 7),
    "apm.profiler.service.method.errors": ([f"{s}::M.{m}" for s in SERVICES for m in "ab"], 1, 60, 7),
    "apm.profiler.service.method.time": ([f"{s}::M.{m}" for s in SERVICES for m in "ab"], 10**9, 60, 7),
    "apm.profiler.service.stack.time": ([f"{s},M.{m},N.x" for s in SERVICES for m in "ab"], 10**8, 60, 41),
    **{f"apm.service.{leaf}": ([*SERVICES, "front"], most, 60, 7) for leaf, most in [("calls.count", 40), ("calls.errors", 2), ("calls.time", 3 * 10**9)]},
    **{f"apm.service.{leaf}": (PROGRAMS, most, 10, 7) for leaf, most in [
        ("exceptions.count", 5), ("gc.count", 3), ("gc.pause.time", 10**8), ("lock.count", 9), ("lock.time", 10**9), ("alloc.bytes", 10**8),
        ("cpu.time", 2 * 10**9), ("jit.time", 10**7)]},
    **{f"apm.runtime.{leaf}": (PROCESSES, most, 10, 7) for leaf, most in [
        ("cpu.time", 2 * 10**9), ("gc.pause.time", 10**8), ("gc.count", 3), ("exceptions.count", 5), ("lock.count", 9), ("lock.time", 10**9),
        ("alloc.bytes", 10**8), ("jit.time", 10**7), ("calls.count", 40), ("calls.errors", 2), ("calls.time", 3 * 10**9)]},
}
# What is no rate: (instances, most, samples each so many s, from this second on). Percentiles at other times than the rest.
LEVELS = {
    **{f"apm.runtime.{leaf}": (PROCESSES, most, 10, 7) for leaf, most in [
        ("heap.used", 10**9), ("heap.committed", 2 * 10**9), ("heap.limit", 3 * 10**9), ("memory.resident", 4 * 10**9), ("memory.limit", 5 * 10**9),
        ("gc.pause.max", 10**9)]},
    **{f"apm.service.{leaf}": ([*SERVICES, "front"], 10**10, 60, 23) for leaf in ("latency.p50", "latency.p95", "latency.p99", "latency.max")},
    **{f"apm.service.{leaf}": (PROGRAMS, 10**10, 60, 23) for leaf in ("gc.pause.p95", "gc.pause.max")},
    "apm.service.instances": ([*SERVICES, "front", *PROGRAMS], 9, 10, 7),
    "apm.agent.up": (PROCESSES, 1, 60, 7), "apm.agent.errors": (PROCESSES, 10**6, 60, 7), "apm.agent.lost": (PROCESSES, 10**6, 60, 7),
    **{f"apm.agent.{leaf}": (PROCESSES, 9, 60, 7) for leaf in ("state", "since", "peer")},
}
GAUGES = {"apm.profiler.service.pods": (SERVICES, 60, 7),
          "apm.zorka.service.agents": (["front"], 60, 7), "apm.dotnet.service.processes": (["webshop"], 10, 7),
          "apm.jvm.service.processes": (["batch"], 10, 7), "apm.mono.program.processes": (["shop.exe"], 10, 7)}
RUNTIMES = {"front": "zorka", "webshop": "dotnet", "batch": "jvm", "shop.exe": "mono"}
S, MS, MB, PERCENT = 1e9, 1e6, float(1 << 20), 1e7
J, C, R, A = "apm.profiler.service.", "apm.service.", "apm.runtime.", "apm.agent."
STATES = ["sending", "sending, but another tool has the meters", "gone 3 min ago: connection reset", "not read: it is of user 1000"]
NAMES = ["truth", "pmlogsummary", "pmlogsummary over restarts and gaps", "pmrep", "folded", "ends"]
# command: [(its table, the source, {key: (metric, scale), or two whose rates are divided})]
COLUMNS = {
    "services": [("services", source, {
        "calls_per_s": (C + "calls.count", 1), "errors_per_s": (C + "calls.errors", 1), "average_ms": (C + "calls.time", C + "calls.count", MS)})
                 for source in ("java", "zorka")] + [("services", source, {
        "exceptions_per_s": (C + "exceptions.count", 1), "collections_per_s": (C + "gc.count", 1), "paused_percent": (C + "gc.pause.time", PERCENT),
        "waits_per_s": (C + "lock.count", 1), "threads_waiting": (C + "lock.time", S), "alloc_mb_per_s": (C + "alloc.bytes", MB),
        "cpu_percent": (C + "cpu.time", PERCENT), "jit_percent": (C + "jit.time", PERCENT)}) for source in ("dotnet", "jvm", "mono")],
    "runtimes": [("runtimes", source, {
        "calls_per_s": (R + "calls.count", 1), "errors_per_s": (R + "calls.errors", 1), "average_ms": (R + "calls.time", R + "calls.count", MS),
        "exceptions_per_s": (R + "exceptions.count", 1), "collections_per_s": (R + "gc.count", 1), "paused_percent": (R + "gc.pause.time", PERCENT),
        "waits_per_s": (R + "lock.count", 1), "threads_waiting": (R + "lock.time", S), "alloc_mb_per_s": (R + "alloc.bytes", MB),
        "cpu_percent": (R + "cpu.time", PERCENT), "jit_percent": (R + "jit.time", PERCENT)}) for source in ("dotnet", "jvm", "mono", "java")],
    "methods": [("methods", "java", {
        "ms_per_s": (J + "method.time", MS), "calls_per_s": (J + "method.count", 1), "errors_per_s": (J + "method.errors", 1),
        "average_ms": (J + "method.time", J + "method.count", MS)})],
    "stacks": [("stacks", "java", {"ms_per_s": (J + "stack.time", MS)})],
}
# The same of what is no rate: (metric, scale), or two that are divided; an agent's are texts too.
AT_END = {
    "services": (C, {"p50_ms": ("latency.p50", MS), "p95_ms": ("latency.p95", MS), "p99_ms": ("latency.p99", MS), "max_ms": ("latency.max", MS),
                     "pause_p95_ms": ("gc.pause.p95", MS), "pause_max_ms": ("gc.pause.max", MS), "running": ("instances", 1)}),
    "runtimes": (R, {"heap_mb": ("heap.used", MB), "heap_committed_mb": ("heap.committed", MB), "heap_percent": ("heap.used", "heap.limit", 0.01),
                     "resident_mb": ("memory.resident", MB), "resident_percent": ("memory.resident", "memory.limit", 0.01), "pause_max_ms": ("gc.pause.max", MS)}),
    "agents": (A, {"faults": ("errors", 1), "lost": ("lost", 1), "since": ("since", 1), "peer": ("peer", 1)}),
}


def lives(instance, at):
    first, last = LIVES.get(instance) or LIVES.get(instance.split("::")[0].split(",")[0], (BEGIN, END))
    return first <= at <= last


def made(chance):
    """{metric: {instance: [(second, value)]}}, and a `None` in each list where a mark is."""
    series = {}
    for metric, (instances, most, each, first) in COUNTERS.items():
        for instance in instances:
            points, value, marks = [], 0, [gap[1] for gap in GAPS]
            for at in range(BEGIN + first, END + 1, each):
                if not lives(instance, at) or any(a <= at < b for a, b in GAPS) or any(r <= at < r + 130 for r in RESTARTS):
                    continue  # after a restart agents take two minutes to come back
                since = max([r for r in [*RESTARTS, *[POD_RESTART] * (instance == POD)] if r <= at], default=BEGIN)
                last = points[-1][0] if points and points[-1] else None
                began_anew = last is not None and last < since
                value = chance.randint(0, most * 20) if began_anew and chance.random() < 0.9 else value + chance.randint(0, most * each)
                while marks and marks[0] <= at:
                    points.append(None)
                    marks.pop(0)
                points.append((at, value))
            series.setdefault(metric, {})[instance] = points
    for metric, (instances, most, each, first) in LEVELS.items():
        for instance in instances:
            series.setdefault(metric, {})[instance] = [(at, chance.choice(STATES) if metric == A + "state" else chance.randint(0, most))
                for at in range(BEGIN + first, END + 1, each)
                if lives(instance, at) and not any(a <= at < b for a, b in GAPS) and not any(r <= at < r + 130 for r in RESTARTS)]
    return series


def written(folder, series):
    """The archive: two files that pmlogextract joins, with a mark between them, and one within the second."""
    known, parts = catalogue(), []
    edges = [(BEGIN, GAPS[0][0]), (GAPS[0][1], END + 1)]
    for part, (begin, end) in enumerate(edges):
        log = pmi.pmiLogImport(os.path.join(folder, f"part{part}"))
        log.pmiSetHostname("made")
        log.pmiSetTimezone("UTC")
        domains, numbers = {}, {}
        for item, metric in enumerate([*COUNTERS, *LEVELS, *GAUGES]):
            kind, semantics, units, domain = known.get(metric, ("U64", "counter", "nanosec" if metric.endswith("time") else "count", "program"))
            owner = metric.split(".")[1] + domain
            domains.setdefault(owner, pmi.pmiLogImport.pmiInDom(400, 1 + len(domains)))
            log.pmiAddMetric(metric, pmi.pmiLogImport.pmiID(400, 1, item), TYPES[kind], domains[owner], SEMANTICS[semantics], pmapi.pmUnits(*UNITS[units]))
            for instance in (COUNTERS.get(metric) or LEVELS.get(metric) or GAUGES[metric])[0]:
                of = numbers.setdefault(owner, {})
                if instance in of:
                    continue
                of[instance] = len(of)
                log.pmiAddInstance(domains[owner], instance, of[instance])
        values = {}
        for metric, found in series.items():
            for instance, points in found.items():
                for at, value in filter(None, points):
                    if begin <= at < end:
                        values.setdefault(at, []).append((metric, instance, value))
        for metric, (instances, each, first) in GAUGES.items():
            for at in range(BEGIN + first, END + 1, each):
                if at in values:
                    values[at] += [(metric, instance, 2) for instance in instances if lives(instance, at)]
        marked = False
        for at in sorted(values):
            if part and not marked and at >= GAPS[1][1]:
                log.pmiPutMark()
                marked = True
            for metric, instance, value in values[at]:
                log.pmiPutValue(metric, instance, str(value))
            log.pmiWrite(at, 0)
        del log
        parts.append(os.path.join(folder, f"part{part}"))
    subprocess.run(["pmlogextract", *parts, os.path.join(folder, "archive")], check=True)
    return os.path.join(folder, "archive")


def windows(chance, series):
    """Ten each of 10 s, 60 s and 1 h; half of them begin with a sample each 60 s; restarts and gaps are in many."""
    full = [p[0] for p in series[C + "calls.count"]["shop/orders"] if p]
    events = [*RESTARTS, *(at for gap in GAPS for at in gap), *(at for life in LIVES.values() for at in life)]
    found = []
    for length in (10, 60, 3600):
        for n in range(10):
            near = events[len(found) * 7 // 3 % len(events)] - chance.randint(0, length) if n < 7 else chance.randint(BEGIN + 100, END - 4000)
            if n % 2:
                near = min(full, key=lambda at: abs(at - near))
            near = max(BEGIN + 7, min(near, END - length))
            found.append((near, near + length))
    return found


def truth(points, begin, end):
    """(what was gained, in how many seconds)"""
    gained = seconds = 0
    for first, last in zip(points, points[1:]):
        if first and last and last[1] >= first[1]:
            part = min(last[0], end) - max(first[0], begin)
            if part > 0:
                gained += (last[1] - first[1]) * part / (last[0] - first[0])
                seconds += part
    return gained, seconds


def plain(points, begin, end):
    """Whether the window lies in steps that are not backwards, without a gap."""
    return truth(points, begin, end)[1] == end - begin


def at_text(at):
    return "@" + datetime.datetime.fromtimestamp(at, datetime.timezone.utc).strftime("%Y-%m-%d %H:%M:%S")


class Compared:
    """How many figures agree, and which not."""

    def __init__(self, name):
        self.name, self.good, self.bad = name, 0, []

    def add(self, what, got, expected, tolerance):
        if got is None or expected is None:
            right = got is None and expected is None
        else:
            right = abs(got - expected) <= tolerance + 1e-6 * abs(expected)
        self.good += right
        if not right:
            self.bad.append(f"{self.name}: {what}: {got}, not {expected}")


def asked(program, archive, command, begin, end):
    """{(table, source, name): row} of a command."""
    done = subprocess.run([*program, "-a", archive, "-S", at_text(begin), "-T", at_text(end), "-n", "1000", "-j", command], capture_output=True, text=True, check=False)
    if done.returncode:
        if "no values of this" in done.stderr:
            return {}
        sys.exit(f"{command} {at_text(begin)} {at_text(end)}: status {done.returncode}: {done.stderr}")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return {(r["table"], r["source"], (r["service"] + "::" if r["table"] == "methods" else r["service"] + "," if r["table"] == "stacks" else "")
             + (r.get("method") or r.get("stack") or r.get("service") or r.get("runtime") or r["agent"])): r for r in rows}


def summary(archive, begin, end):
    """{(metric, instance): rate} of pmlogsummary, in units a second."""
    done = subprocess.run(["pmlogsummary", "-F", "-p", "12", "-S", at_text(begin), "-T", at_text(end), archive], capture_output=True, text=True, check=True)
    found = {}
    for line in done.stdout.splitlines():
        # Names have commas: metric,["name"],value,units
        metric, _, rest = line.lstrip("*").partition(",[")
        name, _, rest = rest.partition('"],')
        number = rest.split(",")[0]
        try:
            found[metric, name.lstrip('"')] = float(number)
        except ValueError:
            pass
    return found


def report(archive, begin, end):
    """{(metric, instance): rate} of pmrep between the ends of a window."""
    command = ["pmrep", "-a", archive, "-S", at_text(begin), "-T", at_text(end), "-t", f"{end - begin}s", "-s", "2", "-o", "csv", "-P", "9", "-l", "|"]
    lines = subprocess.run([*command, *COUNTERS], capture_output=True, text=True, check=True).stdout.splitlines()
    if len(lines) < 3:
        return {}
    # metric-instance; in PCP 7 metric[instance]
    heads = [re.fullmatch(r"([a-z0-9_.]+)[-[](.*?)]?", head.strip('"')).groups() for head in lines[0].split("|")[1:]]
    return {head: float(cell) for head, cell in zip(heads, lines[-1].split("|")[1:]) if cell}


def levels(archive, end):
    """{(metric, instance): number or text} that pmrep has at the end of a window."""
    command = ["pmrep", "-r", "-a", archive, "-S", at_text(end), "-s", "1", "-o", "csv", "-P", "9", "-l", "|", *LEVELS]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    if len(lines) < 2:
        return {}
    heads = [re.fullmatch(r"([a-z0-9_.]+)[-[](.*?)]?", head.strip('"')).groups() for head in lines[0].split("|")[1:]]
    cells = [(head, cell.strip('"')) for head, cell in zip(heads, lines[1].split("|")[1:]) if cell]
    return {head: cell if catalogue()[head[0]][0] == "STRING" else float(cell) for head, cell in cells}


def at_end(ends, archive, series, window, asked_of):
    """Compares what is no rate."""
    begin, end = window
    there = levels(archive, end)
    for command, (base, columns) in AT_END.items():
        for (_, source, name), row in asked_of[command].items():
            full = name if command != "runtimes" else {"java": "profiler"}.get(source, source) + "::" + name
            for key, (*leaves, scale) in {**columns, **({"state": ("state", 1)} if command == "agents" else {})}.items():
                expected = [there.get((base + leaf, full)) for leaf in leaves]
                got, what = row[key], f"{at_text(begin)} {end - begin} s {command} {full} {key}"
                if None in expected:
                    # What nobody has there is what was logged last in this time, if anything is told.
                    newest = [max([p for p in series.get(base + leaf, {}).get(full, []) if p and begin <= p[0] <= end], default=(0, None))[1] for leaf in leaves]
                    expected = [e if e is not None else n for e, n in zip(expected, newest)] if got is not None else [None]
                if isinstance(got, str):
                    ends.add(what, got == str(expected[0]), True, 0)
                    continue
                value = None if None in expected else expected[0] / scale if len(leaves) == 1 else expected[0] / expected[1] / scale
                ends.add(what, got, value, 1e-9)


def compare(program, archive, series, window):
    """What a window gives: (comparisons, cells without a value)."""
    begin, end = window
    true, pmlogsummary, over_more, pmrep, folded, ends = (Compared(name) for name in NAMES)
    known, empty = catalogue(), 0
    scale = lambda metric: 1e9 if known.get(metric, ("", "", "nanosec" if metric.endswith("time") else "", ""))[2] == "nanosec" else 1
    sums, reports = summary(archive, begin, end), report(archive, begin, end)
    asked_of = {command: asked(program, archive, command, begin, end) for command in [*COLUMNS, "agents"]}
    at_end(ends, archive, series, window, asked_of)
    for command, tables in COLUMNS.items():
        rows = asked_of[command]
        for table, source, columns in tables:
            metrics = sorted({m for column in columns.values() for m in column[:-1]})
            for name in series[metrics[0]]:
                if command == "services" and RUNTIMES.get(name, "java") != source:
                    continue
                of_source, _, rest = name.partition("::")
                if command == "runtimes" and {"profiler": "java"}.get(of_source, of_source) != source:
                    continue
                row = rows.get((table, source, rest if command == "runtimes" else name))
                of = {m: truth(series[m][name], begin, end) for m in metrics}
                rate = {m: gained / seconds if seconds else None for m, (gained, seconds) in of.items()}
                # Who has nothing in the window has no row.
                if row is None and command not in ("services", "runtimes") and not rate[columns["ms_per_s"][0]]:
                    continue
                for key, column in columns.items():
                    got, what = row and row.get(key), f"{at_text(begin)} {end - begin} s {name} {key}"
                    if len(column) == 3:
                        over, by = (rate[m] for m in column[:2])
                        true.add(what, got, over / by / column[2] if by and over is not None else None, 1e-9)
                        continue
                    metric, by = column
                    true.add(what, got, rate[metric] / by if rate[metric] is not None else None, 1e-9)
                    empty += got is None
                    whole = plain(series[metric][name], begin, end)
                    if (metric, name) in sums and {begin, end} <= {p[0] for p in series[metric][name] if p}:
                        (pmlogsummary if whole else over_more).add(what, got, sums[metric, name] * scale(metric) / by, 1e-9)
                    if whole and (metric, name) in reports:
                        # It interpolates whole units.
                        pmrep.add(what, got, reports[metric, name] / by, 1.01 / (end - begin) / by)
    done = subprocess.run([*program, "-a", archive, "-S", at_text(begin), "-T", at_text(end), "folded"], capture_output=True, text=True, check=False)
    lines = dict(line.rsplit(" ", 1) for line in done.stdout.splitlines())
    for name, points in series[J + "stack.time"].items():
        folded.add(f"{at_text(begin)} {end - begin} s {name}", float(lines.get(name.replace(",", ";"), 0)), truth(points, begin, end)[0] / 1000, 0.51)
    return [true, pmlogsummary, over_more, pmrep, folded, ends], empty


def main():
    folder, program = sys.argv[1], [*sys.argv[3:], sys.argv[2]]
    os.environ.update(TZ="UTC", PCP_PYTHON_PROG="/usr/bin/python3", LC_ALL="C.UTF-8")
    chance = random.Random(4)
    series = made(chance)
    archive = written(folder, series)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(lambda window: compare(program, archive, series, window), windows(chance, series)))
    for number, name in enumerate(NAMES):
        good, bad = sum(of[number].good for of, _ in found), [line for of, _ in found for line in of[number].bad]
        print(f"{name}: {good} equal, {len(bad)} not")
        for line in bad[:12]:
            print(line, file=sys.stderr)
    print(f"without a value: {sum(empty for _, empty in found)}")


if __name__ == "__main__":
    main()
