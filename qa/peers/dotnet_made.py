#!/usr/bin/env python3
"""Streams of nettrace 4 that no runtime wrote: known figures, hostile ones (docs/protocols/dotnet.md 3, 5 and 7).

`Writer` makes blocks; `busy` is a runtime at work without end; `hostile()` names streams that end a session or
must not. The times are those of now. Standard library only.
"""

import asyncio
import random
import struct
import time

import dotnet

CLR, RUNTIME, METERS = "Microsoft-Windows-DotNETRuntime", "System.Runtime", "System.Diagnostics.Metrics"
CODES = {"bool": 3, "i4": 9, "u4": 10, "i8": 11, "u8": 12, "f4": 13, "f8": 14, "text": 18, "object": 1}


def varuint(n):
    out = bytearray()
    while n >= 128:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out) + bytes([n])


def text(s):
    return (s + "\0").encode("utf-16-le")


def obj(name, body, version=2):
    return b"\5\5\1" + struct.pack("<iii", version, 2, len(name)) + name.encode() + b"\6" + body + b"\6"


class Writer:
    """Blocks of one session. Events wait until `flush`. Their times follow each other from `start`, in ns of
    CLOCK_MONOTONIC; without it they end now."""

    def __init__(self, start=None):
        self.at, self.ids, self.metadata, self.events, self.numbers = 0, {}, [], [], {}
        self.clock, self.head = start, True
        self.stacks, self.known_stacks = [], 0

    def span(self, ns=0):
        """The start of something that takes `ns`."""
        if self.clock is None:
            return time.monotonic_ns() - ns
        at, self.clock = self.clock, self.clock + ns + 1000
        return at

    def kind(self, provider, event, version=0, name="", fields=(), level=4, keywords=0):
        key = (provider, event, version, name)
        if key not in self.ids:
            self.ids[key] = len(self.ids) + 1
            layout = struct.pack("<i", len(fields)) + b"".join(self.field(*f) for f in fields)
            body = (struct.pack("<i", self.ids[key]) + text(provider) + struct.pack("<i", event) + text(name) +
                    struct.pack("<Qii", keywords, version, level) + layout)
            self.metadata.append(b"\x83" + varuint(0) + varuint(0xFFFFFFFF) + varuint(0) + varuint(0xFFFFFFFF) + varuint(0) +
                                 varuint(len(body)) + body)
        return self.ids[key]

    @staticmethod
    def field(name, kind, nested=()):
        more = struct.pack("<i", len(nested)) + b"".join(Writer.field(*f) for f in nested) if kind == "object" else b""
        return struct.pack("<i", CODES[kind]) + more + text(name)

    def event(self, kind, payload, thread=100, at=None, lost=0, stack=0):
        """`lost` events of the thread were thrown away before it. `stack`: its number, 0 for none."""
        self.events.append((at or self.span(), kind, payload, thread, lost, stack))

    def stack(self, ips):
        """A stack, leaf first. Its number: 1, 2, ..."""
        self.stacks.append(b"".join(struct.pack("<Q", ip) for ip in ips))
        return self.known_stacks + len(self.stacks)

    def block(self, name, body):
        # Zeros up to a multiple of 4 from the start of the stream.
        before = self.at + 3 + 12 + len(name) + 1 + 4
        out = obj(name, struct.pack("<i", len(body)) + b"\0" * (-before % 4) + body)
        self.at += len(out)
        return out

    def flush(self, point=False):
        out = b""
        if self.head:
            out, self.head = dotnet.trace(), False
            self.at = len(out)
        if self.metadata:
            out += self.block("MetadataBlock", struct.pack("<HHqq", 20, 1, 0, 0) + b"".join(self.metadata))
            self.metadata = []
        if self.stacks:
            rows = b"".join(struct.pack("<I", len(s)) + s for s in self.stacks)
            out += self.block("StackBlock", struct.pack("<II", self.known_stacks + 1, len(self.stacks)) + rows)
            self.known_stacks, self.stacks = self.known_stacks + len(self.stacks), []
        self.events.sort(key=lambda e: e[0])
        if self.events:
            rows, last, seen = b"", 0, 0
            for i, (at, kind, payload, thread, lost, stack) in enumerate(self.events):
                number = self.numbers[thread] = self.numbers.get(thread, 0) + 1 + lost
                flags = 1 | 2 | 4 | 8 | 128 | (64 if i + 1 == len(self.events) else 0)
                rows += (bytes([flags]) + varuint(kind) + varuint((number - seen - 1) % 2**32) + varuint(thread) +
                         varuint(0xFFFFFFFF) + varuint(thread) + varuint(stack) + varuint((at - last) % 2**64) + varuint(len(payload)) + payload)
                last, seen = at, number
            out += self.block("EventBlock", struct.pack("<HHqq", 20, 1, self.events[0][0], last) + rows)
            self.events = []
        if point:
            threads = b"".join(struct.pack("<QI", t, n) for t, n in self.numbers.items())
            out += self.block("SPBlock", struct.pack("<qI", time.monotonic_ns(), len(self.numbers)) + threads)
        return out

    def end(self):
        return self.flush(point=True) + b"\1"

    # Events of the runtime.

    def gc(self, number, depth=0, pause=1_000_000, reason=0, kind=0, thread=100, at=None, sizes=(1 << 20, 1 << 21, 1 << 22, 1 << 23, 0)):
        at = at or self.span(pause)
        clr = struct.pack("<H", 0)
        put = lambda event, version, payload, when: self.event(self.kind(CLR, event, version, level=4, keywords=1), payload, thread, when)
        put(9, 1, struct.pack("<II", 1, number - 1) + clr, at)
        put(8, 1, clr, at + pause // 10)
        put(1, 2, struct.pack("<IIII", number, depth, reason, kind) + clr + struct.pack("<Q", 0), at + pause // 5)
        put(2, 1, struct.pack("<II", number, depth) + clr, at + pause // 2)
        g0, g1, g2, loh, poh = sizes
        put(4, 2, struct.pack("<10QIII", g0, g0 // 2, g1, g1 // 2, g2, g2 // 2, loh, 0, 7, 1, 3, 0, 9) + clr + struct.pack("<QQ", poh, 0), at + pause // 2)
        put(7, 1, clr, at + pause - 1000)
        put(3, 1, clr, at + pause)

    def exception(self, type_, words="no", flags=16, thread=101, at=None, lost=0):
        payload = text(type_) + text(words) + struct.pack("<QIHH", 0x7F00, 0x80131500, flags, 0)
        self.event(self.kind(CLR, 80, 1, level=2, keywords=0x8000), payload, thread, at, lost)

    def wait(self, ns, lock=0x55AA, owner=7, thread=102, at=None):
        at = at or self.span(ns)
        start = struct.pack("<BH", 0, 0) + struct.pack("<QQQ", lock, 1, owner)
        self.event(self.kind(CLR, 81, 2, keywords=0x4000), start, thread, at)
        self.event(self.kind(CLR, 91, 1, keywords=0x4000), struct.pack("<BHd", 0, 0, float(ns)), thread, at + ns)

    def adjustment(self, threads, reason=6, thread=103, at=None):
        self.event(self.kind(CLR, 55, 0, keywords=0x10000), struct.pack("<dIIH", 12.5, threads, reason, 0), thread, at)

    def counter(self, name, value, units="", interval=1.0, provider=RUNTIME, mean=True, count=1, low=None, high=None, thread=104):
        if mean:
            fields = [("Name", "text"), ("DisplayName", "text"), ("Mean", "f8"), ("StandardDeviation", "f8"), ("Count", "i4"), ("Min", "f8"),
                      ("Max", "f8"), ("IntervalSec", "f4"), ("Series", "text"), ("CounterType", "text"), ("Metadata", "text"), ("DisplayUnits", "text")]
            payload = (text(name) + text(name.title()) + struct.pack("<ddidd", value, 0, count, value if low is None else low,
                       value if high is None else high) + struct.pack("<f", interval) + text("Interval=1000") + text("Mean") + text("") + text(units))
        else:
            fields = [("Name", "text"), ("DisplayName", "text"), ("DisplayRateTimeScale", "text"), ("Increment", "f8"), ("IntervalSec", "f4"),
                      ("Metadata", "text"), ("Series", "text"), ("CounterType", "text"), ("DisplayUnits", "text")]
            payload = (text(name) + text(name.title()) + text("00:00:01") + struct.pack("<df", value, interval) + text("") +
                       text("Interval=1000") + text("Sum") + text(units))
        outer = [("", "object", [("Payload", "object", fields)])]
        self.event(self.kind(provider, 155 + mean, 0, "EventCounters", outer), payload, thread)

    def meter(self, meter, instrument, tags, value, rate="0", unit="", session="SHARED", thread=105):
        fields = [(n, "text") for n in ("sessionId", "meterName", "meterVersion", "instrumentName", "unit", "tags", "rate", "value")]
        payload = b"".join(text(x) for x in (session, meter, "", instrument, unit, tags, str(rate), str(value)))
        self.event(self.kind(METERS, 4, 2, "CounterRateValuePublished", fields + [("instrumentId", "i4")], keywords=2),
                   payload + struct.pack("<i", 1), thread)

    def own(self, provider, name, event, fields, values, thread=106, at=None, level=4):
        forms = {"i4": "<i", "u4": "<I", "i8": "<q", "u8": "<Q", "f8": "<d", "f4": "<f", "bool": "<i"}
        payload = b"".join(text(v) if k == "text" else struct.pack(forms[k], v) for (_, k), v in zip(fields, values))
        self.event(self.kind(provider, event, 0, name, fields, level), payload, thread, at)


def known(collections=3, exceptions=(), waits=(), pauses=1_000_000, starvations=0, counters=()):
    """A stream of known figures, ended; it began 5 s ago."""
    w = Writer(time.monotonic_ns() - 5_000_000_000)
    for n in range(collections):
        w.gc(n + 1, depth=n % 3, pause=pauses)
    for type_, count in exceptions:
        for _ in range(count):
            w.exception(type_)
    for ns in waits:
        w.wait(ns)
    for n in range(starvations):
        w.adjustment(4 + n)
    for name, value, units in counters:
        w.counter(name, value, units)
    return w.end()


async def busy(stop, every=0.05, writer=None):
    """A runtime at work: one collection, exception and wait each 50 ms, counters each second."""
    w, n, last = writer or Writer(), 0, 0
    while not stop.is_set():
        n += 1
        w.gc(n, depth=2 if n % 16 == 0 else n % 4 == 0, pause=800_000 + n % 7 * 300_000)
        w.exception("System.TimeoutException" if n % 3 else "Shop.OutOfStock", f"order {n}")
        w.wait(200_000 + n % 5 * 4_000_000)
        if n % 40 == 0:
            w.adjustment(4 + n // 40)
        if time.monotonic() - last > 1:
            last = time.monotonic()
            for name, value, units in (("cpu-usage", 12.5, "%"), ("working-set", 101.5, "MB"), ("gc-heap-size", 33.25, "MB"),
                                       ("threadpool-thread-count", 6, ""), ("threadpool-queue-length", n % 9, ""), ("active-timer-count", 3, "")):
                w.counter(name, value, units)
            w.counter("alloc-rate", 5e6, "B", mean=False)
        yield w.flush()
        await asyncio.sleep(every)
    yield w.end()


def forever(make):
    """A stream of `make(n)`'s bytes without end, as fast as it is taken."""
    async def stream(stop):
        n = 0
        while not stop.is_set():
            yield make(n)
            n += 1
    return stream


def flood(fill):
    """Blocks without end, each filled by `fill(writer, n)`."""
    w = Writer()

    def make(n):
        for i in range(200):
            fill(w, 200 * n + i)
        return w.flush()
    return forever(make)


def corrupt(stream, seed):
    """The stream with a few bytes changed, inserted or left out."""
    r, data = random.Random(seed), bytearray(stream)
    for _ in range(r.randrange(1, 8)):
        at = r.randrange(8, len(data))
        r.choice([lambda: data.__setitem__(at, r.randrange(256)), lambda: data.__delitem__(slice(at, at + r.randrange(1, 9))),
                  lambda: data.__setitem__(slice(at, at), r.randbytes(r.randrange(1, 9)))])()
    return bytes(data)


def hostile():
    """Name and stream of what ends the session with a reason, whatever it says."""
    head, big = dotnet.trace(), 0x7FFFFFFF
    block = lambda size, body=b"": b"\5\5\1" + struct.pack("<iii", 2, 2, 10) + b"EventBlock\6" + struct.pack("<i", size) + body
    yield "no nettrace", b"HTTP/1.1 200 OK\r\n\r\n" * 40
    yield "another format", b"Nettrace" + struct.pack("<I", 20) + b"!FastSerialization.9" + bytes(64)
    yield "a name of 2 GiB", head + b"\5\5\1" + struct.pack("<iii", 2, 2, big) + b"x" * 4096
    yield "a name of -1 bytes", head + b"\5\5\1" + struct.pack("<iii", 2, 2, -1) + b"x" * 4096
    yield "a block of 2 GiB", head + block(big, bytes(65536))
    yield "a block of -1 bytes", head + block(-1, bytes(65536))
    yield "a block of version 9", head + b"\5\5\1" + struct.pack("<iii", 9, 9, 10) + b"EventBlock\6" + bytes(64)
    yield "version 7", b"Nettrace" + struct.pack("<III", 0, 7, 0) + bytes(64)
    yield "zeros", head + bytes(1 << 20)
    yield "ones", head + b"\xff" * (1 << 20)


def floods():
    """Name and endless stream of what must be bounded: names, threads, types, stacks, series."""
    yield "exceptions of new types", flood(lambda w, n: w.exception(f"Hostile.Type{n}" + "x" * 200, "y" * 2000))
    yield "new locks", flood(lambda w, n: w.wait(1000 + n, lock=n, owner=n))
    yield "new threads", flood(lambda w, n: w.exception("Hostile.Thread", thread=1_000_000 + n))
    yield "new event types", flood(lambda w, n: w.own("Hostile" + "p" * 200, f"Event{n}" + "e" * 200, 1000 + n, [(f"field{n}", "text")], ["v"]))
    yield "new counters", flood(lambda w, n: w.counter(f"counter{n}" + "c" * 100, n, provider="Hostile"))
    yield "new series", flood(lambda w, n: w.meter("Hostile", f"instrument{n % 999}", f"k={n}" + "t" * 100, n))
    yield "collections that never end", flood(lambda w, n: w.event(w.kind(CLR, 1, 2), struct.pack("<IIIIHQ", n, 2, 0, 1, 0, 0), 100))
    yield "events of 60 KiB", flood(lambda w, n: w.exception("Hostile.Big", "z" * 30_000) if n % 100 == 0 else None)
