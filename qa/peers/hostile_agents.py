"""Hostile agents on the Mono and Java profiler ports, good agents meanwhile, and what the good ones see.

    hostile_agents.py [--seconds 30] [--seed 1] [--hostile 200] [--good 10] [--kinds all] [--pid PMDA]

Ports are those of MONO_PORT and PROFILER_PORT. Each hostile agent plays one kind for a while, then ends (or is ended) and is
another: 20 new ones a second at most. Good agents are half Mono, half Java: each says hello once, stays, and every 200 ms sends
a sample or a command that must be acknowledged; one more of each kind connects anew each 200 ms and measures hello -> answer.
Hostile agents are two processes of their own, of low priority, so that what is measured is the PMDA and not this program.
At the end one line each: `hello`, `ack` (milliseconds p50, p99, max), `lost` good agents, connections of hostile ones by kind and,
with --pid, the largest resident memory. Standard library only.
"""

import argparse
import asyncio
import os
import random
import resource
import struct
import sys
import time
import zlib

import agent as mono

OPEN, DATA, FLUSH, KEEP_ALIVE, HELLO = b"\x15", b"\x02", b"\x11", b"\x12", b"\x14"
HOST = "127.0.0.1"


def field(raw):
    raw = raw if isinstance(raw, bytes) else raw.encode()
    return struct.pack(">i", len(raw)) + raw


def java_hello(name):
    return HELLO + struct.pack(">Q", 100605) + field(f"{name}_1691167327796") + field("svc") + field("ns")


def java_open(name, reset=0):
    return OPEN + field(name) + struct.pack(">ii", 0, reset)


def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out) + bytes([n])


