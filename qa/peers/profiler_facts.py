#!/usr/bin/env python3
"""Compares what `pminfo -f apm.profiler` says of a pod with what an independent decoder made of its session.

usage: profiler_facts.py INSTANCE CAPTURE < output of pminfo    CAPTURE is a name in qa/corpus/profiler/expected.json
Prints each difference, or `N facts agree`.
"""

import json
import os
import re
import sys

MS = 1_000_000
SUMS = {
    "call.count": ("calls", 1), "call.time": ("sum_duration_ms", MS), "call.cpu": ("sum_cpu_ms", MS),
    "call.wait": ("sum_wait_ms", MS), "call.queue_wait": ("sum_queue_wait_ms", MS), "call.memory": ("sum_memory_bytes", 1),
    "call.nested": ("sum_child_calls", 1), "call.transactions": ("sum_transactions", 1),
    "call.io.file_read": ("sum_file_read", 1), "call.io.file_written": ("sum_file_written", 1),
    "call.io.net_read": ("sum_net_read", 1), "call.io.net_written": ("sum_net_written", 1),
    "call.log.written": ("sum_logs_written", 1), "call.log.generated": ("sum_logs_generated", 1),
    "trace.events": ("events", 1), "trace.blocks": ("blocks", 1), "trace.enters": ("enter", 1), "trace.exits": ("exit", 1),
    "trace.tags": ("tag", 1), "suspend.count": ("records", 1), "suspend.time": ("total_ms", MS), "dictionary.words": ("words", 1),
}
STREAM_OF = {"call": "calls", "trace": "trace", "suspend": "suspend", "dictionary": "dictionary"}


def values(text):
    """{metric: {instance: value}}"""
    found, metric = {}, None
    for line in text.splitlines():
        if line.startswith("apm."):
            metric = line.split()[0].removeprefix("apm.profiler.")
        match = re.match(r'\s+inst \[\d+ or "(.*)"\] value (\S+)$', line)
        if match:
            found.setdefault(metric, {})[match[1]] = match[2]
    return found


def main():
    instance, capture = sys.argv[1:]
    corpus = os.path.join(os.path.dirname(__file__), "..", "corpus", "profiler")
    with open(os.path.join(corpus, "expected.json"), encoding="utf-8") as file:
        session = json.load(file)[capture]
    found, facts, differ = values(sys.stdin.read()), 0, []

    def compare(metric, where, expected):
        nonlocal facts
        facts += 1
        got = found.get(metric, {}).get(where)
        if got != str(expected):
            differ.append(f"{metric}[{where}] is {got}, expected {expected}")

    streams = session["streams"]
    for metric, (fact, unit) in SUMS.items():
        of = STREAM_OF[metric.split(".")[0]]
        contents = [s["content"] or {} for s in streams if s["name"] == of]
        if contents:
            compare(metric, instance, unit * sum(c.get(fact, 0) for c in contents))
    for kind in ("sql", "xml"):
        contents = [s["content"] or {} for s in streams if s["name"] == kind]
        compare(f"value.{kind}", instance, sum(c.get("values", 0) for c in contents))
    for name in {s["name"] for s in streams}:
        files = [s for s in streams if s["name"] == name]
        compare("stream.bytes", f"{instance}::{name}", sum(s["bytes"] for s in files))
        compare("stream.chunks", f"{instance}::{name}", sum(s["chunks"] for s in files))
        compare("stream.rotations", f"{instance}::{name}", len(files) - 1)
    print("\n".join(differ) if differ else f"{facts} facts agree")
    sys.exit(bool(differ))


if __name__ == "__main__":
    main()
