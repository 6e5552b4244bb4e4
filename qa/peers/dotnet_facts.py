#!/usr/bin/env python3
"""Compares what `pminfo -f apm.dotnet` shows of played captures with what an independent decoder made of them.

usage: dotnet_facts.py [--seen FILE] [--no-gauges] [CAPTURE...] < output of pminfo

A CAPTURE is a key of qa/corpus/dotnet/expected.json; its process is the instance CAPTURE:PID. Without one, all of them. Prints each
difference, or `N facts of M captures agree`. Counters and meters are compared with NAME.facts.json. With --seen a fact that has agreed
before agrees; FILE has which. --no-gauges leaves out gauges of counters, which are withheld 3 s after their last report.
"""

import collections
import json
import os
import re
import sys

CORPUS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "corpus", "dotnet")
REASONS = ("small induced low_memory empty large out_of_space_small out_of_space_large induced_not_forced internal induced_low_memory "
           "induced_compacting host_low_memory full_notification host_low_memory_blocking").split()
ADJUSTMENTS = "warmup initializing random_move climbing_move change_point stabilizing starvation timed_out cooperative_blocking".split()
TIERS = "unknown min_opt optimized quick tier1 tier1_osr instrumented optimized_instrumented".split()
NAMED = {"reason": ("gc.by_reason", REASONS), "adjustment": ("pool.adjustments", ADJUSTMENTS), "tier": ("jit.by_tier", TIERS)}
# Of the whole capture, not of what a metric is.
LEFT_OUT = {"max", "jitted"}
MILLION = 1e6
PREFIX = re.escape(os.environ.get("DOTNET_PREFIX", ""))


def values(text):
    """{metric: {instance: value}}"""
    found, metric = collections.defaultdict(dict), None
    for line in text.splitlines():
        if line.startswith("apm."):
            metric = line.split()[0].removeprefix("apm.dotnet.")
            continue
        match = re.match(r'\s+(?:inst \[\d+ or "(.*)"\] )?value (.*)$', line)
        if match:
            value = match[2].strip('"')
            try:
                value = float(value) if "." in value or "e+" in value else int(value)
            except ValueError:
                pass
            found[metric][match[1]] = value
    return found


class Facts:
    def __init__(self, found, seen, gauges):
        self.found, self.seen, self.gauges, self.agreed, self.differ = found, seen, gauges, 0, []

    def same(self, what, got, expected):
        near = isinstance(expected, float) and isinstance(got, (int, float)) and abs(got - expected) <= abs(expected) * 1e-5 + 1e-9
        if got == expected or near or what in self.seen:
            self.agreed += 1
            self.seen.add(what)
        else:
            self.differ.append(f"{what} is {got}, expected {expected}")

    def rows(self, metric, instance):
        """Rows of a table that belong to the process, without those that are 0."""
        rows = {name[len(instance) + 2:]: value for name, value in self.found.get(metric, {}).items() if name.startswith(instance + "::")}
        return {name: value for name, value in rows.items() if value}

    def capture(self, name, expected):
        instances = [i for i in self.found.get("session.events", {}) if re.fullmatch(PREFIX + re.escape(name) + r":\d+", i)]
        if len(instances) != 1:
            return self.differ.append(f"{name}: instances {instances}")
        instance = instances[0]
        for metric, value in expected.items():
            if metric in LEFT_OUT:
                continue
            if isinstance(value, dict):
                if metric in NAMED:
                    metric, names = NAMED[metric]
                    value = {names[int(n)]: v for n, v in value.items()}
                if metric == "gc.heap.size" and self.counters(name):
                    continue  # the runtime's counters have newer ones
                value = {n: v for n, v in value.items() if v}
                self.same(f"{name}: {metric}", self.rows(metric, instance), value)
            else:
                self.same(f"{name}: {metric}", self.found.get(metric, {}).get(instance), value)
        self.of_counters(name, instance)
        return None

    @staticmethod
    def counters(name):
        return json.load(open(f"{CORPUS}/{name}.facts.json", encoding="utf-8")).get("counters", {})

    def of_counters(self, name, instance):
        counters = {k.removeprefix("System.Runtime/"): v for k, v in self.counters(name).items() if k.startswith("System.Runtime/")}
        for counter, metric, scale in (("cpu-usage", "cpu.usage", None), ("working-set", "memory.working_set", MILLION), ("assembly-count", "assemblies", 1),
                                       ("gc-heap-size", "gc.heap.total", MILLION), ("active-timer-count", "timers", 1),
                                       ("threadpool-queue-length", "pool.queue", 1), ("gc-committed", "gc.heap.committed", MILLION)):
            if self.gauges and counter in counters and counters[counter]["type"] == "Mean":
                last = counters[counter]["last"]
                self.same(f"{name}: {metric}", self.found.get(metric, {}).get(instance), last if scale is None else float(round(last * scale)))
        for counter, metric, scale in (("alloc-rate", "alloc.bytes", 1), ("threadpool-completed-items-count", "pool.completed", 1), ("time-in-jit", "jit.time", MILLION)):
            if counter in counters and counters[counter]["type"] == "Sum":
                self.same(f"{name}: {metric}", self.found.get(metric, {}).get(instance), float(round(counters[counter]["sum"] * scale)))


def main():
    expected = json.load(open(f"{CORPUS}/expected.json", encoding="utf-8"))
    arguments, seen, file = sys.argv[1:], set(), None
    if arguments[:1] == ["--seen"]:
        file, arguments = arguments[1], arguments[2:]
        if os.path.exists(file):
            seen = set(json.load(open(file, encoding="utf-8")))
    gauges = arguments[:1] != ["--no-gauges"]
    facts = Facts(values(sys.stdin.read()), seen, gauges)
    arguments = arguments[0 if gauges else 1:]
    names = arguments or list(expected)
    for name in names:
        facts.capture(name, expected[name])
    if file:
        json.dump(sorted(facts.seen), open(file, "w", encoding="utf-8"))
    for line in facts.differ:
        print(line)
    if not facts.differ:
        print(f"{facts.agreed} facts of {len(names)} captures agree")


if __name__ == "__main__":
    main()
