"""Traces: which there are, and one as a tree, of the records of all sources that say of which trace they are."""

import fnmatch
import sys
import time

from pcp import pmapi

from . import results
from .events import Events
from .spans import FORMS, MOST_SPANS, ONLY, PLAIN, Matching, Traces, canonical, joined, shortened, span, spellings
from .table import Table, at_text, shown, terminal, to_json
from .tree import ASCII, MILLI, Tree
from .trouble import Trouble

# Live, how much longer than asked for, in seconds, records are taken that have been waiting in memory; what comes with one look if more is
# waiting; and the time between two looks.
LONGEST, WAITING, PAUSE = 30.0, 1000, 0.2


class Records:
    """The records of some kinds of a host or an archive; by default those with spans. missed: records that were dropped before they could be had."""

    def __init__(self, reader, kinds=FORMS, only=ONLY, unlogged="no spans in this archive",
                 unknown="this pmdaapm was built without the sources that have ids of traces: zorka, profiler"):
        self.reader, self.stream, self.count, self.missed = reader, Events(reader, [], only), 0, 0
        self.stream.kinds = {kind: found for kind, found in self.stream.kinds.items() if kind in kinds}
        if not self.stream.kinds:
            raise Trouble(reader.unlogged(unlogged, "events") if reader.archive else unknown)

    def only(self, written):
        """That the host sends no others than those of traces whose ids begin so. Without it they are chosen here only."""
        for source, kind in self.stream.kinds:
            try:
                self.stream.store(f"apm.{source}.event.{kind}.filter", " || ".join(f'{FORMS[source, kind][0]} == "{begin}*"' for begin in written))
            except (pmapi.pmErr, IndexError):
                # Who may not store, or an older PMDA.
                pass

    def records(self, needles=()):
        """Each record: what is in memory and comes within the interval, or was logged between -S and -T."""
        for found in (self.stream.logged if self.reader.archive else self.live)(needles):
            for record in found:
                self.missed += record[-1].get("missed", 0)
                self.count += "parameters" in record[-1]
                yield record

    def spans(self, written=()):
        """Each span. written: the begins of ids."""
        if written and not self.reader.archive:
            self.only(written)
        for at, source, kind, instance, what in self.records([begin.encode() for begin in written]):
            one = span(at, source, kind, instance, what.get("parameters", {}))
            if one:
                yield one

    def live(self, needles):
        end = time.monotonic() + self.reader.interval
        while True:
            found = self.stream.fetched(needles)
            if len(self.stream.denied) == len(self.stream.kinds):
                raise Trouble("only others may see event records: run it on that host itself, or see [events] of apm.toml")
            yield found
            now, waiting = time.monotonic(), len(found) >= WAITING
            if self.enough(now, end, waiting):
                return
            time.sleep(0 if waiting else min(PAUSE, max(0.0, end - now)))

    def enough(self, now, end, waiting):
        """Whether no more is waited for."""
        return now >= end + (LONGEST if waiting else 0)

    def nothing(self, what, live, archive=""):
        """That there is nothing to show, and what to do."""
        if self.count and self.stream.unnamed:
            raise Trouble(self.stream.unnamed)
        if not self.reader.archive:
            raise Trouble(what + live)
        window, clock_of = self.reader.window(), self.reader.clock
        begin, end = results.ns(self.reader.context.pmGetArchiveLabel().start), results.ns(self.reader.context.pmGetArchiveEnd())
        raise Trouble(f"{what} between {clock_of(window.start)} and {clock_of(window.finish)}: {archive or f'the archive has {clock_of(begin)} to {clock_of(end)}'}")

    def notes(self):
        """What may be missing."""
        denied = " and ".join(sorted(f"{source}.{kind}" for source, kind in self.stream.denied))
        return [line for there, line in ((self.missed, f"{self.missed} records were dropped before they could be read: spans may be missing"),
                                         (denied, f"only others may see records of {denied}: [events] of apm.toml")) if there]


