#!/usr/bin/env python3
"""Twenty .NET processes of three programs, of which one in three ends and is killed: net.py SOCKET. Prints what each program has
counted. Standard library only."""

import asyncio
import collections
import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import dotnet  # noqa: E402
from dotnet_made import Writer  # noqa: E402

total, done, programs = collections.Counter(), [], ("web", "work", "cron")


def life(n, program):
    async def stream(stop):
        dice, w = random.Random(n), Writer(time.monotonic_ns())
        for turn in range(4 + n % 5):
            for gc in range(dice.randrange(1, 5)):
                pause = dice.randrange(1, 40) * 1_000_000
                w.gc(1 + total[n, "number"], depth=dice.randrange(3), pause=pause)
                total[n, "number"] += 1
                total[program, "gc"] += 1
                total[program, "pauses"] += pause
            for kind in ("A.Bad", "B.Worse"):
                for _ in range(dice.randrange(3)):
                    w.exception(kind)
                    total[program, "exceptions"] += 1
                    total[program, kind] += 1
            w.wait(dice.randrange(1, 9) * 1_000_000)
            total[program, "waits"] += 1
            yield w.flush()
            await asyncio.sleep(0.1)
        done.append(n)
        if n % 3:
            await stop.wait()
        yield w.end()
    return stream


async def main():
    runtimes = []
    for n in range(20):
        program = programs[n % 3]
        runtimes.append(dotnet.Runtime(life(n, program), name=program, connect=sys.argv[1]))
    serving = asyncio.ensure_future(dotnet.forever(runtimes))
    while len(done) < 20:
        await asyncio.sleep(0.1)
    for (program, what), n in sorted((k, v) for k, v in total.items() if isinstance(k[0], str)):
        print("total", program, what, n, flush=True)
    print("sent", flush=True)
    # The test has seen it all.
    while not os.path.exists(os.path.join(os.environ["D"], "kill")):
        await asyncio.sleep(0.1)
    for n, runtime in enumerate(runtimes):
        if n % 3 == 0:
            runtime.kill()
    await serving


dotnet.run(main())
