"""What an event record means: its flags, when what it tells began and ended, texts of name=value, and records that an archive has twice."""

import functools
import json
import os
import re

import cpmapi as c

MISSED = 1 << 31
# Flags of a record, as pmevent(1) shows them.
FLAGS = (("point", c.PM_EVENT_FLAG_POINT), ("start", c.PM_EVENT_FLAG_START), ("end", c.PM_EVENT_FLAG_END), ("id", c.PM_EVENT_FLAG_ID),
         ("parent", c.PM_EVENT_FLAG_PARENT), ("missed", MISSED))
# Records whose other form is still to come, at most.
MOST_APART = 100_000

# A name or a value is bare, or in quotes. A text that was cut may end within quotes.
WORD = r'(?:"((?:[^"\\]|\\.)*)(?:"|\\?\Z)|([^\x00- "=\x7f]+))'
PAIR = re.compile(rf"{WORD}={WORD}(?: |\Z)", re.S)
# Before release 0.2 values had no quotes: a name is what looks like one.
OLD = re.compile(r"(?:^| )([A-Za-z_][\w.-]*)=")


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
    """(begin, end) in ns of what a record of this time and these parameters tells. kind: "SOURCE.KIND"."""
    of = times().get(kind, {})
    names = of.get("types", {}).get(fields.get("type")) or of.get("length", ())
    length = next((fields[name] for name in names if isinstance(fields.get(name), int)), 0)
    return (at - length, at) if of.get("time") == "end" else (at, at + length)


def pairs(text):
    """[(name, value)] of a text of name=value parted by blanks."""
    found, at = [], 0
    while at < len(text):
        one = PAIR.match(text, at)
        if not one:
            parts = OLD.split(text)
            return list(zip(parts[1::2], parts[2::2]))
        name, value = (re.sub(r"\\(.)", r"\1", quoted, flags=re.S) if quoted is not None else bare for quoted, bare in (one.group(1, 2), one.group(3, 4)))
        found.append((name, value))
        at = one.end()
    return found


class Once:
    """Which records are new, where an archive has them in microseconds and in nanoseconds: in one fetch, or in several."""

    def __init__(self):
        # How often each has come in nanoseconds only; in microseconds only if that is negative.
        self.apart = {}

    def new(self, record, finer):
        """Whether a record has not come in the other form."""
        ahead, one = self.apart.pop(record, 0), 1 if finer else -1
        if ahead + one:
            self.apart[record] = ahead + one
            if len(self.apart) > MOST_APART:
                del self.apart[next(iter(self.apart))]
        return ahead * one >= 0
