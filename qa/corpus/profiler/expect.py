#!/usr/bin/env python3
"""What an independent decoder makes of captures: its summary of each session, and a CRC-32 of all records of each file of a
stream, one line each. usage: expect.py DIRECTORY_OF_decode.py FILE... > expected.json"""
import gzip, json, os, sys, zlib

sys.path.insert(0, sys.argv[1])
import decode


def clamp(ms):
    return 0 if ms >= 1 << 31 or ms < 0 else ms


def calls(b):
    for c in decode.dec_calls(b)["calls"]:
        n = [c["ts"], c["duration"], c["method"], c["calls"], c["logs_written"], c["logs_generated"], c["trace_file"],
             c["buf_off"], c["rec_idx"], clamp(c["cpu"]), clamp(c["wait"]), c["mem"], c["file_read"], c["file_written"],
             c["net_read"], c["net_written"], c["tx"], c["queue"]]
        p = ["%d=%s" % (i, v) for i, values in c["params"].items() for v in values or [""]]
        yield " ".join(map(str, n + [c["thread"]] + p))


def trace(b):
    d = decode.dec_trace(b)
    for k in d["blocks"]:
        yield "block %d %d %d" % (k["thread"], k["real"], k["pos"])
        for kind, t, i, ptype, value in k["ev"]:
            value = "%d:%d" % value if isinstance(value, tuple) else value
            t += d["start"]
            yield {0: "%d enter %s" % (t, i), 1: "%d exit" % t, 2: "%d tag %s %s %s" % (t, i, ptype, value)}[kind]


def numbered(words):
    return ["%d %s" % w for w in words]


LINES = dict(
    calls=calls, trace=trace,
    suspend=lambda b: ["%d %d" % (end, length) for end, _, length in decode.dec_suspend(b)["rec"]],
    dictionary=lambda b: numbered(enumerate(decode.dec_dictionary(b)["words"])),
    posDictionary=lambda b: numbered(decode.dec_dictionary(b, True)["words"]),
    params=lambda b: ["%(name)s %(index)d %(list)d %(order)d %(signature)s" % p for p in decode.dec_params(b)["params"]],
    sql=lambda b: numbered(decode.dec_clob(b)["values"]), xml=lambda b: numbered(decode.dec_clob(b)["values"]))

out = {}
for path in sys.argv[2:]:
    with open(path, "rb") as f:
        b = f.read()
    if path.endswith(".gz"):
        b = gzip.decompress(b)
    summary, session = decode.session_summary(b, True)
    for said, stream in zip(summary["streams"], session["streams"].values()):
        if said["content"] and said["name"] in LINES:
            crc = lines = 0
            for line in LINES[said["name"]](bytes(stream["data"])):
                crc = zlib.crc32((line + "\n").encode("utf-8"), crc)
                lines += 1
            said["records"] = dict(lines=lines, crc32=crc)
            for long in ("calls_by_method", "ids"):
                said["content"].pop(long, None)
    out[os.path.basename(path)] = summary
json.dump(out, sys.stdout, indent=1, ensure_ascii=False)
print()
