#!/usr/bin/env python3
"""Compares what `pminfo -f apm.zorka` shows of captures with what an independent decoder made of them.

usage: zorka_facts.py [--before FILE] [--renamed] [--expected FILE] [--instance NAME] CAPTURE... < output of pminfo

A CAPTURE is a path that ends as a key of qa/corpus/zorka/expected.json. Several that were played one after the other by one agent are
added up. The agent is the instance whose requests have grown since BEFORE, the output of pminfo before the captures were played:
counters, also those of tables that agents share, are compared by their growth. --renamed leaves out bytes and symbols, which another
name changes. Prints each difference, or `N facts agree`.
"""

import argparse
import collections
import json
import os
import re
import sys

ENDPOINTS = ("register", "session", "agd", "trc")


def values(text):
    """{metric: {instance: value}}; metrics without instances have the instance None."""
    found, metric = collections.defaultdict(dict), None
    for line in text.splitlines():
        if line.startswith("apm."):
            metric = line.split()[0].removeprefix("apm.zorka.")
            continue
        match = re.match(r'\s+(?:inst \[\d+ or "(.*)"\] )?value (.*)$', line)
        if match:
            value = match[2]
            found[metric][match[1]] = int(value) if re.fullmatch(r"-?\d+", value) else value.strip('"')
    return found


class Facts:
    def __init__(self, before, after):
        self.before, self.after, self.agreed, self.differ = before, after, 0, []

    def grown(self, metric):
        """How much each instance of a counter has grown."""
        before = self.before.get(metric, {})
        rows = {name: value - before.get(name, 0) for name, value in self.after.get(metric, {}).items()}
        return {name: value for name, value in rows.items() if value}

    def same(self, what, got, expected):
        if got == expected:
            self.agreed += 1
        else:
            self.differ.append(f"{what} is {got}, expected {expected}")

    def counter(self, metric, instance, expected):
        """A counter must exist, also if it is 0."""
        there = instance in self.after.get(metric, {})
        self.same(f"{metric}[{instance}]", self.grown(metric).get(instance, 0) if there else None, expected)

    def table(self, metric, expected):
        """A table has these rows and no others; rows of 0 are none."""
        got, expected = self.grown(metric), {name: value for name, value in expected.items() if value}
        for name in sorted(got.keys() | expected.keys()):
            self.same(f"{metric}[{name}]", got.get(name, 0), expected.get(name, 0))


def added(captures):
    """The sums of captures, in the form of one."""
    if len(captures) == 1:
        return captures[0]
    total = {}
    for capture in captures:
        _add(total, capture, None)
    for live in ("symbols_live", "methods_live"):
        total[live] = captures[-1][live]
    return total


def _add(total, part, key):
    for key, value in part.items():
        if isinstance(value, dict):
            _add(total.setdefault(key, {}), value, key)
        elif key == "max_ns":
            total[key] = max(total.get(key, 0), value)
        else:
            total[key] = total.get(key, 0) + value


