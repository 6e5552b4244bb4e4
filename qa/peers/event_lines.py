#!/usr/bin/python3
"""Whether lines of `pcp apm events` of an archive are those that came live, and what the lines say.

usage: event_lines.py LIVE ARCHIVE   prints "same" and how many, or what differs; of an archive in microseconds, times are compared in those
       event_lines.py LIVE           of each record of a registered Zorka agent: flags, ids by number, attributes
"""

import calendar
import json
import re
import sys
import time

# A name or a value is bare, or in quotes. A text that was cut may end within quotes.
WORD = r'(?:"((?:[^"\\]|\\.)*)(?:"|\\?\Z)|([^\x00- "=\x7f]+))'
PAIR = re.compile(rf"{WORD}={WORD}(?: |\Z)", re.S)
# In older archives nothing is in quotes: a name is what looks like one.
OLD = re.compile(r"(?:^| )([A-Za-z_][\w.-]*)=")


def ns(text):
    """ns since 1970 of a time in JSON."""
    return calendar.timegm(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S")) * 10**9 + int(text[20:29])


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def exact(line, unit):
    """A line whose times are numbers in this unit, its begin and end relative to its time in ns."""
    at = ns(line["time"])
    return json.dumps({**line, "time": at // unit, "start": ns(line["start"]) - at, "end": ns(line["end"]) - at}, sort_keys=True)


def compare(live, logged):
    micro = all(line["time"].endswith("000Z") for line in logged)
    unit = 1000 if micro else 1
    first, second = (sorted(exact(line, unit) for line in of) for of in (live, logged))
    print("same" if first == second else "not the same", len(second), "in us" if micro else "in ns")
    for of, others, where in (first, second, "live only"), (second, first, "archive only"):
        for line in set(of):
            if of.count(line) > others.count(line):
                print(f"{where}: {line}")


def pairs(text):
    """[(name, value)] of a text of name=value parted by blanks."""
    found, at = [], 0
    while one := PAIR.match(text, at):
        found.append(tuple(re.sub(r"\\(.)", r"\1", quoted, flags=re.S) if quoted is not None else bare for quoted, bare in (one.group(1, 2), one.group(3, 4))))
        at = one.end()
    # What does not match is in no quotes, and belongs to the value before it up to the next name.
    more, *rest = OLD.split(text[at:])
    if more and found:
        found[-1] = (found[-1][0], f"{found[-1][1]} {more}")
    return found + list(zip(rest[::2], rest[1::2]))


def registered(live):
    known = {}
    for line in live:
        fields = line["parameters"]
        if fields.get("dialect", "").startswith("legacy"):
            name = lambda what: known.setdefault(fields[what], f"#{len(known) + 1}") if what in fields else "-"
            print(fields["method"], line["flags"], name("span"), name("parent"), pairs(fields.get("attributes", "")))


if __name__ == "__main__":
    compare(lines(sys.argv[1]), lines(sys.argv[2])) if len(sys.argv) == 3 else registered(lines(sys.argv[1]))
