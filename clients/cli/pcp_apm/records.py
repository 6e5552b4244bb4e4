"""What an event record means: its flags, when what it tells began and ended, and which of those that an archive has twice."""

import collections
import functools
import json
import math
import os

import cpmapi as c

MISSED = 1 << 31
# Flags of a record, as pmevent(1) shows them.
FLAGS = (("point", c.PM_EVENT_FLAG_POINT), ("start", c.PM_EVENT_FLAG_START), ("end", c.PM_EVENT_FLAG_END), ("id", c.PM_EVENT_FLAG_ID),
         ("parent", c.PM_EVENT_FLAG_PARENT), ("missed", MISSED))
UNNAMED = "parameter "
# Records whose other form is still to come, at most, and how long it may take, in ns of the archive.
MOST_APART, WAIT = 100_000, 60 * 10**9


@functools.cache
def times():
    """{"SOURCE.KIND": {"time": "start", "end" or "at", "length": [parameters], ...}}: docs/events.md."""
    here = os.path.dirname(os.path.abspath(__file__))
    paths = [os.path.join(here, *up, "kinds.json") for up in ([".."], ["..", ".."])]
    with open(next(filter(os.path.exists, paths), paths[0]), encoding="utf-8") as table:
        return json.load(table)


def words(flags):
    """Flags as words."""
    return [word for word, flag in FLAGS if flags & flag]


def span(kind, at, fields):
    """(begin, end) in ns of what a record of this time and these parameters tells; (`None`, `None`) if its length may be one without a name.
    kind: "SOURCE.KIND"."""
    of = times().get(kind, {})
    names = of.get("types", {}).get(fields.get("type")) or of.get("length", ())
    length = next((fields[name] for name in names if isinstance(fields.get(name), int)), 0)
    if names and not length and any(map(unnamed, fields)):
        return None, None
    return (at - length, at) if of.get("time") == "end" else (at, at + length)


def unnamed(name):
    """Whether a parameter has no name: that was not logged."""
    return name.startswith(UNNAMED)


class Once:
    """Of records that an archive has in nanoseconds and in microseconds, in one fetch or in several, the former only. A record is known by its key."""

    def __init__(self):
        # How often each has come in nanoseconds only, and waits in microseconds: (until when, key, record).
        self.finer, self.coarser, self.waiting = {}, {}, collections.deque()

    def came(self, key):
        """A record in nanoseconds."""
        if not taken(self.coarser, key):
            self.finer[key] = self.finer.get(key, 0) + 1
            if len(self.finer) > MOST_APART:
                del self.finer[next(iter(self.finer))]

    def wait(self, key, record, at):
        """One in microseconds. at: the time of its fetch in ns."""
        if not taken(self.finer, key):
            self.coarser[key] = self.coarser.get(key, 0) + 1
            self.waiting.append((at + WAIT, key, record))

    def ready(self, at=math.inf):
        """Those in microseconds that have not come in nanoseconds until then."""
        while self.waiting and (self.waiting[0][0] < at or len(self.waiting) > MOST_APART):
            _, key, record = self.waiting.popleft()
            if taken(self.coarser, key):
                yield record


def taken(counts, key):
    """Whether there was one more of it."""
    if key not in counts:
        return False
    counts[key] -= 1
    if not counts[key]:
        del counts[key]
    return True
