"""Java pods that send the calls that a test asks for (docs/protocols/java-profiler.md A.3, B.2, B.5, B.6). Standard library only.

    pod = Pod(port, "shop", "orders", "orders-1", ["void a.B.c() (B.java:1) [b.jar]"])
    pod.calls([Call("void a.B.c() (B.java:1) [b.jar]", 12, failed=True)])

Times are in ms. A pod is an object for one connection; made again with the same name it is the same JVM if `start` is the same.
"""

import struct
import time

import profiler

WORDS = ["call.info", "common.started", "call.red"]


class Call:
    """A call of a root method, with (method, ms) that it called. values: of indexed parameters that the pod has. start: ms since 1970."""

    def __init__(self, method, ms, failed=False, below=(), values=None, start=None):
        self.method, self.ms, self.failed, self.below, self.values, self.start = method, ms, failed, list(below), values or {}, start
        self.cpu, self.wait, self.memory = ms // 3, ms // 7, 1000 * ms + 1


def _varint(n):
    out = bytearray()
    while n >= 128:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out) + bytes([n])


def _zigzag(n):
    return _varint((n << 1 ^ n >> 31) & 0xFFFFFFFF)


def _text(text):
    data = text.encode("utf-16-be")
    return _varint(len(data) // 2) + data


def _phrase(records):
    return struct.pack(">i", len(records)) + records


class Pod:
    def __init__(self, port, namespace, service, pod, methods, start=None, indexed=()):
        self.agent, self.handles = profiler.Agent(port), {}
        indexed = [*WORDS, *indexed]
        self.words = indexed + list(methods)
        self.start = start or int(time.time() * 1000)
        self.last, self.stopped, self.block, self.first = self.start, self.start, 8, True
        fields = b"".join(struct.pack(">i", len(f)) + f.encode() for f in (f"{pod}_{self.start}", service, namespace))
        self.agent.send(bytes([profiler.HELLO]) + struct.pack(">q", 100605) + fields)
        self.agent.read(8)
        for stream in ("trace", "calls", "dictionary", "suspend", "params", "gc"):
            self.agent.acks(True)
            self.agent.send(bytes([profiler.OPEN]) + struct.pack(">i", len(stream)) + stream.encode() + struct.pack(">ii", 0, 1))
            self.handles[stream] = self.agent.read(36)[:16]
        self.data("dictionary", _phrase(b"".join(_text(word) for word in self.words)))
        self.data("params", _phrase(b"\1" + b"".join(_text(w) + b"\1\0" + _varint(n) + _text("") for n, w in enumerate(indexed))))
        self.data("calls", struct.pack(">Qq", 0xFFFEFDFC << 32 | 4, self.start))
        self.data("trace", struct.pack(">q", self.start))
        self.data("suspend", _phrase(struct.pack(">q", self.start)))
        self.flush()

    def data(self, stream, payload):
        for at in range(0, len(payload), 1024):
            piece = payload[at:at + 1024]
            self.agent.acks(False)
            self.agent.send(bytes([profiler.DATA]) + self.handles[stream] + struct.pack(">i", len(piece)) + piece)
            self.agent.due += 1

    def flush(self):
        self.agent.send(bytes([profiler.FLUSH]))
        self.agent.due += 1
        self.agent.acks(True)

    def calls(self, calls):
        records, blocks = zip(*(self._call(call) for call in calls))
        self.data("trace", b"".join(blocks))
        self.data("calls", b"".join(records))
        self.flush()

    def _call(self, call):
        word, start = self.words.index, call.start or int(time.time() * 1000) - call.ms
        values = {**call.values, **({"call.red": "true"} if call.failed else {})}
        thread = _text("main") if self.first else b""
        numbers = (call.wait, call.memory, 0, 0, 0, 0, 0)
        record = _zigzag(start - self.last) + _varint(word(call.method)) + _varint(call.ms) + _varint(1 + len(call.below)) + _varint(0) + thread
        record += _varint(0) + _varint(0) + _varint(1) + _varint(self.block) + _varint(0) + _varint(call.cpu)
        record += b"".join(_varint(n) for n in numbers) + _varint(0) + _varint(len(values))
        record += b"".join(_varint(word(name)) + _varint(1) + _text(value) for name, value in values.items())
        self.first, self.last = False, start
        block, left = struct.pack(">qq", 1, start) + self._event(0, max(start - self.start, 0), word(call.method)), call.ms
        for method, ms in call.below:
            block += self._event(0, 0, word(method)) + self._event(1, ms)
            left -= ms
        for name in WORDS[:2]:
            block += self._event(2, 0, word(name)) + b"\0" + _text("x")
        block += self._event(1, left) + self._event(3, 0)
        self.block += len(block)
        return record, block

    @staticmethod
    def _event(kind, ms, word=None):
        event = bytes([kind | (ms & 31) << 2 | (128 if ms > 31 else 0)]) + (_varint(ms >> 5) if ms > 31 else b"")
        return event if word is None else event + _varint(word)

    def pause(self, ms):
        """A pause of the JVM: the agent holds the last one back until the next."""
        end = int(time.time() * 1000)
        self.data("suspend", _phrase(_varint(max(end - self.stopped, ms)) + _varint(ms)))
        self.stopped = max(end, self.stopped + ms)
        self.flush()

    def leave(self, goodbye=True):
        if goodbye:
            self.agent.send(bytes([profiler.CLOSE]))
        self.agent.socket.close()
