#!/usr/bin/python3
"""An archive of apm metrics with figures that a test asks for: made_archive.py ARCHIVE <SPEC

Lines of the SPEC: METRIC INSTANCE FIRST STEP. The archive has a sample each 10 s, 13 in all; the value of sample n is
FIRST + n * STEP, FIRST may be a text, in quotes if it has blanks. An INSTANCE of "-" is none. Types, semantics and units are those of
docs/metrics.md; counters of Mono below a category gc or jit are in ns. Needs python3-pcp.
"""

import os
import re
import shlex
import sys

from pcp import pmapi, pmi
import cpmapi as c

TYPES = {"32": c.PM_TYPE_32, "U32": c.PM_TYPE_U32, "64": c.PM_TYPE_64, "U64": c.PM_TYPE_U64, "DOUBLE": c.PM_TYPE_DOUBLE, "STRING": c.PM_TYPE_STRING}
SEMANTICS = {"counter": c.PM_SEM_COUNTER, "instant": c.PM_SEM_INSTANT, "discrete": c.PM_SEM_DISCRETE}
UNITS = {"none": (0, 0, 0, 0, 0, 0), "count": (0, 0, 1, 0, 0, 0), "byte": (1, 0, 0, 0, 0, 0), "nanosec": (0, 1, 0, 0, 0, 0),
         "millisec": (0, 1, 0, 0, c.PM_TIME_MSEC, 0)}


def catalogue():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "metrics.md")
    row = re.compile(r"^\| `([^`]*)` \| (\S+) \| (\S+) \| (\S+) \| (\S*) *\|")
    return {m.group(1): m.groups()[1:] for m in map(row.match, open(path, encoding="utf-8")) if m}


def main():
    known, log = catalogue(), pmi.pmiLogImport(sys.argv[1])
    log.pmiSetHostname("made")
    log.pmiSetTimezone("UTC")
    series, metrics, domains = [], {}, {}
    for line in sys.stdin:
        metric, instance, first, step = shlex.split(line)
        if metric not in metrics:
            default = ("U64", "counter", "nanosec", "mono") if metric.startswith("apm.mono.counter.") else None
            kind, semantics, units, domain = known.get(metric, default) or sys.exit(f"docs/metrics.md has no {metric}")
            owner = metric.split(".")[1] + domain
            serial = pmi.pmiLogImport.pmiInDom(400, 1 + len(domains)) if domain and owner not in domains else domains.get(owner, c.PM_INDOM_NULL)
            if domain:
                domains[owner] = serial
            metrics[metric] = TYPES[kind]
            log.pmiAddMetric(metric, pmi.pmiLogImport.pmiID(400, 1, len(metrics)), TYPES[kind], serial, SEMANTICS[semantics], pmapi.pmUnits(*UNITS[units]))
            metrics[metric] = serial
        serial, name = metrics[metric], None if instance == "-" else instance
        if name is not None:
            known_as = domains.setdefault((serial,), {})
            if name not in known_as:
                known_as[name] = len(known_as)
                log.pmiAddInstance(serial, name, known_as[name])
        series.append((metric, name, first, step))
    for n in range(13):
        for metric, name, first, step in series:
            number = re.fullmatch(r"-?\d+(\.\d+)?", first)
            what = int(float(first) + n * float(step)) if number else first
            log.pmiPutValue(metric, name or "", str(what))
        log.pmiWrite(1_795_348_800 + 10 * n, 0)
    del log


if __name__ == "__main__":
    main()
