"""A counters agent that does what a test tells it: the public note's dialect, or the bytes it is given.

    agent = Agent(["PerfCounters/Sequence"])       # counters: CATEGORY/NAME[:TYPE], TYPE i I q Q d s (default q)
    agent.sample(0)                                # values in the order of the counters; None leaves one out
    agent.serve()                                  # answers requests from now on, in a thread

The port is that of the environment variable MONO_PORT.  Standard library only.
"""

import os
import socket
import struct
import sys
import threading
import time

SECTIONS = {"JIT": 1 << 8, "GC": 1 << 9, "Metadata": 1 << 10, "Runtime": 1 << 13, "System": 1 << 14, "PerfCounters": 1 << 15}
TYPES = {"i": 0, "I": 1, "q": 3, "Q": 4, "d": 5, "s": 6}
MONOTONIC, CONSTANT, VARIABLE = 1 << 28, 1 << 29, 1 << 30
OK, NOK, NOTFOUND, EXISTING = range(4)


def string(text, order="<"):
    raw = text if isinstance(text, bytes) else text.encode()
    return struct.pack(order + "i", len(raw)) + raw


def header(category, name, kind, variance, index, order="<"):
    return (struct.pack(order + "I", category) + string(name, order)
            + struct.pack(order + "IIIh", TYPES[kind], 0, variance, index))


def hello(headers, order="<"):
    return b"\x00" + struct.pack(order + "hh", 1, len(headers)) + b"".join(headers)


def value(index, kind, what, order="<"):
    raw = what.encode() + b"\0" if kind == "s" else struct.pack(order + kind, what)
    return struct.pack(order + "hh", index, len(raw)) + raw


def sample(values, order="<", at=None):
    """`values`: encoded ones; `at`: seconds since 1970, now if none."""
    stamp = int(((time.time() if at is None else at) + 11644473600) * 1e7)
    return b"\x04" + struct.pack(order + "q", stamp) + b"".join(values) + struct.pack(order + "h", -1)


def connect(port=None, source=None):
    connection = socket.socket()
    connection.settimeout(300)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if source:
        connection.bind((source, 0))
    connection.connect(("127.0.0.1", int(port or os.environ["MONO_PORT"])))
    return connection


def wait_file(path, seconds=300):
    """Until a file exists that the test makes, in its own directory."""
    path = os.path.join(os.environ["D"], path)
    end = time.monotonic() + seconds
    while not os.path.exists(path):
        if time.monotonic() > end:
            sys.exit(f"waited for {path} in vain")
        time.sleep(0.01)


def pause(path="stop"):
    """Stays, silent, until the test makes the file."""
    wait_file(path, 600)


class Agent:
    """One connection; `pid` None leaves out the two counters that say who it is."""

    def __init__(self, counters, program="peer.exe", pid=4711, more=(), port=None, announce=True):
        self.socket, self.lock = connect(port), threading.Lock()
        self.known = [self.counter(c) for c in counters]
        self.hidden = [self.counter(c) for c in more]       # what List tells and Add gives, but Hello does not
        self.selected = {}                                  # index -> counter
        self.last, self.next = {}, 0
        self.adds, self.requests = [], []
        headers, first = [], []
        if pid is not None:
            who = [("System", "Process Id", "i", CONSTANT), ("Runtime", "Command Line", "s", CONSTANT)]
            headers = [self.select(c) for c in who]
            first = [value(0, "i", pid), value(1, "s", f"mono /opt/{program} --serve")]
        self.base = self.next
        headers += [self.select(c) for c in self.known]
        self.first = first
        if announce:
            self.send(hello(headers))

    @staticmethod
    def counter(text):
        path, _, kind = text.partition(":")
        category, _, name = path.partition("/")
        return category, name, kind or "q", MONOTONIC

    def select(self, counter):
        category, name, kind, variance = counter
        index, self.next = self.next, self.next + 1
        self.selected[index] = counter
        return header(SECTIONS[category], name, kind, variance, index)

    def send(self, data):
        with self.lock:
            self.socket.sendall(data)

    def encode(self, *values):
        """The bytes of a sample: values in the order of Hello, then those that were added, each as it is."""
        encoded, self.first = self.first, []
        with self.lock:
            for index, what in zip(range(self.base, self.next), values):
                if what is not None and index in self.selected:
                    encoded = encoded + [value(index, self.selected[index][2], what)]
        return sample(encoded)

    def sample(self, *values):
        self.send(self.encode(*values))

    def samples(self, numbers, rate=None):
        """One sample for each number, all counters having that value; `rate` a second, or as fast as it goes."""
        begin = time.monotonic()
        for i, number in enumerate(numbers):
            if rate:
                late = begin + i / rate - time.monotonic()
                if late > 0:
                    time.sleep(late)
            self.sample(*[number] * (self.next - self.base))

    def read(self, size):
        data = b""
        while len(data) < size:
            chunk = self.socket.recv(size - len(data))
            if not chunk:
                raise EOFError
            data += chunk
        return data

    def text(self):
        length, = struct.unpack("<i", self.read(4))
        return self.read(length).decode()

    def answer(self):
        """Reads one request and answers it; its description."""
        command = self.read(1)[0]
        everything = list(self.selected.values()) + [c for c in self.hidden if c not in self.selected.values()]
        if command == 1:
            pairs = b"".join(string(name) + string(category) for category, name, _, _ in everything)
            self.send(b"\x01" + pairs + struct.pack("<i", -1))
            return "List"
        if command == 2:
            name, category = self.text(), self.text()
            found = [c for c in everything if c[:2] == (category, name)]
            if not found:
                self.send(b"\x02" + bytes([NOTFOUND]))
            elif found[0] in self.selected.values():
                self.send(b"\x02" + bytes([EXISTING]))
            else:
                with self.lock:
                    self.socket.sendall(b"\x02\x00" + self.select(found[0]))
            return f"Add {category}/{name}"
        if command == 3:
            index, = struct.unpack("<h", self.read(2))
            with self.lock:
                gone = self.selected.pop(index, None)
            self.send(b"\x03" + bytes([NOTFOUND if gone is None else OK]))
            return f"Remove {'/'.join(gone[:2]) if gone else index}"
        if command == 127:
            return "GoodBye"
        raise ValueError(f"request {command}")

    def serve(self):
        def run():
            try:
                while True:
                    print("asked:", self.answer(), flush=True)
            except (EOFError, OSError, ValueError) as error:
                print("ended:", type(error).__name__, flush=True)
        self.socket.settimeout(None)
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread
