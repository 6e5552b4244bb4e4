#!/usr/bin/env python3
"""An HTTP proxy between agents and a collector, on loopback: counts answers, and loses or replaces some.

usage: proxy.py PORT UPSTREAM LOG [RULE...]

A RULE is WHICH:WHAT. WHICH is the number of a request from 1 on, or /N for each N-th one. WHAT is a status that the proxy answers
instead of the collector, or `lost`: the collector answers, but the agent's connection is closed instead.
LOG gets a line for each request: its time, the end of its path, the status (0: the collector closed the connection), and WHAT.
"""

import socket
import sys
import threading
import time


def quick(connection):
    """The agents of 1.90.6 write head and body apart and wait for the acknowledgement."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)


def message(file):
    """One request or answer as it came, or None at the end."""
    lines, length = [file.readline()], 0
    while lines[-1] not in (b"\r\n", b"\n", b""):
        lines.append(file.readline())
        if lines[-1].lower().startswith(b"content-length:"):
            length = int(lines[-1].split(b":")[1])
    return b"".join(lines) + file.read(length) if lines[-1] else None


class Proxy:
    def __init__(self, upstream, log, rules):
        self.upstream, self.log, self.rules = upstream, log, [rule.split(":") for rule in rules]
        self.lock, self.requests = threading.Lock(), 0

    def rule(self):
        with self.lock:
            self.requests += 1
            for which, what in self.rules:
                if self.requests == int(which.lstrip("/")) or which.startswith("/") and self.requests % int(which[1:]) == 0:
                    return what
        return ""

    def note(self, began, request, status, what):
        with self.lock:
            path = request.split(b" ", 2)[1].decode("latin-1").rsplit("/", 1)[-1]
            print(f"{began:.6f} {path} {status} {what}", file=self.log, flush=True)

    def serve(self, agent):
        collector, reader = None, agent.makefile("rb")
        try:
            while True:
                quick(agent)
                request = message(reader)
                if request is None:
                    break
                began, what, answer = time.time(), self.rule(), None
                if what.isdigit():
                    answer = b"HTTP/1.1 %s Replaced\r\nContent-Length: 0\r\n\r\n" % what.encode()
                else:
                    if collector is None:
                        collector = socket.create_connection(("127.0.0.1", self.upstream))
                        answers = collector.makefile("rb")
                        quick(collector)
                    collector.sendall(request)
                    answer = message(answers)
                self.note(began, request, answer.split(b" ", 2)[1].decode() if answer else 0, what)
                if answer is None or what == "lost":
                    break
                agent.sendall(answer)
        except OSError as error:
            print(f"proxy: {error}", file=sys.stderr)
        finally:
            for connection in (reader, agent, collector):
                if connection is not None:
                    connection.close()


def main():
    port, upstream, log = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    listener = socket.create_server(("127.0.0.1", port))
    with open(log, "w", encoding="utf-8") as file:
        proxy = Proxy(upstream, file, sys.argv[4:])
        while True:
            agent, _ = listener.accept()
            threading.Thread(target=proxy.serve, args=(agent,), daemon=True).start()


if __name__ == "__main__":
    main()
