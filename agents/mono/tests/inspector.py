#!/usr/bin/env python3
"""The other side of the counters-agent protocol (dialect of the public note), for live.sh.

  inspector.py serve SCENARIO RESULT [PORT]   listen on 127.0.0.1 (PORT 0 or none: any), tell every event
                                              on stdout, write what was learnt to RESULT as JSON
  inspector.py decode FILE RESULT             the same for a file that an agent wrote
  inspector.py show RESULT KEY [KEY]          print one value of RESULT
  inspector.py free-port                      print a port on which nobody listens

Scenarios: samples, session, probe, garbage, deaf.  Standard library only; what an agent must not do ends with status 1.
"""

import json
import os
import socket
import struct
import sys

sys.dont_write_bytecode = True  # tests leave nothing in the source tree
from stream import Stream, expect  # noqa: E402

PATIENCE = 60.0


class Agent:
    """One connection, seen from the inspector."""

    def __init__(self, server):
        self.socket, _ = server.accept()
        self.socket.settimeout(PATIENCE)
        self.stream, self.queue, self.ended, self.counts = Stream(), [], False, {}
        say("connected")

    def next(self):
        """The next message, or None at the end of the stream."""
        while not self.queue:
            try:
                chunk = self.socket.recv(65536)
            except ConnectionResetError:
                say("reset")
                chunk = b""
            if not chunk:
                self.ended = True
                say("eof")
                return None
            self.queue = self.stream.messages(chunk)
        kind, detail = self.queue.pop(0)
        self.counts[kind] = self.counts.get(kind, 0) + 1
        say(kind, self.counts[kind])
        return kind, detail

    def until(self, kind):
        """The next message of a kind; samples and the like before it are only noted."""
        while True:
            message = self.next()
            expect(message, f"end of stream instead of {kind}")
            if message[0] == kind:
                return message[1]

    def to_the_end(self):
        while self.next():
            pass
        expect(not self.stream.bytes, "the stream ends within a message")

    def ask(self, request, kind):
        self.socket.sendall(request)
        return self.until(kind)


def say(*words):
    print(*words, flush=True)


def text(value):
    return struct.pack("=i", -1) if value is None else struct.pack("=i", len(value)) + value.encode()


def add(name, category):
    return b"\x02" + text(name) + text(category)


def remove(index):
    return b"\x03" + struct.pack("=h", index)


def samples(server):
    agent = Agent(server)
    expect(agent.next()[0] == "hello", "Hello comes first")
    message = agent.next()
    expect(message is None or message[0] == "sample", "the first sample follows Hello")
    agent.to_the_end()
    return agent.stream


