"""The tree of a trace: which span caused which, when, and how it is drawn. No I/O."""

import collections
import textwrap

from .table import Table, cut, shown

MILLI = 1e6
# Levels that are drawn as such; below them stands the number of the level.
DEEPEST = 24
# Columns of the bars where nothing limits them, and the least that says anything.
BAR, LEAST_BAR = 32, 8
# How much later than the call around it a call may end: clocks of agents have steps.
STEP = 1_000_000
# What stands before a root that is none, and before one of whom that is not known.
UNSEEN, LOOSE = "?", "~"
LEGEND = {UNSEEN: "what caused it has no record here: it has not come yet, was lost, or is of a service without an agent",
          LOOSE: "what caused it is not known: its agent says none"}
ASCII = str.maketrans("█├└─│…", "#|`-|.")

# What is drawn of a span: the branches before it, and a mark or "".
Row = collections.namedtuple("Row", "span depth branches mark")


def causes(spans):
    """The number of the span that caused each of these; `None` for roots. By ids, else by the calls around it in its process."""
    by_id, around, found = {}, {}, [None] * len(spans)
    for n, one in enumerate(spans):
        if one.id:
            by_id.setdefault(one.id, n)
    for n, one in sorted(enumerate(spans), key=lambda pair: (pair[1].start, pair[1].depth, -pair[1].duration)):
        stack = around.setdefault(one.instance, [])
        while stack and (spans[stack[-1]].depth >= one.depth or ends(spans[stack[-1]]) + STEP < ends(one)):
            stack.pop()
        cause = by_id.get(one.parent) if one.parent else stack[-1] if stack and one.depth else None
        found[n] = None if cause == n else cause
        stack.append(n)
    return found


def ends(one):
    return one.start + one.duration


def arrange(spans):
    """The rows of the tree: causes before what they caused, then by time."""
    spans = sorted(spans, key=lambda one: (one.start, -one.duration, one.id, one.instance))
    below, roots = collections.defaultdict(list), []
    for n, cause in enumerate(causes(spans)):
        (roots if cause is None else below[cause]).append(n)
    drawn, rows = set(), []

    def branch(root, mark):
        # Not by recursion: peers say how deep it goes.
        stack = [(root, 0, "", "", mark)]
        while stack:
            n, depth, branches, under, mark = stack.pop()
            if n in drawn:
                continue
            drawn.add(n)
            rows.append(Row(spans[n], depth, branches, mark))
            for last, child in enumerate(reversed(below[n])):
                lines = under + ("├─ " if last else "└─ "), under + ("│  " if last else "   ")
                stack.append((child, depth + 1, *(lines if depth < DEEPEST else (f"{under}({depth + 1}) ", under)), ""))

    lost = {n: bool(spans[n].parent or spans[n].depth) for n in roots}
    for n in sorted(roots, key=lambda n: lost[n]):
        branch(n, UNSEEN if lost[n] else LOOSE if not spans[n].id and len(roots) > 1 else "")
    for n in range(len(spans)):
        # Spans that cause each other in a circle have no root.
        if n not in drawn:
            branch(n, UNSEEN)
    return rows


class Tree:
    """A trace that is drawn: its spans, and sums of them."""

    def __init__(self, spans):
        self.rows, self.id = arrange(spans), max((one.trace for one in spans), key=len)
        self.start, self.end = min(one.start for one in spans), max(map(ends, spans))
        self.failed, self.services = sum(one.failed for one in spans), len({one.service for one in spans})

    def bar(self, one, wide):
        """The place of a span in the whole."""
        whole = max(1, self.end - self.start)
        begin = min((one.start - self.start) * wide // whole, wide - 1)
        end = max(begin + 1, -(-(ends(one) - self.start) * wide // whole))
        return " " * begin + "█" * (end - begin) + " " * (wide - end)

    def summary(self, when):
        number = lambda n, what: f"{n} {what}{'' if n == 1 else 's'}"
        return (f"trace {shown(self.id)} at {when}: {(self.end - self.start) / MILLI:.2f} ms, {number(len(self.rows), 'span')} of "
                f"{number(self.services, 'service')}, {self.failed or 'none'} failed")

    def lines(self, when, most=None, notes=()):
        """Lines of at most so many columns. when: the time of its start in words. notes: what else is to be said below."""
        yield from textwrap.wrap(self.summary(when), most) if most else [self.summary(when)]
        yield ""
        table, wide = Table("trace", []), BAR if most is None else min(BAR, most // 4)
        at, took = (["AT MS", *[f"{(one.start - self.start) / MILLI:.2f}" for one, *_ in self.rows]],
                    ["MS", *[f"{one.duration / MILLI:.2f}" for one, *_ in self.rows]])
        error = ["ERROR", *[(table.note(one.fault) if one.fault else "yes") if one.failed else "" for one, *_ in self.rows]]
        bars = ["", *[self.bar(one, wide) for one, *_ in self.rows]]
        columns = [self.column(at, str.rjust), self.column(took, str.rjust)]
        columns += [self.column(bars, str.ljust)] if wide >= LEAST_BAR else []
        columns += [self.column(error, str.ljust)] if self.failed else []
        for n, parts in enumerate(zip(*columns)):
            line = "  ".join(parts) + "  "
            line += "SPAN" if n == 0 else self.label(self.rows[n - 1], None if most is None else most - len(line))
            # Figures are not cut one by one: a terminal that is too narrow for them loses their end.
            yield line.rstrip() if most is None else cut(line.rstrip(), most, most - 1)
        below = [*table.below(most), *self.legend(most, notes)]
        yield from ["", *below] if below else []

    @staticmethod
    def column(cells, justify):
        wide = max(map(len, cells))
        return [justify(cell, wide) for cell in cells]

    @staticmethod
    def label(row, room):
        """A span with the branches before it. Where they would take more than half of the room stands the level instead."""
        branches = row.branches + (row.mark and row.mark + " ")
        text = shown(f"{row.span.service} {row.span.operation}".rstrip())
        if room is None:
            return branches + text
        if len(branches) > room // 2 and row.depth:
            branches = f"({row.depth}) "
        return branches + cut(text, max(1, room - len(branches)))

    def legend(self, most, notes):
        for line in [*[f"{mark} {what}" for mark, what in LEGEND.items() if any(row.mark == mark for row in self.rows)], *notes]:
            yield from textwrap.wrap(line, most, subsequent_indent="  ") if most else [line]

    def cells(self):
        """The same for programs: a dictionary for each row."""
        for one, depth, _, mark in self.rows:
            yield one, {"at_ms": (one.start - self.start) / MILLI, "duration_ms": one.duration / MILLI, "depth": depth, "service": one.service,
                        "operation": one.operation, "failed": one.failed, "fault": one.fault or None, "span": one.id or None, "parent": one.parent or None,
                        "parent_seen": not mark if depth or mark else None, "role": one.role or None, "source": one.source, "instance": one.instance}
