"""One view of all runtimes: what a service, or a process, pod or agent does, in the same columns whoever brings it.

columns.py has the columns. One that nothing has a value for is left out of the table; in lines of JSON each key is there.
"""

import fnmatch

from .columns import OF_RUNTIMES, OF_SERVICES, leaves
from .table import Table

SERVICE, RUNTIME = "apm.service.", "apm.runtime."

# Runtimes that are named otherwise than their source, and the source's own metric that has its services.
SOURCE = {"java": "profiler"}
OWN = {"java": "apm.profiler.service.pods", "zorka": "apm.zorka.service.agents", "dotnet": "apm.dotnet.service.processes",
       "mono": "apm.mono.program.processes", "jvm": "apm.jvm.service.processes"}
SERVICES = [SERVICE + leaf for leaf in leaves(OF_SERVICES)]
RUNTIMES = [RUNTIME + leaf for leaf in ("state", *leaves(OF_RUNTIMES))]


def services(reader, pattern, rows):
    """(table, what happened): services and programs, over all of their processes."""
    [between] = reader.between([SERVICES])
    sources = runtimes_of(reader, {name for metric in SERVICES for name in between.instances(metric)})
    return one_view(between, "services", ("SERVICE", "service"), SERVICE, OF_SERVICES, pattern, rows, lambda name: (plain(name), sources[name]))


def runtimes_of(reader, known):
    """{service: its runtime} of apm.service; `None` if nobody knows."""
    sources = {name: labels["runtime"] for *_, desc in reader.known([SERVICE + "instances"]) for name, labels in reader.labels(desc).items() if "runtime" in labels}
    if not known <= set(sources):
        # Archives that were put together of others have lost labels.
        own = {name: set(reader.names(desc).values()) for name, _, desc in reader.known(list(OWN.values()))}
        for name in known - set(sources):
            of = [runtime for runtime, metric in OWN.items() if plain(name) in own.get(metric, ()) and f"{SOURCE.get(runtime, runtime)}::{name}" not in known]
            sources[name] = source_of(name) or (of[0] if len(of) == 1 else None)
    return sources


def runtimes(reader, pattern, rows):
    """(table, what happened): processes, pods and agents."""
    [between] = reader.between([RUNTIMES])
    return one_view(between, "runtimes", ("RUNTIME", "runtime"), RUNTIME, OF_RUNTIMES, pattern, rows, lambda name: (plain(name), source_of(name)))


def source_of(name):
    """The runtime of SOURCE::NAME."""
    source, _, rest = name.partition("::")
    return "java" if source == SOURCE["java"] and rest else source if rest else None


def plain(name):
    """The name in SOURCE::NAME, which services have only where two sources have one of the same name."""
    return name.partition("::")[2] or name


def one_view(between, title, first, base, columns, pattern, rows, named):
    names = {name for leaf in leaves(columns) for name in between.instances(base + leaf)}
    # A peer whose every value is unknown, such as one that may not be read, is one of `pcp apm agents`.
    busy = lambda name: max((between.rate(base + leaf, name) or 0 for leaf in ("calls.time", "cpu.time")), default=0)
    chosen = sorted((name for name in names if matches(name, named(name)[0], pattern)), key=lambda name: (-busy(name), name))[:rows]
    table = Table(title, [(*first, None), ("SOURCE", "source", None), *[column[:3] for column in columns]], leave_out=True)
    for name in chosen:
        seen = max((between.seconds(base + leaf, name) or 0 for leaf in leaves(columns)), default=0) or None
        table.add(*named(name), *[cell(between, one.how, [base + leaf for leaf in one.leaves], name, one.scale) for one in columns], seconds=seen)
    return table, between


def matches(name, shown, pattern):
    return fnmatch.fnmatch(name, pattern) or fnmatch.fnmatch(shown, pattern)


def cell(between, how, metrics, name, scale):
    """A figure of an instance; `None` if it is not known."""
    if how == "rate":
        return between.rate(metrics[0], name, scale)
    if how == "ratio":
        return between.ratio(*metrics, name, scale)
    values = [between.now(metric, name, scale) for metric in metrics]
    if how == "now":
        return values[0]
    return 100 * values[0] / values[1] if values[0] is not None and values[1] else None
