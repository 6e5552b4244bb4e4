#!/usr/bin/env python3
"""Zorka agents that play captures over HTTP (docs/protocols/zorka.md).

usage: zorka.py FILE... [--port N] [--name NAME] [--speed X] [--lost again|new] [--refused] [--rounds N] [--hold FILE]

A FILE is a capture in the form of qa/corpus/zorka. Connections are those of the recorded agent: one that is kept, with head and
body written apart, or one for each request. Ids of agents and sessions are those that the collector answers with. Each answer is
checked as the strictest agent would. After an error, or without an answer, the agent does what a real one does: it opens a session
(before 1.90.7) or makes a reset, defines everything again, and sends the trace with a new id; at most 11 times.

--port     port of the collector; else the environment variable ZORKA_PORT
--name     another agent: the registered name, or SERVICE/HOST as local.service and local.host
--speed X  keeps the recorded pauses, divided by X; without it there are none
--lost     each trace's answer is lost once: `again` sends the same bytes again, `new` does as after any failure
--refused  sends also what the recording collector refused
--rounds   plays each file as often, in one session
--hold     stays connected until FILE exists
Prints one line for each file. Status 1: an answer that an agent could not read, or a trace that was never accepted.
Standard library only.
"""

import argparse
import base64
import hashlib
import json
import os
import socket
import sys
import time

import tls

AGD, TRC = "/agent/submit/agd", "/agent/submit/trc"


class Lost(Exception):
    """No answer, or one that an agent cannot read."""


class Connection:
    """One TCP connection at a time, as the agent's HTTP client has it."""

    def __init__(self, port, kept, host="127.0.0.1", apart=None):
        self.address, self.kept, self.apart = (host, port), kept, kept if apart is None else apart
        self.socket, self.rest, self.faults = None, b"", []

    def send(self, head, body):
        if self.socket is None:
            self.socket, self.rest = tls.connect(self.address, 60), b""
        if self.apart:
            self.socket.sendall(head)
            self.socket.sendall(body)
        else:
            self.socket.sendall(head + body)

    def close(self):
        if self.socket is not None:
            self.socket.close()
            self.socket = None

    def _until(self, end):
        while end not in self.rest:
            more = self.socket.recv(65536)
            if not more:
                raise Lost("closed without an answer")
            self.rest += more
        found, self.rest = self.rest.split(end, 1)
        return found

    def answer(self):
        """(status, body); checks what docs/protocols/zorka.md section 2 demands."""
        first, *lines = self._until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        parts = first.split(" ", 2)
        if len(parts) != 3 or parts[0] != "HTTP/1.1" or not parts[1].isdigit():
            self.faults.append(f"status line {first!r}")
            raise Lost(first)
        headers = {}
        for line in lines:
            name, blank, value = line.partition(": ")
            if not blank or not value.strip():
                self.faults.append(f"header {line!r}")
            headers[name.lower()] = value
        if "content-length" not in headers:
            self.faults.append("no Content-Length")
            raise Lost(first)
        length = int(headers["content-length"])
        while len(self.rest) < length:
            more = self.socket.recv(65536)
            if not more:
                raise Lost("closed within a body")
            self.rest += more
        body, self.rest = self.rest[:length], self.rest[length:]
        if not self.kept:
            self.close()
        return int(parts[1]), body

    def ask(self, head, body, lose=False):
        """Sends a request; a kept connection that has ended is replaced once, as the agent's client does."""
        for attempt in (1, 2):
            try:
                self.send(head, body)
                if lose:
                    # The answer is under way, and nobody reads it.
                    self.socket.recv(1, socket.MSG_PEEK)
                    raise Lost("the answer was lost")
                return self.answer()
            except (OSError, Lost) as fault:
                self.close()
                if lose or attempt == 2 or not self.kept:
                    raise Lost(str(fault)) from fault
        raise AssertionError


def head_of(data, at):
    """(major type, argument or None, position behind) of a CBOR head."""
    first = data[at]
    major, info = first >> 5, first & 31
    if info < 24:
        return major, info, at + 1
    if info == 31:
        return major, None, at + 1
    size = 1 << (info - 24)
    return major, int.from_bytes(data[at + 1:at + 1 + size], "big"), at + 1 + size


def skip(data, at):
    """The position behind an item of definite length."""
    major, value, at = head_of(data, at)
    if major in (2, 3):
        return at + value
    for _ in range(value * (major == 4) + 2 * value * (major == 5) + (major == 6)):
        at = skip(data, at)
    return at


def cbor(value):
    """CBOR of an integer, text, None or list."""
    if value is None:
        return b"\xf6"
    if isinstance(value, list):
        return head(4, len(value)) + b"".join(map(cbor, value))
    if isinstance(value, str):
        text = value.encode()
        return head(3, len(text)) + text
    return head(0, value) if value >= 0 else head(1, -1 - value)


def head(major, value):
    for info, size, end in ((None, 0, 24), (24, 1, 1 << 8), (25, 2, 1 << 16), (26, 4, 1 << 32), (27, 8, 1 << 64)):
        if value < end:
            return bytes([major << 5 | (value if info is None else info)]) + (value.to_bytes(size, "big") if size else b"")
    raise ValueError(value)


