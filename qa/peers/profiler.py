#!/usr/bin/env python3
"""A Java profiler agent that plays a recorded session and checks every reply as the real one would.

usage: profiler.py FILE [FILE...] [--pod NAME] [--connections N] [--pace SECONDS] [--hold FILE] [--abort] [--rest] [--until]

A recording holds both directions, merged; .gz is read too.  Acks are counted: one byte 0 for each RCV_DATA and for each
REQUEST_ACK_FLUSH, in order, all there after REQUEST_ACK_FLUSH.  Handles are those of the collector that is talked to.
--pod renames the pod (the start of the JVM stays, unless NAME has one), --connections plays N at once, each a pod of its own,
--pace waits before each flush, --hold leaves out the good-bye and stays until the file exists, --abort closes without a word.
--rest opens neither dictionary nor params, as an agent does that comes back within a rotation.  --until leaves out the good-bye,
goes on with its flush cycle until the collector ends the connection, and says how it did.
The port is that of the environment variable PROFILER_PORT; APM_TLS as in tls.py.  Prints one line a session.  Standard library only.
"""

import argparse
import gzip
import os
import select
import struct
import sys
import threading
import time

import tls

HELLO, OPEN, DATA, FLUSH, CLOSE = 0x14, 0x15, 0x02, 0x11, 0x04


def recording(path):
    """The commands of a session: (command, body, handle it had)."""
    data = (gzip.open if path.endswith(".gz") else open)(path, "rb").read()
    ops, at = [], 0

    def field(at):
        length, = struct.unpack_from(">i", data, at)
        return at + 4 + length

    while at < len(data):
        command, begin = data[at], at
        try:
            if command == 0:
                at += 1
                continue
            if command == HELLO:
                at = field(field(field(at + 9)))
                ops.append((command, data[begin + 1:at], None))
                at += 8
            elif command == OPEN:
                at = field(at + 1) + 8
                body, handle = data[begin + 1:at], data[at:at + 16]
                if handle == bytes(16):
                    break
                ops.append((command, body, handle))
                at += 36
            elif command == DATA:
                at = field(at + 17)
                if at > len(data):
                    break
                ops.append((command, data[begin + 17:at], data[begin + 1:begin + 17]))
            elif command in (FLUSH, CLOSE):
                at += 1
                ops.append((command, b"", None))
            else:
                break
        except struct.error:
            break
    return ops


def renamed(hello, pod):
    """The body of HELLO with another pod; the start of the JVM stays if the new name has none."""
    if pod is None:
        return hello
    length, = struct.unpack_from(">i", hello, 8)
    old, rest = hello[12:12 + length].decode(), hello[12 + length:]
    if not pod.rpartition("_")[2].isdigit():
        pod += "_" + old.rpartition("_")[2]
    return hello[:8] + struct.pack(">i", len(pod)) + pod.encode() + rest


class Agent:
    def __init__(self, port=None):
        self.socket = tls.connect(("127.0.0.1", int(port or os.environ["PROFILER_PORT"])), 30)
        self.due, self.handles, self.worst, self.sent = 0, {}, 0.0, 0

    def send(self, data):
        self.sent += len(data)
        self.socket.sendall(data)

    def read(self, size):
        data = b""
        while len(data) < size:
            more = self.socket.recv(size - len(data))
            if not more:
                raise EOFError("the collector has closed the connection")
            data += more
        return data

    def acks(self, all_of_them):
        begin = time.monotonic()
        while self.due and (all_of_them or select.select([self.socket], [], [], 0)[0]):
            got = self.socket.recv(self.due)
            if not got:
                raise EOFError("the collector has closed the connection")
            if got.strip(b"\0"):
                raise ValueError(f"not an ack: {got!r}")
            self.due -= len(got)
        self.worst = max(self.worst, time.monotonic() - begin)

    def play(self, ops, pod=None, pace=0.0, close=True):
        for command, body, handle in ops:
            if command == HELLO:
                self.send(bytes([command]) + renamed(body, pod))
                version, = struct.unpack(">q", self.read(8))
                assert version in (100605, 100705), version
            elif command == OPEN:
                self.acks(True)
                self.send(bytes([command]) + body)
                reply = self.read(36)
                assert reply[:16] != bytes(16), "refused"
                self.handles[handle] = reply[:16]
            elif command == DATA:
                self.acks(False)
                self.send(bytes([command]) + self.handles[handle] + body)
                self.due += 1
            elif command == FLUSH:
                time.sleep(pace)
                self.send(bytes([command]))
                self.due += 1
                self.acks(True)
            elif close:
                self.send(bytes([command]))
        # What was recorded may end within a flush cycle.
        if self.due:
            self.send(bytes([FLUSH]))
            self.due += 1
            self.acks(True)


    def until(self):
        """Flushes each second until the collector ends it; its last words."""
        try:
            while True:
                self.send(bytes([FLUSH]))
                said = self.read(1)
                if said != b"\0":
                    return said.hex() + (" and the end" if self.socket.recv(1) == b"" else " and more")
                time.sleep(1)
        except EOFError:
            return "the end"
        except ConnectionResetError:
            return "a reset"


def without(ops, names):
    """The session without these streams."""
    gone = {handle for command, body, handle in ops if command == OPEN and body[4:-8].decode() in names}
    return [op for op in ops if op[2] not in gone]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="+")
    parser.add_argument("--pod")
    parser.add_argument("--connections", type=int, default=1)
    parser.add_argument("--pace", type=float, default=0.0)
    parser.add_argument("--hold")
    parser.add_argument("--abort", action="store_true")
    parser.add_argument("--rest", action="store_true")
    parser.add_argument("--until", action="store_true")
    a = parser.parse_args()
    failed = []

    def one(path, ops, number):
        try:
            agent, begin = Agent(), time.monotonic()
            pod = a.pod if a.connections == 1 else f"{a.pod or 'pod'}-{number}"
            agent.play(ops, pod, a.pace, not (a.hold or a.abort or a.until))
            took = time.monotonic() - begin
            if a.connections == 1:
                print(f"{os.path.basename(path)}: {agent.sent} bytes, all replies as expected", flush=True)
            if a.until:
                print(f"it was ended with: {agent.until()}", flush=True)
            if a.hold:
                while not os.path.exists(a.hold):
                    time.sleep(0.02)
            agent.socket.close()
            results.append((agent.sent, took, agent.worst))
        except Exception as e:  # pylint: disable=broad-except
            failed.append(f"{path}: {type(e).__name__}: {e}")

    for path in a.files:
        results, ops = [], recording(path)
        if a.rest:
            ops = without(ops, {"dictionary", "posDictionary", "params"})
        threads = [threading.Thread(target=one, args=(path, ops, n)) for n in range(a.connections)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        if a.connections > 1:
            print(f"{os.path.basename(path)}: {len(results)} of {a.connections} sessions, all replies as expected", flush=True)
            print(f"longest wait for acks {1000 * max(r[2] for r in results):.1f} ms", file=sys.stderr)
    for line in failed:
        print(line, flush=True)
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
