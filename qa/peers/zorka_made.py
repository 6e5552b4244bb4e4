"""Zorka agents that send what a test asks for (docs/protocols/zorka.md sections 5 and 6). Standard library only.

    a = Modern(port, "orders", "web1")
    a.send(Call("shop.Orders.list", 12.5, kind="http", attributes={"http.url": "/list"}, calls=[Call("shop.Db.query", 10)]))

Times are in ms. A repeated failure ends in an exception; after the first everything is defined again, as real agents do.
"""

import base64
import hashlib
import json
import os
import struct
import time

import zorka
from zorka import cbor, tag

TICK = 65_536


class Call:
    """A call of a method, with those that it made. `kind` makes it the root of a span."""

    def __init__(self, method, ms, kind=None, attributes=None, calls=(), error=None, span=0, parent=0, sent=False):
        self.method, self.ns, self.kind, self.attributes = method, round(ms * 1e6), kind, attributes or {}
        self.calls, self.error, self.span, self.parent, self.sent = list(calls), error, span, parent, sent

    def count(self):
        return 1 + sum(c.count() for c in self.calls)

    def everywhere(self):
        yield self
        for call in self.calls:
            yield from call.everywhere()


def span_id():
    """A span id: not 0, half of them negative."""
    return struct.unpack(">q", os.urandom(8))[0] or 1


class _Names:
    """What has been defined since the last reset."""

    def __init__(self, typed):
        self.typed = typed
        self.forget()

    def forget(self):
        self.symbols, self.methods, self.new = {}, {}, b""

    def symbol(self, text, kind=0):
        if text not in self.symbols:
            self.symbols[text] = len(self.symbols) + 1
            self.new += tag(1, [self.symbols[text], text] + ([kind] if self.typed else []))
        return self.symbols[text]

    def method(self, name):
        if name not in self.methods:
            owner, _, method = name.rpartition(".")
            parts = [self.symbol(owner, 5), self.symbol(method, 6), self.symbol("()V", 8)]
            self.methods[name] = len(self.methods) + 1
            self.new += tag(2, [self.methods[name]] + parts)
        return self.methods[name]

    def taken(self):
        new, self.new = self.new, b""
        return new


class _Made:
    TYPE = ("Content-Type", "application/zorka+cbor+v1")

    def __init__(self, port, kept, typed, encode=bytes):
        self.connection = zorka.Connection(port, kept)
        self.names, self.encode, self.sent, self.statuses = _Names(typed), encode, 0, []
        self.times = []  # when the answers came

    def ask(self, path, headers, body):
        lines = [f"{n}: {v}" for n, v in [*headers, ("Content-Length", len(body)), *self.LAST]]
        head = (f"POST {path} HTTP/1.1\r\n" + "\r\n".join(lines) + "\r\n\r\n").encode()
        status, answer = self.connection.ask(head, body)
        assert not self.connection.faults, self.connection.faults
        self.statuses.append(status)
        self.times.append(time.time())
        return status, answer

    def send(self, *calls, trace=None, clock=None):
        """Sends traces in one body. The clock is that of the first one's begin in ms; default: now less the duration."""
        for attempt in range(3):
            body = b"".join(self.body(call, clock or int(time.time() * 1000 - call.ns / 1e6)) for call in calls)
            new, reset = self.names.taken(), self.reset
            if self.submit(new, body, reset, trace):
                self.reset = False
                self.sent += 1
                return
            self.again()
        raise RuntimeError(f"not accepted: {self.statuses[-6:]}")

    def close(self):
        self.connection.close()


