"""The metrics that panels may name, with the unit that Grafana shows."""
import json
import re


class Mistake(Exception):
    """A board names what does not exist or shows it in a wrong unit."""


# Metrics that peers bring are no rows of the catalogue, only their trees are: semantics and units of
# those that boards use. qa/085 compares them with the descriptors of a running PMDA.
BROUGHT = {
    "apm.mono.counter.gc.minor_gc_time": ("counter", "nanosec"),
    "apm.mono.counter.gc.major_gc_time": ("counter", "nanosec"),
    "apm.mono.counter.gc.world_stop": ("counter", "nanosec"),
    "apm.mono.counter.gc.minor_gc_collections": ("counter", "count"),
    "apm.mono.counter.gc.major_gc_collections": ("counter", "count"),
    "apm.mono.counter.gc.memgov_alloc": ("instant", "byte"),
    "apm.mono.counter.jit.total_time_spent_jitting": ("counter", "nanosec"),
    "apm.mono.counter.jit.compiled_methods": ("counter", "count"),
    "apm.mono.counter.runtime.valloc_sgen_los": ("instant", "byte"),
    "apm.mono.counter.system.working_set": ("instant", "byte"),
    "apm.mono.counter.system.private_bytes": ("instant", "byte"),
    "apm.mono.counter.system.user_time": ("counter", "nanosec"),
    "apm.mono.counter.system.system_time": ("counter", "nanosec"),
    "apm.mono.counter.system.page_faults": ("counter", "count"),
}

# Units of what is shown: a counter as its rate, a counter of time as a share of time.
SHOWN = {
    ("counter", "count"): ("cps",),
    ("counter", "byte"): ("binBps",),
    ("counter", "nanosec"): ("percentunit",),
    ("value", "count"): ("short",),
    ("value", "byte"): ("bytes",),
    ("value", "nanosec"): ("ns",),
    ("value", "millisec"): ("ms", "dateTimeAsIso"),
    ("value", "count/sec"): ("cps",),
    ("value", "none"): ("none", "bool", "percent", "string"),
}


class Metric:
    """Name, semantics, units and instance domain of a metric."""

    def __init__(self, name, semantics, units, indom="", kind="U64"):
        self.name, self.semantics, self.units = name, semantics, units
        self.indom, self.kind = indom, kind
        self.counter = semantics == "counter"
        self.text = kind == "STRING"

    def shown(self):
        """The units that a panel of this metric may have, the usual one first."""
        if self.text:
            return ("string",)
        return SHOWN["counter" if self.counter else "value", self.units]


# A row of docs/metrics.md: name, type, semantics, units, instances. Of trees (NAME.*) only the name and the last.
ROW = re.compile(r"^\| `([a-z0-9_.]+?)(\.\*)?` \| (\w*) ?\| (\w*) ?\| ([\w/]*) ?\| ([\w ]*?) ?\|", re.M)


def of_page(text):
    """docs/metrics.md, which is made of the same tables, as `pmdaapm --catalogue` has it."""
    found = {"metrics": [], "trees": []}
    for name, tree, kind, semantics, units, indom in ROW.findall(text):
        row = {"name": name, "type": kind, "semantics": semantics, "units": units, "indom": indom}
        found["trees" if tree else "metrics"].append(row)
    return found


class Catalogue:
    """All metrics by name, of docs/metrics.md or of the output of `pmdaapm --catalogue`."""

    def __init__(self, text):
        found = json.loads(text) if text.startswith("{") else of_page(text)
        self.metrics = {
            m["name"]: Metric(m["name"], m["semantics"], m["units"], m["indom"], m["type"])
            for m in found["metrics"]
        }
        trees = tuple(t["name"] + "." for t in found["trees"])
        for name, (semantics, units) in BROUGHT.items():
            if not name.startswith(trees):
                raise Mistake(f"{name}: no tree of the catalogue has such metrics")
            self.metrics[name] = Metric(name, semantics, units, "brought")

    def metric(self, name):
        """The metric of that name."""
        if name not in self.metrics:
            raise Mistake(f"{name}: unknown metric")
        return self.metrics[name]
