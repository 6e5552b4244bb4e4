#!/usr/bin/python3
"""A test of promtool(1) for the rules of Prometheus: rules_test.py RULES.yml >TEST.yml

For each rule a series that makes it fire, and one of the same metrics that does not. A rule without either is an error.
"""

import json
import re
import sys

MINUTES, SHARE = 15, 60 * 10**9
REFUSED = ("connection.refused", "names.rejected", "instances.rejected", "memory.refused")
# alert: {instance: ({metric below apm: (value, growth a minute)}, whether it fires)}
RULES = {
    "AgentLost": {"bad": ({"agent.lost": (0, 1)}, True), "old": ({"agent.lost": (7, 0)}, False)},
    "AgentSilent": {"bad": ({"agent.idle": (400e9, 0), "agent.up": (1, 0)}, True), "gone": ({"agent.idle": (400e9, 0), "agent.up": (0, 0)}, False),
                    "good": ({"agent.idle": (200e9, 0), "agent.up": (1, 0)}, False)},
    "MonoGcShare": {name: ({f"mono.counter.gc.{kind}_gc_time": (0, part * SHARE) for kind in ("minor", "major")}, part > 0.1)
                    for name, part in (("bad", 0.11), ("good", 0.09))},
    "JavaErrors": {name: ({"profiler.service.errors": (0, errors), "profiler.service.count": (0, calls)}, name == "bad")
                   for name, errors, calls in (("bad", 60, 600), ("good", 20, 600), ("few", 30, 30))},
    "ZorkaErrors": {name: ({"zorka.service.errors": (0, errors), "zorka.service.count": (0, calls)}, name == "bad")
                    for name, errors, calls in (("bad", 60, 600), ("good", 20, 600), ("few", 30, 30))},
    "JvmHeap": {name: ({"jvm.gc.heap.total": (used, 0), "jvm.gc.heap.max": (1e9, 0), "jvm.gc.pause.count": (3, pauses)}, name == "bad")
                for name, used, pauses in (("bad", 9e8, 1), ("good", 8e8, 1), ("idle", 9e8, 0))},
    "JvmContainerLimit": {name: ({"jvm.memory.limit": (limit, 0), "jvm.gc.heap.max": (1e9, 0)}, name == "boxed") for name, limit in (("boxed", 9e8), ("fits", 2e9))},
    "JvmContainerMemory": {name: ({"jvm.memory.working_set": (used, 0), "jvm.memory.limit": (1e9, 0)}, name == "tight") for name, used in (("tight", 95e7), ("loose", 85e7))},
    "JvmSafepoints": {name: ({"jvm.safepoint.time": (0, time * SHARE), "jvm.safepoint.sync_time": (0, 0.05 * SHARE), "jvm.gc.pause.total": (0, 0.08 * SHARE)}, name == "stops")
                      for name, time in (("stops", 0.15), ("collects", 0.1))},
    "LttngSession": {name: ({"lttng.session.up": (up, 0)}, name == "bad") for name, up in (("bad", 0), ("good", 1))},
    # Each of several alone.
    "Refused": {which: ({f"self.{leaf}": (7, leaf == which) for leaf in REFUSED}, which != "none") for which in (*REFUSED, "none")},
    **{f"{alert}RecordsLost": {"good": ({f"{source}.event.{kind}.lost": (7, 0) for kind in kinds}, False),
                               **{kind: ({f"{source}.event.{kind}.lost": (7, 60)}, True) for kind in kinds}} for alert, source, *kinds in [
        ("Mono", "mono", "sample", "gc", "exception", "contention"), ("Java", "profiler", "call", "pause"), ("Zorka", "zorka", "span", "exception"),
        ("Dotnet", "dotnet", "gc", "exception", "contention", "pool", "application"), ("Jvm", "jvm", "gc", "exception", "contention"), ("Lttng", "lttng", "record")]},
    **{alert: {"bad": ({metric: (7, 60)}, True), "good": ({metric: (7, 0)}, False)} for alert, metric in [("LttngDiscarded", "lttng.session.discarded"), ("Panics", "self.panics")]},
    # A little more than the threshold, and a little less.
    **{alert: {"bad": ({metric: (0, 1.1 * most * 60)}, True), "good": ({metric: (0, 0.9 * most * 60)}, False)} for alert, metric, most in [
        ("MonoPauses", "mono.gc.pause.total", 2e8), ("MonoExceptions", "mono.exceptions.count", 100), ("MonoLocks", "mono.lock.contention.time", 1e9),
        ("JavaPauses", "profiler.suspend.time", 1e8), ("DotnetGcShare", "dotnet.gc.pause.total", 2e8), ("DotnetStarvation", "dotnet.pool.starvation", 2 / 60),
        ("DotnetExceptions", "dotnet.exceptions.count", 100), ("DotnetLocks", "dotnet.lock.contention.time", 1e9), ("JvmGcShare", "jvm.gc.pause.total", 1e8)]},
    **{alert: {"bad": ({metric: (51e8, 0)}, True), "good": ({metric: (49e8, 0)}, False)} for alert, metric in [
        ("JavaLatency", "profiler.service.latency.p99"), ("ZorkaLatency", "zorka.service.latency.p99")]},
}


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        known = set(re.findall(r"alert: Apm(\w+)", file.read()))
    if known != set(RULES):
        sys.exit(f"without a rule, or a test: {sorted(known ^ set(RULES))}")
    groups = []
    # Metrics are those of several rules: each has its own group.
    for alert, instances in RULES.items():
        if {does for _, does in instances.values()} != {True, False}:
            sys.exit(f"{alert}: needs one that fires, and one that does not")
        labels = {name: f'{{instname="{name}"}}' for name in instances}
        series = [{"series": f"apm_{metric.replace('.', '_')}{labels[name]}", "values": f"{first}+{float(grows)}x{MINUTES}"}
                  for name, (metrics, _) in instances.items() for metric, (first, grows) in metrics.items()]
        fires = [{"labels": labels[name], "value": 1} for name, (_, does) in instances.items() if does]
        groups.append({"interval": "1m", "input_series": series, "promql_expr_test": [
            {"expr": f'count by (instname) (ALERTS{{alertname="Apm{alert}",alertstate="firing"}})', "eval_time": "12m", "exp_samples": fires}]})
    # JSON is YAML.
    print(json.dumps({"rule_files": [sys.argv[1]], "evaluation_interval": "1m", "tests": groups}, indent=1))


if __name__ == "__main__":
    main()
