#!/usr/bin/python3
"""Rows of pcp apm services or runtimes, lines of JSON on standard input, beside what the sources call the same.

  one_view.py scene COMMAND             the same in the scene of qa/scene.sh: no JVM, and Mono by agents that send counters
  one_view.py whole COMMAND             each source has a row in which every figure is a number that it is known to bring
  one_view.py compare COMMAND ARCHIVE   each such figure is the one of the source's own metrics, by pmlogsummary

Status 1, and what is wrong: something is.
"""

import json
import re
import subprocess
import sys

S, MS, MB, PERCENT = 1e9, 1e6, float(1 << 20), 1e7
# command: {source: {key: (its scale, metrics whose sum it is)}}; metrics with ::ROW are those of a row. Of JSON's keys the
# rest is not known of that source in this scene.
FIGURES = {
    "runtimes": {
        "mono": {"collections_per_s": (1, ["mono.runtime.gc_collections0", "mono.runtime.gc_collections1"]), "exceptions_per_s": (1, ["mono.exceptions.count"])},
        "dotnet": {"cpu_percent": (PERCENT, ["dotnet.cpu.time::user", "dotnet.cpu.time::system"]), "paused_percent": (PERCENT, ["dotnet.gc.pause.total"]),
                   "collections_per_s": (1, ["dotnet.gc.count::gen0"]), "exceptions_per_s": (1, ["dotnet.exceptions.count"]),
                   "waits_per_s": (1, ["dotnet.lock.contention.count"]), "threads_waiting": (S, ["dotnet.lock.contention.time"])},
        "java": {"calls_per_s": (1, ["profiler.call.count"]), "errors_per_s": (1, ["profiler.call.errors"])},
        "zorka": {"calls_per_s": (1, ["zorka.span.count"]), "errors_per_s": (1, ["zorka.span.errors"])},
        "jvm": {"cpu_percent": (PERCENT, ["jvm.cpu.time::user", "jvm.cpu.time::system"]), "paused_percent": (PERCENT, ["jvm.gc.pause.total"]),
                "collections_per_s": (1, ["jvm.gc.count::young", "jvm.gc.count::old", "jvm.gc.count::other"]), "heap_mb": (MB, ["jvm.gc.heap.total"]),
                "heap_percent": (None, ["jvm.gc.heap.total", "jvm.gc.heap.max"]), "resident_mb": (MB, ["jvm.memory.working_set"])},
    },
    "services": {
        "mono": {"running": (1, ["mono.program.processes"]), "collections_per_s": (1, ["mono.program.gc.count"]),
                 "exceptions_per_s": (1, ["mono.program.exceptions.count"])},
        "dotnet": {"running": (1, ["dotnet.service.processes"]), "cpu_percent": (PERCENT, ["dotnet.service.cpu.time"]),
                   "paused_percent": (PERCENT, ["dotnet.service.gc.pause.total"]), "collections_per_s": (1, ["dotnet.service.gc.count"]),
                   "exceptions_per_s": (1, ["dotnet.service.exceptions.count"]), "waits_per_s": (1, ["dotnet.service.lock.contention.count"])},
        "java": {"running": (1, ["profiler.service.pods"]), "calls_per_s": (1, ["profiler.service.count"])},
        "zorka": {"running": (1, ["zorka.service.agents"]), "calls_per_s": (1, ["zorka.service.count"]), "exceptions_per_s": (1, ["zorka.service.exceptions"])},
        "jvm": {"running": (1, ["jvm.service.processes"]), "paused_percent": (PERCENT, ["jvm.service.gc.pause.total"]),
                "collections_per_s": (1, ["jvm.service.gc.count"]), "cpu_percent": (PERCENT, ["jvm.service.cpu.time"])},
    },
}
# Values at the end, which percentiles are too, though no other metric is compared with them.
ALSO = {"services": {"java": ["average_ms", "p50_ms", "p95_ms", "p99_ms", "max_ms"], "zorka": ["average_ms", "p50_ms", "p95_ms", "p99_ms", "max_ms"],
                     "dotnet": ["pause_p95_ms", "pause_max_ms"]}, "runtimes": {"java": ["average_ms"], "zorka": ["average_ms"], "dotnet": ["pause_max_ms"]}}


# What counters agents of Mono bring.
SCENE = {"runtimes": ["cpu_percent", "collections_per_s", "resident_mb"], "services": ["running", "cpu_percent", "restarts"]}


def whole(command, rows, scene=False):
    wrong = 0
    keys = [set(row) for row in rows]
    if any(k != keys[0] for k in keys):
        print("rows have other keys than each other")
        wrong = 1
    for source, figures in FIGURES[command].items():
        if scene and source == "jvm":
            continue
        if scene and source == "mono":
            figures = SCENE[command]
        of = [row for row in rows if row["source"] == source]
        wanted = [*figures, *ALSO[command].get(source, [])]
        best = min(of, key=lambda row: sum(row.get(key) is None for key in wanted), default={})
        missing = [key for key in wanted if best.get(key) is None]
        # A second without an error is one, but one row of the source does something.
        idle = [key for key in wanted if key.endswith("_per_s") and key != "errors_per_s" and not any(row.get(key) for row in of)]
        print(f"{source}: without a number {missing}, never above 0 {idle}" if missing or idle else f"{source}: {len(wanted)} figures")
        wrong |= bool(missing or idle or not of)
    return wrong


def summary(archive):
    """{(metric, instance): rate of a counter, mean of others} in nanoseconds, bytes and counts a second."""
    done = subprocess.run(["pmlogsummary", "-F", "-p", "12", archive], capture_output=True, text=True, check=True)
    found = {}
    for line in done.stdout.splitlines():
        metric, _, rest = line.lstrip("*").partition(",[")
        name, _, rest = rest.partition('"],')
        value, _, units = rest.partition(",")
        if re.fullmatch(r"[-+0-9.e]+", value):
            # Counters of time are a part of it.
            found[metric.removeprefix("apm."), name.lstrip('"')] = float(value) * (S if units.strip() in ("none", "") and ".time" in metric or metric.endswith("pause.total") else 1)
    return found


def compare(command, rows, archive):
    found, good, bad = summary(archive), 0, 0
    for source, figures in FIGURES[command].items():
        seen = 0
        for row in rows:
            if row["source"] != source:
                continue
            name = row["service" if command == "services" else "runtime"]
            for key, (scale, metrics) in figures.items():
                values = [found.get((m.partition("::")[0], name + (f"::{m.partition('::')[2]}" if "::" in m else ""))) for m in metrics]
                known = [v for v in values if v is not None]
                expected = None if not known else 100 * known[0] / known[1] if scale is None else sum(known) / scale
                got, gauge = row.get(key), key in ("running", "heap_mb", "heap_percent", "resident_mb")
                right = got is None if expected is None else got is not None and abs(got - expected) <= (0.2 if gauge else 1e-5) * max(abs(expected), 1e-3)
                good, bad, seen = good + right, bad + (not right), seen + (right and expected is not None)
                if not right:
                    print(f"{source} {name} {key}: {got}, not {expected}")
        print(f"{source}: compared" if seen >= len(figures) else f"{source}: {seen} figures only")
    print(f"{good} equal, {bad} differ")
    return bool(bad)


what, command = sys.argv[1:3]
read = [json.loads(line) for line in sys.stdin]
sys.exit(whole(command, read, what == "scene") if what != "compare" else compare(command, read, sys.argv[3]))
