"""The tree of methods of one slow call, out of its record, and what is drawn of some of them. No I/O.

The text of a record (docs/events.md): DEPTH,TOTAL,SELF,STOP,EXECUTIONS,METHOD of each node, in microseconds, parted by blanks, callers before
what they called; what is not known is empty.
"""

import collections
import re

from .spans import MOST_ID, MOST_NAME, MOST_TEXT, joined, text
from .table import Table

MILLI, MICRO = 1e6, 1000
# What is kept of a record: the PMDA makes no more (docs/configuration.md), others might.
MOST_NODES, MOST_DEPTH, MOST_STATEMENTS = 10_000, 200, 256
# Statements of a call that are drawn.
DRAWN_STATEMENTS = 10
# Levels that are drawn as such; below them stands the number of the level.
DEEPEST = 24
# A node with a smaller part of its call, or a caller with a smaller part of a hot spot, is no line of its own.
LEAST, LEAST_CALLER = 0.01, 0.1
OTHERS = "others"
NODE = re.compile(r"(\d{1,6}),(-?\d{0,19}),(-?\d{0,19}),(-?\d{0,19}),(\d{0,19}),(.+)")
STATEMENT = re.compile(r"(\d{1,19}),(\d{1,19}),(.*)")
FORMS = {("profiler", "tree"): "trace.id", ("zorka", "tree"): "trace"}
ONLY = {"tree", "partial", "statements", "sql", "duration", "suspended", "service", "type", "title", "method", "web.method", "web.url", "http.method", "http.url", "db.statement", "trace",
        "trace.id", "thread"}

Call = collections.namedtuple("Call", "source instance service operation start duration suspended trace thread statements sql partial root")
Call.__doc__ = """A slow call. start, duration, suspended: ns; suspended: how long the runtime stood still in it, `None` if nobody knows. statements: how many of SQL. sql: [(executions, µs, text)] of each
that is known, those that took longest first. root: a Node."""


