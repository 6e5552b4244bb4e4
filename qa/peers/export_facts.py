#!/usr/bin/python3
"""Whether exports say what was recorded, by decoders of their own: standard library only.

  export_facts.py traces EVENTS PFTRACE CHROME     lines of `pcp apm events`
  export_facts.py counters PFTRACE METRIC          values of a metric that was drawn beside the records
  export_facts.py reader EVENTS ROWS               lines of JSON: process, category, ts, dur of Perfetto's own reader
  export_facts.py profiles FOLDED PPROF SPEEDSCOPE lines of `pcp apm folded`
  export_facts.py archive FOLDER EXPORT            windows of archive_rates.py's archive, whose every value is known
Prints what was compared, and what differs on standard error; exit status 1 if something does.
"""

import collections
import datetime
import gzip
import json
import os
import random
import struct
import subprocess
import sys

KINDS = json.load(open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "clients", "kinds.json"), encoding="utf-8"))
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
wrong = []


def check(holds, what):
    if not holds:
        wrong.append(what)


def alike(what, got, expected):
    for one, number in (got - expected).items():
        wrong.append(f"{what}: {one} is {number} too many")
    for one, number in (expected - got).items():
        wrong.append(f"{what}: {one} is missing {number} times")


# --- records

def records(path):
    for line in open(path, encoding="utf-8"):
        record = json.loads(line)
        day, part = record["time"][:-1].split(".")
        at = int(datetime.datetime.fromisoformat(day + "+00:00").timestamp()) * 10**9 + int(part.ljust(9, "0"))
        yield at, f"{record['source']}.{record['kind']}", f"{record['instance']} ({record['source']})", record


def said(path):
    """Slices and instants, counters and the number of records that were missed, as the records say them."""
    found, counters, missed, waiting = collections.Counter(), collections.Counter(), 0, collections.defaultdict(list)
    for at, kind, process, record in records(path):
        missed += record.get("missed", 0) + record.get("parameters", {}).get("lost", 0)
        if not record.get("parameters"):
            continue
        p, flags = record["parameters"], record.get("flags", [])
        if kind == "mono.sample":
            counters.update((process, name, at, float(value)) for name, value in p.items() if isinstance(value, (int, float)))
            continue
        of = KINDS.get(kind, {"time": "at"})
        lengths = of.get("types", {}).get(p.get("type"), of.get("length", []))
        length = next((p[name] for name in lengths if name in p), None)
        key = None
        if kind == "lttng.record":
            key = process, p["event"].rpartition("_")[0], p.get("ctx.vtid", p.get("cpu")), p.get("stream")
        elif kind == "dotnet.application" and p.get("id"):
            key = process, p["id"]
        if key and "start" in flags and "end" not in flags:
            waiting[key].append((at, kind, process))
        elif key and "end" in flags and waiting[key]:
            begin = waiting[key].pop()[0]
            found[process, kind, begin, at - begin] += 1
        else:
            found[process, kind, at - (length or 0) if of["time"] == "end" else at, length] += 1
    found.update((process, kind, at, None) for rest in waiting.values() for at, kind, process in rest)
    return found, counters, missed


# --- protobuf

def varint(data, at):
    number = shift = 0
    while True:
        number |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return number, at


def message(data):
    """{number of a field: its values}"""
    found, at = collections.defaultdict(list), 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        elif tag & 7 == 1:
            value, at = data[at:at + 8], at + 8
        elif tag & 7 == 2:
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
        else:
            raise SystemExit(f"a field of type {tag & 7}")
        found[tag >> 3].append(value)
    return found


# --- traces

