#!/usr/bin/python3
"""Distributed traces whose every span is known, and what pcp apm says of them.

usage: traces.py send TRUTH              plays agents of Zorka and of the Java profiler (ZORKA_PORT, PROFILER_PORT), writes what they sent
       traces.py list TRUTH COMMAND...   compares the table of `COMMAND... -j traces`, with all and with failed ones
       traces.py draw TRUTH COMMAND...   compares the tree of each, `COMMAND... -j trace ID`; ids are said by their first twelve digits

Of 40 traces: calls over up to five services, in up to four levels, with failures in some. A service without an agent in some, so that spans
have causes without a record; agents that send each trace in five sessions, as one that is set to jaeger does; agents that make no ids; older
ones; and a pod of the profiler, which says the id of the trace only, and writes it without the zeros before it.
"""

import calendar
import json
import os
import random
import re
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import profiler_made  # noqa: E402
from zorka_made import TICK, Call, Legacy, Modern  # noqa: E402

SERVICES = ["gate", "orders", "billing", "stock", "mail"]
METHOD = "void shop.print.Printer.print() (Printer.java:1) [print.jar]"
QUARTER = 250_000  # ns: what durations are multiples of


class Span:
    """A span to be sent: what is below it in its process, and a call of another service. ids: whether its agent makes any."""

    def __init__(self, dice, service, kind, below=(), remote=None, ids=True):
        self.service, self.kind, self.below, self.remote = service, kind, list(below), remote
        self.id = dice.getrandbits(64) or 1 if ids else 0
        self.ns = sum(span.ns for span in self.below) + dice.randrange(1, 80) * QUARTER + (remote.ns + 3_000_000 if remote else 0)
        # What fails in its process has failed too, as agents say it.
        self.own = dice.random() < 0.04
        self.failed = self.own or any(span.failed for span in self.below)
        number = dice.randrange(1000)
        if kind == "db":
            self.attributes, self.operation = {"db.statement": f"select {number} from {service}", "db.type": "sql"}, f"db select {number} from {service}"
        else:
            self.attributes = {"http.url": f"/{service}/{number}", "http.method": "GET", "span.kind": "CLIENT" if remote else "SERVER"}
            self.operation = f"http GET /{service}/{number}"

    def call(self, parent=0):
        """As its process sends it."""
        error = (f"shop.{self.service.title()}Failed", f"number {self.ns // QUARTER}") if self.own else None
        signed = lambda n: n - (1 << 64) if n >> 63 else n
        return Call(f"shop.{self.service.title()}.{self.kind}", self.ns / 1e6, self.kind, self.attributes, [span.call(self.id) for span in self.below], error,
                    signed(self.id), signed(parent))

    def parts(self, start, parent=None):
        """(root, begin in ms, what caused it) of each process."""
        yield self, start, parent
        for span, at, _ in self.within(start * 10**6):
            if span.remote:
                yield from span.remote.parts(at // 10**6 + 1, span)

    def within(self, at, depth=0):
        """(span, begin in ns, depth) of each in its process."""
        yield self, at, depth
        for span in self.below:
            yield from span.within(at, depth + 1)
            at += span.ns


def calls(dice, levels, services, ids=True):
    """A request that a service gets: statements and calls of others."""
    service, below = services[0], []
    for _ in range(dice.randrange(4)):
        others = [other for other in services[1:] if dice.random() < 0.7]
        if levels > 1 and others and dice.random() < 0.6:
            below.append(Span(dice, service, "http", remote=calls(dice, levels - 1, [others[0], *[o for o in services if o != others[0]]], ids), ids=ids))
        else:
            below.append(Span(dice, service, "db", ids=ids))
    return Span(dice, service, "http", below, ids=ids)


def row(trace, service, operation, at, ns, failed=False, span=None, parent=None, depth=0, seen=None, **also):
    """What is to be seen of a span. at: ns."""
    return {"trace": trace, "service": service, "operation": operation, "start": at, "duration": ns, "failed": failed, "span": span, "parent": parent, "depth": depth,
            "parent_seen": seen, **also}


def rows(root, trace, start, without=None):
    """All spans of a trace but those of the service that has no agent."""
    depths, made = {}, []
    for part, begin, cause in root.parts(start):
        if part.service == without:
            continue
        known = cause is not None and id(cause) in depths
        first = depths[id(cause)] + 1 if known else 0
        around = {}
        for span, at, depth in part.within(begin * 10**6):
            depths[id(span)] = first + depth
            around[depth] = span
            parent = around[depth - 1] if depth else cause
            fault = {"fault": f"shop.{span.service.title()}Failed: number {span.ns // QUARTER}, at shop.{span.service.title()}.{span.kind}(Shop.java:42)"}
            made.append(row(trace, span.service, span.operation, at, span.ns, span.failed, f"{span.id:016x}" if span.id else None,
                            f"{parent.id:016x}" if parent and parent.id else None, first + depth, None if parent is None else known or depth > 0,
                            **(fault if span.own else {} if span.failed else {"fault": None})))
    return made


def send(path):
    port, dice = int(os.environ["ZORKA_PORT"]), random.Random(31)
    agents = {service: Modern(port, service, "app1") for service in SERVICES}
    several = [Modern(port, "mail", "app2") for _ in range(5)]
    old = Legacy(port, "old", "shop", "test")
    pod = profiler_made.Pod(int(os.environ["PROFILER_PORT"]), "shop", "print", "print-1", [METHOD], indexed=["web.url", "web.method", "trace.id"])
    truth, start = [], int(time.time() * 1000) - 60_000
    for n in range(40):
        kind = {3: "old", 5: "no ids", 6: "repeated", 7: "no agent", 8: "pod"}.get(n % 10, "")
        trace, start = "%032x" % dice.getrandbits(128), start + dice.randrange(100, 1000)
        if kind == "old":
            ticks = dice.randrange(50, 3000)
            span = Call("shop.Old.get", ticks * TICK / 1e6, "HTTP", {"URI": "/old"})
            old.send(span, trace=trace, clock=start)
            # Older agents have another form of the id.
            truth.append([row(None, "shop", "HTTP /old", start * 10**6, ticks * TICK)])
            continue
        if kind == "pod":
            trace = "0" * 16 + trace[16:]
        services = {"repeated": ["mail"], "no ids": ["stock"]}.get(kind) or ["gate", *dice.sample(SERVICES[1:], 4)]
        root = calls(dice, 1 if kind in ("repeated", "no ids") else 4, services, kind != "no ids")
        without = services[1] if kind == "no agent" else None
        known = rows(root, trace, start, without)
        # Processes send in no order.
        for part, begin, cause in dice.sample(parts := list(root.parts(start)), len(parts)):
            for agent in several if kind == "repeated" else [agents[part.service]]:
                if part.service != without:
                    agent.send(part.call(cause.id if cause else 0), trace=trace, clock=begin)
        if kind == "pod":
            ms = dice.randrange(5, 900)
            pod.calls([profiler_made.Call(METHOD, ms, n % 20 == 8, values={"web.url": "/print", "web.method": "POST", "trace.id": trace[16:]}, start=start + 2)])
            known.append(row(trace, "shop/print", "POST /print", (start + 2) * 10**6, ms * 10**6, n % 20 == 8, seen=False))
        truth.append(known)
    # Behind all calls: those that took long wait for no other.
    if "PAUSED" in os.environ:
        pod.pause(1)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(truth, file)
    print("sent", sum(map(len, truth)), "spans of", len(truth), "traces", flush=True)
    while True:
        time.sleep(60)


def said(command):
    """The lines of JSON of a command."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode or done.stderr:
        print(f"{command[-3:]}: status {done.returncode}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def begin(text):
    """ns since 1970 of a time in JSON."""
    return calendar.timegm(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S")) * 10**9 + int(text[20:29])


def differ(what, got, expected):
    """Prints what is not as it should be; the number of figures."""
    for key in expected:
        if got.get(key) != expected[key]:
            print(f"{what}: {key} {got.get(key)}, not {expected[key]}")
    return len(expected)


def summary(known):
    """The line of the table that a trace has to have."""
    root = min(known, key=lambda r: (bool(r["parent"]), r["depth"], not r["span"], r["start"]))
    start, end = min(r["start"] for r in known), max(r["start"] + r["duration"] for r in known)
    return {"duration": end - start, "start": start, "spans": len(known), "errors": sum(r["failed"] for r in known), "service": root["service"],
            "operation": root["operation"], "names": sorted({r["service"] for r in known}), "services": len({r["service"] for r in known})}


def exact(one):
    """A line with its times in ns."""
    return {**one, "start": begin(one["time"]), "duration": round(one["duration_ms"] * 1e6)}


def table(truth, command):
    """Compares the tables. Rows are known by their begin, which no two have."""
    expected, figures = {(s := summary(known))["start"]: s for known in truth}, 0
    for words, wanted, order in [([], expected, "duration"),
                                 (["-e"], {k: s for k, s in expected.items() if s["errors"]}, "start")]:
        got = list(map(exact, said([*command, "-j", "-n", "1000", *words, "traces"])))
        for one in got:
            figures += differ(f"traces {words} {one['trace']}", one, wanted.get(one["start"], {"there": True}))
        if len(got) != len(wanted) or got != sorted(got, key=lambda one: -one[order]):
            print(f"traces {words}: {len(got)} of {len(wanted)} rows, or not in order")
    print(f"{figures} figures of tables")


def draw(truth, command):
    """Compares the trees."""
    figures = number = 0
    for known in truth:
        trace = known[0]["trace"]
        if trace is None:
            continue
        got, rest = map(exact, said([*command, "-j", "trace", trace.removeprefix("0" * 16)[:12]])), list(known)
        first, above = min(r["start"] for r in known), {}
        for one in got:
            above[one["depth"]] = one
            if round(one["at_ms"] * 1e6) != one["start"] - first:
                print(f"trace {trace}: {one['span']} is at {one['at_ms']}")
            if one["depth"] and one["parent"] and above[one["depth"] - 1]["span"] != one["parent"]:
                print(f"trace {trace}: {one['span']} is not below {one['parent']}")
            match = next((r for r in rest if r["span"] in (None, one["span"]) and (r["operation"], r["start"]) == (one["operation"], one["start"])), None)
            if match is None:
                print(f"trace {trace}: {one} was not sent")
                continue
            rest.remove(match)
            if match["span"] is None and one["source"] == "zorka":
                # Of an agent that makes no ids, the PMDA makes them.
                around = above[one["depth"] - 1]["span"] if one["depth"] else None
                match = {**match, "span": (re.fullmatch("[0-9a-f]{16}", one["span"] or "") or ["16 digits"])[0], "parent": around}
            figures += differ(f"trace {trace} {one['span']}", one, {key: value for key, value in match.items() if key != "trace"})
        for one in rest:
            print(f"trace {trace}: {one} is missing")
        number += 1
    print(f"{figures} figures of {number} trees")


if __name__ == "__main__":
    if sys.argv[1] == "send":
        send(sys.argv[2])
    with open(sys.argv[2], encoding="utf-8") as truth_file:
        {"list": table, "draw": draw}[sys.argv[1]](json.load(truth_file), sys.argv[3:])
