#!/usr/bin/python3
"""Whether lines of `pcp apm events` of an archive are those that came live, and what the lines say.

usage: event_lines.py LIVE ARCHIVE   prints "same" and how many, or what differs; of an archive in microseconds, times are compared in those
       event_lines.py LIVE           of each record of a registered Zorka agent: flags, ids by number, attributes as pcp apm splits them,
                                     whose folder is in PYTHONPATH
"""

import calendar
import json
import sys
import time


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


def pairs(live):
    from pcp_apm import records
    known = {}
    for line in live:
        fields = line["parameters"]
        if fields.get("dialect", "").startswith("legacy"):
            name = lambda what: known.setdefault(fields[what], f"#{len(known) + 1}") if what in fields else "-"
            print(fields["method"], line["flags"], name("span"), name("parent"), records.pairs(fields.get("attributes", "")))


if __name__ == "__main__":
    compare(lines(sys.argv[1]), lines(sys.argv[2])) if len(sys.argv) == 3 else pairs(lines(sys.argv[1]))
