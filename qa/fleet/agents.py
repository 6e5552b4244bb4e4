#!/usr/bin/env python3
"""The agents of one host of a fleet, at a low rate, for as long as it runs.

usage: agents.py HOST AGENTS

Of AGENTS, four of ten are Java pods (of the services shop/orders, shop/billing and shop/search), four Mono
processes (web.exe, batch.exe) and one Zorka agent; the rest are .NET processes. Every fifth of a kind has more
to report. The ports are in PROFILER_PORT, MONO_PORT, ZORKA_PORT; .NET's sockets go to DOTNET_DIR. Standard
library only.
"""

import asyncio
import os
import struct
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "peers"))
import agent as mono  # noqa: E402
import dotnet  # noqa: E402
import dotnet_made  # noqa: E402
import profiler  # noqa: E402
import zorka  # noqa: E402

CORPUS = os.path.join(HERE, "..", "corpus")
SERVICES = ["orders", "billing", "search"]
PROGRAMS = ["web.exe", "batch.exe"]
COUNTERS = ["GC/Minor GC collections", "GC/Major GC collections:i", "GC/Minor GC time", "JIT/Compiled methods:i",
            "JIT/Total time spent JITting:d", "System/Working Set", "System/User Time"]


def shares(agents):
    """How many pods, Mono processes, Zorka agents and .NET processes: at least one of each from four on."""
    pods = programs = max(1, agents * 4 // 10)
    zorkas = max(1, agents // 10)
    return pods, programs, zorkas, max(0, agents - pods - programs - zorkas)


def forever(play, number):
    """Plays until the program ends; a collector that is not there is tried again."""
    time.sleep(0.05 * number)
    while True:
        try:
            play()
        except (OSError, EOFError, AssertionError, zorka.Lost) as fault:
            print(f"{play.__name__} {number}: {fault}", flush=True)
        time.sleep(1)


def pod(host, number):
    """One JVM: a recorded session, played again and again under a name and service of its own."""
    path = os.path.join(CORPUS, "profiler", "load.duplex")
    operations = profiler.recording(path)
    service = SERVICES[number % len(SERVICES)]
    command, hello, handle = operations[0]
    length, = struct.unpack_from(">i", hello, 8)
    started = hello[12:12 + length].rpartition(b"_")[2].decode()
    name = f"{service}-{host}-{number}_{started}".encode()
    texts = b"".join(struct.pack(">i", len(t)) + t for t in (name, service.encode(), b"shop"))
    operations[0] = (command, hello[:8] + texts, handle)
    # A busy one repeats the recording each 15 s, a quiet one each 75 s.
    pace = 0.3 if number % 5 == 0 else 1.5

    def play():
        agent = profiler.Agent()
        agent.play(operations, pace=pace)
        agent.socket.close()
    return play


def program(number):
    """One Mono process with a sample each second."""
    def play():
        agent = mono.Agent(COUNTERS, program=PROGRAMS[number % len(PROGRAMS)], pid=3000 + number)
        step = 10 if number % 5 == 0 else 1
        for second in range(1, 1 << 30):
            n = second * step + number
            agent.sample(n, n // 10, n * 900_000, 1000 + n, n / 50, 50_000_000 + 4096 * (n % 1000), n * 1000)
            time.sleep(1)
    return play


def traced(host, number):
    """One Zorka agent: a recorded session each 12 s."""
    path = os.path.join(CORPUS, "zorka", "real-2.0.3", "web-jetty-h2-dtrace.jsonl")

    def play():
        agent = zorka.Agent(int(os.environ["ZORKA_PORT"]), f"{SERVICES[number % len(SERVICES)]}-api/{host}-{number}")
        zorka.play(path, agent, rounds=1)
        time.sleep(12)
        agent.close()
    return play


async def runtimes(count):
    """.NET processes whose streams have a collection, an exception and a wait each 50 ms."""
    quiet = lambda **_: None  # noqa: E731
    made = [dotnet.Runtime(dotnet_made.busy, name=f"api{number % 2}", directory=os.environ["DOTNET_DIR"], say=quiet)
            for number in range(count)]
    await dotnet.forever(made)


def main():
    host, agents = sys.argv[1], int(sys.argv[2])
    pods, programs, zorkas, dotnets = shares(agents)
    plays = [pod(host, n) for n in range(pods)] + [program(n) for n in range(programs)]
    plays += [traced(host, n) for n in range(zorkas)]
    for number, play in enumerate(plays):
        threading.Thread(target=forever, args=(play, number), daemon=True).start()
    asyncio.run(runtimes(dotnets))


if __name__ == "__main__":
    main()
