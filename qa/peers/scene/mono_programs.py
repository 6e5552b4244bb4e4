#!/usr/bin/env python3
"""Mono programs of the scene: three processes of two programs at work, until TERM. Each has other figures; one of
shop.exe ends after 40 s and comes back with another pid, unless an argument says "steady". The port is that of MONO_PORT. Standard library only.
"""

import os
import random
import struct
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import agent  # noqa: E402

BYTES, TIME, COUNT = 1 << 24, 2 << 24, 3 << 24
ALWAYS_UP = agent.MONOTONIC
# Section, name, type, unit, variance, growth a second (counters) or level (others) at a load of 1.
COUNTERS = [
    ("GC", "Minor GC collections", "i", 0, ALWAYS_UP, 4), ("GC", "Major GC collections", "i", 0, ALWAYS_UP, 0.5),
    ("GC", "Minor GC time", "Q", TIME, ALWAYS_UP, 200_000), ("GC", "Major GC time", "q", TIME, ALWAYS_UP, 90_000),
    ("GC", "World stop", "Q", TIME, ALWAYS_UP, 30_000), ("GC", "Number of pinned objects", "Q", 0, ALWAYS_UP, 7),
    ("GC", "Memgov alloc", "I", BYTES, agent.VARIABLE, 24 << 20), ("System", "Working Set", "q", BYTES, agent.VARIABLE, 64 << 20),
    ("System", "User Time", "q", TIME, ALWAYS_UP, 3_000_000), ("System", "System Time", "q", TIME, ALWAYS_UP, 400_000),
    ("System", "Total Time", "q", TIME, ALWAYS_UP, 3_400_000), ("System", "Page Faults", "q", COUNT, ALWAYS_UP, 150),
    ("JIT", "Compiled methods", "i", 0, ALWAYS_UP, 12), ("JIT", "Total time spent JITting", "q", TIME, ALWAYS_UP, 50_000),
    ("JIT", "Native code size", "i", 0, ALWAYS_UP, 9_000),
    ("Runtime", "Valloc SGen LOS", "I", BYTES, agent.VARIABLE, 8 << 20), ("Runtime", "Valloc SGen nursery", "I", BYTES, agent.VARIABLE, 4 << 20),
]
LOWEST_PID = 100_000


def header(number, section, name, kind, unit, variance):
    return (struct.pack("<I", agent.SECTIONS[section]) + agent.string(name) +
            struct.pack("<IIIh", agent.TYPES[kind], unit, variance, number))


def program(name, pid, load, life=None):
    dice = random.Random(pid)
    while True:
        connection = agent.connect()
        headers = [header(0, "System", "Process Id", "i", 0, agent.CONSTANT), header(1, "Runtime", "Command Line", "s", 0, agent.CONSTANT)]
        headers += [header(i + 2, *c[:5]) for i, c in enumerate(COUNTERS)]
        connection.sendall(agent.hello(headers))
        first = [agent.value(0, "i", pid), agent.value(1, "s", f"mono /srv/{name} --serve")]
        totals, begin = [0.0] * len(COUNTERS), time.monotonic()
        while life is None or time.monotonic() - begin < life:
            values = []
            for i, (_, _, kind, _, variance, pace) in enumerate(COUNTERS):
                if variance == ALWAYS_UP:
                    totals[i] += pace * load * dice.uniform(0.25, 0.75)
                    values.append(agent.value(i + 2, kind, int(totals[i])))
                else:
                    values.append(agent.value(i + 2, kind, int(pace * load * dice.uniform(0.8, 1.2))))
            connection.sendall(agent.sample(first + values))
            first = []
            time.sleep(0.5)
        connection.close()
        pid += 1000
        time.sleep(2)


def main():
    for name, pid, load, life in (("shop.exe", LOWEST_PID + 1, 1.0, None), ("shop.exe", LOWEST_PID + 2, 0.5, None if "steady" in sys.argv else 40), ("billing.exe", LOWEST_PID + 3, 2.0, None)):
        threading.Thread(target=program, args=(name, pid, load, life), daemon=True).start()
    while True:
        time.sleep(60)


if __name__ == "__main__":
    main()
