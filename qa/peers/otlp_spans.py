#!/usr/bin/env python3
"""What a receiver of OTLP got, or a file has.

otlp_spans.py show FILE              spans by time, with all that is in them
otlp_spans.py count FILE             how many there are, and how many came twice
otlp_spans.py records RECORDS FILE   whether they are what lines of `pcp apm events` say
otlp_spans.py same [--micros] [--no-resources] FILE FILE
otlp_spans.py labelled FILE SERVICE  whether spans of the service have what only labels tell: yes or no
otlp_spans.py shifted FILE FILE      whether the second ones are the first ones, later by apm.shift, until now
A FILE is one of otlp_receiver.py, a document or lines of OTLP/JSON, or protobuf. Exit status 1: something differs.
"""
import json
import sys
import time
from calendar import timegm

from otlp_receiver import binary, text


def load(name):
    """Spans in the order of the file."""
    with open(name, "rb") as f:
        data = f.read()
    if name.endswith(".pb"):
        return [{**span, "resource": resource} for resource, span in binary(data)]
    found = []
    for line in data.decode().splitlines():
        if line.startswith('{"resourceSpans"'):
            found += [{**span, "resource": resource} for resource, span in text(line)]
        elif line:
            span = json.loads(line)
            del span["request"]
            found.append(span)
    return found


def attributes(of):
    """{name: value}; a name that comes twice is a mistake."""
    found = {}
    for pair in of["attributes"]:
        assert pair["key"] not in found, f"{pair['key']} twice"
        (kind, value), = pair["value"].items()
        found[pair["key"]] = int(value) if kind == "intValue" else value
    return found


def by_id(spans):
    return {(span["traceId"], span["spanId"]): span for span in spans}


def show(name):
    spans = sorted(load(name), key=lambda s: (int(s["startTimeUnixNano"]), -int(s["endTimeUnixNano"])))
    first, named = int(spans[0]["startTimeUnixNano"]), by_id(spans)
    kinds = {1: "internal", 2: "server", 3: "client"}
    for span in spans:
        start, end = int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])
        parent = named.get((span["traceId"], span.get("parentSpanId")), {}).get("name", "nobody")
        resource = attributes(span["resource"])
        print(f"{span['name']}: {kinds[span['kind']]}, {start - first} to {end - first} ns, by {parent}, trace {span['traceId']}, span {span['spanId']}"
              + (f", flags {span['flags']:#x}" if "flags" in span else "") + (f", {json.dumps(span['status'])}" if "status" in span else ""))
        print("  " + ", ".join(f"{k}={resource[k]}" for k in ("service.name", "service.instance.id", "telemetry.sdk.language", "apm.source")))
        for k, v in attributes(span).items():
            print(f"    {k}={v!r}")
        for event in span.get("events", ()):
            print(f"    event {event['name']} at {int(event['timeUnixNano']) - first}: {attributes(event)}")


def count(name):
    spans = load(name)
    unique = len(by_id(spans))
    print(f"{unique} spans, {len(spans) - unique} twice")


