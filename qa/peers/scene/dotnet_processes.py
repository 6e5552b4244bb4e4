#!/usr/bin/env python3
""".NET processes of the scene: two of webshop, one of worker, until TERM: dotnet_processes.py SOCKET

Collections, exceptions, waits, counters, a starved pool, and stacks whenever a profile is asked for. Names begin with
DOTNET_PREFIX. Standard library only.
"""

import asyncio
import itertools
import os
import struct
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import dotnet  # noqa: E402
import dotnet_made  # noqa: E402
from dotnet_made import Writer, text  # noqa: E402

SAMPLER, RUNDOWN = "Microsoft-DotNETCore-SampleProfiler", "Microsoft-Windows-DotNETRuntimeRundown"
# Outermost first, and how many of a hundred samples have it.
STACKS = {
    "webshop": [(("Shop.Program.Main", "Shop.Orders.List", "Shop.Db.Query"), 60), (("Shop.Program.Main", "Shop.Orders.List", "Shop.Json.Write"), 25),
                (("Shop.Program.Main", "Shop.Health.Check"), 15)],
    "worker": [(("Work.Program.Main", "Work.Queue.Take"), 30), (("Work.Program.Main", "Work.Report.Render", "Work.Pdf.Page"), 70)],
}
BASE = 0x7F00_0000_0000


def at_work(program, exceptions, pause, every):
    """A runtime at work; each second its pool is starved."""
    async def stream(stop):
        w, n, last = Writer(), 0, 0
        while not stop.is_set():
            n += 1
            w.gc(n, depth=2 if n % 16 == 0 else n % 4 == 0, pause=pause + n % 7 * 300_000)
            w.exception(exceptions[n % len(exceptions)], f"{program} {n}")
            w.wait(200_000 + n % 5 * 4_000_000)
            if time.monotonic() - last > 1:
                last = time.monotonic()
                for name, value, units in (("cpu-usage", 5 + n % 30, "%"), ("working-set", 90 + n % 20, "MB"), ("gc-heap-size", 30 + n % 9, "MB"),
                                           ("threadpool-thread-count", 6, ""), ("threadpool-queue-length", n % 9, ""), ("active-timer-count", 3, ""),
                                           ("assembly-count", 80, ""), ("gc-committed", 60 + n % 9, "MB"),
                                           ("methods-jitted-count", 900 + n, "")):
                    w.counter(name, value, units)
                w.counter("alloc-rate", 5e6 / every, "B", mean=False)
                w.counter("current-requests", n % 12, provider="Microsoft.AspNetCore.Hosting")
                w.counter("requests-per-second", 3 / every, provider="Microsoft.AspNetCore.Hosting", mean=False)
                for kind in ("card", "invoice"):
                    w.meter("Shop", "orders.placed", f"payment={kind}", n * len(kind), rate=len(kind), unit="{order}")
                w.adjustment(4 + n % 8)
            yield w.flush()
            await asyncio.sleep(every)
        yield w.end()
    return stream


def profiled(program):
    """The stream of a profile: samples until it is stopped, then the methods' names."""
    names = sorted({frame for frames, _ in STACKS[program] for frame in frames})
    address = {name: BASE + 0x1000 * i for i, name in enumerate(names)}
    turns = [number for number, (_, share) in enumerate(STACKS[program]) for _ in range(share)]

    async def stream(stop):
        w = Writer()
        for frames, _ in STACKS[program]:
            w.stack([address[f] + 16 for f in reversed(frames)])
        turn = itertools.cycle(turns)
        while not stop.is_set():
            for _ in range(10):
                w.event(w.kind(SAMPLER, 0, 0, level=4), struct.pack("<I", 2), 4_000_001, stack=1 + next(turn))
            yield w.flush()
            await asyncio.sleep(0.01)
        for i, name in enumerate(names):
            owner, _, method = name.rpartition(".")
            w.event(w.kind(RUNDOWN, 144, 2, level=4, keywords=0x10), struct.pack("<QQQIII", i, 1, address[name], 0x1000, 1, 8) + text(owner) +
                    text(method) + text("void ()") + struct.pack("<HQ", 0, 0), 4_000_001)
        yield w.end()
    return stream


def main():
    runtimes = []
    for program, exceptions, pause, every in (("webshop", ["Shop.OutOfStock", "System.TimeoutException"], 800_000, 0.1),
                                              ("webshop", ["Shop.OutOfStock"], 2_000_000, 0.2), ("worker", ["Work.Failed"], 5_000_000, 0.3)):
        streams = [at_work(program, exceptions, pause, every)] + [profiled(program)] * 10_000
        runtimes.append(dotnet.Runtime(*streams, name=program, connect=sys.argv[1]))
    dotnet.run(dotnet.forever(runtimes))


if __name__ == "__main__":
    main()
