"""Plays captures of Mono's log profiler (.mlpd, also as .gz) into the PMDA, as the program would send them.

    mlpd.py CAPTURE... [--port PORT] [--speed 0] [--cut BYTES] [--end close|reset|stay] [--chunk BYTES] [--copies N]

--speed: 1 is the time of the capture, by the time bases of its buffers; 0 is at once. --cut ends the stream after that many
bytes. --chunk sends pieces of that size. --copies plays each capture that many times at once; --pids gives each copy a process
id of its own in the header, so that copies are different programs. --file PATH writes into a file instead, `%` being the number
of the copy. `stay` keeps the connections until standard input ends. Standard library only."""

import argparse
import gzip
import os
import socket
import struct
import sys
import threading
import time

BUFFER = 0x4D504C01


def capture(path):
    raw = open(path, "rb").read()
    return gzip.decompress(raw) if path.endswith(".gz") else raw


def header_length(data):
    """Bytes of the header, and where the process id is."""
    at = 16 + (8 if data[4] >= 3 else 0)
    pid = at + 8
    at += 14
    for _ in range(3):
        at += 4 + struct.unpack_from("<I", data, at)[0]
    return at, pid


def with_pid(data, pid):
    _, at = header_length(data)
    return data[:at] + struct.pack("<I", pid) + data[at + 4:]


def pieces(data):
    """The header and each buffer with its time in ns; what is no buffer comes in one piece."""
    try:
        at, _ = header_length(data)
    except struct.error:
        at = len(data)
    yield 0, data[:at]
    while at + 48 <= len(data):
        ident, length, when = struct.unpack_from("<IIQ", data, at)
        if ident != BUFFER:
            break
        yield when, data[at:at + 48 + length]
        at += 48 + length
    if at < len(data):
        yield 0, data[at:]


class Connection:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))

    def write(self, data):
        self.socket.sendall(data)

    def end(self, how):
        if how == "reset":
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()


class File:
    def __init__(self, path):
        self.file = open(path, "wb", buffering=0)

    def write(self, data):
        self.file.write(data)

    def end(self, how):
        self.file.close()


def play(data, to, args, ended):
    begin, first = time.monotonic(), None
    left = args.cut if args.cut is not None else len(data)
    try:
        for when, piece in pieces(data):
            if args.speed and when:
                first = first or when
                time.sleep(max(0, begin + (when - first) / 1e9 / args.speed - time.monotonic()))
            piece = piece[:left]
            left -= len(piece)
            for at in range(0, len(piece), args.chunk or len(piece) or 1):
                to.write(piece[at:at + (args.chunk or len(piece))])
            if not left:
                break
        if args.end == "stay":
            ended.wait()
    except OSError as error:
        print("ended by the other side:", error.__class__.__name__, file=sys.stderr)
    to.end(args.end)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("captures", nargs="+")
    parser.add_argument("--port", type=int, default=int(os.environ.get("MONO_PORT", 0)))
    parser.add_argument("--speed", type=float, default=0)
    parser.add_argument("--cut", type=int)
    parser.add_argument("--chunk", type=int, default=0)
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--pids", type=int, help="process id of the first copy")
    parser.add_argument("--end", choices=["close", "reset", "stay"], default="close")
    parser.add_argument("--file")
    args = parser.parse_args()
    ended, threads = threading.Event(), []
    number = 0
    for path in args.captures:
        data = capture(path)
        for _ in range(args.copies):
            mine = with_pid(data, args.pids + number) if args.pids else data
            to = File(args.file.replace("%", str(number))) if args.file else Connection(args.port)
            threads.append(threading.Thread(target=play, args=(mine, to, args, ended)))
            threads[-1].start()
            number += 1
    if args.end == "stay":
        sys.stdin.read()
        ended.set()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
