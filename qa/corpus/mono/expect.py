#!/usr/bin/env python3
"""Makes expected.json: expect.py DECODER FILE...

DECODER is a decoder of the counters-agent protocol that prints one JSON object a message with --json, and a summary last.
Files that it does not accept are left out: the test knows them by name."""
import json, os, subprocess, sys

files = []
for path in sys.argv[2:]:
    run = subprocess.run([sys.executable, sys.argv[1], "--json", path], capture_output=True, text=True)
    if run.returncode != 0 or not run.stdout:
        continue
    *messages, summary = [json.loads(line) for line in run.stdout.splitlines()]
    counters, samples = {}, []
    for m in messages:
        for h in (m.get("headers") or []) + ([m["header"]] if m.get("header") else []):
            counters[h["index"]] = [h["index"], h["category"], h["name"], h["type"], h["unit"], h["variance"]]
        if m["msg"] == "sample":
            samples.append([m["time"]] + m["values"])
    lines = {
        "dialect": json.dumps(summary["dialect"]), "endian": json.dumps(summary["endian"]),
        "messages": json.dumps(sum(m["msg"] != "truncated" for m in messages)),
        # A line for each counter and each sample: time, then index and value of each.
        "counters": "[" + ",\n  ".join(json.dumps(c) for _, c in sorted(counters.items())) + "]",
        "samples": "[" + ",\n  ".join(json.dumps(s, separators=(",", ":")) for s in samples) + "]",
    }
    body = ",\n ".join(f'"{name}": {text}' for name, text in lines.items())
    files.append(f'"{os.path.basename(path)}": {{\n {body}}}')
print("{" + ",\n".join(files) + "}")