def compare(facts, expected, instance, renamed):
    e, name = expected, instance
    counter = facts.counter
    for endpoint in ENDPOINTS:
        counter(f"request.{endpoint}.count", name, e["requests"].get(endpoint, 0))
        # A session is asked for with the id and key that this collector has given.
        if not renamed and endpoint != "session":
            counter(f"request.{endpoint}.bytes", name, e["body_bytes"].get(endpoint, 0))
    if not renamed:
        counter("definition.symbols", name, e["symbols_received"])
    if not renamed:
        facts.same("symbols", facts.after["symbols"].get(name), e["symbols_live"])
    counter("definition.methods", name, e["methods_received"])
    facts.same("methods", facts.after["methods"].get(name), e["methods_live"])
    counter("reset.count", name, e["resets"])
    counter("trace.count", name, e["requests"].get("trc", 0))
    counter("trace.ids", name, e["trace_ids"])
    counter("record.received", name, e["records"])
    counter("record.count", name, e["records_once"])
    counter("record.modern", name, e["dialects"].get("M", 0))
    counter("record.legacy", name, e["dialects"].get("L", 0))
    counter("unclosed.count", name, e["unclosed"])
    counter("decode_errors", name, e["decode_errors"])
    spans = e["spans"]
    counter("span.received", name, e["spans_all"])
    counter("span.count", name, sum(s["count"] for s in spans.values()))
    counter("span.errors", name, sum(s["errors"] for s in spans.values()))
    counter("span.time", name, sum(s["sum_ns"] for s in spans.values()))
    counter("overflow.count", name, sum(s["overflow"] for s in spans.values()))
    counter("exception.count", name, sum(e["exceptions_once"].values()))
    counter("exception.received", name, sum(e["exceptions"].values()))
    counter("duplicate.count", name, 0)
    counter("dropped.count", name, 0)
    for metric, fact in (("count", "count"), ("errors", "errors"), ("time", "sum_ns"), ("calls", "calls"), ("overflow", "overflow")):
        facts.table(f"type.{metric}", {f"{name}::{kind}": span[fact] for kind, span in spans.items()})
    for kind, span in spans.items():
        row = f"{name}::{kind}"
        most = max(span["max_ns"], facts.before.get("type.max", {}).get(row, 0))
        facts.same(f"type.max[{row}]", facts.after.get("type.max", {}).get(row), most)
        # The greatest duration of a sliding minute, to two digits; there while the agent is connected.
        # That of before may have left the minute.
        got = facts.after.get("type.latency.max", {}).get(row)
        known = {span["max_ns"], max(span["max_ns"], facts.before.get("type.latency.max", {}).get(row, 0))}
        near = got is not None and any(abs(got - most) * 100 <= most for most in known)
        facts.same(f"type.latency.max[{row}]", got, got if near else known)
    facts.table("exception.class.count", e["exceptions_once"])
    facts.table("exception.class.received", e["exceptions"])
    methods = collections.defaultdict(collections.Counter)
    for method, sums in e["methods"].items():
        # Instances are without the types of arguments.
        methods[method.partition("(")[0]].update({fact: sums[fact] for fact in ("recs", "errors", "sum_ns", "self_ns")})
    for metric, fact in (("count", "recs"), ("errors", "errors"), ("total_time", "sum_ns"), ("self_time", "self_ns")):
        facts.table(f"method.{metric}", {method: sums[fact] for method, sums in methods.items()})
    longest = collections.Counter()
    for method, sums in e["methods"].items():
        row = method.partition("(")[0]
        longest[row] = max(longest[row], sums["max_ns"], facts.before.get("method.max", {}).get(row, 0))
    for row, most in longest.items():
        # A call of 0 ticks raises nothing.
        facts.same(f"method.max[{row}]", facts.after.get("method.max", {}).get(row, 0), most)
    # What follows from the others.
    total = facts.grown("method.total_time")
    for method, time in facts.grown("method.time").items():
        facts.same(f"method.time[{method}] is within total_time", time <= total.get(method, 0), True)
    facts.same("sum of type.histogram", sum(facts.grown("type.histogram").values()), sum(s["count"] for s in spans.values()))
    facts.same("sum of stack.time", sum(facts.grown("stack.time").values()), sum(m["self_ns"] for m in e["methods"].values()))


CORPUS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "corpus", "zorka", "expected.json")


def compared(paths, before, after, known=CORPUS, instance=None, renamed=False):
    """Facts of captures that one agent has played between two outputs: how many agree, and lines about the others."""
    with open(known, encoding="utf-8") as file:
        known = json.load(file)
    expected = added([known["/".join(path.split("/")[-2:])] for path in paths])
    facts = Facts(before, after)
    grown = {instance} if instance else {name for e in ENDPOINTS for name in facts.grown(f"request.{e}.count")}
    if len(grown) != 1:
        return 0, [f"the agent is not one instance: {sorted(grown)}"]
    compare(facts, expected, grown.pop(), renamed)
    return facts.agreed, facts.differ


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before")
    parser.add_argument("--renamed", action="store_true")
    parser.add_argument("--expected", default=CORPUS)
    parser.add_argument("--instance")
    parser.add_argument("captures", nargs="+")
    args = parser.parse_args()
    before = {}
    if args.before:
        with open(args.before, encoding="utf-8") as file:
            before = values(file.read())
    agreed, differ = compared(args.captures, before, values(sys.stdin.read()), args.expected, args.instance, args.renamed)
    for line in differ:
        print(line)
    print(f"{agreed} facts agree" + (f", {len(differ)} do not" if differ else ""))
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