def tag(number, value):
    """CBOR of a tagged value."""
    return head(6, number) + cbor(value)


SERVICE_ID, HOST_ID = 1_000_001, 1_000_002


class Renamer:
    """Gives a modern agent other values of local.service and local.host."""

    def __init__(self, name):
        self.service, _, self.host = name.rpartition("/")
        self.replaced = set()

    def definitions(self, body, reset):
        at = 0
        while at < len(body):
            _, number, inner = head_of(body, at)
            end = skip(body, at)
            if number == 1:
                _, _, inner = head_of(body, inner)
                _, symbol, inner = head_of(body, inner)
                _, length, inner = head_of(body, inner)
                if body[inner:inner + length] in (b"local.service", b"local.host"):
                    self.replaced.add(symbol)
            at = end
        own = tag(1, [SERVICE_ID, "local.service"]) + tag(1, [HOST_ID, "local.host"])
        return own + body if reset else body

    def trace(self, body):
        out, at = b"", 0
        while at < len(body):
            begin = at
            major, number, at = head_of(body, at)
            if major != 6:
                out += body[begin:at]
                continue
            if number == 3:
                at = skip(body, skip(body, at + 1))
            else:
                at = skip(body, at)
            if number == 6:
                _, count, inner = head_of(body, begin + 1)
                if count == 2 and head_of(body, inner)[1] in self.replaced:
                    continue
            out += body[begin:at]
            if number == 5:
                out += tag(6, [SERVICE_ID, self.service]) if self.service else b""
                out += tag(6, [HOST_ID, self.host])
        return out


