"""What a page of an archive has in it: values at times that are evenly apart, as PCP interpolates them, and traces. pmproxy has no contexts of archives."""

import json
import math
import os

import cpmapi as c

from . import runtimes
from .results import ns
from .spans import Traces, canonical, once
from .traces import Records
from .trouble import Trouble

# Times of a page, the least of them, and values of all times together: 10 bytes each.
MOST_TIMES, LEAST_TIMES, MOST_VALUES = 240, 30, 1_500_000
# Traces that a page has, of each of these: those that failed, the slowest, the slowest over several services; spans of all of them, and of one: the
# page keeps no more of it.
MOST_TRACES, MOST_SPANS, MOST_OF_ONE = 100, 5000, 1000
RANKS = (lambda one: one.duration if one.errors else None, lambda one: one.duration, lambda one: one.duration if len(one.services) > 1 else None)
SECOND, MILLI = 10**9, 1e6
SEMANTICS = {c.PM_SEM_COUNTER: "counter", c.PM_SEM_INSTANT: "instant", c.PM_SEM_DISCRETE: "discrete"}
TYPES = {c.PM_TYPE_32: "32", c.PM_TYPE_U32: "u32", c.PM_TYPE_64: "64", c.PM_TYPE_U64: "u64", c.PM_TYPE_FLOAT: "float", c.PM_TYPE_DOUBLE: "double", c.PM_TYPE_STRING: "string"}


def wanted(name):
    """Metrics that a page shows: neither records nor what is there for other programs."""
    parts = name.split(".")
    return len(parts) > 2 and not {"param", "control"} & set(parts) and ("event" not in parts or parts[-1] in ("count", "lost"))


def put(column, n, value):
    """Puts the value at a time into a column: the first time that it has one, and its values from there on. What comes and goes takes no more room
    than it has values."""
    if not column:
        column.append(n)
    column += [None] * (n - column[0] - len(column) + 1)
    column.append(None if isinstance(value, float) and not math.isfinite(value) else value)


def written(column, number):
    """A column as the page has it: a value that is the same at all times stands alone."""
    return column[1] if len(column) == number + 1 and column[1] is not None and all(value == column[1] for value in column[1:]) else column


def past(reader, archive):
    """The data of a page, as JSON that can stand in one."""
    window, names = reader.window(), []
    reader.context.pmTraversePMNS("apm", names.append)
    known = [one for one in reader.known(sorted(filter(wanted, names))) if one[2].contents.type in TYPES]
    kinds = {pmid: desc.contents.type for _, pmid, desc in known}
    begin = max(window.start, ns(reader.context.pmGetArchiveLabel().start))
    length = window.finish - begin
    if length < 2 * SECOND:
        raise Trouble(f"{reader.clock(begin)} to {reader.clock(window.finish)} is too short for a page: it takes 2 s of an archive")
    # A time without any values says nothing of how many there are.
    each = max(1, *(sum(map(len, window.at(begin + length * part // 4, kinds).values())) for part in (1, 2, 3, 4)))
    number = max(LEAST_TIMES, min(MOST_TIMES, MOST_VALUES // each))
    number = max(2, min(number, length // SECOND + 1))
    times = [begin + length * n // (number - 1) for n in range(number)]
    found = {name: {} for name, *_ in known}
    for n, at in enumerate(times):
        for name, of in reader.named(known, window.at(at, kinds)).items():
            for instance, value in of.items():
                put(found[name].setdefault(instance or "", []), n, value)
    if not any(found.values()):
        raise Trouble(f"no values of this between {reader.clock(begin)} and {reader.clock(window.finish)}")
    metrics = {name: {"sem": SEMANTICS.get(desc.contents.sem, ""), "type": TYPES[desc.contents.type], "units": reader.context.pmUnitsStr(desc.contents.units),
                      "values": {instance: written(column, number) for instance, column in found[name].items()}} for name, _, desc in known if found[name]}
    of = runtimes.runtimes_of(reader, {name for metric in runtimes.SERVICES for name in found.get(metric, {})})
    sources = {name: runtimes.SOURCE.get(runtime, runtime) for name, runtime in of.items() if runtime}
    spans, notes = spans_of(reader)
    host = reader.context.pmGetArchiveLabel().hostname
    data = {"version": 1, "host": host.decode("utf-8", "replace") if isinstance(host, bytes) else str(host), "archive": os.path.basename(archive.rstrip("/")),
            "times": [at / SECOND for at in times], "metrics": metrics, "sources": sources, "spans": spans, "notes": notes}
    # Nothing in it ends the element that it stands in.
    return json.dumps(data, separators=(",", ":"), ensure_ascii=True, allow_nan=False).replace("<", "\\u003c")


def spans_of(reader):
    """(spans of the traces that failed and the slowest ones, what is to be said of them)."""
    try:
        records, ranked = Records(reader), [Traces(rank, MOST_TRACES) for rank in RANKS]
    except Trouble as missing:
        return [], [str(missing)]
    for one in records.spans():
        for best in ranked:
            best.add(one)
    number = ranked[0].number
    if not number:
        return [], ["no spans were logged in this time"]
    chosen, found, left = {canonical(one.id) for best in ranked for one in best.best()}, [], 0
    seen = {trace: set() for trace in chosen}
    for one in Records(reader).spans():
        there = seen.get(canonical(one.trace))
        if there is None or once(one) in there:
            continue
        # Who knows the id of a trace can send any number of spans of it.
        if len(found) >= MOST_SPANS or len(there) >= MOST_OF_ONE:
            left += 1
            continue
        there.add(once(one))
        found.append([f"{one.source}.{'span' if one.source == 'zorka' else 'call'}", one.instance, one.trace, one.id, one.parent, one.service, one.operation, one.role,
                      one.start / MILLI, one.duration / MILLI, one.failed, one.fault, one.depth, one.thread])
    notes = [f"{len(chosen)} of {number} are here, those that failed and the slowest"] if number > len(chosen) else []
    return found, notes + ([f"up to {left} of their spans are not here"] if left else [])


def filled(page, data):
    """A page with the data in it."""
    mark = b"<noscript>"
    # The page itself names the element, if it knows archives.
    if mark not in page or b"'apm-archive'" not in page:
        raise Trouble("the page that is installed is an older one: run Install again")
    return page.replace(mark, b'<script type="application/json" id="apm-archive">' + data.encode("ascii") + b"</script>\n" + mark, 1)
