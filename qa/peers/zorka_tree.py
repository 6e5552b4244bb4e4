#!/usr/bin/env python3
"""Puts traces together from the records of spans: reads the output of pmevent or pminfo -x of apm.zorka.event.span on standard input,
prints each trace as a tree by the ids of spans and parents: service, type, what it did, duration in ms, error.

    pmevent -s 1 apm.zorka.event.span.highres_records | zorka_tree.py [TRACE]
"""

import re
import sys


def records(lines):
    """One dictionary for each record, by the parameters' names behind apm.zorka.param."""
    record = None
    for line in lines:
        if "--- event record [" in line or "event record [" in line and "timestamp" in line:
            if record:
                yield record
            record = {}
        elif record is not None and (match := re.match(r'\s+apm\.zorka\.param\.(\S+) (.*)', line)):
            value = match[2].strip()
            record[match[1]] = value[1:-1] if value.startswith('"') else value
    if record:
        yield record


def show(record, children, depth=0):
    what = record.get("db.statement") or record.get("http.url") or record.get("method", "")
    error = " ERROR" if record.get("error") == "1" else ""
    print(f"{'  ' * depth}{record.get('service') or '?'} {record['type']} {what} {int(record['duration']) / 1e6:g} ms{error}")
    for child in children.get(record["span"], []):
        show(child, children, depth + 1)


def main():
    traces = {}
    for record in records(sys.stdin):
        if "span" in record and "type" in record:
            traces.setdefault(record.get("trace", ""), {})[record["span"]] = record
    for trace, spans in traces.items():
        if sys.argv[1:] and trace != sys.argv[1]:
            continue
        children = {}
        for record in spans.values():
            children.setdefault(record.get("parent", ""), []).append(record)
        print(f"trace {trace}")
        for record in spans.values():
            if record.get("parent", "") not in spans:
                show(record, children, 1)


if __name__ == "__main__":
    main()