class Agent:
    """An agent that plays captures."""

    def __init__(self, port, name=None, lost=None, refused=False, retry=0.125):
        self.port, self.name, self.lost, self.refused, self.retry = port, name, lost, refused, retry
        self.connection = self.renamer = None
        self.identity = self.key = self.session = self.known = None  # of agents that register
        self.definitions = []  # since the last reset, as CBOR
        self.behind = False  # definitions have failed: they are repeated with the next trace
        self.counts = dict(requests=0, accepted=0, refused=0, resent=0, lost=0, skipped=0, given_up=0)
        self.statuses, self.faults = {}, []
        self.submitted = {}  # headers of the latest submit, for repeats

    # One request.

    def ask(self, path, headers, body, lose=False):
        names = [name.lower() for name, _ in headers]
        assert "content-length" in names
        lines = [f"{name}: {len(body) if name.lower() == 'content-length' else value}" for name, value in headers]
        head = (f"POST {path} HTTP/1.1\r\n" + "\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
        self.counts["requests"] += 1
        try:
            status, answer = self.connection.ask(head, body, lose)
        except Lost as fault:
            if not lose:
                self.statuses[str(fault)] = self.statuses.get(str(fault), 0) + 1
            self.counts["lost"] += 1
            return 0, b""
        self.statuses[status] = self.statuses.get(status, 0) + 1
        self.counts["accepted" if status < 300 else "refused"] += 1
        return status, answer

    # Bodies.

    def register(self, path, headers, body):
        data = json.loads(body)
        if self.name:
            data["name"] = self.name
        status, answer = self.ask(path, headers, json.dumps(data, separators=(",", ":")).encode() if self.name else body)
        if status in (200, 201):
            got = json.loads(answer)
            old = not any(h[1].startswith("httpkit") for h in headers if h[0].lower() == "user-agent")
            if old and not isinstance(got["uuid"], str):
                self.faults.append("uuid is no text")
            self.identity, self.key = str(got["uuid" if old else "id"]), got["authkey"]
        return status

    def open_session(self, path, headers, body):
        data = json.loads(body)
        if self.identity is not None:
            data["uuid" if "uuid" in data else "id"], data["authkey"] = self.identity, self.key
        elif self.name:
            # An agent that has kept its id.
            data["id"] = str(int(hashlib.sha256(self.name.encode()).hexdigest()[:6], 16))
        if "id" in data:
            self.known = data["id"]
        elif "uuid" in data:
            self.known = data["uuid"]
        self.opened = (path, headers, data)
        status, answer = self.ask(path, headers, self._like(data, body))
        if status == 200:
            session = json.loads(answer)["session"]
            if not isinstance(session, str):
                self.faults.append("session is no text")
            self.session, self.definitions = session, []
        return status

    @staticmethod
    def _like(data, body):
        """The same JSON text if nothing has changed."""
        return body if data == json.loads(body) else json.dumps(data, separators=(",", ":")).encode()

    def submit_headers(self, headers, reset=None, fresh=False):
        out = []
        for name, value in headers:
            lower = name.lower()
            if lower == "x-zorka-session-uuid" and self.session is not None:
                value = self.session
            elif lower in ("x-zorka-agent-uuid", "x-zorka-agent-id") and self.known is not None:
                value = self.known
            elif lower == "x-zorka-session-id" and self.name:
                value = hashlib.sha256(self.name.encode()).hexdigest()[:16]
            elif lower == "x-zorka-session-reset" and reset is not None:
                value = reset
            elif lower in ("x-zorka-trace-id", "x-zorka-trace-uuid") and fresh:
                digits = os.urandom(16).hex()
                value = digits if lower.endswith("id") and "-" not in value else \
                    "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
            out.append((name, value))
        return out

    def play(self, request):
        """Plays one line of a capture."""
        path = request["uri"]
        headers = [tuple(h) for h in request["headers"]]
        lower = {n.lower(): v for n, v in headers}
        body = base64.b64decode(request["body_b64"])
        if self.connection is None:
            self.connection = Connection(self.port, "keep-alive" in lower.get("connection", "").lower())
        if not path.endswith(("/register", "/session")):
            self.submit(request, path, headers, lower, body)
            return
        ask = self.register if path.endswith("/register") else self.open_session
        pause = self.retry
        for _ in range(11):
            if ask(path, headers, body) in (200, 201):
                return
            if self.refused and request["status"] >= 300:
                break
            time.sleep(pause)
            pause *= 2
        self.counts["given_up"] += 1

    def submit(self, request, path, headers, lower, body):
        modern = "x-zorka-session-id" in lower
        text = body[:1].isalpha() and body[:1] < b"\x80"
        plain = base64.b64decode(body) if text else body
        reset = lower.get("x-zorka-session-reset", "").lower() == "true"
        if self.name and modern:
            self.renamer = self.renamer or Renamer(self.name)
            plain = self.renamer.definitions(plain, reset) if path.endswith("agd") else self.renamer.trace(plain)
        wrap = base64.b64encode if text else bytes
        body = wrap(plain) if text or plain != body else body
        if path.endswith("agd"):
            if reset:
                self.definitions = []
            self.definitions.append(plain)
            self.submitted["agd"] = (path, headers)
            status, _ = self.ask(path, self.submit_headers(headers), body)
            self.behind = status == 0 or status >= 300
            return
        pause = self.retry
        for attempt in range(11):
            lose = attempt == 0 and self.lost is not None
            anew = self.behind or (attempt > 0 and not (attempt == 1 and self.lost == "again"))
            self.counts["resent"] += attempt > 0
            status = 0
            if not anew or self.define_again(modern, wrap):
                self.behind = False
                status, _ = self.ask(path, self.submit_headers(headers, fresh=anew), body, lose)
            if 0 < status < 300:
                return
            if self.refused and request["status"] >= 300:
                break
            if not lose:
                time.sleep(pause)
                pause *= 2
        self.counts["given_up"] += 1

    def define_again(self, modern, wrap):
        """What an agent does after a failure: everything from the start. Whether it succeeded."""
        definitions = self.definitions
        if not modern:
            path, headers, data = self.opened
            status, answer = self.ask(path, headers, json.dumps(data, separators=(",", ":")).encode())
            if status != 200:
                return False
            self.session = json.loads(answer)["session"]
        if "agd" in self.submitted and definitions:
            path, headers = self.submitted["agd"]
            status, _ = self.ask(path, self.submit_headers(headers, reset="true"), wrap(b"".join(definitions)))
            return 0 < status < 300
        return True

    def line(self, what):
        counts = ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in self.counts.items() if n)
        codes = " ".join(f"{status}:{n}" for status, n in sorted(self.statuses.items(), key=str))
        faults = "".join(f"; FAULT {f}" for f in dict.fromkeys(self.faults + (self.connection.faults if self.connection else [])))
        return f"{what}: {counts} ({codes}){faults}"

    def failed(self):
        return bool(self.faults or self.counts["given_up"] or (self.connection and self.connection.faults))

    def close(self):
        if self.connection is not None:
            self.connection.close()


def requests(path, refused=False):
    """The lines of a capture; those that were refused only if asked for."""
    with open(path, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file if line.strip()]
    return lines if refused else [r for r in lines if (r.get("status") or 202) < 300]


def play(path, agent, speed=0.0, rounds=1):
    """Plays a whole capture."""
    lines = requests(path, agent.refused)
    for _ in range(rounds):
        start, first = time.monotonic(), lines[0]["time"] if lines else 0
        for request in lines:
            if speed:
                time.sleep(max(0.0, (request["time"] - first) / speed - (time.monotonic() - start)))
            agent.play(request)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--port", type=int, default=int(os.environ.get("ZORKA_PORT") or 8640))
    parser.add_argument("--name")
    parser.add_argument("--speed", type=float, default=0)
    parser.add_argument("--lost", choices=("again", "new"))
    parser.add_argument("--refused", action="store_true")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--hold")
    args = parser.parse_args()
    agents, failed = [], False
    for path in args.files:
        agent = Agent(args.port, args.name, args.lost, args.refused)
        agents.append(agent)
        play(path, agent, args.speed, args.rounds)
        print(agent.line("/".join(path.split("/")[-2:])), flush=True)
        failed |= agent.failed()
        if not args.hold:
            agent.close()
    while args.hold and not os.path.exists(args.hold):
        time.sleep(0.1)
    return failed


if __name__ == "__main__":
    sys.exit(main())
