"""Decoder of the counters-agent protocol, agent to inspector: written from the public note, strict, and without a
line in common with the module that it checks.  Anything unexpected is an AssertionError."""

import struct
import time

SECTIONS = {0x100: "JIT", 0x200: "GC", 0x400: "Metadata", 0x800: "Generics", 0x1000: "Security", 0x2000: "Runtime",
            0x4000: "System", 0x8000: "PerfCounters", 0x10000: "Profiler", 0x20000: "Interp"}
TYPES = {0: "i", 1: "I", 2: "q", 3: "q", 4: "Q", 5: "d", 6: None, 7: "q"}
STATUS = ["OK", "NOK", "NOTFOUND", "EXISTING"]


class Unfinished(Exception):
    """More bytes are needed."""


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


class Stream:
    """Bytes in, messages out; remembers what the agent has said so far."""

    def __init__(self):
        self.bytes, self.at = b"", 0
        self.counters = {}          # index -> (category, name, type)
        self.ever = set()           # indexes ever given out
        self.hello = []             # "Category/Name" in the order of Hello
        self.values = {}            # "Category/Name" -> last value
        self.samples, self.empty, self.stamps, self.sizes = 0, 0, [], []

    def take(self, form):
        size = struct.calcsize("=" + form)
        if self.at + size > len(self.bytes):
            raise Unfinished
        values = struct.unpack_from("=" + form, self.bytes, self.at)
        self.at += size
        return values[0]

    def string(self):
        length = self.take("i")
        if length == -1:
            return None
        expect(0 < length <= 1024, f"string length {length}")
        return self.take(f"{length}s").decode("utf-8")

    def header(self):
        section, name = self.take("I"), self.string()
        kind, unit, variance, index = self.take("I"), self.take("I"), self.take("I"), self.take("h")
        expect(section in SECTIONS, f"section {section:#x}")
        expect(kind in TYPES, f"type {kind}")
        expect(unit in [n << 24 for n in range(5)], f"unit {unit:#x}")
        expect(variance in [1 << 28, 1 << 29, 1 << 30], f"variance {variance:#x}")
        return index, (SECTIONS[section], name, kind)

    def select(self, index, counter):
        expect(index not in self.ever and index == len(self.ever), f"index {index} is not the next one")
        self.ever.add(index)
        self.counters[index] = counter

    def value(self):
        index = self.take("h")
        if index == -1:
            return None
        expect(index in self.counters, f"value for index {index}, which is not selected")
        category, name, kind = self.counters[index]
        size = self.take("h")
        raw = self.take(f"{size}s")
        if kind == 6:
            expect(raw.endswith(b"\0"), "string value without an end")
            return index, raw.split(b"\0")[0].decode("utf-8")
        expect(size == struct.calcsize("=" + TYPES[kind]), f"size {size} for type {kind}")
        return index, struct.unpack("=" + TYPES[kind], raw)[0]

    def message(self):
        """The next message as (kind, detail)."""
        command = self.take("b")
        if command == 0:
            expect(not self.hello, "second Hello")
            expect(self.take("h") == 1, "version")
            headers = [self.header() for _ in range(self.take("h"))]
            for index, counter in headers:
                self.select(index, counter)
            self.hello = ["/".join(counter[:2]) for _, counter in headers]
            return "hello", len(headers)
        expect(self.hello, f"command {command} before Hello")
        if command == 1:
            pairs = []
            while (name := self.string()) is not None:
                pairs.append((name, self.string()))
            return "list", pairs
        if command == 2:
            status, header = self.take("b"), None
            if status == 0:
                header = self.header()
                self.select(*header)
            return "add", (STATUS[status], header)
        if command == 3:
            return "remove", STATUS[self.take("b")]
        expect(command == 4, f"command {command}")
        stamp, values, begin = self.take("q"), [], self.at - 9
        while (value := self.value()) is not None:
            values.append(value)
        unix = stamp / 1e7 - 11644473600
        expect(abs(time.time() - unix) < 3600, f"time stamp {unix}")
        for index, value in values:
            key = "/".join(self.counters[index][:2])
            expect(self.values.get((index, key)) != value or value != value, f"{key} is sent again unchanged")
            self.values[index, key] = value
        self.samples += 1
        self.empty += not values
        self.stamps.append(stamp)
        self.sizes.append(len(values))
        expect(values or self.at - begin == 11, "size of an empty sample")
        return "sample", values

    def messages(self, chunk):
        """Every message that is whole now; what is left stays for the next chunk."""
        self.bytes += chunk
        whole = []
        while True:
            before = (self.at, set(self.ever), dict(self.counters), dict(self.values))
            try:
                whole.append(self.message())
            except Unfinished:
                self.at, self.ever, self.counters, self.values = before
                self.bytes, self.at = self.bytes[self.at:], 0
                return whole

    def learnt(self):
        gaps = [(after - before) / 1e4 for before, after in zip(self.stamps, self.stamps[1:])]
        return dict(hello=self.hello, headers=len(self.hello), samples=self.samples, empty=self.empty,
                    final={key: value for (_, key), value in self.values.items()}, left=len(self.bytes),
                    first=self.sizes[0] if self.sizes else 0, mean_ms=sum(gaps[:-1]) / max(1, len(gaps) - 1))
