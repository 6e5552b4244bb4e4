#!/usr/bin/env python3
"""Another tool at a .NET process: its own session, properly ended (docs/protocols/dotnet.md 2).

usage: dotnet_tool.py SOCKET [SECONDS [ROUNDS]]     sessions of SECONDS one after the other; prints what came
       dotnet_tool.py SOCKET room                  how many sessions the process still takes: 64 if nobody has one
Standard library only.
"""

import socket
import struct
import sys
import threading
import time

import dotnet


def request(path, command, payload=b""):
    """A connection with its answer's payload; OSError with the HRESULT."""
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(20)
    s.connect(path)
    s.sendall(dotnet.message(2, command, payload))
    head = s.recv(20, socket.MSG_WAITALL)
    body = s.recv(struct.unpack("<H", head[14:16])[0] - 20, socket.MSG_WAITALL)
    if head[17] == 0xFF:
        raise OSError(f"error {struct.unpack('<I', body[:4])[0]:#x}")
    return s, body


class Tool(threading.Thread):
    """A session with EventCounters and collections, read to its end."""

    def __init__(self, path, interval=1):
        super().__init__(daemon=True)
        self.path, self.bytes = path, 0
        providers = [("System.Runtime", 0, f"EventCounterIntervalSec={interval}"), ("Microsoft-Windows-DotNETRuntime", 1, "")]
        listed = b"".join(struct.pack("<QI", k, 4) + dotnet.utf16(n) + (dotnet.utf16(a) if a else struct.pack("<I", 0)) for n, k, a in providers)
        self.s, answer = request(path, 3, struct.pack("<IIBI", 8, 1, 0, len(providers)) + listed)
        self.id = answer[:8]
        self.start()

    def run(self):
        self.s.settimeout(None)
        while data := self.s.recv(65536):
            self.bytes += len(data)

    def stop(self):
        request(self.path, 1, self.id)[0].close()
        self.join(20)
        self.s.close()
        return self.bytes


def room(path):
    tools = []
    try:
        while len(tools) < 100:
            tools.append(Tool(path))
    except OSError:
        pass
    time.sleep(1)  # a session of 3.1 must not end before its first bytes were read
    for tool in tools:
        tool.stop()
    return len(tools)


def main():
    if sys.argv[2:] == ["room"]:
        return print(room(sys.argv[1]))
    path, seconds, rounds = sys.argv[1], float((sys.argv + ["1"])[2]), int((sys.argv + ["1", "1"])[3])
    for _ in range(rounds):
        tool = Tool(path)
        time.sleep(seconds)
        print(f"{tool.stop()} bytes", flush=True)


if __name__ == "__main__":
    main()