class Modern(_Made):
    """Zorka 2.0.3: no registration, binary bodies, ns."""

    LAST = [("User-Agent", "zorka/2.x"), ("Connection", "keep-alive"), ("Keep-Alive", "timeout=30"), ("Host", "127.0.0.1")]

    def __init__(self, port, service=None, host=None, session=None, **local):
        super().__init__(port, True, False)
        self.session = session or os.urandom(8).hex()
        self.local = {k: v for k, v in (("local.service", service), ("local.host", host)) if v}
        self.local.update({f"local.{k}": v for k, v in local.items()})
        self.reset, self.origin = True, 10**12

    def again(self):
        self.names.forget()
        self.reset = True

    def submit(self, new, body, reset, trace):
        headers = [self.TYPE, ("X-Zorka-Session-Id", self.session), ("X-Zorka-Session-Reset", "true" if reset else "false")]
        if (new or reset) and self.ask("/agent/submit/agd", headers, new)[0] >= 300:
            return False
        headers = headers[:2] + [("X-Zorka-Session-Reset", "false"), ("X-Zorka-Trace-Id", trace or os.urandom(16).hex())]
        return self.ask("/agent/submit/trc", headers, body)[0] < 300

    def body(self, call, clock):
        failed = any(c.error for c in call.everywhere())
        return self._record(call, self.origin, clock, 0, failed)

    def _record(self, call, start, clock, flags, failed):
        symbol = self.names.symbol
        out = b"\xc3\x9f" + cbor(start) + cbor(self.names.method(call.method))
        if call.kind:
            flags = 0x2108 if call.sent else 0x108
            flags |= 0x1000 if failed and any(c.error for c in call.everywhere()) else 0
            ids = [call.span, call.parent] if call.parent else [call.span] if call.span else []
            out += tag(5, [clock + (start - self.origin) // 10**6, symbol(call.kind)] + ids)
        attributes = {**(self.local if call.kind else {}), **call.attributes}
        for name, value in attributes.items():
            out += tag(6, [symbol(name), value])
        at = start
        for child in call.calls:
            out += self._record(child, at, clock, flags, failed)
            at += child.ns
        if call.error:
            name, message = call.error
            owner, _, method = call.method.rpartition(".")
            out += tag(7, [1, symbol(name), message, 0, [[symbol(owner), symbol(method), symbol("Shop.java"), 42]]])
        return out + tag(4, [start + call.ns, call.count()] + ([flags] if flags else [])) + b"\xff"


class Legacy(_Made):
    """Zorka 1.90.6, or with `old` 1.90.5: registration, ticks; base64 bodies and a connection for each request."""

    def __init__(self, port, name, app="APP", env="TST", old=False):
        super().__init__(port, not old, True, base64.b64encode if old else bytes)
        self.old, self.reset = old, True
        self.LAST = [("User-Agent", "Zorka:MiniHttpClient/1.1.1"), ("Host", f"127.0.0.1:{port}")] if old else \
            [("User-Agent", "httpkit/2.90.1"), *Modern.LAST[1:]]
        data = json.dumps({"app": app, "rkey": "zorka", "name": name, "env": env}).encode()
        status, answer = self.ask("/agent/register", [("Content-Type", "application/json")], data)
        assert status in (200, 201), status
        got = json.loads(answer)
        self.id, self.key, self.session = str(got["uuid" if old else "id"]), got["authkey"], None

    def again(self):
        self.names.forget()
        self.session = None

    def submit(self, new, body, reset, trace):
        if self.session is None:
            data = json.dumps({"uuid" if self.old else "id": self.id, "authkey": self.key}).encode()
            status, answer = self.ask("/agent/session", [], data)
            if status != 200:
                return False
            self.session = json.loads(answer)["session"]
        headers = [self.TYPE, ("X-Zorka-Agent-UUID" if self.old else "X-Zorka-Agent-Id", self.id), ("X-Zorka-Session-UUID", self.session)]
        if new and self.ask("/agent/submit/agd", headers, self.encode(new))[0] >= 300:
            return False
        digits = hashlib.md5(trace.encode()).hexdigest() if trace else os.urandom(16).hex()
        headers.append(("X-Zorka-Trace-UUID", "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))))
        return self.ask("/agent/submit/trc", headers, self.encode(body))[0] < 300

    def body(self, call, clock):
        return self._record(call, 0, clock)

    def _word(self, number, tick, high):
        return zorka.head(6, number) + b"\x48" + struct.pack(">Q", tick & 0xffffffffff | high << 40)

    def _record(self, call, tick, clock):
        symbol = self.names.symbol
        out = b"\xc8\x9f" + self._word(0x0a, tick, self.names.method(call.method))
        if call.kind:
            out += tag(0x21, [clock + tick * TICK // 10**6, symbol(call.kind)])
            if any(c.error for c in call.everywhere()):
                out += tag(0x0f, 8)
        if call.attributes:
            out += b"\xc9" + zorka.head(5, len(call.attributes))
            out += b"".join(tag(6, symbol(n)) + cbor(v) for n, v in call.attributes.items())
        at = tick
        for child in call.calls:
            out += self._record(child, at, clock)
            at += child.ns // TICK
        if call.error:
            owner, _, method = call.method.rpartition(".")
            frame = [symbol(owner), symbol(method), symbol("Shop.java"), 42]
            out += zorka.head(6, 0x22) + b"\x85" + cbor(1) + tag(6, symbol(call.error[0])) + cbor(call.error[1]) + cbor(0) + cbor([frame])
        return out + self._word(0x0c, tick + call.ns // TICK, call.count()) + b"\xff"
