"""What the metrics of services must be, from the calls that a test has made. Standard library only.

    all = Services()
    all.call("shop/orders", ns, failed, [(method, ns, failed)], [(stack, own ns)], {"cpu": ns})
    all.save(path)

    services.py profiler|zorka FILE [sums] [pods] [latency] [silence]     compares a PMDA at the host HOST with such a file; prints what differs
"""

import json
import os
import random
import re
import subprocess
import sys
import time


class Steps:
    """What a peer does from one step of its test to the next: the directory has the files step.N that the test makes, and
    expected.NAME.N with what the services must have after each. present() counts peers by service, play(dice) makes calls."""

    def __init__(self, directory, name, known, present, play, seed):
        self.directory, self.name, self.known, self.present, self.play, self.seed = directory, name, known, present, play, seed
        self.again = 1

    def done(self, step):
        self.known.save(f"{self.directory}/expected.{self.name}.{step}", self.present())
        print("done", step, flush=True)

    def wait(self, step):
        """Until the test wants the next step. Or the same calls again, when the minute of percentiles has gone by: after it has."""
        while not os.path.exists(f"{self.directory}/step.{step}"):
            if os.path.exists(f"{self.directory}/again.{self.again}.{self.name}"):
                time.sleep(65)
                self.known.new_minute()
                self.play(random.Random(self.seed))
                self.done(step - 1)
                print("again", self.again, flush=True)
                self.again += 1
            time.sleep(0.05)


class Services:
    def __init__(self):
        self.services = {}

    def call(self, service, ns, failed, methods, stacks, more=None):
        """One call or span: its duration, the methods that count, the own time of each stack, further sums."""
        of = self.services.setdefault(service, {"count": 0, "errors": 0, "time": 0, "durations": [], "minute": [], "methods": {}, "stacks": {}})
        for name, value in {"count": 1, "errors": int(failed), "time": ns, **(more or {})}.items():
            of[name] = of.get(name, 0) + value
        of["durations"].append(ns)
        of["minute"].append(ns)
        for method, took, bad in methods:
            sums = of["methods"].setdefault(method, [0, 0, 0])
            for n, value in enumerate((1, int(bad), took)):
                sums[n] += value
        for stack, own in stacks:
            of["stacks"][stack] = of["stacks"].get(stack, 0) + own

    def new_minute(self):
        """Percentiles are those of the calls from now on."""
        for of in self.services.values():
            of["minute"] = []

    def save(self, path, present=None):
        """`present`: the peers that are connected, by service."""
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump({"services": self.services, "present": present or {}}, file)
        os.rename(path + ".new", path)


def values(*metrics):
    """{metric: {instance: value}}, of one fetch of each metric."""
    out = subprocess.run(["pminfo", "-h", os.environ["HOST"], "-f", *metrics], capture_output=True, text=True, check=False).stdout
    found, metric = {}, None
    for line in out.splitlines():
        if line.startswith("apm."):
            metric = found.setdefault(line.split()[0], {})
        elif value := re.match(r' +inst \[\d+ or "(.*)"\] value (.*)', line):
            metric[value[1]] = int(value[2])
    return found


def percentile(durations, q):
    return sorted(durations)[-(-len(durations) * q // 100) - 1]


class Check:
    def __init__(self):
        self.wrong = 0

    def same(self, what, got, expected):
        if got != expected:
            self.wrong += 1
            print(f"{what}: got {got}, expected {expected}")

    def near(self, what, got, exact, unit):
        """Within the resolution of a histogram of two digits: the value is the upper end of its range."""
        if got is None or not exact // unit * unit <= got <= exact * 1.01 + unit:
            self.wrong += 1
            print(f"{what}: got {got}, exact {exact}")


# Prefix of the peers' counters, the metric of their number, the unit of durations in ns, the counters.
SOURCES = {
    "profiler": ("apm.profiler.call.", "pods", 1_000_000, ("count", "errors", "time", "cpu", "wait", "memory")),
    "zorka": ("apm.zorka.span.", "agents", 1000, ("count", "errors", "time", "exceptions")),
}


def main():
    source, path = sys.argv[1:3]
    parts = sys.argv[3:] or ["sums", "pods", "latency"]
    of_peer, peers, unit, counters = SOURCES[source]
    own = f"apm.{source}.service."
    with open(path, encoding="utf-8") as file:
        expected = json.load(file)
    seen = values(own[:-1], *(of_peer + c for c in counters))
    check = Check()
    for service, of in expected["services"].items():
        for counter in counters:
            got = seen[own + counter].get(service)
            check.same(f"{service} {counter}", got, of[counter])
            if "sums" in parts and of_peer + counter in seen:
                each = [v for name, v in seen[of_peer + counter].items() if name.startswith(service + "/")]
                check.same(f"{service} {counter}, sum of {len(each)}", sum(each), got)
        histogram = {}
        for name, calls in seen[own + "histogram"].items():
            if name.startswith(service + "::"):
                low, high = name.split("::")[1].split("-")
                histogram[int(low), float(high)] = calls
        for (low, high), calls in histogram.items():
            check.same(f"{service} {low}-{high}", calls, sum(low * unit <= d < high * unit for d in of["durations"]))
        check.same(f"{service} all in ranges", sum(histogram.values()), of["count"])
        for method, sums in of["methods"].items():
            got = [seen[own + "method." + m].get(f"{service}::{method}") for m in ("count", "errors", "time")]
            check.same(f"{service} {method}", got, sums)
        got = {name: v for name, v in seen[own + "stack.time"].items() if name.startswith(service + ",") and v}
        check.same(f"{service} stacks", got, {f"{service},{stack}": ns for stack, ns in of["stacks"].items() if ns})
        if "pods" in parts:
            check.same(f"{service} {peers}", seen[own + peers].get(service), expected["present"].get(service, 0))
        if "latency" in parts:
            for q in (50, 95, 99):
                got = seen[own + f"latency.p{q}"].get(service)
                check.near(f"{service} p{q}", got, percentile(of["minute"], q), unit)
            check.near(f"{service} max", seen[own + "latency.max"].get(service), max(of["minute"]), unit)
        if "silence" in parts:
            check.same(f"{service} p99", seen.get(own + "latency.p99", {}).get(service), None)
    if not expected["services"]:
        check.wrong += 1
        print("nothing is expected")
    sys.exit(bool(check.wrong))


if __name__ == "__main__":
    main()
