#!/usr/bin/env python3
"""Twenty Mono processes of three programs: some connect again on the way, some end, some stay. Prints what each program has counted.
Standard library only."""

import collections
import os
import random
import socket
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import agent  # noqa: E402

counters = ["GC/Minor GC collections:i", "JIT/Compiled methods:q", "GC/Gauge:q"]
total, kept, lock = collections.Counter(), [], threading.Lock()


class Process(agent.Agent):
    """One whose gauge is none that only grows."""

    @staticmethod
    def counter(text):
        *which, variance = agent.Agent.counter(text)
        return *which, agent.VARIABLE if "Gauge" in text else variance


def process(n):
    """A life: some connect again on the way, some end, some stay."""
    program, pid, first, second = f"p{n % 3}.exe", 10_000_000 + n, 4294967290 if n == 7 else 0, 0
    more = random.Random(n)
    for connection in range(1 + n % 2):
        a = Process(counters, program=program, pid=pid)
        for _ in range(5 + n):
            first, second = first + more.randrange(0, 9), second + more.randrange(1, 1000)
            a.sample(first % 2**32 if first % 2**32 < 2**31 else first % 2**32 - 2**32, second, n)
            with lock:
                total[program, "samples"] += 1
        if n % 4 == 0 or connection < n % 2:
            # Until the PMDA has taken all.
            a.socket.shutdown(socket.SHUT_WR)
            while a.socket.recv(4096):
                pass
            a.socket.close()
        else:
            kept.append(a)
    with lock:
        total[program, "minor"] += first
        total[program, "methods"] += second
        total[program, "starts"] += 1


threads = [threading.Thread(target=process, args=(n,)) for n in range(20)]
for t in threads:
    t.start()
for t in threads:
    t.join()
for (program, what), n in sorted(total.items()):
    print("total", program, what, n)
print("processes", len(kept))
print("sent")
agent.pause()