class Node:
    """A method at its place. total, own, stop: µs with what it called, without it, and of the whole that the runtime stood still; `None` is not known."""

    def __init__(self, depth, total, own, stop, executions, name):
        self.depth, self.total, self.own, self.stop, self.executions, self.name, self.children = depth, total, own, stop, executions, name, []

    @property
    def self_time(self):
        """Its own time, also where the record leaves it out: what its children have not."""
        return self.own if self.own is not None else max(0, (self.total or 0) - sum(child.total or 0 for child in self.children))

    @property
    def self_stop(self):
        return None if self.stop is None else max(0, self.stop - sum(child.stop or 0 for child in self.children))

    def walk(self):
        """It and all below, callers first."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack += reversed(node.children)


def entries(fields):
    """The entries of the text of a tree."""
    return text_of(fields, "tree").split(" ")[:MOST_NODES]


def parse(nodes):
    """The root of entries; `None` if there is none in them."""
    path = []
    for entry in nodes:
        found = NODE.fullmatch(entry)
        if not found:
            continue
        numbers = [int(part) if part.lstrip("-") else None for part in found.groups()[:5]]
        # Below the root each has a caller, whatever the text says.
        depth = min(max(numbers[0], 1), len(path), MOST_DEPTH)
        node = Node(depth, *numbers[1:], found[6])
        del path[depth:]
        if path:
            path[-1].children.append(node)
        path.append(node)
    return path[0] if path else None


def whose(source, kind, instance, fields):
    """(service, id of the trace) of the call that a record is of; `None` if it has no tree."""
    duration = fields.get("duration")
    if (source, kind) not in FORMS or not isinstance(duration, int) or duration < 0 or not any(map(NODE.fullmatch, entries(fields))):
        return None
    # Pods are NAMESPACE/SERVICE/POD, agents of Zorka SERVICE/HOST.
    service = "/".join(instance.split("/")[:2]) if source == "profiler" else text(fields, "service") or instance.rpartition("/")[0] or instance
    return service, text(fields, FORMS[source, kind], most=MOST_ID)


def call(at, source, kind, instance, fields):
    """The call that a record is of; `None` if it has no tree."""
    found = whose(source, kind, instance, fields)
    if not found:
        return None
    service, trace = found
    root = parse(entries(fields))
    url = joined(text(fields, "web.method", "http.method"), text(fields, "web.url", "http.url", most=MOST_TEXT))
    what = url or text(fields, "db.statement", "title", "method", most=MOST_TEXT) or root.name
    suspended = fields.get("suspended")
    if not isinstance(suspended, int):
        suspended = None if root.stop is None else root.stop * MICRO
    return Call(source, instance, service, joined(text(fields, "type"), what), at, fields["duration"], suspended, trace, text(fields, "thread", most=MOST_NAME),
                fields.get("statements") or 0, statements(text_of(fields, "sql")), bool(fields.get("partial")), root)


def statements(lines):
    """The statements of a text: EXECUTIONS,MICROSECONDS,TEXT of each, one a line."""
    found = [STATEMENT.fullmatch(line) for line in lines.split("\n")[:MOST_STATEMENTS]]
    return [(int(one[1]), int(one[2]), one[3]) for one in found if one]


def text_of(fields, name):
    found = fields.get(name, "")
    return found if isinstance(found, str) else ""


def ms(us):
    return None if us is None else us / 1000


def summary(one, when):
    """A call in a line. when: its start in words."""
    digits = 0 if one.duration % MILLI == 0 else 2
    parts = [f"{one.duration / MILLI:.{digits}f} ms", None if one.suspended is None else f"stood still for {one.suspended / MILLI:.0f} ms",
             one.statements and f"{one.statements} SQL statement{'' if one.statements == 1 else 's'}",
             one.trace and f"trace {one.trace}", one.thread and f"thread {one.thread}", one.instance, "its end was cut" if one.partial else ""]
    return f"{one.service} {one.operation} at {when}: {', '.join(filter(None, parts))}"


def columns(*first, times, stop):
    """Headings of figures and of a method. Whole milliseconds have no digits behind the point, as those of the Java profiler."""
    digits = 0 if all(us % 1000 == 0 for us in times if us is not None) else 2
    return [*[(heading, key, digits) for heading, key in first], *([("STOP MS", "stop_ms", digits)] if stop else []), ("EXEC", "executions", 0), ("METHOD", "method", None)]


def indented(depth, name):
    return ("  " * depth if depth <= DEEPEST else f"({depth}) ") + name


def table(one):
    """A call as a tree: what takes less than a hundredth of it is summed up below its caller."""
    nodes = list(one.root.walk())
    stop = any(node.stop is not None for node in nodes)
    drawn = Table("tree", columns(("TOTAL MS", "total_ms"), ("SELF MS", "self_ms"), times=[us for node in nodes for us in (node.total, node.own, node.stop)], stop=stop))

    def add(node, depth):
        drawn.add(ms(node.total), ms(node.own), *([ms(node.stop)] if stop else []), node.executions, indented(depth, node.name))

    stack = [one.root]
    while stack:
        node = stack.pop()
        add(node, node.depth)
        if node.name == OTHERS and not node.children:
            continue
        small = [child for child in node.children if child.name == OTHERS or (child.total or 0) < LEAST * (one.root.total or 0)]
        if len(small) > 1:
            total, executions = (sum(of or 0 for of in each) for each in zip(*((child.total, child.executions) for child in small)))
            small = [Node(node.depth + 1, total, None, None, executions, OTHERS)]
        stack += small
        stack += [child for child in reversed(node.children) if child.name != OTHERS and (child.total or 0) >= LEAST * (one.root.total or 0)]
    return drawn


def statement_table(one):
    """The statements of a call that took longest."""
    drawn = Table("statements", [("MS", "ms", 0), ("EXEC", "executions", 0), ("STATEMENT", "statement", None)])
    for executions, us, words in one.sql[:DRAWN_STATEMENTS]:
        drawn.add(ms(us), executions, words)
    return drawn


class Spot:
    """A method, over all its places: its own time, and that of each of its callers in turn."""

    def __init__(self):
        self.own, self.stop, self.executions, self.callers = 0, None, 0, {}

    def add(self, node):
        self.own, self.executions = self.own + node.self_time, self.executions + (node.executions or 0)
        if node.self_stop is not None:
            self.stop = (self.stop or 0) + node.self_stop


def hot_spots(calls, most):
    """[(method, Spot)] with the most own time first."""
    spots = collections.defaultdict(Spot)
    for one in calls:
        path = []
        for node in one.root.walk():
            del path[node.depth:]
            spot = spots[node.name]
            spot.add(node)
            for caller in reversed(path):
                spot = spot.callers.setdefault(caller.name, Spot())
                spot.add(node)
            path.append(node)
    return sorted(((name, spot) for name, spot in spots.items() if spot.own > 0), key=lambda pair: (-pair[1].own, pair[0]))[:most]


def callers(spot):
    """(depth, name, Spot) of those who called a method for a tenth of its time and more."""
    largest = lambda of: [(name, one) for name, one in sorted(of.callers.items(), key=lambda pair: (pair[1].own, pair[0])) if one.own >= LEAST_CALLER * spot.own]
    stack = [(1, *pair) for pair in largest(spot)]
    while stack:
        depth, name, one = stack.pop()
        yield depth, name, one
        stack += [(depth + 1, *pair) for pair in largest(one)]


def spot_table(spots, whole):
    """Hot spots with their callers. whole: µs of all calls."""
    stop = any(spot.stop is not None for _, spot in spots)
    head = columns(("SELF MS", "self_ms"), times=[us for _, spot in spots for us in (spot.own, spot.stop)], stop=stop)
    drawn = Table("hot spots", [head[0], ("%", "percent", 1), *head[1:]])
    for name, spot in spots:
        for depth, caller, one in [(0, name, spot), *callers(spot)]:
            drawn.add(ms(one.own), 100 * one.own / whole if whole else None, *([ms(one.stop)] if stop else []), one.executions or None, indented(depth, f"< {caller}" if depth else caller))
    return drawn


def folded(calls):
    """{stack of service and methods: µs}."""
    found = collections.Counter()
    for one in calls:
        path = []
        for node in one.root.walk():
            del path[node.depth:]
            path.append(node.name)
            if node.self_time > 0:
                found[one.service, *path] += node.self_time
    return found