def session(server):
    """Every request with every status; the agent starts with `GC/Minor GC collections` only."""
    agent = Agent(server)
    expect(agent.until("hello") == 3, "Hello has our two and the chosen one")
    expect(agent.stream.hello == ["System/Process Id", "Runtime/Command Line", "GC/Minor GC collections"], "Hello")
    agent.until("sample")
    pairs = agent.ask(b"\x01", "list")
    expect(pairs[:2] == [("Process Id", "System"), ("Command Line", "Runtime")], f"list begins {pairs[:2]}")
    for pair in [("Minor GC collections", "GC"), ("JIT/method_to_ir", "JIT"), ("Working Set", "System")]:
        expect(pair in pairs, f"{pair} is not listed")
    expect(len(pairs) > 150 and len(set(pairs)) == len(pairs), f"{len(pairs)} in the list")
    # Sent at once and out of step with reading: responses come in the order of the requests.
    agent.socket.sendall(add("Major GC collections", "GC") + add("JIT/method_to_ir", "mono jit")
                         + add("no such counter", "GC") + add("Minor GC collections", "GC")
                         + add("Major GC collections", "Widgets") + add(None, "GC") + add("Process Id", "System"))
    replies = [agent.until("add") for _ in range(7)]
    expect([status for status, _ in replies] == ["OK", "OK", "NOTFOUND", "EXISTING", "NOTFOUND", "NOK", "EXISTING"],
           f"Add: {replies}")
    expect([header[0] for _, header in replies[:2]] == [3, 4], "indexes of the added ones")
    expect({3, 4} <= {index for index, _ in agent.until("sample")}, "the added ones are in the next sample")
    # A byte at a time, with the two kinds of Remove that fail or not.
    for byte in remove(3) + remove(3) + remove(999):
        agent.socket.sendall(bytes([byte]))
    expect([agent.until("remove") for _ in range(3)] == ["OK", "NOTFOUND", "NOTFOUND"], "Remove")
    del agent.stream.counters[3]
    for _ in range(3):
        agent.until("sample")
    expect(agent.ask(remove(-1), "remove") == "OK", "Remove all")
    agent.stream.counters.clear()
    expect([agent.until("sample") for _ in range(2)] == [[], []], "nothing selected, nothing sent")
    status, header = agent.ask(add("Minor GC collections", "GC"), "add")
    expect((status, header[0]) == ("OK", 5), f"an index came back: {header}")
    expect([index for index, _ in agent.until("sample")] == [5], "a counter that was removed is sent anew")
    agent.socket.sendall(b"\x7f")
    agent.to_the_end()
    again = Agent(server)
    expect(again.until("hello") == 3, "after GoodBye the agent comes back")
    again.until("sample")
    say("again")
    again.to_the_end()
    return again.stream


def probe(server):
    """The probe for the 2014 dialects is a List and eight bytes without meaning."""
    agent = Agent(server)
    agent.until("sample")
    expect(len(agent.ask(b"\x01" + bytes(8), "list")) > 150, "List")
    for _ in range(3):
        agent.until("sample")
    expect(agent.ask(remove(0), "remove") == "OK", "the connection goes on")
    del agent.stream.counters[0]
    say("probed")
    agent.to_the_end()
    return agent.stream


def garbage(server):
    """What is no request ends the connection, and the agent comes back."""
    for nonsense in [b"\x63", b"\x02" + struct.pack("=i", 1 << 30), b"GET / HTTP/1.1\r\n\r\n"]:
        agent = Agent(server)
        agent.until("sample")
        agent.socket.sendall(nonsense)
        agent.to_the_end()
    agent = Agent(server)
    agent.until("sample")
    say("survived")
    agent.to_the_end()
    return agent.stream


def deaf(server):
    """Asks for much and reads nothing, on every connection."""
    server.settimeout(None)
    kept = []
    while True:
        connection, _ = server.accept()
        kept.append(connection)
        say("connected")
        connection.setblocking(False)
        try:
            connection.send(b"\x01" * 4000)
        except OSError as error:
            say("not sent", error)


def listen(port):
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind(("127.0.0.1", port))
    server.listen(8)
    server.settimeout(PATIENCE)
    say("listening", server.getsockname()[1])
    return server


def write(result, stream):
    with open(result + ".new", "w", encoding="utf-8") as file:
        json.dump(stream.learnt(), file)
    os.rename(result + ".new", result)


def main(command, *arguments):
    if command == "serve":
        scenario, result, *port = arguments
        scenarios = dict(samples=samples, session=session, probe=probe, garbage=garbage, deaf=deaf)
        write(result, scenarios[scenario](listen(int(port[0]) if port else 0)))
    elif command == "decode":
        stream = Stream()
        with open(arguments[0], "rb") as file:
            stream.messages(file.read())
        write(arguments[1], stream)
    elif command == "show":
        with open(arguments[0], encoding="utf-8") as file:
            value = json.load(file)
        for key in arguments[1:]:
            value = value[key]
        print(value)
    elif command == "free-port":
        with socket.socket() as probe_socket:
            probe_socket.bind(("127.0.0.1", 0))
            print(probe_socket.getsockname()[1])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:] or ["help"])
