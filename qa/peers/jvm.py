#!/usr/bin/env python3
"""A process that looks like a JVM to whoever reads its performance data (docs/protocols/jvm-hsperfdata.md): it maps
/tmp/hsperfdata_USER/PID, shared, with the bytes of a capture, and changes them as its standard input says.

  jvm.py CAPTURE.gz [N] N of them; each says "ready PID", then a line "ok" for each line that it reads:

    add NAME N          adds to a counter
    put OFFSET BYTE     overwrites a byte, for example of the prologue
    truncate BYTES      the file is so long from now on
    unlink              the file loses its name
    exec CAPTURE.gz     executes another one, as a program that replaces itself does
    die                 ends at once and leaves the file behind
    end                 ends as a JVM does

JVM_MAIN is its main class instead, if it is no longer than that of the capture.
"""
import gzip, mmap, os, pwd, struct, sys

for _ in range(1, int(sys.argv[2]) if len(sys.argv) > 2 else 1):
    if os.fork() == 0:
        break
region = gzip.open(sys.argv[1]).read()
folder = f"/tmp/hsperfdata_{pwd.getpwuid(os.geteuid()).pw_name}"
os.makedirs(folder, 0o755, exist_ok=True)
path = f"{folder}/{os.getpid()}"
if os.path.exists(path):
    os.unlink(path)  # as a JVM does with what another one of its id has left
file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
os.ftruncate(file, 32768)
area = mmap.mmap(file, 32768)
area[:len(region)] = region
order = "<" if region[4] == 1 else ">"


def entries():
    at, count = struct.unpack_from(order + "ii", area, 24)
    for _ in range(count):
        length, name_at, _ = struct.unpack_from(order + "iii", area, at)
        data_at = struct.unpack_from(order + "i", area, at + 16)[0]
        yield area[at + name_at:at + length].split(b"\0")[0].decode(), at + data_at
        at += length


places = dict(entries())
if "JVM_MAIN" in os.environ:
    at = places["sun.rt.javaCommand"]
    old, new = area[at:area.find(b"\0", at)], os.environ["JVM_MAIN"].encode()
    assert len(new) <= len(old)
    area[at:at + len(old)] = new.ljust(len(old), b"\0")
print("ready", os.getpid(), flush=True)
for line in sys.stdin:
    what, *words = line.split()
    if what == "add":
        at = places[words[0]]
        struct.pack_into(order + "q", area, at, struct.unpack_from(order + "q", area, at)[0] + int(words[1]))
    elif what == "put":
        area[int(words[0])] = int(words[1])
    elif what == "truncate":
        os.ftruncate(file, int(words[0]))
    elif what == "unlink":
        os.unlink(path)
    elif what == "exec":
        os.execv(sys.executable, [sys.executable, sys.argv[0], words[0]])
    elif what == "die":
        os.kill(os.getpid(), 9)
    elif what == "end":
        break
    print("ok", flush=True)
try:
    os.unlink(path)
except FileNotFoundError:
    pass
