#!/usr/bin/env python3
"""A receiver of OTLP/HTTP for tests: takes traces in both forms, fails as it is told, writes what it got.

otlp_receiver.py PORT FILE [ANSWER,...] [--every N] [--ids]
FILE gets a line of JSON for each span that was taken, in the JSON form of OTLP, with its "resource" and the "request" it
came in; FILE.requests one for each request: its answer, form, encoding and headers. ANSWERs are those of the first requests in
turn; a status, 503:1 with Retry-After, partial:2 (that many of the first spans are rejected), close (the connection, without
an answer), lost (taken, then closed without an answer), slow (2 s). After those all are 200; with --every each Nth is
503:1 or close. A number in front of an x repeats: 3x503. With --ids, for millions of spans by protobuf whose ids are small numbers, FILE
stays empty, and GET / answers how many ids came, how many of them more than once, and which from 1 on are absent. Needs only the standard library.
"""
import argparse
import gzip
import json
import re
import struct
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def varint(data, at):
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return number, at


def fields(data):
    """(number, value) of each field."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
            value, at = struct.unpack("<Q" if kind == 1 else "<I", data[at:at + size])[0], at + size
        elif kind == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            assert len(value) == size, "cut"
        else:
            raise ValueError(f"wire type {kind}")
        yield tag >> 3, value


def value(data):
    ((number, of),) = fields(data)
    return {1: lambda: {"stringValue": of.decode()}, 2: lambda: {"boolValue": bool(of)},
            3: lambda: {"intValue": str(of - (1 << 64) if of >> 63 else of)},
            4: lambda: {"doubleValue": struct.unpack("<d", struct.pack("<Q", of))[0]}}[number]()


def pairs(all_fields, number):
    found = []
    for field, data in all_fields:
        if field == number:
            pair = dict(fields(data))
            found.append({"key": pair[1].decode(), "value": value(pair[2])})
    return found


def span(data):
    every = list(fields(data))
    of = dict(every)
    found = {"traceId": of[1].hex(), "spanId": of[2].hex(), "name": of[5].decode(), "kind": of[6],
             "startTimeUnixNano": str(of[7]), "endTimeUnixNano": str(of[8]), "attributes": pairs(every, 9)}
    if 4 in of:
        found["parentSpanId"] = of[4].hex()
    events = [list(fields(data)) for number, data in every if number == 11]
    if events:
        found["events"] = [{"timeUnixNano": str(dict(e)[1]), "name": dict(e)[2].decode(), "attributes": pairs(e, 3)} for e in events]
    if 15 in of:
        status = dict(fields(of[15]))
        found["status"] = {"code": status[3], **({"message": status[2].decode()} if 2 in status else {})}
    if 12 in of:
        found["droppedEventsCount"] = of[12]
    if 16 in of:
        found["flags"] = of[16]
    return found


def binary(data):
    """(resource, span) of each span of a request."""
    for number, resource_spans in fields(data):
        assert number == 1
        of = list(fields(resource_spans))
        resource = {"attributes": pairs(fields(dict(of)[1]), 1)}
        for number, scope in of:
            if number == 2:
                for inner, data in fields(scope):
                    if inner == 2:
                        yield resource, span(data)


def text(data):
    for resource_spans in json.loads(data)["resourceSpans"]:
        for scope in resource_spans["scopeSpans"]:
            for one in scope["spans"]:
                yield resource_spans["resource"], one


class Ids:
    """How often each id came."""

    SPAN = re.compile(rb"\x0a\x10.{16}\x12\x08(.{8})", re.S)

    def __init__(self):
        self.counts = bytearray()

    def take(self, data):
        ids = [int.from_bytes(found[1], "big") for found in self.SPAN.finditer(data)]
        self.counts.extend(bytes(max(max(ids) + 1 - len(self.counts), 0)))
        for one in ids:
            self.counts[one] += 1
        return len(ids)

    def __str__(self):
        none, once = self.counts.count(0), self.counts.count(1)
        gaps = [f"{found.start()}-{found.end() - 1}" for found in re.finditer(rb"\0+", self.counts)]
        return " ".join([str(len(self.counts) - none), str(len(self.counts) - none - once), *gaps[1:10]])


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def body(self):
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            parts = []
            while size := int(self.rfile.readline().split(b";")[0], 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def do_POST(self):
        data, server = self.body(), self.server
        with server.lock:
            server.number += 1
            number = server.number
            plan = server.plan.pop(0) if server.plan else "200"
            if not server.plan and server.every and number % server.every == 0:
                plan = "close" if number // server.every % 2 else "503:1"
        form = self.headers.get("Content-Type", "")
        what, _, detail = plan.partition(":")
        if what == "slow":
            time.sleep(2)
        status = int(what) if what.isdigit() else 200
        if self.path != "/v1/traces":
            status = 404
        if server.protobuf and "json" in form:
            status = 415
        rejected = int(detail) if what == "partial" else 0
        taken = []
        if status == 200 and what != "close":
            if self.headers.get("Content-Encoding") == "gzip":
                data = gzip.decompress(data)
            if not server.ids:
                taken = list(text(data) if "json" in form else binary(data))
        with server.lock:
            count = server.ids.take(data) if server.ids and status == 200 and what != "close" else len(taken)
            for resource, one in taken[rejected:]:
                server.out.write(json.dumps({**one, "resource": resource, "request": number}) + "\n")
            server.out.flush()
            server.requests.write(json.dumps({"answer": plan if status != 415 else "415", "type": form, "spans": count, "bytes": len(data),
                                              "headers": {k.lower(): v for k, v in self.headers.items()}}) + "\n")
            server.requests.flush()
        if what in ("close", "lost"):
            self.close_connection = True
            return
        answer = b"{}" if "json" in form else b""
        if rejected:
            answer = (json.dumps({"partialSuccess": {"rejectedSpans": str(rejected), "errorMessage": "no room"}}).encode()
                      if "json" in form else bytes([10, 11, 8, rejected, 18, 7]) + b"no room")
        if status >= 400:
            answer = json.dumps({"code": 3, "message": "as told"}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json" if status >= 400 else form)
        if status != 200 and detail:
            self.send_header("Retry-After", detail)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def do_GET(self):
        with self.server.lock:
            answer = str(self.server.ids).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("file")
    parser.add_argument("answers", nargs="?", default="")
    parser.add_argument("--every", type=int, default=0)
    parser.add_argument("--protobuf", action="store_true", help="JSON is refused")
    parser.add_argument("--ids", action="store_true", help="ids of spans are counted")
    said = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", said.port), Handler)
    server.lock, server.number, server.every, server.protobuf = threading.Lock(), 0, said.every, said.protobuf
    server.plan, server.ids = [], Ids() if said.ids else None
    for answer in filter(None, said.answers.split(",")):
        times, _, what = answer.rpartition("x")
        server.plan += [what] * int(times or 1)
    with open(said.file, "w", encoding="utf-8") as server.out, open(said.file + ".requests", "w", encoding="utf-8") as server.requests:
        print("listening", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    sys.exit(main())
