"""Hostile agents on the Mono and Java profiler ports, good agents meanwhile, and what the good ones see.

    hostile_agents.py [--seconds 30 | --until FILE] [--seed 1] [--hostile 200] [--good 10]

With --until they go on until there is the file and each good agent has been answered 10 times. Ports are those of MONO_PORT and PROFILER_PORT. Each hostile agent plays one kind for a while, then ends (or is ended) and is
another: 20 new ones a second at most. Good agents are half Mono, half Java: each says hello once, stays, and every 200 ms sends
a sample or a command that must be acknowledged; one more of each kind connects anew each 200 ms and measures hello -> answer.
Hostile agents are two processes of their own, of low priority, so that what is measured is the PMDA and not this program.
At the end one line each: `hello`, `ack` (milliseconds p50, p99, max), `lost` good agents, connections of hostile ones by kind.
Standard library only.
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


def bomb(name, block):
    """A gzip stream of 128 MiB: blocks without a meaning. Between full flushes its bytes are always the same."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    head = packer.compress(java_hello(f"bomb{name}") + java_open("other")) + packer.flush(zlib.Z_FULL_FLUSH)
    return head + 128 * (packer.compress(block * ((1 << 20) // len(block))) + packer.flush(zlib.Z_FULL_FLUSH))


BOMBS = {"alive": bomb("alive", KEEP_ALIVE), "flush": bomb("flush", FLUSH),
         "data": bomb("data", DATA + (0x706d_6461_6170_6d00 << 64 | 1).to_bytes(16, "big") + field(bytes(1000)))}


class Load:
    """All agents of one run, and what was seen."""

    def __init__(self, options):
        self.options, self.random = options, random.Random(options.seed)
        self.over = asyncio.Event()
        self.hello, self.ack, self.lost, self.kinds, self.number = [], [], [], {}, 0
        self.mono_port, self.java_port = int(os.environ["MONO_PORT"]), int(os.environ["PROFILER_PORT"])

    def late(self):
        return self.over.is_set()

    async def ends(self, enough):
        """Sets `over` when it is time, and enough has been seen."""
        end = time.monotonic() + (self.options.seconds or 0)
        while not (os.path.exists(self.options.until) if self.options.until else time.monotonic() >= end) or not enough():
            await asyncio.sleep(0.05)
        self.over.set()

    async def rest(self, seconds):
        """Sleeps, but not beyond the end."""
        try:
            await asyncio.wait_for(self.over.wait(), seconds)
        except asyncio.TimeoutError:
            pass

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
        yield BOMBS[r.choice(sorted(BOMBS))]
        while True:
            yield None

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
        return [mono.value(0, "i", 20_000_000 + self.next() % 2_000_000_000), mono.value(1, "s", "mono hostile.exe")]

    MONO = ["mono_texts", "mono_names", "mono_undecided", "garbage", "cut"]
    JAVA = ["java_bomb", "java_words", "java_trace", "java_slow", "garbage", "cut"]

    async def hostile(self):
        r = random.Random(self.random.randrange(1 << 60))
        while not self.late():
            is_mono = r.random() < 0.5
            kind = r.choice(self.MONO if is_mono else self.JAVA)
            self.kinds[kind] = self.kinds.get(kind, 0) + 1
            stays = worked() + r.expovariate(1 / 10)
            writer = reads = None
            try:
                reader, writer = await asyncio.open_connection(HOST, self.mono_port if is_mono else self.java_port)
                reads = asyncio.ensure_future(self.swallow(reader)) if kind != "java_slow" else None
                for piece in getattr(self, kind)(r):
                    if worked() > stays or self.late():  # wait_for may swallow a cancellation
                        break
                    if piece is None:
                        await asyncio.sleep(0.2)
                    else:
                        writer.write(piece)
                        await asyncio.wait_for(writer.drain(), 5)
                        await asyncio.sleep(0.002)
                    if writer.is_closing() or (reads and reads.done()):
                        break
            except (OSError, asyncio.TimeoutError):
                pass
            finally:
                if reads:
                    reads.cancel()
                if writer:
                    writer.transport.abort()
            # 20 new ones a second, whatever becomes of them.
            await self.rest(self.options.hostile / 20 * r.random() * 2)

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
                await self.rest(0.2)
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
                await self.rest(0.2)
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
            await self.rest(0.2)

    async def timed(self, times, reader, writer, request, size, begin=None):
        begin = begin or time.monotonic()
        writer.write(request)
        await asyncio.wait_for(reader.readexactly(size), 300)
        times.append(time.monotonic() - begin)

    async def run_hostile(self, count):
        tasks = [asyncio.ensure_future(self.hostile()) for _ in range(count)]
        await self.ends(lambda: True)
        for task in tasks:
            task.cancel()
        for ended in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(ended, Exception):
                say(f"hostile: ended with {ended!r}")
        say("hostile: " + " ".join(f"{k}={n}" for k, n in sorted(self.kinds.items())))

    async def run(self):
        n = self.options.good // 2
        await asyncio.gather(*map(self.good_java, range(n)), *map(self.good_mono, range(n)), self.comes_and_goes(),
                             self.ends(lambda: self.lost or len(self.hello) >= n + 10 and len(self.ack) >= 10 * n))
        for name, times in [("hello", self.hello), ("ack", self.ack)]:
            times.sort()
            at = lambda q: 1000 * times[min(len(times) - 1, int(q * len(times)))] if times else float("nan")
            say(f"{name}: {len(times)} answers, p50 {at(.5):.1f} p99 {at(.99):.1f} max {at(1):.1f} ms")
        for line in self.lost[:20]:
            say(f"    {line}")
        say(f"lost: {len(self.lost)}")


def worked():
    """Seconds that this process has worked, and a part of those that have gone by: on a machine that has other work too
    as much is sent before an agent ends."""
    return time.process_time() + time.monotonic() / 4


def say(line):
    """Three processes have one output, and `print` writes a line in pieces: a line of another may come between."""
    os.write(1, f"{line}\n".encode())


async def hostile(options, part):
    load = Load(options)
    load.number = part * 100_000_000 + 1
    await load.run_hostile(options.hostile // 2)


async def good(options):
    await Load(options).run()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--until")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hostile", type=int, default=200)
    parser.add_argument("--good", type=int, default=10)
    options = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    say("begun")
    children = []
    for part in range(2):
        child = os.fork()
        if child == 0:
            os.nice(10)
            options.seed = 2 * options.seed + part
            asyncio.run(hostile(options, part))
            os._exit(0)
        children.append(child)
    asyncio.run(good(options))
    for child in children:
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