def perfetto(path):
    names, tracks, steps, counters, missed, cleared = {}, {}, collections.defaultdict(list), collections.Counter(), 0, False
    arrows = collections.Counter()
    for packet in message(open(path, "rb").read())[1]:
        packet = message(packet)
        cleared |= bool(packet[13][0] & 1)
        check(cleared and packet[10] == [1], "a packet without a sequence")
        for interned in packet[12]:
            for kind, those in message(interned).items():
                for one in map(message, those):
                    check((kind, one[1][0]) not in names, "a name comes twice")
                    names[kind, one[1][0]] = one[2][0].decode()
        for track in map(message, packet[60]):
            check(not track[5] or track[5][0] in tracks, "a track without its parent")
            check(track[1][0] not in tracks, "a track comes twice")
            tracks[track[1][0]] = track[5] and track[5][0], (track[2] or message(track[3][0])[6])[0].decode()
        for event in map(message, packet[11]):
            track, at, kind = event[11][0], packet[8][0], event[9][0]
            if track not in tracks:
                check(False, "an event without a track")
                continue
            process = tracks[tracks[track][0] or track][1]
            arrows.update(event[47])
            if kind == COUNTER:
                counters[process, tracks[track][1], at, float(event[30][0]) if event[30] else struct.unpack("<d", event[44][0])[0]] += 1
                continue
            name = category = None
            if kind != END:
                name, category = names[2, event[10][0]], names[1, event[3][0]]
                missed += int(name.split()[0]) if category == "missed" else 0
                check(all(message(one)[1][0] and (3, message(one)[1][0]) in names for one in event[4]), "an attribute without a name")
            steps[process, track].append((at, kind, category))
    check(all(number == 2 for number in arrows.values()), "an arrow without one of its ends")
    found = collections.Counter()
    for (process, _), of in steps.items():
        opened = []
        for at, kind, category in sorted(of, key=lambda step: step[0]):
            if kind == INSTANT:
                found[process, category, at, None] += 1
            elif kind == BEGIN:
                opened.append((at, category))
            elif opened:
                begin, which = opened.pop()
                found[process, which, begin, at - begin] += 1
            else:
                check(False, "an end without a begin")
        check(not opened, "a slice without an end")
    return found, counters, missed, len(arrows)


def chrome(path):
    file = json.load(open(path, encoding="utf-8"), parse_float=str)
    base, names, found, counters, missed, tracks = int(file["otherData"]["first_unix_nano"]), {}, collections.Counter(), collections.Counter(), 0, collections.defaultdict(list)

    def ns(text):
        whole, _, part = str(text).partition(".")
        return int(whole) * 1000 + int(part.ljust(3, "0") or 0) * (-1 if whole.startswith("-") else 1)
    for event in file["traceEvents"]:
        at = base + ns(event.get("ts", 0))
        if event["ph"] == "M":
            names.setdefault(event["pid"], event["args"]["name"])
        elif event["ph"] == "C":
            counters[names[event["pid"]], event["name"], at, float(event["args"]["value"])] += 1
        else:
            length = ns(event["dur"]) if event["ph"] == "X" else None
            missed += int(event["name"].split()[0]) if event["cat"] == "missed" else 0
            found[names[event["pid"]], event["cat"], at, length] += 1
            if length is not None:
                tracks[event["pid"], event["tid"]].append((at, -length))
    for of in tracks.values():
        ends = []
        for at, length in sorted(of):
            while ends and ends[-1] <= at:
                ends.pop()
            check(not ends or at - length <= ends[-1], "slices of a track overlap")
            ends.append(at - length)
    return found, counters, missed


def ids(events, trace):
    """Spans have the ids of their records."""
    parameters = (record.get("parameters", {}) for _, kind, _, record in records(events) if kind == "zorka.span")
    expected = collections.Counter((p["span"], p.get("parent")) for p in parameters if p.get("span"))
    slices = (event["args"] for event in json.load(open(trace, encoding="utf-8"))["traceEvents"] if event.get("cat") == "zorka.span")
    missing = expected - collections.Counter((of.get("apm.span"), of.get("apm.parent")) for of in slices)
    check(not missing, f"ids of spans: {list(missing)[:3]}")


def traces(events, pftrace, trace):
    ids(events, trace)
    expected, counters, missed = said(events)
    *of_perfetto, arrows = perfetto(pftrace)
    for what, (found, counted, lost) in (("Perfetto", of_perfetto), ("Chrome", chrome(trace))):
        own = collections.Counter({key: number for key, number in found.items() if key[1] not in ("missed", "call tree")})
        alike(what, own, expected)
        alike(what + "'s counters", counted, counters)
        check(lost == missed, f"{what}: {lost} missed instead of {missed}")
    print(f"{sum(expected.values())} slices and instants, {sum(counters.values())} values, {missed} missed, {arrows} arrows")


