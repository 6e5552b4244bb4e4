#!/usr/bin/env python3
"""Java pods of the scene: three of shop/orders and two of shop/stock, with a profiler agent each, until TERM.
docs/protocols/java-profiler.md. They send calls, their trace, pauses and a collector's log each half second. The port is
that of PROFILER_PORT. Standard library only.
"""

import os
import random
import struct
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import profiler  # noqa: E402

WORDS = ["call.info", "common.started", "call.red", "profiler.title", "web.url", "web.method", "trace.id"]
# What a service does: root method, URL, usual milliseconds, and the methods below with their share.
WORK = {
    "orders": [("void shop.orders.OrderController.list(Request) (OrderController.java:40) [orders.jar]", "/orders", 30,
                [("List shop.orders.OrderStore.ofCustomer(long) (OrderStore.java:12) [orders.jar]", 0.8)]),
               ("void shop.orders.OrderController.create(Request) (OrderController.java:77) [orders.jar]", "/orders/new", 90,
                [("void shop.orders.OrderStore.insert(Order) (OrderStore.java:31) [orders.jar]", 0.6),
                 ("void shop.orders.Mail.send(Order) (Mail.java:9) [orders.jar]", 0.3)])],
    "stock": [("void shop.stock.StockServlet.doGet(Request) (StockServlet.java:18) [stock.jar]", "/stock", 12,
               [("int shop.stock.Shelf.count(long) (Shelf.java:55) [stock.jar]", 0.7)])],
}
HALF = 0.5


def varint(n):
    out = bytearray()
    while n >= 128:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out) + bytes([n])


def zigzag(n):
    return varint((n << 1 ^ n >> 31) & 0xFFFFFFFF)


def vstr(text):
    data = text.encode("utf-16-be")
    return varint(len(data) // 2) + data


def phrase(records):
    return struct.pack(">i", len(records)) + records


def now():
    return int(time.time() * 1000)


class Pod:
    def __init__(self, service, pod, dice, slow):
        self.service, self.dice, self.slow, self.agent = service, dice, slow, profiler.Agent()
        self.words, self.handles = list(WORDS), {}
        self.start = now()
        self.send_hello("shop", service, f"{pod}_{self.start}")
        for stream in ("trace", "calls", "xml", "sql", "dictionary", "suspend", "params", "gc"):
            self.open(stream)
        for root, _, _, below in WORK[service]:
            self.words += [root] + [name for name, _ in below]
        self.data("dictionary", phrase(b"".join(vstr(w) for w in self.words)))
        self.data("params", phrase(b"\1" + b"".join(vstr(w) + b"\1\0" + varint(i) + vstr("") for i, w in enumerate(WORDS))))
        self.data("calls", struct.pack(">Qq", 0xFFFEFDFC << 32 | 4, self.start))
        self.data("trace", struct.pack(">q", self.start))
        self.data("suspend", phrase(struct.pack(">q", self.start)))
        self.last, self.stopped, self.offset, self.threads, self.collections = self.start, self.start, 8, 0, 0

    def send_hello(self, namespace, service, pod):
        fields = b"".join(struct.pack(">i", len(f)) + f.encode() for f in (pod, service, namespace))
        self.agent.send(bytes([profiler.HELLO]) + struct.pack(">q", 100605) + fields)
        self.agent.read(8)

    def open(self, stream):
        self.agent.acks(True)
        self.agent.send(bytes([profiler.OPEN]) + struct.pack(">i", len(stream)) + stream.encode() + struct.pack(">ii", 0, 1))
        self.handles[stream] = self.agent.read(36)[:16]

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

    def call(self, end):
        """One call that ended at `end`: its record and its block of the trace."""
        dice, word = self.dice, self.words.index
        root, url, usual, below = dice.choice(WORK[self.service])
        took = max(2, int(usual * self.slow * dice.lognormvariate(0, 0.6)))
        failed = dice.random() < 0.06
        start = end - took
        values = {"profiler.title": f"GET {url}", "web.url": url, "web.method": "GET", "trace.id": f"{dice.getrandbits(64):016x}"}
        if failed:
            values["call.red"] = "true"
        thread = vstr("http-1") if self.threads == 0 else b""
        record = (zigzag(start - self.last) + varint(word(root)) + varint(took) + varint(1 + len(below)) + varint(0) + thread + varint(40) + varint(3) +
                  varint(1) + varint(self.offset) + varint(0) + varint(took // 3) + varint(took // 10) + varint(took * 3000) +
                  varint(took * 10) + varint(took) + varint(took * 20) + varint(took * 40) + varint(1) + varint(0) + varint(len(values)) +
                  b"".join(varint(word(name)) + varint(1) + vstr(value) for name, value in values.items()))
        self.threads, self.last = 1, start

        def event(kind, ms, body=b""):
            return bytes([kind | (ms & 31) << 2 | (128 if ms > 31 else 0)]) + (varint(ms >> 5) if ms > 31 else b"") + body
        # The block's time is that of the JVM: the first event is as many ms after its start.
        block = struct.pack(">qq", 1, start) + event(0, start - self.start, varint(word(root)))
        left = took
        for name, share in below:
            part = int(took * share)
            block += event(0, 0, varint(word(name))) + event(1, part)
            left -= part
        tag = lambda name, value: event(2, 0, varint(word(name)) + b"\0" + vstr(value))
        block += tag("call.info", root) + tag("common.started", str(start)) + event(1, left) + event(3, 0)
        self.offset += len(block)
        return record, block

    def half_second(self):
        calls, end = [], now()
        for _ in range(self.dice.randrange(3, 9)):
            calls.append(self.call(end - self.dice.randrange(400)))
        self.data("trace", b"".join(block for _, block in calls))
        self.data("calls", b"".join(record for record, _ in calls))
        pause = self.dice.randrange(6, 25)
        self.data("suspend", phrase(varint(max(end - self.stopped, pause)) + varint(pause)))
        self.stopped = max(end, self.stopped + pause)
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()) + ".%03d+0000" % (end % 1000)
        self.data("gc", f"[{stamp}][{(end - self.start) / 1000:.3f}s][info ][gc] GC({self.collections}) Pause Young (Allocation Failure) "
                        f"68M->11M(247M) {pause * 0.8:.3f}ms\n".encode())
        self.collections += 1
        self.flush()


def live(service, pod, seed, slow):
    while True:
        try:
            running = Pod(service, pod, random.Random(seed), slow)
            while True:
                running.half_second()
                time.sleep(HALF)
        except (OSError, EOFError, ValueError) as error:
            print(pod, error, flush=True)
            time.sleep(1)


def main():
    for seed, (service, pod, slow) in enumerate((("orders", "orders-5f6c-aa1", 1), ("orders", "orders-5f6c-bb2", 1.5), ("orders", "orders-5f6c-cc3", 4),
                                                 ("stock", "stock-77d9-dd4", 1), ("stock", "stock-77d9-ee5", 2))):
        threading.Thread(target=live, args=(service, pod, seed, slow), daemon=True).start()
    while True:
        time.sleep(60)


if __name__ == "__main__":
    main()
