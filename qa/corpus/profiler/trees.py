#!/usr/bin/env python3
"""What an independent reader makes of the trees of calls in captures: of each file of the stream trace the roots, each as
"BEGIN DURATION ENTERS TREE" in milliseconds, the TREE as docs/java-profiler.md has it but in milliseconds.
usage: trees.py DIRECTORY_OF_decode.py DIRECTORY_OF_call_tree.py FILE... > trees.json"""
import gzip, json, os, sys

sys.path[:0] = sys.argv[1:3]
import call_tree
import decode

# Of a capture with more roots, only so many of the slowest.
MOST = 500

out = {}
for path in sys.argv[3:]:
    with open(path, "rb") as f:
        b = f.read()
    if path.endswith(".gz"):
        b = gzip.decompress(b)
    summary, session = decode.session_summary(b, True)
    streams = {}
    for said, stream in zip(summary["streams"], session["streams"].values()):
        streams.setdefault(said["name"], []).append(bytes(stream["data"]))
    names = []
    for name, positional in (("dictionary", False), ("posDictionary", True)):
        for data in streams.get(name, []):
            words = decode.dec_dictionary(data, positional)["words"]
            words = dict(words if positional else enumerate(words))
            names = [words.get(n, f"#{n}") for n in range(max(words, default=-1) + 1)]
    pauses = call_tree.Pauses(sorted(p for data in streams.get("suspend", []) if len(data) > 12 for p in call_tree.pauses(data)))
    roots = []
    files = [data for data in streams.get("trace", []) if data]
    if files:
        # A root goes on in the next file, which begins with the same time.
        try:
            data = files[0] + b"".join(data[8:] for data in files[1:])
            for _, begin, end, node, enters, *_ in call_tree.trees(data, pauses):
                roots.append((end - begin, f"{begin} {end - begin} {enters} {call_tree.text(node, names)}"))
        except IndexError:
            pass  # the capture is cut
    roots.sort(reverse=True)
    out[os.path.basename(path)] = dict(roots=len(roots), slowest=[line for _, line in roots[:MOST]])
json.dump(out, sys.stdout, indent=1, ensure_ascii=False)
print()
