#!/usr/bin/env python3
"""Makes expected.json: expect.py DECODER FILE...

DECODER is a decoder of the counters-agent protocol that prints one JSON object a message with --json, and a summary last.
Files that it does not accept are left out: the test knows them by name."""
import json, os, subprocess, sys

result = {}
for path in sys.argv[2:]:
    run = subprocess.run([sys.executable, sys.argv[1], "--json", path], capture_output=True, text=True)
    if run.returncode != 0 or not run.stdout:
        continue
    *messages, summary = [json.loads(line) for line in run.stdout.splitlines()]
    counters, final, samples, sizes = {}, {}, 0, []
    for m in messages:
        for h in (m.get("headers") or []) + ([m["header"]] if m.get("header") else []):
            counters[h["index"]] = h
        if m["msg"] == "sample":
            samples += 1
            sizes.append(len(m["values"]))
            final.update({index: value for index, value in m["values"]})
    result[os.path.basename(path)] = {
        "dialect": summary["dialect"], "endian": summary["endian"], "samples": samples, "values": sizes,
        "counters": [
            {"category": h["category"], "name": h["name"], "type": h["type"], "unit": h["unit"], "variance": h["variance"],
             "final": final.get(index)}
            for index, h in sorted(counters.items())
        ],
    }
json.dump(result, sys.stdout, indent=1, sort_keys=True)
print()
