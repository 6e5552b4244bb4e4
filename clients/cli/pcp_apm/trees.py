"""The slowest calls: their trees of methods, the hot spots of all of them, their stacks."""

import fnmatch
import heapq
import math
import sys
import textwrap

from . import call_tree
from .spans import begins
from .table import at_text, shown, terminal, to_json
from .traces import Records, clock
from .trouble import Trouble

MILLI = 1e6
# Live, how many seconds trees are waited for: a window of the PMDA, and what it waits for names of methods.
PATIENCE = 42.0
# Seconds for what comes with the first one.
BREATH = 1.0
# Trees that are drawn, and methods, if -n does not say.
MOST_TREES, MOST_SPOTS = 5, 20
# Letters of the begin of a trace's id.
LEAST_ID = 4


class Slow(Records):
    """The slow calls of a host or an archive, of services that match, or of a trace."""

    def __init__(self, reader, pattern):
        super().__init__(reader, call_tree.FORMS, call_tree.ONLY, "no trees of calls in this archive",
                         "this pmdaapm has no trees of calls: it is older than them, or was built without the sources that have them: zorka, profiler")
        self.pattern, self.others, self.told, self.came = pattern, set(), False, None
        self.patience = PATIENCE if reader.patient else reader.interval
        # How many calls, when the first and the last one began, and µs of all that were parsed.
        self.number, self.begin, self.end, self.whole = 0, math.inf, 0, 0

    def found(self):
        """What call_tree.call takes of each call."""
        for at, source, kind, instance, what in self.records():
            fields = what.get("parameters", {})
            service, trace = call_tree.whose(source, kind, instance, fields) or (None, None)
            if service is not None and (fnmatch.fnmatch(service, self.pattern) or len(self.pattern) >= LEAST_ID and begins(trace, self.pattern)):
                self.number, self.begin, self.end = self.number + 1, min(self.begin, at), max(self.end, at)
                yield at, source, kind, instance, fields
            elif service is not None:
                self.others.add(service)
        if not self.number:
            self.none()

    def slowest(self, most):
        """The slowest calls. Others are not kept: an archive may have any number."""
        return [call_tree.call(*of) for of in heapq.nlargest(most, self.found(), key=lambda of: (of[-1]["duration"], -of[0]))]

    def calls(self):
        """Each call, of which none is kept."""
        for of in self.found():
            one = call_tree.call(*of)
            self.whole += one.root.total or 0
            yield one

    def enough(self, now, end, waiting):
        """The PMDA makes trees only while somebody reads them: the first one has to wait."""
        if self.number:
            self.came = self.came or now
            return super().enough(now, self.came + min(BREATH, self.reader.interval), waiting)
        if not self.told and self.patience > 1:
            self.told = True
            print(f"pcp-apm: no tree yet: pmdaapm makes them from now on, of the slowest calls; waiting for one, {self.patience:.0f} s at most", file=sys.stderr, flush=True)
        return now >= end - self.reader.interval + self.patience

    def none(self):
        """Why there are none."""
        if self.others:
            names = sorted(map(shown, self.others))
            raise Trouble(f"no slow call of a service or trace {self.pattern}: there are {', '.join(names[:20])}{', ...' if len(names) > 20 else ''}")
        self.nothing("no trees of slow calls", f" came in {self.patience:g} s: no call was as slow as [trees] of apm.toml says (100 ms); run it again, or with a longer -t",
                     "trees are logged while apm.profiler.event.tree and apm.zorka.event.tree are (the group apm/events of pmlogconf)")

    def heading(self):
        """What is shown, in a line."""
        begin, end = self.reader.clock(self.begin), self.reader.clock(self.end)
        number = f"{self.number} slow call{'' if self.number == 1 else 's'}"
        return f"{number}{'' if self.pattern == '*' else f' of {shown(self.pattern)}'} from {begin} to {end[11 if begin[:10] == end[:10] else 0:]}"


def tree(reader, pattern, rows, bottom_up, as_json):
    """The slowest calls, each as a tree; or what took their time, over all of them."""
    slow = Slow(reader, pattern)
    if bottom_up:
        return spots(slow, rows or MOST_SPOTS, as_json)
    chosen = slow.slowest(rows or MOST_TREES)
    if not as_json:
        print(slow.heading() + (f"; the slowest {len(chosen)}:" if len(chosen) < slow.number else ":"))
    for one in chosen:
        if as_json:
            print(to_json(line(one)))
            continue
        about = shown(call_tree.summary(one, clock(reader, one.start)))
        print("", *(textwrap.wrap(about, most) if (most := terminal()) else [about]), "", sep="\n")
        call_tree.table(one).show(False)
        if one.sql:
            print()
            call_tree.statement_table(one).show(False)
    if not as_json:
        traced = next((one.trace for one in chosen if one.trace), None)
        below(slow, [f"pcp apm trace {shown(traced)} has what else belongs to it" if traced else "",
                     "pcp apm events profiler.pause has the pauses" if any(one.suspended for one in chosen) else ""])
    return None


def line(one):
    """A call for programs."""
    return {"table": "tree", "time": at_text(one.start), "duration_ms": one.duration / MILLI, "suspended_ms": None if one.suspended is None else one.suspended / MILLI,
            "service": one.service, "operation": one.operation, "trace": one.trace or None, "thread": one.thread or None, "source": one.source, "instance": one.instance,
            "statements": one.statements or None, "partial": one.partial,
            "sql": [{"executions": executions, "ms": call_tree.ms(us), "statement": words} for executions, us, words in one.sql],
            "tree": [{"depth": node.depth, "total_ms": call_tree.ms(node.total), "self_ms": call_tree.ms(node.own), "stop_ms": call_tree.ms(node.stop),
                      "executions": node.executions, "method": node.name} for node in one.root.walk()]}


def spots(slow, rows, as_json):
    found, whole = call_tree.hot_spots(slow.calls(), rows), slow.whole
    if as_json:
        for name, spot in found:
            print(to_json({"table": "hot_spots", "self_ms": spot.own / 1000, "percent": 100 * spot.own / whole if whole else None, "stop_ms": call_tree.ms(spot.stop),
                           "executions": spot.executions or None, "method": name,
                           "callers": [{"depth": depth, "self_ms": one.own / 1000, "executions": one.executions or None, "method": caller} for depth, caller, one in call_tree.callers(spot)]}))
        return
    print(f"{slow.heading()}, {whole / 1000:.0f} ms in all: methods by their own time", end="\n\n")
    call_tree.spot_table(found, whole).show(False)
    below(slow, [])


def below(slow, lines):
    """What may be missing, and how to go on."""
    lines = [*slow.notes(), *filter(None, lines)]
    if lines:
        print("", *lines, sep="\n")


def folded(reader, pattern, rows, as_json):
    """Their stacks, as flamegraph.pl and speedscope read them."""
    slow = Slow(reader, pattern)
    for frames, us in sorted(call_tree.folded(slow.calls()).items(), key=lambda pair: (-pair[1], pair[0]))[:rows]:
        stack = ";".join(frame.replace(";", ":") for frame in frames)
        print(to_json({"table": "folded", "stack": stack, "us": us}) if as_json else f"{shown(stack)} {us}")
    for note in slow.notes():
        print(f"pcp-apm: {note}", file=sys.stderr)