def clock(reader, ns):
    """A time to the millisecond."""
    return f"{reader.clock(ns)}.{ns % 10**9 // 10**6:03d}"


def trace(reader, said, as_json):
    """Draws one trace."""
    records, matching = Records(reader), Matching(said)
    for one in records.spans(spellings(said)):
        matching.add(one)
    found = matching.found()
    if not found:
        records.nothing(f"no trace {said}", " in memory: pcp apm traces lists those that are, older ones may be in an archive (-a)",
                        "traces instead of trace lists those that were logged")
    if len(found) > 1:
        ids = sorted(shown(spans[0].trace) for spans in found)
        raise Trouble(f"{said} is the begin of {len(ids)} ids, say more of it: {', '.join(ids[:5])}{', ...' if len(ids) > 5 else ''}")
    tree = Tree(found[0])
    if as_json:
        for one, cells in tree.cells():
            print(to_json({"table": "trace", "trace": tree.id, "time": at_text(one.start), **cells}))
        return
    notes = records.notes() + ([f"{matching.left_out} more spans are not shown: a trace is drawn with {MOST_SPANS}"] if matching.left_out else [])
    notes += [f"pcp apm tree {tree.id} has the methods of its calls, if they were among the slowest"] if PLAIN.fullmatch(tree.id) else []
    plain = not (sys.stdout.encoding or "").lower().startswith("utf")
    for line in tree.lines(clock(reader, tree.start), terminal(), notes):
        print(line.translate(ASCII) if plain else line)


def traces(reader, pattern, rows, failed, as_json):
    """A table of traces: the slowest, or those that failed, the newest first."""
    def better(one):
        if pattern != "*" and not any(fnmatch.fnmatch(service, pattern) for service in one.services):
            return None
        return one.duration if not failed else one.start if one.errors else None

    records, seen = Records(reader), Traces(better, rows)
    for one in records.spans():
        seen.add(one)
    if not seen.number:
        records.nothing("no spans", " yet: run it again, or with a longer -t; agents of Zorka send only traces that take tracer.min.trace.time (docs/zorka.md)")
    best = seen.best()
    if not best:
        if pattern != "*" and not any(fnmatch.fnmatch(service, pattern) for service in seen.services):
            names = sorted(map(shown, seen.services))
            raise Trouble(f"no trace of a service {pattern}: there are {', '.join(names[:20])}{', ...' if len(names) > 20 else ''}")
        print(f"pcp-apm: no trace {'' if pattern == '*' else f'of {pattern} '}has failed, of {seen.number} in all", file=sys.stderr)
        return
    table = Table("traces", [("TRACE", "trace", None), ("BEGAN", "time", None), ("MS", "duration_ms", 2), ("SPANS", "spans", 0), ("SERVICES", "services", 0),
                             ("ERRORS", "errors", 0), ("ROOT", "root", None)])
    # A terminal has room for the begins of ids and for seconds.
    short = shortened([canonical(one.id) for one in best]) if terminal() else {}
    begin, end = reader.clock(seen.begin), reader.clock(seen.end)
    same = begin[:10] == end[:10]
    for one in best:
        began = reader.clock(one.start) if short else clock(reader, one.start)
        table.add(short.get(canonical(one.id), one.id), began[11 if same else 0:], one.duration / MILLI, one.spans, len(one.services), one.errors,
                  joined(one.root.service, one.root.operation), trace=one.id, time=at_text(one.start), service=one.root.service, operation=one.root.operation,
                  names=sorted(one.services))
    if not as_json:
        number = f"{seen.number} trace{'' if seen.number == 1 else 's'}"
        print(f"from {begin} to {end[11 if same else 0:]}: {f'those of {number} that failed' if failed else number}", end="\n\n")
    table.show(as_json)
    if not as_json:
        print("", *records.notes(), "pcp apm trace ID draws one of them, pcp apm tree has the methods of the slowest calls", sep="\n")
