"""What pminfo shows of a log profiler's stream, against the facts of its capture.

    pminfo -f apm.mono | mlpd_facts.py CAPTURE.facts.json INSTANCE      differences, one a line; fails if there are any
    mlpd_facts.py --who CAPTURE.facts.json                              the instance: first domain and process id"""

import json
import re
import sys

INSTANCE = re.compile(r'\s+inst \[\d+ or "(.*)"\] value (.*)')


def read(lines):
    """Values by metric and instance."""
    values, metric = {}, None
    for line in lines:
        match = INSTANCE.match(line)
        if match:
            values[metric, match[1]] = match[2].strip('"')
        elif line.strip() and not line.startswith(" "):
            metric = line.strip()
    return values


def component(text):
    text = re.sub("[^a-z0-9]+", "_", text.lower()).strip("_")
    return text if len(text) > 1 and not text[0].isdigit() else "c_" + text


def expected(facts, whose):
    """Metric, instance and value of each fact."""
    options = facts["header"]["args"].split(",")
    yield "session.bytes", whose, facts["bytes"]
    yield "session.events", whose, sum(facts["events"].values())
    yield "session.port", whose, facts["header"]["port"]
    yield "session.options", whose, facts["header"]["args"]
    yield "dialect", whose, f"log profiler {facts['header']['format']}"
    yield "events.bad", whose, len(facts["bad"])
    if "gc" in options:
        gc = facts["gc"]
        for name, number in gc["count"].items():
            yield "gc.count", f"{whose}::{name}", number
        kinds = {"minor": "minor", "major": "major", "major_concurrent_start": "major_start",
                 "major_concurrent_finish": "major_finish", "none": "other"}
        for name, pauses in gc["by_kind"].items():
            yield "gc.pause.count", f"{whose}::{kinds[name]}", pauses["pauses"]
            yield "gc.pause.total", f"{whose}::{kinds[name]}", pauses["ns"]
        yield "gc.suspension.total", whose, gc["suspension_total_ns"]
        yield "gc.heap.total", whose, gc["heap_last"]
        yield "gc.heap.resizes", whose, gc["resizes"]
    if "exception" in options:
        yield "exceptions.count", whose, facts["exceptions"]["thrown"]
        for name, number in facts["exceptions"]["clauses"].items():
            yield "exceptions.clauses", f"{whose}::{name}", number
    if "monitor" in options:
        monitor = facts["monitor"]
        yield "lock.contention.count", whose, monitor["events"]["contention"]
        yield "lock.contention.failed", whose, monitor["events"].get("fail", 0)
        yield "lock.contention.time", whose, monitor["wait_ns"]
    if "gcalloc" in options:
        yield "alloc.objects", whose, facts["alloc"]["objects"]
        yield "alloc.bytes", whose, facts["alloc"]["bytes"]
        for name in ("Apple", "Pear"):
            yield "alloc.by_type.count", f"{whose}::{name}", facts["alloc"]["by_class"][name]
    for name, number in facts.get("counters", {}).get("last", {}).items():
        category, counter = name.split("/", 1)
        if number is not None and category in ("GC", "JIT", "Metadata", "Generics", "Runtime", "Profiler"):
            yield f"counter.{component(category)}.{component(counter)}", whose, number


def main():
    if sys.argv[1] == "--who":
        facts = json.load(open(sys.argv[2]))
        print(f"{facts['names']['domain'][0]}:{facts['header']['pid']}")
        return
    facts, whose = json.load(open(sys.argv[1])), sys.argv[2]
    values, wrong, checked = read(sys.stdin), [], 0
    for metric, instance, number in expected(facts, whose):
        got, checked = values.get((f"apm.mono.{metric}", instance)), checked + 1
        # Times of counters are steps of 100 ns.
        if got is None or got not in (str(number), str(number * 100) if metric.startswith("counter.") else ""):
            wrong.append(f"{metric} {instance}: {got}, not {number}")
    print(*wrong, sep="\n")
    sys.exit(bool(wrong) or checked < 6)


main()