def counters(pftrace, metric):
    for _, _, _, value in sorted(key for key in perfetto(pftrace)[1] if key[1] == metric):
        print(f"{value:.6g}")


def reader(events, path):
    expected, found = said(events)[0], collections.Counter()
    for row in map(json.loads, open(path, encoding="utf-8")):
        if row["category"] not in ("missed", "call tree"):
            found[row["process"], row["category"], int(row["ts"]), int(row["dur"])] += 1
    # It has no instants: they are slices of no length.
    alike("the reader", found, collections.Counter((*of, length or 0) for *of, length in expected.elements()))
    print(f"{sum(found.values())} slices and instants")


# --- profiles

def packed(data):
    at = 0
    while at < len(data):
        number, at = varint(data, at)
        yield number


def pprof(path):
    """({stack: ns}, stacks with the service as their outermost frame; the kinds of values)"""
    file = message(gzip.open(path).read())
    texts = [text.decode() for text in file[6]]
    functions = {one[1][0]: texts[one[2][0]] for one in map(message, file[5])}
    locations = {one[1][0]: functions[message(one[4][0])[1][0]] for one in map(message, file[4])}
    services = {texts[label[2][0]] for sample in map(message, file[2]) for label in map(message, sample[3]) if texts[label[1][0]] == "service"}
    found = collections.Counter()
    for sample in map(message, file[2]):
        frames = [locations[number] for number in packed(sample[1][0])][::-1]
        service = next(texts[label[2][0]] for label in map(message, sample[3]) if texts[label[1][0]] == "service")
        check(len(services) == 1 or frames[0] == service, "the service is not the outermost frame")
        found[tuple(frames) if len(services) > 1 else (service, *frames)] += sum(packed(sample[2][0]))
    return found, [texts[one[1][0]] for one in map(message, file[1])]


def speedscope(path):
    file, found = json.load(open(path, encoding="utf-8")), collections.Counter()
    for profile in file["profiles"]:
        check(profile["unit"] == "nanoseconds" and profile["endValue"] == sum(profile["weights"]), "the sum of a profile")
        for sample, weight in zip(profile["samples"], profile["weights"], strict=True):
            found[(profile["name"], *[file["shared"]["frames"][number]["name"] for number in sample])] += weight
    return found


def profiles(folded, packed_profile, scope):
    expected = collections.Counter()
    for line in open(folded, encoding="utf-8"):
        stack, us = line.rsplit(" ", 1)
        stack = tuple(stack.split(";"))
        # What is of no service has its own name as its only frame.
        expected[stack if len(stack) > 1 else stack * 2] += int(us) * 1000
    (of_pprof, kinds), of_speedscope = pprof(packed_profile), speedscope(scope)
    check(of_pprof == of_speedscope, "pprof and speedscope differ")
    # folded has microseconds.
    for stack in expected.keys() | of_pprof.keys():
        check(abs(expected[stack] - of_pprof[stack]) <= 500, f"{';'.join(stack)}: {of_pprof[stack]} instead of {expected[stack]}")
    print(f"{len(expected)} stacks of {len({stack[0] for stack in expected})} services, {'/'.join(kinds)}")


def archive(folder, program):
    import archive_rates as rates
    os.environ.update(TZ="UTC")
    chance = random.Random(4)
    series = rates.made(chance)
    path, number = rates.written(folder, series), 0
    for begin, end in rates.windows(chance, series):
        scope = os.path.join(folder, "window.json")
        subprocess.run([program, "-a", path, "-S", rates.at_text(begin), "-T", rates.at_text(end), "--speedscope", scope], check=True, stderr=subprocess.DEVNULL)
        found = speedscope(scope)
        for name, points in series[rates.J + "stack.time"].items():
            service, _, frames = name.partition(",")
            got, expected = found[(service, *frames.split(","))], rates.truth(points, begin, end)[0]
            check(abs(got - expected) <= 1, f"{begin} {end - begin} s {name}: {got} instead of {expected}")
            number += expected > 0
    print(f"{number} values of windows")


{"traces": traces, "counters": counters, "reader": reader, "profiles": profiles, "archive": archive}[sys.argv[1]](*sys.argv[2:])
print("\n".join(wrong[:20]), file=sys.stderr)
sys.exit(bool(wrong))