def plain(span, micros, resources):
    """What is compared: the order of attributes makes no difference."""
    start, end = int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])
    cut = 1000 if micros else 1
    events = [(int(e["timeUnixNano"]) // cut, e["name"], attributes(e)) for e in span.get("events", ())]
    rest = {k: v for k, v in span.items() if k not in ("attributes", "events", "resource", "startTimeUnixNano", "endTimeUnixNano")}
    return start // cut, end - start, events, attributes(span), rest, attributes(span["resource"]) if resources else None


def same(first, second, micros, resources):
    one, other = load(first), load(second)
    wrong = [f"{len(one)} spans and {len(other)}"] if len(one) != len(other) else []
    one, other = by_id(one), by_id(other)
    wrong += [f"only one has {one[key]['name']}" for key in set(one) - set(other)] + [f"only the other has {other[key]['name']}" for key in set(other) - set(one)]
    for key in set(one) & set(other):
        a, b = plain(one[key], micros, resources), plain(other[key], micros, resources)
        if a != b:
            wrong.append(f"{one[key]['name']}: {[x for x, y in zip(a, b) if x != y]} and {[y for x, y in zip(a, b) if x != y]}")
    print("\n".join(wrong[:5]) or "same")
    return bool(wrong)


def shifted(first, second):
    one, other = by_id(load(first)), by_id(load(second))
    assert set(one) == set(other) and one
    shifts = set()
    for key, span in one.items():
        later = other[key]
        shifts.add(attributes(later)["apm.shift"])
        for field in ("startTimeUnixNano", "endTimeUnixNano"):
            shifts.add(int(later[field]) - int(span[field]))
        shifts |= {int(b["timeUnixNano"]) - int(a["timeUnixNano"]) for a, b in zip(span.get("events", ()), later.get("events", ()))}
    assert len(shifts) == 1 and 0 < time.time_ns() - max(int(s["endTimeUnixNano"]) for s in one.values()) - shifts.pop() < 10**15, shifts
    return 0


def labelled(name, service):
    """Whether the spans of a service have the runtime, which only labels tell."""
    found = {"process.runtime.name" in of for of in (attributes(s["resource"]) for s in load(name)) if of["service.name"] == service}
    print(*("yes" if one else "no" for one in sorted(found)))
    return 0


# Parameters that are fields of the span or of its resource.
FIELDS = {"span", "parent", "trace", "duration", "service", "kind", "error", "dialect", "attributes"}


def records(lines, name):
    """Each record of Zorka's spans has its span, and each of its parameters is there."""
    wrong, number, left = [], 0, by_id(load(name))
    made = {(s["traceId"], int(s["startTimeUnixNano"])): key for key, s in left.items()}
    exceptions = []
    with open(lines, encoding="utf-8") as f:
        for line in f:
            record = json.loads(line)
            p = record["parameters"]
            day, part = record["time"][:-1].split(".")
            at = timegm(time.strptime(day, "%Y-%m-%dT%H:%M:%S")) * 10**9 + int(part)
            trace = p["trace"].replace("-", "")
            if record["kind"] == "exception":
                exceptions.append((trace, p, at))
                continue
            key = (trace, p["span"]) if p.get("span") else made.get((trace, at))
            span = left.pop(key, None)
            if span is None:
                wrong.append(f"no span of {p}")
                continue
            number += 1
            of = attributes(span)
            exact = {"start": (int(span["startTimeUnixNano"]), at), "length": (int(span["endTimeUnixNano"]) - int(span["startTimeUnixNano"]), p["duration"]),
                     "parent": (span.get("parentSpanId"), p.get("parent")), "service": (attributes(span["resource"])["service.name"], p["service"]),
                     "instance": (attributes(span["resource"])["service.instance.id"], record["instance"]),
                     "status": ("status" in span, bool(p.get("error"))), "record": (of["apm.record"], "zorka.span")}
            wrong += [f"{span['name']}: {what} is {a}, not {b}" for what, (a, b) in exact.items() if a != b]
            values = {str(value) for value in of.values()}
            for what, value in p.items():
                expected = {"http.method": str(value).upper(), "db.type": "other_sql", "http.url": str(value).partition("?")[0]}.get(what, str(value))
                if what not in FIELDS and expected not in values and not what.startswith("exception."):
                    wrong.append(f"{span['name']}: {what} {value!r} is not in {of}")
    all_spans = by_id(load(name))
    for trace, p, at in exceptions:
        events = [e for e in all_spans.get((trace, p.get("span")), {}).get("events", ()) if e["name"] == "exception" and int(e["timeUnixNano"]) == at]
        said = [attributes(e) for e in events]
        if [(s["exception.type"], s["exception.message"]) for s in said] != [(p["exception.class"], p["exception.message"])]:
            wrong.append(f"exception {p} is {said}")
    wrong += [f"{span['name']} is of no record" for span in left.values()]
    print("\n".join(wrong[:5]) or f"{number} spans and {len(exceptions)} exceptions are those of the records")
    return bool(wrong)


def main():
    command, *words = sys.argv[1:]
    flags = {word for word in words if word.startswith("--")}
    files = [word for word in words if word not in flags]
    if command == "same":
        return same(*files, "--micros" in flags, "--no-resources" not in flags)
    return {"show": show, "count": count, "records": records, "labelled": labelled, "shifted": shifted}[command](*files)


if __name__ == "__main__":
    sys.exit(main())