def word(text):
    raw = text.encode("utf-16-be")
    return varint(len(raw) // 2) + raw


def phrase(body):
    return struct.pack(">i", len(body)) + body


class Load:
    """All agents of one run, and what was seen."""

    def __init__(self, options):
        self.options, self.random = options, random.Random(options.seed)
        self.end = time.monotonic() + options.seconds
        self.hello, self.ack, self.lost, self.kinds, self.number, self.rss = [], [], [], {}, 0, 0
        self.bombs = {}
        self.mono_port, self.java_port = int(os.environ["MONO_PORT"]), int(os.environ["PROFILER_PORT"])

    def late(self):
        return time.monotonic() >= self.end

    def next(self):
        self.number += 1
        return self.number

    # What hostile agents do. Each yields bytes, or None to wait a moment.

    def mono_texts(self, r):
        """Counters that are texts of 32,000 bytes."""
        n, size = r.choice([100, 1000, 4000]), r.choice([300, 4000, 32000])
        yield mono.hello(self.who() + [mono.header(1 << 9, f"t{i}", "s", mono.VARIABLE, i + 2) for i in range(n)])
        yield mono.sample(self.who_values())
        while True:
            for i in range(0, n, 50):
                yield mono.sample([mono.value(j + 2, "s", chr(97 + r.randrange(26)) * size) for j in range(i, min(n, i + 50))])

    def mono_names(self, r):
        """Counters with names that nobody else has, in a Hello as large as it may be."""
        tag, n = r.randrange(1 << 30), r.choice([5000, 32765])
        yield mono.hello(self.who() + [mono.header(1 << 9, f"{tag}-{i}".ljust(r.choice([20, 90]), "x"), "q", mono.VARIABLE, i + 2) for i in range(n)])
        yield mono.sample(self.who_values())
        while True:
            yield mono.sample([mono.value(r.randrange(n) + 2, "q", 5)])
            yield None

    def mono_undecided(self, r):
        """Bytes that stay undecided as long as they may."""
        n = 32767
        headers = b"".join(mono.header(1 << 9, ("%d" % i).rjust(90, "x"), "q", mono.VARIABLE, i) for i in range(12000))
        yield struct.pack("<h", n) + headers[:1_480_000]
        while True:
            yield None

    def garbage(self, r):
        while True:
            yield r.randbytes(r.randrange(1, 5000))

    def cut(self, r):
        whole = mono.hello(self.who()) + mono.sample(self.who_values())
        yield whole[:r.randrange(len(whole))]
        while r.random() < 0.9:
            yield None

    def java_bomb(self, r):
        yield self.bomb(r.choice(["alive", "flush", "data"]))
        while True:
            yield None

    def bomb(self, what):
        if what not in self.bombs:
            packer = zlib.compressobj(9, zlib.DEFLATED, 31)
            out = packer.compress(java_hello(f"bomb{what}") + java_open("other"))
            block = {"alive": KEEP_ALIVE, "flush": FLUSH,
                     "data": DATA + (0x706d_6461_6170_6d00 << 64 | 1).to_bytes(16, "big") + field(bytes(1000))}[what]
            block *= (1 << 20) // len(block)
            for _ in range(128):
                out += packer.compress(block)
            self.bombs[what] = out + packer.flush(zlib.Z_SYNC_FLUSH)
        return self.bombs[what]

    def java_words(self, r):
        """A dictionary without end."""
        yield java_hello(f"words{self.next()}") + java_open("dictionary", 1)
        handle = (0x706d_6461_6170_6d00 << 64 | 1).to_bytes(16, "big")
        while True:
            body = b"".join(word(f"{r.randrange(1 << 40)}" + "w" * r.choice([10, 200, 400])) for _ in range(10))
            stream, out = phrase(body), b""
            for at in range(0, len(stream), 1000):
                out += DATA + handle + field(stream[at:at + 1000])
            yield out

    def java_trace(self, r):
        """A trace of garbage and a calls stream of garbage, as fast as they are taken."""
        yield java_hello(f"trace{self.next()}") + java_open("dictionary", 1) + java_open("trace") + java_open("calls")
        handles = [(0x706d_6461_6170_6d00 << 64 | n).to_bytes(16, "big") for n in (1, 2, 3)]
        while True:
            yield b"".join(DATA + r.choice(handles) + field(r.randbytes(1000)) for _ in range(50))

    def java_slow(self, r):
        """Does not read what it is answered."""
        yield java_hello(f"slow{self.next()}")
        while True:
            yield FLUSH * 200

    def who(self):
        return [mono.header(0x4000, "Process Id", "i", mono.CONSTANT, 0), mono.header(0x2000, "Command Line", "s", mono.CONSTANT, 1)]

    def who_values(self):
        return [mono.value(0, "i", 100000 + self.next() % 2_000_000_000), mono.value(1, "s", "mono hostile.exe")]

    MONO = ["mono_texts", "mono_names", "mono_undecided", "garbage", "cut"]
    JAVA = ["java_bomb", "java_words", "java_trace", "java_slow", "garbage", "cut"]

    async def hostile(self):
        r = random.Random(self.random.randrange(1 << 60))
        while not self.late():
            is_mono = r.random() < 0.5
            wanted = [k for k in (self.MONO if is_mono else self.JAVA) if self.options.kinds == "all" or k in self.options.kinds.split(",")]
            if not wanted:
                await asyncio.sleep(0.01)
                continue
            kind = r.choice(wanted)
            self.kinds[kind] = self.kinds.get(kind, 0) + 1
            stays = time.monotonic() + r.expovariate(1 / 10)
            writer = None
            try:
                reader, writer = await asyncio.open_connection(HOST, self.mono_port if is_mono else self.java_port)
                reads = asyncio.ensure_future(self.swallow(reader)) if kind != "java_slow" else None
                for piece in getattr(self, kind)(r):
                    if time.monotonic() > stays or self.late():
                        break
                    if piece is None:
                        await asyncio.sleep(0.2)
                    else:
                        writer.write(piece)
                        await asyncio.wait_for(writer.drain(), 5)
                        await asyncio.sleep(0.002)
                    if writer.is_closing() or (reads and reads.done()):
                        break
                if reads:
                    reads.cancel()
            except (OSError, asyncio.TimeoutError):
                pass
            if writer:
                writer.transport.abort()
            # 20 new ones a second, whatever becomes of them.
            await asyncio.sleep(self.options.hostile / 20 * r.random() * 2)

    @staticmethod
    async def swallow(reader):
        try:
            while await reader.read(65536):
                pass
        except OSError:
            pass

    # Good agents.

    async def good_java(self, n):
        await asyncio.sleep(self.random.random())
        try:
            reader, writer = await asyncio.open_connection(HOST, self.java_port)
            await self.timed(self.hello, reader, writer, java_hello(f"good{n}"), 8)
            while not self.late():
                await asyncio.sleep(0.2)
                await self.timed(self.ack, reader, writer, FLUSH, 1)
            writer.close()
        except (OSError, asyncio.IncompleteReadError, asyncio.TimeoutError) as error:
            self.lost.append(f"java good{n}: {error!r}")

    async def good_mono(self, n):
        await asyncio.sleep(self.random.random())
        headers = self.who() + [mono.header(mono.SECTIONS["PerfCounters"], "Sequence", "q", mono.MONOTONIC, 2)]
        who = [mono.value(0, "i", 10_000_000 + n), mono.value(1, "s", "mono good.exe")]
        try:
            reader, writer = await asyncio.open_connection(HOST, self.mono_port)
            ended = asyncio.ensure_future(self.swallow(reader))
            writer.write(mono.hello(headers))
            sequence = 0
            while not self.late():
                sequence += 1
                writer.write(mono.sample(who + [mono.value(2, "q", sequence)]))
                who = []
                await writer.drain()
                if ended.done():
                    raise OSError("closed by the PMDA")
                await asyncio.sleep(0.2)
            writer.close()
        except OSError as error:
            self.lost.append(f"mono good.exe:{10_000_000 + n}: {error!r}")

    async def comes_and_goes(self):
        """Measures hello -> answer of agents that connect anew."""
        n = 0
        while not self.late():
            n = (n + 1) % 20
            try:
                begin = time.monotonic()
                reader, writer = await asyncio.open_connection(HOST, self.java_port)
                await self.timed(self.hello, reader, writer, java_hello(f"new{n}"), 8, begin)
                writer.write(b"\x04")
                writer.close()
            except (OSError, asyncio.IncompleteReadError, asyncio.TimeoutError) as error:
                self.lost.append(f"java new{n}: {error!r}")
            await asyncio.sleep(0.2)

    async def timed(self, times, reader, writer, request, size, begin=None):
        begin = begin or time.monotonic()
        writer.write(request)
        await asyncio.wait_for(reader.readexactly(size), 60)
        times.append(time.monotonic() - begin)

    async def watch(self):
        while not self.late():
            try:
                with open(f"/proc/{self.options.pid}/status") as status:
                    for line in status:
                        if line.startswith("VmRSS"):
                            self.rss = max(self.rss, int(line.split()[1]))
            except OSError:
                self.lost.append("the PMDA")
                return
            await asyncio.sleep(0.1)

    async def run_hostile(self, count):
        await asyncio.gather(*(self.hostile() for _ in range(count)))
        print("hostile:", " ".join(f"{k}={n}" for k, n in sorted(self.kinds.items())), flush=True)

    async def run(self):
        tasks = [self.good_java(n) for n in range(self.options.good // 2)] + [self.good_mono(n) for n in range(self.options.good // 2)]
        tasks.append(self.comes_and_goes())
        if self.options.pid:
            tasks.append(self.watch())
        await asyncio.gather(*tasks)
        for name, times in [("hello", self.hello), ("ack", self.ack)]:
            times.sort()
            at = lambda q: 1000 * times[min(len(times) - 1, int(q * len(times)))] if times else float("nan")
            print(f"{name}: {len(times)} answers, p50 {at(.5):.1f} p99 {at(.99):.1f} max {at(1):.1f} ms")
        print(f"lost: {len(self.lost)}")
        for line in self.lost[:20]:
            print("   ", line)
        if self.options.pid:
            print(f"rss: {self.rss} KiB")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hostile", type=int, default=200)
    parser.add_argument("--good", type=int, default=10)
    parser.add_argument("--kinds", default="all")
    parser.add_argument("--pid", type=int)
    options = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    print("begun", flush=True)
    children = []
    for part in range(2):
        child = os.fork()
        if child == 0:
            os.nice(10)
            options.seed = 2 * options.seed + part
            load = Load(options)
            load.number = part * 100_000_000 + 1
            asyncio.run(load.run_hostile(options.hostile // 2))
            os._exit(0)
        children.append(child)
    asyncio.run(Load(options).run())
    for child in children:
        os.waitpid(child, 0)


main()
