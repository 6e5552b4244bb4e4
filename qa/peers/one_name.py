"""Leaves of apm.runtime and apm.service beside what the sources call them, in one fetch. Status 1: they differ, or a source
or leaf has no value; what is in the last line."""

import sys

import cpmapi as c
from pcp import pmapi

OWN = {
    "dotnet": {
        "cpu.time": ["apm.dotnet.cpu.time"], "cpu.user": ["apm.dotnet.cpu.time::user"], "heap.used": ["apm.dotnet.gc.heap.total"],
        "gc.count": ["apm.dotnet.gc.count::gen0"], "gc.time": ["apm.dotnet.gc.time"], "gc.pause.time": ["apm.dotnet.gc.pause.total"],
        "alloc.bytes": ["apm.dotnet.alloc.bytes"], "exceptions.count": ["apm.dotnet.exceptions.count"],
        "lock.time": ["apm.dotnet.lock.contention.time"], "jit.time": ["apm.dotnet.jit.time"],
    },
    "profiler": {
        "calls.count": ["apm.profiler.call.count"], "calls.errors": ["apm.profiler.call.errors"], "calls.time": ["apm.profiler.call.time"],
        "lock.time": ["apm.profiler.call.wait"], "gc.pause.count": ["apm.profiler.gc.count"],
    },
    "zorka": {"calls.count": ["apm.zorka.span.count"], "exceptions.count": ["apm.zorka.exception.count"]},
    "mono": {
        "cpu.time": ["apm.mono.counter.system.user_time", "apm.mono.counter.system.system_time"],
        "gc.count": ["apm.mono.counter.gc.minor_gc_collections", "apm.mono.counter.gc.major_gc_collections"],
        "memory.resident": ["apm.mono.counter.system.working_set"],
    },
}
SERVICE = {
    "dotnet": {
        "instances": "apm.dotnet.service.processes", "cpu.time": "apm.dotnet.service.cpu.time", "gc.count": "apm.dotnet.service.gc.count",
        "gc.pause.p95": "apm.dotnet.service.gc.pause.p95", "exceptions.count": "apm.dotnet.service.exceptions.count",
    },
    "profiler": {
        "instances": "apm.profiler.service.pods", "calls.count": "apm.profiler.service.count", "calls.time": "apm.profiler.service.time",
        "latency.p95": "apm.profiler.service.latency.p95",
    },
    "zorka": {"instances": "apm.zorka.service.agents", "calls.count": "apm.zorka.service.count", "latency.max": "apm.zorka.service.latency.max"},
    "mono": {
        "instances": "apm.mono.program.processes", "restarts": "apm.mono.program.starts", "gc.count": "apm.mono.program.gc.count",
        "cpu.user": "apm.mono.program.counter.system.user_time",
    },
}


def fetch(context, names):
    """Values in nanoseconds, bytes and counts by metric and instance."""
    pmids = context.pmLookupName(names)
    descs = context.pmLookupDescs(pmids)
    result = context.pmFetch(pmids)
    values = {}
    for n, name in enumerate(names):
        instances = dict(zip(*context.pmGetInDom(descs[n])))
        unit = 1000 ** descs[n].contents.units.scaleTime if descs[n].contents.units.dimTime == 1 else 1
        values[name] = {}
        for v in range(result.contents.get_numval(n)):
            atom = context.pmExtractValue(result.contents.get_valfmt(n), result.contents.get_vlist(n, v),
                                          descs[n].contents.type, c.PM_TYPE_U64)
            instance = instances.get(result.contents.get_inst(n, v))
            if instance is not None:
                values[name][instance] = atom.ull * unit
    context.pmFreeResult(result)
    return values


def of_peer(values, metric, peer):
    """The value of a peer, or the sum over its rows."""
    metric, _, row = metric.partition("::")
    found = values[metric]
    rows = [v for i, v in found.items() if i == peer or i.startswith(peer + "::") and (not row or i == f"{peer}::{row}")]
    return sum(rows) if rows else None


def main():
    context = pmapi.pmContext(c.PM_CONTEXT_HOST, sys.argv[1])
    own = {m.partition("::")[0] for leaves in OWN.values() for ms in leaves.values() for m in ms}
    of_services = {m for leaves in SERVICE.values() for m in leaves.values()}
    runtime = {f"apm.runtime.{leaf}" for leaves in OWN.values() for leaf in leaves}
    service = {f"apm.service.{leaf}" for leaves in SERVICE.values() for leaf in leaves}
    values = fetch(context, sorted(own | of_services | runtime | service))
    compared, wrong = {}, []

    def compare(what, got, expected):
        compared[what] = compared.get(what, 0) + (expected is not None)
        if got != expected:
            wrong.append(f"{what}: {got}, not {expected}")

    for source, leaves in OWN.items():
        for leaf, metrics in leaves.items():
            shown = values[f"apm.runtime.{leaf}"]
            peers = {i.partition("::")[2] for i in shown if i.startswith(source + "::")}
            for peer in peers | {i for m in metrics if "::" not in m for i in values[m] if "::" not in i}:
                parts = [of_peer(values, m, peer) for m in metrics]
                known = [p for p in parts if p is not None]
                if known or source != "mono":
                    compare(f"{source} {leaf}", shown.get(f"{source}::{peer}"), sum(known) if known else None)
    for source, leaves in SERVICE.items():
        for leaf, metric in leaves.items():
            for name, value in values[metric].items():
                got = values[f"apm.service.{leaf}"]
                compare(f"service {source} {leaf}", got.get(name, got.get(f"{source}::{name}")), value)
    few = [what for what, n in compared.items() if n < 2]
    print(f"{len(compared)} leaves of sources, without two values: {few}; wrong: {wrong[:5]}")
    return bool(few or wrong)


sys.exit(main())
