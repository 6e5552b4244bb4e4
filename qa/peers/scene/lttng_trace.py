#!/usr/bin/env python3
"""A relay daemon with one live session that never ends (docs/protocols/lttng.md, ctf.md): lttng_trace.py PORT [HOST/SESSION]

Events shop:request, shop:query and shop:tick with the times of now, packets of one processor each 200 ms; now and then
events are reported as discarded. Prints "listening on PORT". Standard library only.
"""

import argparse
import os
import random
import socket
import struct
import sys
import threading
import time
import uuid

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import lttng_mock  # noqa: E402

UUID = uuid.UUID("9d1f6b32-5a0c-4b6e-9e0e-3f1c8f5a7b21")
DATA, META, TRACE = 1, 2, 1
PACKET = 0.2
METADATA = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;
trace { major = 1; minor = 8; uuid = "%s"; byte_order = le;
    packet.header := struct { uint32_t magic; uint8_t uuid[16]; uint32_t stream_id; uint64_t stream_instance_id; }; };
env { domain = "ust"; tracer_name = "lttng-ust"; tracer_major = 2; tracer_minor = 13; hostname = "%s"; };
clock { name = "monotonic"; freq = 1000000000; offset = 0; };
typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := uint64_clock_monotonic_t;
stream { id = 0;
    event.header := struct { uint32_t id; uint64_clock_monotonic_t timestamp; };
    packet.context := struct { uint64_clock_monotonic_t timestamp_begin; uint64_clock_monotonic_t timestamp_end; uint64_t content_size;
        uint64_t packet_size; uint64_t packet_seq_num; uint64_t events_discarded; uint32_t cpu_id; };
    event.context := struct { integer { size = 32; align = 8; signed = 1; } _vpid; integer { size = 32; align = 8; signed = 1; } _vtid;
        integer { size = 8; align = 8; signed = 0; encoding = UTF8; } _procname[16]; }; };
event { name = "shop:request"; id = 0; stream_id = 0; loglevel = 6;
    fields := struct { uint64_t _order; string _path; integer { size = 32; align = 8; signed = 1; } _status; uint64_t _us; }; };
event { name = "shop:query"; id = 1; stream_id = 0; loglevel = 10; fields := struct { uint64_t _order; string _table; uint64_t _rows; }; };
event { name = "shop:tick"; id = 2; stream_id = 0; loglevel = 14; fields := struct { uint64_t _round; }; };
"""


def padded(data, size):
    return data + bytes(size - len(data))


class Live:
    """What lttng_mock.Relayd asks of a session; its packets are made when they are asked for."""

    def __init__(self, host, name):
        self.d, self.id, self.base, self.dice = self, 1, 1000, random.Random(3)
        self.host, self.name, self.timer, self.format = host, name, 100_000, 0
        self.indexes, self.metadata = {DATA: None}, {META: [(METADATA % (UUID, host)).encode()]}
        self.number = self.events = self.discarded = 0
        self.reset()

    def reset(self):
        self.open, self.told, self.said, self.due, self.packet = {DATA}, False, False, time.monotonic(), b""

    def records(self):
        return [struct.pack(">QQI", stream, TRACE, stream == META) + padded(b"ust/uid/0/64-bit", 4096) +
                padded(b"metadata" if stream == META else b"main_0", 255) for stream in (META, DATA)]

    def announce(self):
        if self.told:
            return []
        self.told = True
        return [struct.pack(">QQ", stream + self.base, TRACE) + record[16:] for stream, record in zip((META, DATA), self.records())]

    def index(self, stream):
        flags = 0 if self.said else 1
        if time.monotonic() < self.due:
            return struct.pack(">7QII", *[0] * 7, 2, flags)
        self.due = max(self.due + PACKET, time.monotonic() - 2)
        begin, end = self.fill()
        return struct.pack(">7QII", self.number * 65536, 8 * len(self.packet), 8 * len(self.packet), begin, end, self.discarded, 0, 1, flags)

    def fill(self):
        """The next packet; its first and last time."""
        end = time.time_ns()
        events, at = b"", end - int(PACKET * 1e9 * 0.9)
        begin = at
        for _ in range(self.dice.randrange(4, 20)):
            at += self.dice.randrange(1, 8_000_000)
            kind = self.dice.choice((0, 0, 1, 2))
            self.events += 1
            head = struct.pack("<IQ", kind, at) + struct.pack("<ii", 4711, 4712 + kind) + padded(b"shopd", 16)
            if kind == 0:
                fields = struct.pack("<Q", self.events) + self.dice.choice((b"/orders\0", b"/stock\0")) + struct.pack("<iQ", self.dice.choice((200, 200, 200, 500)), self.dice.randrange(90_000))
            elif kind == 1:
                fields = struct.pack("<Q", self.events) + b"orders\0" + struct.pack("<Q", self.dice.randrange(50))
            else:
                fields = struct.pack("<Q", self.number)
            events += head + fields
        if self.number % 25 == 24:
            self.discarded += 3
        end = max(end, at + 1)
        size = 4 + 16 + 4 + 8 + 8 * 6 + 4 + len(events)
        self.number += 1
        self.packet = (struct.pack("<I", 0xC1FC1FC1) + UUID.bytes + struct.pack("<IQ", 0, 0) +
                       struct.pack("<6QI", begin, end, 8 * size, 8 * size, self.number, self.discarded, 0) + events)
        return begin, end

    def read(self, _stream, _offset, length):
        return struct.pack(">III", 1, length, 0) + self.packet[:length]

    def meta(self, stream):
        if stream != META or self.said:
            return struct.pack(">QI", 0, 2 if stream == META else 3)
        self.said = True
        data = self.metadata[META][0]
        return struct.pack(">QI", len(data), 1) + data


def main():
    port, _, session = sys.argv[1], None, sys.argv[2] if sys.argv[2:] else "shophost/shop"
    options = argparse.Namespace(directory=[], base=1, period=0, minor=15, host=None, clients=False, slow=0, truncate=0, close=0, oversize=0, garbage=0)
    relayd = lttng_mock.Relayd(options)
    relayd.sessions = [Live(*session.split("/"))]
    listener = socket.create_server(("127.0.0.1", int(port)))
    print(f"listening on {port}", flush=True)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=relayd.converse, args=(connection,), daemon=True).start()


if __name__ == "__main__":
    main()
