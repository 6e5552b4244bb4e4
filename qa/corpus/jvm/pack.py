#!/usr/bin/env python3
"""Makes this folder from the captures: pack.py DATA TOOLS (shared data/jvm and tools/jvm).

Regions are unchanged, but packed anew. expected.json.gz is of facts.json and of what jstat said (*.snap.gz); a CRC-32 stands for
the counters: of all lines NAME=VALUE as jstat prints them, sorted by name, without sun.perfdata.*; strings in
quotation marks. hostile.json.gz is hostile/facts.json with each file's bytes in hexadecimal. ten-thousand is left out
(39 KB): the test makes it.
"""
import gzip
import json
import os
import sys
import zlib

data, tools = sys.argv[1:3]
here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, tools)
import hsperf

facts = json.load(open(f"{data}/facts.json"))
expected = {}


def packed(raw):
    """gzip, as small as zlib makes it."""
    tries = (zlib.compressobj(9, zlib.DEFLATED, 31, m, s) for m in (8, 9) for s in (0, 1))
    return min((c.compress(raw) + c.flush() for c in tries), key=len)


def write(name, value):
    with open(os.path.join(here, name), "wb") as f:
        f.write(packed(json.dumps(value, ensure_ascii=False, sort_keys=True).encode()))


def lines(v):
    return sorted(f'{k}="{x}"' if isinstance(x, str) else f"{k}={x}" for k, x in v.items())


def copied(path):
    kind, _, rest = path.partition("/")
    return kind + "/" + rest.replace("/", "-")


def add(path, head, metrics, snap, **more):
    v = hsperf.values(f"{data}/{path}")
    target = os.path.join(here, copied(path))
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with open(target, "wb") as f:
        f.write(packed(hsperf.load(f"{data}/{path}")))
    text = lines(v)
    if snap:
        theirs = gzip.open(f"{data}/{snap}", "rt").read().splitlines()
        assert text == sorted(x for x in theirs if not x.startswith("sun.perfdata.")), path
    keys = ("order", "minor", "used", "overflow", "mod_timestamp", "entry_offset", "entries", "skipped")
    expected[copied(path)] = dict(more, head={k: head[k] for k in keys}, metrics=metrics, counters=len(text),
                          crc=zlib.crc32("\n".join(text).encode()))

for kind in ("captures", "sequences"):
    for run in facts[kind].values():
        for c in run["captures"]:
            add(c["file"], c["head"], c["metrics"], c["snap"], monotonic_s=c["monotonic_s"], jdk=run["jdk"],
                beans={k: x for k, x in c["beans"].items() if k.startswith(("threads.", "classes.", "asked_gc"))})
for x in facts["variants"].values():
    head = x.get("head") or hsperf.parse(hsperf.load(f"{data}/{x['file']}"))[0]
    add(x["file"], head, x["metrics"], None, jdk=x["jdk"])
write("expected.json.gz", expected)
hostile = json.load(open(f"{data}/hostile/facts.json"))
del hostile["ten-thousand"]
for case in hostile.values():
    case["hex"] = open(f"{data}/hostile/{case['file']}", "rb").read().hex()
write("hostile.json.gz", hostile)
